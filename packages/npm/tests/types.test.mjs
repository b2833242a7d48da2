// Checks the types: they are those of the schemas, name every flag, and compile.
import assert from 'node:assert/strict';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Stage, TOOLS } from './installed.mjs';

const SOURCE = fileURLToPath(new URL('..', import.meta.url));
const SCHEMAS = join(SOURCE, '../../docs/schemas');

/** Flags that are no options: the API sets them, or they print something else. */
const NO_OPTIONS = {
  every: ['help', 'json', 'noPager', 'outputFormat', 'quiet', 'verbose', 'version', 'promptFile'],
  recover: ['detach', 'install', 'list', 'printService', 'uninstall'],
  loop: ['detach', 'dryRun'],
  status: ['watch'],
  cost: ['csv'],
};

const stage = new Stage();

before(() => stage.install());
after(() => stage.remove());

test('the types are those of the schemas', async () => {
  const generated = stage.path('outputs.d.ts');
  const generate = [join(SOURCE, 'dev/generate-types.mjs'), SCHEMAS, generated];
  await stage.start('sh', ['-c', 'cd "$0" && exec node "$@"', TOOLS, ...generate]);
  const [expected, actual] = [generated, join(SOURCE, 'outputs.d.ts')].map((file) => readFileSync(file, 'utf8'));
  assert.equal(actual, expected, 'outputs.d.ts is old: run `cargo xtask packages npm --update`');
});

/** Returns the options of an interface and of those that it extends, with their types. */
function optionsOf(name) {
  const text = readFileSync(join(SOURCE, 'options.d.ts'), 'utf8');
  const [, parents, body] = new RegExp(`interface ${name}(?: extends ([\\w, ]+))? \\{\\n([^]*?)\\n\\}`).exec(text);
  const own = [...body.matchAll(/^ {2}(\w+)\?: (.*);$/gm)].map(([, option, type]) => [option, type]);
  const inherited = (parents ?? '').split(', ').filter(Boolean).flatMap((parent) => [...optionsOf(parent)]);
  return new Map([...inherited, ...own]);
}

test('every flag is an option of its kind, and every option is a flag', async () => {
  for (const [command, name, others] of [
    ['run', 'RunOptions', ['agentArgs', 'env', 'signal']],
    ['resume', 'ResumeOptions', ['env', 'prompt', 'signal']],
    ['recover', 'RecoverOptions', ['env', 'run', 'signal']],
    ['attach', 'AttachOptions', ['env', 'signal']],
    ['loop', 'LoopOptions', ['env', 'project', 'signal']],
    ['cancel', 'CancelOptions', ['env', 'signal']],
    ['status', 'StatusOptions', ['env', 'signal']],
    ['cost', 'CostOptions', ['env', 'signal']],
  ]) {
    const { stdout } = await stage.start('npx', ['--offline', 'longhaul', command, '--help']);
    const flags = new Map();
    for (const [, flag, value] of stdout.matchAll(/^ +(?:-\w, )?--([a-z-]+)(.*)$/gm)) {
      flags.set(flag.replace(/-(.)/g, (_, letter) => letter.toUpperCase()), value.trim() !== '');
    }
    const options = optionsOf(name);
    const excluded = [...NO_OPTIONS.every, ...(NO_OPTIONS[command] ?? []), ...others];
    const named = (names) => [...names].filter((each) => !excluded.includes(each)).sort();
    assert.deepEqual(named(options.keys()), named(flags.keys()), command);
    for (const option of named(options.keys())) {
      const hasValue = options.get(option) !== 'boolean';
      assert.equal(hasValue, flags.get(option), `${command}: ${option}`);
    }
  }
});

const CORRECT = `
import { attach, cancel, cost, LonghaulError, loop, recover, resume, run, show, status, why } from 'longhaul';
import type { LoopResult, RunResult, ShowWorkflow } from 'longhaul';

const abort = new AbortController();
const started = run('task', { budget: 5, check: ['a', 'b'], timeLimit: '3h', review: 'opus', signal: abort.signal });
for await (const event of started) {
  if (event.type === 'longhaul' && event.record === 'attempt_ended') {
    const id: string = event.run;
    console.log(id);
  }
}
const result: RunResult = await started;
if (result.run.outcome === 'needs_person') console.log(result.run.next, result.total_cost_usd.toFixed(2));
const { run: detached } = await run('task', { detach: true });
console.log(detached.id, (await run('task', { dryRun: true })).command);
const more: LoopResult = await resume<LoopResult>(detached.id, { prompt: 'more' });
const workflow: ShowWorkflow = await show<ShowWorkflow>(more.workflow.id ?? '@');
const looped: LoopResult = await loop('workflow.toml', { project: 'lib', set: { goal: 'x', depth: 3 } });
console.log(looped.workflow.outcome, (await attach(detached.id)).run.outcome, run('p', { answer: { depth: 3 } }));
console.log(workflow, (await recover())[0]?.run.outcome, (await cancel('@', { now: true })).success);
console.log((await status({ env: process.env })).runs.length, (await why()).next, (await cost({ by: 'model' })).total);
try {
  await run('task');
} catch (error) {
  if (error instanceof LonghaulError) console.log(error.hint, error.exitCode);
}
`;

const WRONG = [
  'run(5);',
  "run('p', { budgett: 1 });",
  "run('p', { keepGoing: 'yes' });",
  "cost({ by: 'moon' });",
  'cancel();',
  "const outcome: 'finished' = (await run('p')).run.outcome;",
  "(await status()).runs[0].nothing;",
];

test('the types compile, and reject wrong calls', async () => {
  const project = stage.path('project');
  symlinkSync(join(TOOLS, 'node_modules', '@types'), join(project, 'node_modules', '@types'));
  const compile = (file) => {
    const tsc = join(TOOLS, 'node_modules', '.bin', 'tsc');
    const flags = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2022', '--types', 'node'];
    return stage.end(tsc, [...flags, file]);
  };
  writeFileSync(join(project, 'correct.mts'), CORRECT);
  const correct = await compile('correct.mts');
  assert.equal(correct.code, 0, correct.stdout);
  const wrong = WRONG.map((line) => `{ ${line} }`).join('\n');
  writeFileSync(join(project, 'wrong.mts'), `import { cancel, cost, run, status } from 'longhaul';\n${wrong}\n`);
  const { code, stdout } = await compile('wrong.mts');
  assert.notEqual(code, 0);
  WRONG.forEach((line, index) => assert.match(stdout, new RegExp(`wrong\\.mts\\(${index + 2},`), line));
});

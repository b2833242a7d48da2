// Checks the types: they are those of the schemas and of the flags, and compile.
import assert from 'node:assert/strict';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Stage, TOOLS } from './installed.mjs';

const SOURCE = fileURLToPath(new URL('..', import.meta.url));
const SCHEMAS = join(SOURCE, '../../docs/schemas');

const stage = new Stage();

before(() => stage.install());
after(() => stage.remove());

test('the types are those of the schemas and of the flags', async () => {
  const generated = stage.path('types');
  const generate = [join(SOURCE, 'dev/generate-types.mjs'), SCHEMAS, generated];
  await stage.start('sh', ['-c', 'cd "$0" && exec node "$@"', TOOLS, ...generate]);
  for (const name of ['flags.d.ts', 'outputs.d.ts']) {
    const [expected, actual] = [generated, SOURCE].map((dir) => readFileSync(join(dir, name), 'utf8'));
    assert.equal(actual, expected, `${name} is old: run \`cargo xtask packages npm --update\``);
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
const attached: LoopResult = await attach<LoopResult>('@');
const workflow: ShowWorkflow = await show<ShowWorkflow>(more.workflow.id ?? '@');
const looped: LoopResult = await loop('workflow.toml', { project: 'lib', set: { goal: 'x', depth: 3 } });
console.log(looped.workflow.outcome, (await attach(detached.id)).run.outcome, run('p', { answer: { depth: 3 } }));
console.log(attached, workflow, (await recover())[0]?.run.outcome, (await cancel('@', { now: true })).success);
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

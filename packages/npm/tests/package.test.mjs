// Installs the package from its tarballs and uses it as a person does, with the scripted agent.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Stage } from './installed.mjs';

const SESSION = '6b5f9a1c-0d2e-4c53-9b1a-1f6f4f4a2c11';
const INIT = `{"type":"system","subtype":"init","session_id":"${SESSION}"}`;

const stage = new Stage();
let longhaul;
let program;

before(async () => {
  await stage.install();
  longhaul = await import(pathToFileURL(stage.path('project', 'node_modules', 'longhaul', 'index.js')));
  const scope = stage.path('project', 'node_modules', '@longhaul');
  program = join(scope, readdirSync(scope)[0], 'longhaul');
  stage.script('agent', `exec '${program}' drill-agent "$@"`);
  // Opens its session, then works until it is interrupted or stopped.
  const wait = (last) => `while read -r line; do case "$line" in *interrupt*) ${last} exit 0;; esac; done`;
  stage.script('slow-agent', `echo '${INIT}'; ${wait('')}`);
  // Leaves time for a second interrupt.
  stage.script('slower-agent', `echo '${INIT}'; ${wait('sleep 4;')}`);
});

after(() => stage.remove());

/** Options of a run with an agent that finishes at once. */
function instant(more = {}) {
  return {
    agentPath: stage.path('agent'),
    cwd: stage.path('work'),
    permissionMode: 'acceptEdits',
    env: stage.env({ LONGHAUL_SCRIPTED_INSTANT: '1' }),
    ...more,
  };
}

/** Options of a run with an agent that works until it is stopped. */
function slow(more = {}) {
  return { ...instant(), agentPath: stage.path('slow-agent'), env: stage.env(), ...more };
}

/** Options of a call that inspects runs. */
const inspecting = () => ({ env: stage.env() });

/** Returns the error of a call. */
async function errorOf(call) {
  try {
    await call();
  } catch (error) {
    return error;
  }
  assert.fail('the call succeeded');
}

async function until(condition) {
  for (let tries = 0; tries < 600; tries += 1) {
    if (await condition()) {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail(`never: ${condition}`);
}

/** Returns the journal of a run. */
const journal = (dir) => readFileSync(join(dir, 'journal.jsonl'), 'utf8');

/** Starts a slow run with this command, and resolves with its process once the agent works. */
async function startSlowRun(name, command, ...leading) {
  const flags = ['--agent-path', stage.path('slow-agent'), '--cwd', stage.path('work'), '--run-id', name];
  const args = [...leading, 'run', 'p', ...flags];
  const options = { env: stage.env(), stdio: ['ignore', 'pipe', 'pipe'] };
  const child = spawn(command, args, options);
  await until(() => hasOpenedSession(name));
  return child;
}

async function hasOpenedSession(id) {
  const { runs } = await longhaul.status(inspecting());
  const run = runs.find((each) => each.id === id);
  return run !== undefined && journal((await longhaul.show(id, inspecting())).dir).includes('session_opened');
}

test('npx longhaul drill passes', async () => {
  const { stdout } = await stage.start('npx', ['--offline', 'longhaul', 'drill']);
  assert.match(stdout, /verdict +pass/);
});

test('the installed package needs no script and no other package', () => {
  const manifest = JSON.parse(readFileSync(stage.path('project', 'node_modules', 'longhaul', 'package.json'), 'utf8'));
  assert.equal(manifest.scripts, undefined);
  assert.equal(manifest.dependencies, undefined);
  const names = readdirSync(stage.path('project', 'node_modules')).filter((name) => !name.startsWith('.'));
  assert.deepEqual(names, ['@longhaul', 'longhaul']);
  const versions = new Set([manifest.version, ...Object.values(manifest.optionalDependencies)]);
  assert.equal(versions.size, 1, `the program has the version of the package: ${[...versions]}`);
});

test('a run streams its events and resolves with its result', async () => {
  const run = longhaul.run('first', instant());
  const events = [];
  for await (const event of run) {
    events.push(event);
  }
  const result = await run;
  assert.equal(result.run.outcome, 'done');
  assert.deepEqual(events.at(-1), result);
  const records = events.filter((event) => event.type === 'longhaul').map((event) => event.record);
  assert.deepEqual([records[0], records.at(-1)], ['run_started', 'run_finished']);
  assert.ok(events.some((event) => event.type === 'system'));
});

test('an awaited run needs no loop, and the prompt is no argument', async () => {
  const prompt = '--help\n$(touch /nowhere) a prompt with a leading dash';
  const { run } = await longhaul.run(prompt, instant({ name: 'dash' }));
  assert.equal(run.outcome, 'done');
  const plan = JSON.parse(readFileSync(join(run.dir, 'plan.json'), 'utf8'));
  assert.equal(plan.prompt, prompt);
  const shown = await longhaul.show('dash', inspecting());
  assert.equal(shown.id, run.id);
  assert.equal((await longhaul.why('dash', inspecting())).outcome, 'done');
  assert.equal((await longhaul.cost({ by: 'run', ...inspecting() })).by, 'run');
});

test('false disables a setting that the configuration enables', async () => {
  const env = stage.env({ LONGHAUL_SCRIPTED_INSTANT: '1', LONGHAUL_KEEP_GOING: '1' });
  for (const keepGoing of [undefined, false]) {
    const { run } = await longhaul.run('p', instant({ env, keepGoing, maxTurns: 2 }));
    const plan = JSON.parse(readFileSync(join(run.dir, 'plan.json'), 'utf8'));
    assert.equal(Boolean(plan.policy.keep_going), keepGoing !== false);
  }
});

test('only a line feed ends a line', async () => {
  // Longer than what a pipe passes at once, so that pieces begin within a character.
  const text = `one\u2028two\u2029three\u0085${'€'.repeat(30_000)}`;
  const agentPath = stage.script('wordy-agent', `'${program}' drill-agent "$@" | sed -u 's/Done[.]/${text}/'`);
  const options = instant({ agentPath, key: 'wordy' });
  const run = longhaul.run('p', options);
  const events = [];
  for await (const event of run) {
    events.push(event);
  }
  assert.equal((await run).result, text);
  assert.equal(events.at(-1).result, text);
  assert.equal((await longhaul.run('p', { ...options, detach: true })).result, text);
});

test('a detached call for a key returns the finished run, whatever its outcome', async () => {
  for (const [key, check, outcome] of [
    ['correct', 'true', 'done'],
    ['wrong', 'false', 'check_failed'],
  ]) {
    const options = instant({ key, check, maxFailedChecks: 1 });
    const first = await longhaul.run('p', options);
    const envelope = await longhaul.run('p', { ...options, detach: true });
    assert.deepEqual([envelope.run.id, envelope.run.outcome], [key, outcome]);
    assert.deepEqual(envelope.errors, first.errors ?? []);
  }
  const error = await errorOf(() => longhaul.run('p', instant({ agentPath: '/nowhere/agent', detach: true })));
  assert.match(error.message, /cannot find the agent/);
  assert.match(error.hint, /--agent-path/);
});

test('a finished run resumes in its session', async () => {
  const first = await longhaul.run('p', instant());
  const second = await longhaul.resume(first.run.id, instant({ prompt: 'and now?', permissionMode: undefined }));
  assert.deepEqual([second.run.outcome, second.run.id], ['done', first.run.id]);
});

test('a loop that is left early does not stop the run', async () => {
  const run = longhaul.run('p', instant());
  for await (const event of run) {
    assert.equal(event.record, 'run_started');
    break;
  }
  assert.equal((await run).run.outcome, 'done');
});

test('every option reaches the program as a flag', async () => {
  const options = instant({ dryRun: true, budget: 2.5, check: ['true', 'test -e x'], review: true, maxTurns: 7 });
  const plan = await longhaul.run('p', { ...options, agentArgs: ['--verbose'], keepPartialMessages: false });
  assert.deepEqual(plan.checks, ['true', 'test -e x']);
  assert.match(JSON.stringify(plan.command), /--verbose/);
  assert.notEqual(plan.review, null);
});

test('an option that is null is not given, and a mapping is a list of values', async () => {
  const absent = { budget: null, check: null, agentArgs: null, signal: null };
  const answers = { database: 'SQLite', depth: 3, git: true };
  const { run } = await longhaul.run('p', instant({ ...absent, answer: answers }));
  const plan = JSON.parse(readFileSync(join(run.dir, 'plan.json'), 'utf8'));
  assert.deepEqual(plan.guards.answers, { database: 'SQLite', depth: '3', git: 'Yes' });
  const resumed = await longhaul.resume(run.id, instant({ prompt: null, permissionMode: null }));
  assert.match(resumed.errors[0], /it has finished as done/);
  // Without an environment of the call, the program gets that of this process.
  process.env.LONGHAUL_HOME = stage.path('no-runs');
  assert.deepEqual((await longhaul.status({ env: null })).runs, []);
  delete process.env.LONGHAUL_HOME;
});

test('an abort signal cancels the run, which keeps its result', async () => {
  const abort = new AbortController();
  const run = longhaul.run('p', slow({ signal: abort.signal }));
  for await (const event of run) {
    if (event.record === 'session_opened') {
      abort.abort();
    }
  }
  const result = await run;
  assert.deepEqual([result.run.outcome, result.run.exit_code, result.session_id], ['cancelled', 130, SESSION]);
  const { runs } = await longhaul.status(inspecting());
  assert.deepEqual(runs, []);
});

test('an aborted signal starts nothing', async () => {
  const error = await errorOf(() => longhaul.run('p', instant({ signal: AbortSignal.abort(), name: 'aborted' })));
  assert.equal(error.name, 'AbortError');
  assert.equal((await errorOf(() => longhaul.show('aborted', inspecting()))).exitCode, 2);
});

test('a detached run is listed and cancelled, and a second cancel is an error', async () => {
  const { run } = await longhaul.run('p', slow({ detach: true }));
  await until(() => hasOpenedSession(run.id));
  const running = await longhaul.status(inspecting());
  assert.deepEqual([running.running, running.runs[0].id], [1, run.id]);
  const envelope = await longhaul.cancel(run.id, { now: true, ...inspecting() });
  assert.deepEqual([envelope.success, envelope.run.outcome], [false, 'cancelled']);
  const error = await errorOf(() => longhaul.cancel(run.id, inspecting()));
  assert.ok(error instanceof longhaul.LonghaulError);
  assert.match(error.message, /already finished: cancelled/);
  assert.match(error.hint, /longhaul why/);
});

test('a detached run is followed to its end', async () => {
  const abort = new AbortController();
  const { run } = await longhaul.run('p', slow({ detach: true }));
  const left = longhaul.attach(run.id, { signal: abort.signal, ...inspecting() });
  for await (const event of left) {
    if (event.record === 'session_opened') {
      break;
    }
  }
  abort.abort();
  assert.equal((await errorOf(() => left)).name, 'AbortError');
  const following = longhaul.attach(run.id, inspecting());
  const events = [];
  for await (const event of following) {
    events.push(event);
    if (event.record === 'session_opened') {
      // Leaving the first call did not stop the run.
      await longhaul.cancel(run.id, { now: true, ...inspecting() });
    }
  }
  const result = await following;
  assert.deepEqual([result.run.id, result.run.outcome], [run.id, 'cancelled']);
  assert.deepEqual([events[0].record, events.at(-1)], ['run_started', result]);
});

test('a workflow streams its events and resolves with its result', async () => {
  const file = stage.path('workflow.toml');
  writeFileSync(file, '[[phase]]\nname = "work"\nprompt = "Do {{ parameters.task }}."\n[parameters]\ntask = ""\n');
  const { cwd, ...options } = instant({ set: { task: 'it' } });
  const loop = longhaul.loop(file, { project: cwd, ...options });
  const types = new Set();
  for await (const event of loop) {
    types.add(event.type);
  }
  const result = await loop;
  assert.deepEqual([result.workflow.outcome, result.workflow.phases[0].name], ['done', 'work']);
  assert.ok(types.has('longhaul_workflow'), `${[...types]}`);
  assert.equal((await longhaul.show(result.workflow.id, inspecting())).cwd, cwd);
});

test('an orphaned run is recovered', async () => {
  const supervisor = await startSlowRun('orphan', program);
  supervisor.kill('SIGKILL');
  await until(async () => (await longhaul.status(inspecting())).orphaned === 1);
  const abort = new AbortController();
  const recovery = longhaul.recover({ signal: abort.signal, ...inspecting() });
  for await (const event of recovery) {
    if (event.record === 'recovered') {
      abort.abort();
    }
  }
  const results = await recovery;
  assert.deepEqual(results.map((result) => [result.run.id, result.run.outcome]), [['orphan', 'cancelled']]);
  assert.deepEqual(await longhaul.recover({ run: null, ...inspecting() }), []);
});

test('an outcome other than done is a result', async () => {
  const result = await longhaul.run('p', instant({ agentPath: '/nowhere/agent' }));
  assert.deepEqual([result.run.outcome, result.run.fault, result.is_error], ['not_started', 'agent_missing', true]);
});

test('wrong usage is an error with a hint', async () => {
  for (const [call, message, hint] of [
    [() => longhaul.show('nope', inspecting()), /no run `nope`/, /latest run/],
    [() => longhaul.why('--json', inspecting()), /no run `--json`/, /latest run/],
    [() => longhaul.run('p', instant({ budgett: 3 })), /unexpected argument '--budgett'/, /--budget/],
    [() => longhaul.run('p', instant({ cwd: '/nowhere' })), /cannot use the directory \/nowhere/, /existing directory/],
    [() => longhaul.run('p', instant({ budget: 0 })), /budget of 0/, null],
  ]) {
    const error = await errorOf(call);
    assert.ok(error instanceof longhaul.LonghaulError, `${error}`);
    assert.match(error.message, message);
    assert.equal(error.exitCode, 2);
    if (hint) {
      assert.match(error.hint, hint);
    }
  }
});

test('wrong types are an error before anything starts', async () => {
  for (const call of [
    () => longhaul.run(5),
    () => longhaul.run(''),
    () => longhaul.run('p', null),
    () => longhaul.run('p', ['--budget']),
    () => longhaul.run('p', { model: {} }),
    () => longhaul.run('p', { '--budget': 1 }),
    () => longhaul.run('p', { agentArgs: 'x' }),
    () => longhaul.resume(undefined),
    () => longhaul.resume('@', { prompt: 7 }),
    () => longhaul.cancel(7),
    () => longhaul.show(null),
    () => longhaul.recover({ run: 7 }),
    () => longhaul.status(3),
    () => longhaul.attach(7),
    () => longhaul.loop(7),
    () => longhaul.loop('ralph', null),
    () => longhaul.loop('ralph', { project: 7 }),
    () => longhaul.run('p', { answer: { depth: null } }),
    () => longhaul.run('p', { help: true }),
    () => longhaul.recover({ install: true }),
    () => longhaul.status({ watch: true }),
    () => longhaul.status({ signal: 3 }),
    () => longhaul.status({ env: 3 }),
  ]) {
    const error = await errorOf(call);
    assert.equal(error.name, 'TypeError', `${call}`);
    assert.match(error.message, /^(the|an|no) /, `${call}: not an error of the package: ${error}`);
  }
});

test('an error ends the loop too', async () => {
  const error = await errorOf(async () => {
    for await (const event of longhaul.run('p', instant({ budgett: 3 }))) {
      assert.fail(`an event: ${event}`);
    }
  });
  assert.equal(error.exitCode, 2);
});

test('the launcher passes arguments, streams and the exit code', async () => {
  const version = await stage.start(process.execPath, [stage.launcher, '--version']);
  assert.match(version.stdout, /^longhaul \d/);
  assert.equal((await stage.end(process.execPath, [stage.launcher, 'show', 'nope'])).code, 2);
});

test('the launcher forwards a signal once', async () => {
  for (const [signal, code, word] of [
    ['SIGINT', 130, '"person"'],
    ['SIGTERM', 143, 'suspended'],
  ]) {
    const name = `launched-${signal.toLowerCase()}`;
    const child = await startSlowRun(name, process.execPath, stage.launcher);
    child.kill(signal);
    const [exitCode] = await once(child, 'exit');
    assert.equal(exitCode, code);
    const { dir } = await longhaul.show(name, inspecting());
    assert.ok(journal(dir).includes(word), journal(dir));
  }
  await longhaul.cancel('launched-sigterm', inspecting());
});

// The program `script` of other systems has other flags.
const isLinux = process.platform === 'linux';

test('Ctrl-C on a terminal reaches the program once', { skip: !isLinux }, async () => {
  const words = [process.execPath, stage.launcher, 'run', 'p', '--run-id', 'terminal'];
  const command = [...words, '--agent-path', stage.path('slow-agent')].map((word) => `'${word}'`).join(' ');
  const options = { cwd: stage.path('work'), env: stage.env({ SHELL: '/bin/sh', TERM: 'dumb' }) };
  const terminal = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], options);
  await until(() => hasOpenedSession('terminal'));
  terminal.stdin.write('\u0003');
  const [exitCode] = await once(terminal, 'exit');
  assert.equal(exitCode, 130);
  const { dir } = await longhaul.show('terminal', inspecting());
  assert.ok(journal(dir).includes('"person"') && !journal(dir).includes('"person_now"'), journal(dir));
});

/** Starts a script that starts two runs on a terminal, and types Ctrl-C in the first one. Resolves with the exit code. */
async function interruptScript(id, handler) {
  const options = JSON.stringify({ agentPath: stage.path('slower-agent'), cwd: stage.path('work') });
  const source = `import { run } from 'longhaul';
    const abort = new AbortController();
    ${handler}
    const options = { ...${options}, signal: abort.signal };
    const result = await run('p', { ...options, runId: '${id}' });
    console.log(result.run.outcome);
    await run('p', { ...options, runId: '${id}-next' });`;
  writeFileSync(stage.path('project', `${id}.js`), source);
  // The shell of `script` would end by the signal too.
  const command = `exec '${process.execPath}' '${stage.path('project', `${id}.js`)}'`;
  const env = stage.env({ SHELL: '/bin/sh', TERM: 'dumb' });
  const terminal = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], { env });
  await until(() => hasOpenedSession(id));
  terminal.stdin.write('\u0003');
  const [exitCode] = await once(terminal, 'exit');
  const { dir } = await longhaul.show(id, inspecting());
  assert.ok(journal(dir).includes('"person"') && !journal(dir).includes('"person_now"'), journal(dir));
  assert.equal((await errorOf(() => longhaul.show(`${id}-next`, inspecting()))).exitCode, 2);
  return exitCode;
}

test('Ctrl-C interrupts the run of a script once, and ends the script', { skip: !isLinux }, async () => {
  // 130: the script ended by SIGINT.
  assert.equal(await interruptScript('unhandled', ''), 130);
});

test('Ctrl-C interrupts the run of a script with a handler once', { skip: !isLinux }, async () => {
  // Two signals at the same time count as one.
  const handler = "process.on('SIGINT', () => setTimeout(() => abort.abort(), 100));";
  // The script gets the result. The next call throws, because its signal is aborted.
  assert.equal(await interruptScript('handled', handler), 1);
});

test('LONGHAUL_BIN overrides the program', async () => {
  const own = stage.script('own', 'echo "own $*"; exit 7');
  const ended = await stage.end(process.execPath, [stage.launcher, 'a', 'b'], { LONGHAUL_BIN: own });
  assert.deepEqual([ended.code, ended.stdout], [7, 'own a b\n']);
  const error = await errorOf(() => longhaul.status({ env: stage.env({ LONGHAUL_BIN: '/nowhere/longhaul' }) }));
  assert.match(error.message, /cannot start \/nowhere\/longhaul/);
  assert.match(error.hint, /LONGHAUL_BIN/);
  assert.equal(error.exitCode, null);
  const real = await stage.start(process.execPath, [stage.launcher, 'status'], { LONGHAUL_BIN: program });
  assert.equal(real.stderr.includes('LONGHAUL_BIN'), false, 'the variable is known');
});

test('a program that ends without a result is an error', async () => {
  for (const [body, code] of [
    ['kill -9 $$', null],
    ['echo not json; echo 7; exit 0', 0],
  ]) {
    const broken = stage.script('broken', body);
    const error = await errorOf(() => longhaul.run('p', { env: stage.env({ LONGHAUL_BIN: broken }) }));
    assert.match(error.message, /without a result/);
    assert.deepEqual([error.exitCode, /recover/.test(error.hint)], [code, true]);
  }
});

test('an unsupported platform is an error that says what to do', async () => {
  const preload = stage.path('other-platform.cjs');
  writeFileSync(preload, "Object.defineProperty(process, 'platform', { value: 'sunos' });\n");
  const ended = await stage.end(process.execPath, ['--require', preload, stage.launcher, 'status']);
  assert.equal(ended.code, 1);
  assert.match(ended.stderr, /^error: longhaul has no program for sunos /);
  assert.match(ended.stderr, /\n {2}hint: supported: darwin arm64, linux arm64, linux x64; .*LONGHAUL_BIN/);
});

test('a missing program package is an error that says what to do', async () => {
  const other = new Stage();
  try {
    await other.installWithoutProgram();
    assert.equal(existsSync(other.path('project', 'node_modules', '@longhaul')), false);
    const ended = await other.end(process.execPath, [other.launcher, 'status']);
    assert.equal(ended.code, 1);
    assert.match(ended.stderr, /^error: the package @longhaul\/[a-z0-9-]+, which carries the program, is not installed/);
    assert.match(ended.stderr, /\n {2}hint: install again without --omit=optional/);
  } finally {
    other.remove();
  }
});

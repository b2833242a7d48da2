// The API of Longhaul for JavaScript: one function for each command. `index.d.ts` documents it.
import { agentArgs, call, expectOptions, expectText, isAbsent, printedError, toFlags } from './call.js';
import { LonghaulError } from './error.js';
import { parse, RunCall } from './run-call.js';

export { LonghaulError };

const STREAM = ['--quiet', '--output-format=stream-json'];
const JSON_OUTPUT = ['--quiet', '--json'];
const lastOf = (results) => results.at(-1);

export function run(prompt, options = {}) {
  const prepare = () => {
    const stdin = expectText('the prompt', prompt);
    const args = (format) => ['run', ...format, ...toFlags(options), '-', ...agentArgs(options)];
    return { args, options, stdin };
  };
  return drive(prepare, options);
}

export function resume(run, options = {}) {
  const prepare = () => {
    const stdin = isAbsent(options?.prompt) ? undefined : expectText('the prompt', options.prompt);
    const target = ['--', expectText('the run', run), ...(stdin === undefined ? [] : ['-'])];
    const args = (format) => ['resume', ...format, ...toFlags(options), ...target];
    return { args, options, stdin };
  };
  return drive(prepare, options);
}

export function recover(options = {}) {
  const prepare = () => {
    const flags = toFlags(options);
    const target = isAbsent(options.run) ? [] : ['--', expectText('the run', options.run)];
    return { args: ['recover', ...STREAM, ...flags, ...target], options };
  };
  return new RunCall(prepare, (results) => results);
}

export function attach(run = '@', options = {}) {
  return drive(() => {
    const target = ['--', expectText('the run', run)];
    return { args: (format) => ['attach', ...format, ...toFlags(options), ...target], options };
  }, options);
}

export function loop(file, options = {}) {
  return drive(() => {
    const { project, ...others } = expectOptions(options);
    const target = ['--', expectText('the file', file)];
    if (!isAbsent(project)) {
      target.push(expectText('the project', project));
    }
    return { args: (format) => ['loop', ...format, ...toFlags(others), ...target], options };
  }, options);
}

export function cancel(run, options = {}) {
  return ask('cancel', run, options);
}

export function status(options = {}) {
  return ask('status', undefined, options);
}

export function show(run = '@', options = {}) {
  return ask('show', run, options);
}

export function why(run = '@', options = {}) {
  return ask('why', run, options);
}

export function cost(options = {}) {
  return ask('cost', undefined, options);
}

/** Starts a command that streams the events of a run, unless it prints one object and returns. */
function drive(prepare, options) {
  if (options?.detach === true || options?.dryRun === true) {
    return print(() => {
      const { args, ...rest } = prepare();
      return { args: args(JSON_OUTPUT), ...rest };
    });
  }
  return new RunCall(() => {
    const { args, ...rest } = prepare();
    return { args: args(STREAM), ...rest };
  }, lastOf);
}

/** Starts a command that prints one object about a run, or about all. */
function ask(command, run, options) {
  return print(() => {
    const flags = toFlags(options);
    const target = run === undefined ? [] : ['--', expectText('the run', run)];
    return { args: [command, ...JSON_OUTPUT, ...flags, ...target], options };
  });
}

async function print(prepare) {
  const { args, options, stdin } = prepare();
  let stdout = '';
  const end = await call(args, options, stdin, (text) => (stdout += text));
  const output = parse(stdout);
  // With the key of a finished run, the program prints the envelope of that run, and exits with its code.
  if (output === undefined || (end.code !== 0 && !output.run?.id)) {
    options?.signal?.throwIfAborted();
    throw printedError(end);
  }
  return output;
}

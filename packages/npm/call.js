// Starts the program for one call, and reads its JSON and its errors. Never decides anything about a run.
import { spawn } from 'node:child_process';
import { addInterrupt, removeInterrupt } from './ctrl-c.js';
import { LonghaulError } from './error.js';
import { findProgram } from './program.js';

// Errors are short; only the end of a long stderr can contain one.
const STDERR_CHARS_MAX = 64 * 1024;

/** Options of a call that are no flags of the program. */
const OWN_OPTIONS = ['agentArgs', 'env', 'prompt', 'run', 'signal'];

/** Flags that print something else than the result of the call. */
const TEXT_FLAGS = [
  'csv',
  'help',
  'install',
  'json',
  'list',
  'outputFormat',
  'printService',
  'uninstall',
  'version',
  'watch',
];

/** Options that may be a mapping: `{ answer: { depth: 3 } }` is `--answer=depth=3`. */
const MAPPINGS = ['answer', 'set'];

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns whether an option is not given. */
export const isAbsent = (value) => value === undefined || value === null;

/** Throws unless the value is an object, which a caller without types may have missed. */
export function expectOptions(options) {
  if (!isObject(options)) {
    throw new TypeError('the options are not an object');
  }
  return options;
}

/**
 * Converts options to flags: `{ maxTurns: 3 }` is `--max-turns=3`. The program checks names and values, except of
 * options that are `false`: this disables a switch that the configuration enables, and has no other effect.
 */
export function toFlags(options) {
  const flags = [];
  for (const [key, value] of Object.entries(expectOptions(options))) {
    if (OWN_OPTIONS.includes(key) || isAbsent(value)) {
      continue;
    }
    if (!/^[a-z][a-zA-Z0-9]*$/.test(key)) {
      throw new TypeError(`no option has the name ${JSON.stringify(key)}; names are like maxTurns`);
    }
    const flag = `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    if (value === false) {
      flags.push(`--off=${flag.slice(2).replaceAll('-', '_')}`);
      continue;
    }
    if (TEXT_FLAGS.includes(key)) {
      throw new TypeError(`the option ${key} has no result; use ${flag} on a command line`);
    }
    for (const item of toItems(key, value)) {
      if (item !== true && typeof item !== 'string' && typeof item !== 'number') {
        throw new TypeError(`the option ${key} is neither a boolean, a number, a string nor a list of these`);
      }
      flags.push(item === true ? flag : `${flag}=${item}`);
    }
  }
  return flags;
}

/** Returns the values of a flag. */
function toItems(key, value) {
  if (!MAPPINGS.includes(key) || !isObject(value)) {
    return Array.isArray(value) ? value : [value];
  }
  return Object.entries(value).map(([name, item]) => {
    if (!['boolean', 'number', 'string'].includes(typeof item)) {
      throw new TypeError(`the option ${key} is not a mapping to texts, numbers or booleans`);
    }
    return `${name}=${typeof item === 'boolean' ? (item ? 'Yes' : 'No') : item}`;
  });
}

/** Throws unless the value is a text, which a caller without types may have missed. */
export function expectText(name, value) {
  if (typeof value !== 'string' || value === '') {
    throw new TypeError(`${name} is not a text`);
  }
  return value;
}

/** Returns the arguments that the options add to the end of a command line. */
export function agentArgs(options) {
  const list = options.agentArgs ?? [];
  if (!Array.isArray(list)) {
    throw new TypeError('the option agentArgs is not a list');
  }
  return list.length === 0 ? [] : ['--', ...list.map((argument) => expectText('an argument of the agent', argument))];
}

/**
 * Starts the program. Passes its stdout to `onText` in pieces, and resolves with its exit code and the error that it
 * printed.
 */
export async function call(args, options, stdin, onText) {
  const env = expectOptions(options.env ?? process.env);
  const signal = options.signal ?? undefined;
  if (signal !== undefined && typeof signal.throwIfAborted !== 'function') {
    throw new TypeError('the option signal is not an AbortSignal');
  }
  signal?.throwIfAborted();
  const program = findProgram(env);
  const child = spawn(program, args, { detached: true, env, stdio: ['pipe', 'pipe', 'pipe'] });
  let isInterrupted = false;
  const interrupt = () => (isInterrupted = child.kill('SIGINT'));
  // A second interrupt stops the agent at once. The caller's handler of Ctrl-C may abort the signal.
  const abort = () => isInterrupted || interrupt();
  addInterrupt(interrupt);
  signal?.addEventListener('abort', abort);
  try {
    return await new Promise((resolve, reject) => {
      let stderr = '';
      child.stderr.setEncoding('utf8');
      child.stderr.on('data', (text) => (stderr = (stderr + text).slice(-STDERR_CHARS_MAX)));
      child.stdout.setEncoding('utf8');
      child.stdout.on('data', onText);
      // A program that exits early closes its stdin. Its exit code and its error say why.
      child.stdin.on('error', () => {});
      child.stdin.end(stdin ?? '');
      child.on('error', (error) => {
        const hint = 'install the package again, or set LONGHAUL_BIN to the program';
        reject(new LonghaulError(`cannot start ${program}: ${error.message}`, { hint }));
      });
      child.on('close', (code, signalName) => resolve({ code, signalName, stderr }));
    });
  } finally {
    signal?.removeEventListener('abort', abort);
    await removeInterrupt(interrupt);
  }
}

/** Returns the error that the program printed: `error:`, and what to do after `hint:`. */
export function printedError({ code, signalName, stderr }) {
  const text = /^error: ([^]*)/m.exec(stderr)?.[1];
  if (text === undefined) {
    const end = signalName ? `was ended by ${signalName}` : `exited with ${code}`;
    return new LonghaulError(`longhaul ${end} without a result`, {
      hint: '`longhaul status` lists unfinished runs, and `longhaul recover` continues them',
      exitCode: code,
    });
  }
  const hint = /^ *(?:hint|tip): (.*)/m.exec(text)?.[1] ?? null;
  return new LonghaulError(text.split(/\n *(?:hint|tip): |\n\n/)[0].trim(), { hint, exitCode: code });
}

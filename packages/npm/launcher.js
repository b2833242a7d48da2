#!/usr/bin/env node
// Starts the program of this platform with the same arguments and streams, and exits as it does.
import { spawn } from 'node:child_process';
import { findProgram } from './program.js';

// A terminal sends Ctrl-C and a hang-up to the program too. Forwarded, a second Ctrl-C would stop the agent at once.
const hasTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
const FORWARDED = { SIGINT: !hasTerminal, SIGQUIT: !hasTerminal, SIGHUP: !hasTerminal, SIGTERM: true };

function fail(message, hint) {
  process.stderr.write(`error: ${message}\n${hint ? `  hint: ${hint}\n` : ''}`);
  process.exitCode = 1;
}

function launch(program) {
  const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
  for (const [signal, isForwarded] of Object.entries(FORWARDED)) {
    process.on(signal, () => isForwarded && child.kill(signal));
  }
  child.on('error', (error) => {
    fail(`cannot start ${program}: ${error.message}`, 'install the package again, or set LONGHAUL_BIN to the program');
  });
  child.on('exit', (code, signal) => {
    if (!signal) {
      process.exitCode = code;
      return;
    }
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

let program;
try {
  program = findProgram(process.env);
} catch (error) {
  fail(error.message, error.hint);
}
if (program) {
  launch(program);
}

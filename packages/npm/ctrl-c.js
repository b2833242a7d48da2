// Ctrl-C: interrupts each program of this process once. Never stops one in another way.
//
// A program has a session of its own. A terminal therefore sends Ctrl-C only to this process, whose handlers may abort
// the call too.

const interrupts = new Set();
let isEnding = false;

function onCtrlC() {
  // Without a handler of the caller, Ctrl-C ends this process, as it does without Longhaul.
  isEnding = process.listenerCount('SIGINT') === 1;
  interrupts.forEach((interrupt) => interrupt());
}

/** Calls `interrupt` at each Ctrl-C, before the handlers of the caller. */
export function addInterrupt(interrupt) {
  if (interrupts.size === 0) {
    process.prependListener('SIGINT', onCtrlC);
  }
  interrupts.add(interrupt);
}

/** Undoes `addInterrupt` when a program has ended. If Ctrl-C ends this process, it does so after the last program. */
export async function removeInterrupt(interrupt) {
  interrupts.delete(interrupt);
  if (interrupts.size > 0 && isEnding) {
    // The caller must not start the next run.
    await new Promise(() => {});
  }
  if (interrupts.size === 0) {
    process.off('SIGINT', onCtrlC);
    if (isEnding) {
      isEnding = false;
      process.kill(process.pid, 'SIGINT');
    }
  }
}

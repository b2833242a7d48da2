// A started command that drives runs: an iterable of its events, and a promise of its result.
import { call, printedError } from './call.js';

// Unexpected errors and wrong usage. Every other exit code belongs to an outcome, which the result states.
const ERROR_CODES = [1, 2];

export class RunCall {
  #lines = [];
  #result;
  #isKept = true;
  #hasEnded = false;
  #wake = () => {};
  #promise;
  #events;

  /** Starts the command that `prepare` returns. `toResult` chooses from the results that it prints, in order. */
  constructor(prepare, toResult) {
    this.#promise = this.#start(prepare, toResult).finally(() => {
      this.#hasEnded = true;
      this.#wake();
    });
  }

  async #start(prepare, toResult) {
    const results = [];
    const { args, options, stdin } = prepare();
    const onLine = (line) => {
      const event = parse(line);
      if (event === undefined) {
        return;
      }
      if (isResult(event)) {
        results.push(event);
      }
      if (this.#isKept) {
        this.#lines.push(event);
        this.#wake();
      }
    };
    let line = '';
    const end = await call(args, options, stdin, (text) => {
      // Only `\n` ends a line: JSON may contain the separators U+2028 and U+2029.
      const [rest, ...starts] = text.split('\n');
      line += rest;
      for (const start of starts) {
        onLine(line);
        line = start;
      }
    });
    onLine(line);
    this.#result = toResult(results);
    if (this.#result === undefined) {
      // A call that only follows a run ends without a result.
      options.signal?.throwIfAborted();
    }
    if (end.code === null || ERROR_CODES.includes(end.code) || this.#result === undefined) {
      throw printedError(end);
    }
    return this.#result;
  }

  then(onResult, onError) {
    // Events that nobody reads would fill the memory.
    this.#isKept = this.#events !== undefined && this.#isKept;
    return this.#promise.then(onResult, onError);
  }

  catch(onError) {
    return this.then(undefined, onError);
  }

  finally(onEnd) {
    return this.then(
      (result) => Promise.resolve(onEnd?.()).then(() => result),
      (error) =>
        Promise.resolve(onEnd?.()).then(() => {
          throw error;
        }),
    );
  }

  get [Symbol.toStringTag]() {
    return 'Run';
  }

  [Symbol.asyncIterator]() {
    this.#events ??= this.#read();
    // The iterator reports the error.
    this.#promise.catch(() => {});
    return this.#events;
  }

  async *#read() {
    try {
      for (;;) {
        yield* this.#lines.splice(0);
        if (this.#hasEnded && this.#lines.length === 0) {
          break;
        }
        if (this.#lines.length === 0) {
          await new Promise((resolve) => (this.#wake = resolve));
        }
      }
      await this.#promise;
    } finally {
      this.#isKept = false;
      this.#lines = [];
    }
  }
}

/** Returns whether this is the result of a run, or of a workflow, whose result has no type. */
function isResult({ type, success }) {
  return type === 'result' || (type === undefined && typeof success === 'boolean');
}

/** Returns the object in this text. Agents may print lines that are none. */
export function parse(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

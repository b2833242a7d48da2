/** A call of Longhaul that has no result. `index.d.ts` documents it. */
export class LonghaulError extends Error {
  constructor(message, { hint = null, exitCode = null } = {}) {
    super(message);
    this.name = 'LonghaulError';
    this.hint = hint;
    this.exitCode = exitCode;
  }
}

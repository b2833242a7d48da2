// Generated from docs/schemas/run-detached.schema.json by dev/generate-types.mjs.

/**
 * Message that a detached run has started.
 */
export interface DetachedOutput {
  /**
   * The run that has started.
   */
  run: DetachedRun;
}
export interface DetachedRun {
  /**
   * Run directory.
   */
  dir: string;
  /**
   * Id of the run.
   */
  id: string;
}

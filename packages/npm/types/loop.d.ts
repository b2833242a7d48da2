// Generated from docs/schemas/loop.schema.json by dev/generate-types.mjs.

/**
 * A length of time in milliseconds.
 */
export type Span = number;
/**
 * US dollars
 */
export type Dollars = number;
/**
 * How a run finished.
 */
export type OutcomeKind =
  | 'done'
  | 'failed'
  | 'over_budget'
  | 'out_of_time'
  | 'needs_person'
  | 'check_failed'
  | 'not_started'
  | 'incomplete'
  | 'partial'
  | 'bug'
  | 'retry_later'
  | 'cancelled'
  | 'suspended';
/**
 * The id of a run: short random letters. Any unique prefix addresses it.
 */
export type RunId = string;
/**
 * A point in time in UTC, in RFC 3339, such as 2026-11-22T15:08:38.120Z
 */
export type Rfc3339 = string;

/**
 * The JSON output of `longhaul loop`. Keys are only ever added.
 */
export interface LoopResult {
  /**
   * Time from start to finish, waits included.
   */
  duration_ms: Span;
  /**
   * Errors, for people: first the reason for the outcome. Empty only if the work is done.
   */
  errors: string[];
  /**
   * Whether the work is done. False for every outcome but `done`.
   */
  success: boolean;
  /**
   * Cost of all runs.
   */
  usage: WorkflowUsage;
  /**
   * The workflow and its outcome.
   */
  workflow: WorkflowInfo;
}
/**
 * Cost of all runs.
 */
export interface WorkflowUsage {
  /**
   * Reported cost plus estimated cost.
   */
  total_cost_usd: Dollars;
}
/**
 * The workflow and its outcome.
 */
export interface WorkflowInfo {
  /**
   * Time in which at least one run worked.
   */
  active_ms: Span;
  /**
   * Directory of the workflow.
   */
  dir: string;
  /**
   * The outcome as the exit code of the command that supervised the workflow.
   */
  exit_code: number;
  /**
   * Id of the workflow.
   */
  id: string;
  /**
   * Last iteration.
   */
  iteration: number;
  /**
   * Maximum number of iterations.
   */
  iterations_max: number;
  /**
   * All commands that continue the work or explain the outcome, the most likely first. Each works as printed.
   */
  next: string[];
  /**
   * Outcome of the workflow.
   */
  outcome: OutcomeKind;
  /**
   * Phases of the last iteration with their runs.
   */
  phases: PhaseReport[];
  /**
   * Command that continues the work, if that makes sense.
   */
  resume: string | null;
  /**
   * Whether the condition of `until` held. `None` if it was not evaluated.
   */
  until_holds: boolean | null;
}
/**
 * A phase in the current iteration.
 */
export interface PhaseReport {
  /**
   * Number of items above the maximum, deferred to a later iteration.
   */
  deferred: number;
  /**
   * Runs of the phase, in the order of its items.
   */
  items: ItemReport[];
  /**
   * Name of the phase.
   */
  name: string;
  /**
   * Problem that is not a run's: there were no items, or they could not be listed.
   */
  problem: string | null;
  /**
   * `pending`, `running`, `skipped`, `stopped` (the workflow finished before its last run) or the outcome's word.
   */
  status: string;
}
/**
 * An item of a phase, with its current run.
 */
export interface ItemReport {
  /**
   * Item as text. `None` for a phase without items.
   */
  item: string | null;
  /**
   * Why the run has no valid result or did not start, or the files outside of its `edit_paths` that changed.
   */
  problem?: string | null;
  /**
   * Number of runs of the item before this one.
   */
  retries: number;
  /**
   * Id of the run. `None` before it is planned.
   */
  run: RunId | null;
  /**
   * `pending`, `running`, `parked`, `limited`, `suspended` or the outcome's word.
   */
  status: string;
  /**
   * Cost of the run up to its last end.
   */
  total_cost_usd: Dollars;
  /**
   * When a parked run is resumed.
   */
  until: Rfc3339 | null;
}

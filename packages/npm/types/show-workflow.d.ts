// Generated from docs/schemas/show-workflow.schema.json by dev/generate-types.mjs.

/**
 * A length of time in milliseconds.
 */
export type Span = number;
/**
 * US dollars
 */
export type Dollars = number;
/**
 * A point in time in UTC, in RFC 3339, such as 2026-11-22T15:08:38.120Z
 */
export type Rfc3339 = string;
/**
 * The id of a run: short random letters. Any unique prefix addresses it.
 */
export type RunId = string;
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
 * A workflow, as printed. JSON keys are only added, never removed.
 */
export interface ShowWorkflow {
  /**
   * Time in which at least one run worked.
   */
  active_ms: Span;
  /**
   * Limit on the cost.
   */
  budget_usd: Dollars | null;
  /**
   * Directory that the workflow works on.
   */
  cwd: string;
  /**
   * Directory of the workflow.
   */
  dir: string;
  ended_at: Rfc3339 | null;
  /**
   * Errors of a finished workflow, for people: first the reason for the outcome.
   */
  errors: string[];
  /**
   * Path of the workflow file, or the name of a built-in workflow.
   */
  file: string;
  /**
   * Text that prompts can quote as `focus`.
   */
  focus: string | null;
  /**
   * Iterations, oldest first.
   */
  iterations: WorkflowIteration[];
  /**
   * Maximum number of iterations.
   */
  iterations_max: number;
  /**
   * Name given by the user.
   */
  name: string | null;
  /**
   * What happens next.
   */
  next: NextStep;
  /**
   * Outcome. `None` if the workflow is not finished.
   */
  outcome: OutcomeKind | null;
  /**
   * Maximum number of live runs.
   */
  parallel_max: number;
  /**
   * Parameters of the command line.
   */
  parameters: {
    [k: string]: string;
  };
  /**
   * Settings of the phases, in the order of the file.
   */
  settings: PhaseSettings[];
  started_at: Rfc3339;
  /**
   * Whether a supervisor is attached.
   */
  supervised: boolean;
  /**
   * Limit on the working time.
   */
  time_limit_ms: Span | null;
  /**
   * Cost of all runs, including live ones so far.
   */
  total_cost_usd: Dollars;
  /**
   * Time from start to finish, or until now.
   */
  wall_ms: Span;
  /**
   * Id of the workflow.
   */
  workflow: string;
}
/**
 * An iteration of a workflow.
 */
export interface WorkflowIteration {
  /**
   * Number of the iteration, starting at 1.
   */
  iteration: number;
  /**
   * Phases in the order of the file.
   */
  phases: WorkflowPhase[];
  started_at: Rfc3339;
  /**
   * Whether the condition of `until` held. `None` if it was not evaluated.
   */
  until_holds: boolean | null;
  /**
   * Why the condition could not be evaluated.
   */
  until_problem: string | null;
  /**
   * Warnings: parts that were left out, and files that could not be written.
   */
  warnings: string[];
}
/**
 * A phase of an iteration.
 */
export interface WorkflowPhase {
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
   * Runs that a newer run of the same item replaced, in order.
   */
  replaced: ItemReport[];
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
/**
 * The next step of a run.
 */
export interface NextStep {
  /**
   * Commands to type, the most likely first. Empty if nothing needs to be done.
   */
  commands: string[];
  /**
   * Description as text.
   */
  text: string;
}
/**
 * Settings of a phase.
 */
export interface PhaseSettings {
  /**
   * Maximum cost of one run.
   */
  budget_usd: Dollars | null;
  /**
   * Maximum number of items. `None` for a phase without items.
   */
  items_max: number | null;
  /**
   * Requested model.
   */
  model: string | null;
  /**
   * Name of the phase.
   */
  name: string;
  /**
   * Phases that must be complete before.
   */
  needs: string[];
  /**
   * Maximum number of live runs of the phase.
   */
  parallel_max: number;
  /**
   * Maximum working time of one run.
   */
  time_limit_ms: Span | null;
}

// Generated from docs/schemas/status.schema.json by dev/generate-types.mjs.

/**
 * A length of time in milliseconds.
 */
export type Span = number;
/**
 * A point in time in UTC, in RFC 3339, such as 2026-11-22T15:08:38.120Z
 */
export type Rfc3339 = string;
/**
 * US dollars
 */
export type Dollars = number;
/**
 * The reason why an attempt failed. JSON, drills, tools and `why` use the same words.
 */
export type Fault =
  | 'rate_limited'
  | 'overloaded'
  | 'server_error'
  | 'network'
  | 'usage_limit'
  | 'crashed'
  | 'interrupted'
  | 'out_of_memory'
  | 'stalled'
  | 'attempt_timeout'
  | 'session_lost'
  | 'session_exists'
  | 'session_busy'
  | 'context_full'
  | 'output_limit'
  | 'unfinished'
  | 'guard_lapsed'
  | 'permission'
  | 'auth'
  | 'billing'
  | 'model_unknown'
  | 'refused'
  | 'bad_request'
  | 'agent_missing'
  | 'agent_unusable'
  | 'turn_limit'
  | 'agent_budget'
  | 'unknown';
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
 * State of a run, including whether a supervisor is attached.
 */
export type RowState = 'running' | 'waiting' | 'suspended' | 'orphaned' | 'unreadable' | 'finished';

export interface Status {
  /**
   * Number of orphaned runs.
   */
  orphaned: number;
  /**
   * Number of running runs.
   */
  running: number;
  /**
   * The unfinished runs, newest first.
   */
  runs: ActiveRun[];
  /**
   * Number of suspended runs.
   */
  suspended: number;
  /**
   * Number of waiting runs.
   */
  waiting: number;
  /**
   * The unfinished workflows, newest first; with an argument, that workflow. Costs include live runs so far. Without a supervisor, the status of a running one is `orphaned`.
   */
  workflows: WorkflowStatus[];
}
/**
 * An unfinished run.
 */
export interface ActiveRun {
  /**
   * Time spent working. `None` if the run is not finished.
   */
  active_ms: Span | null;
  /**
   * Description of the current activity.
   */
  activity: string;
  /**
   * Name of the agent.
   */
  agent: string;
  /**
   * Number of attempts.
   */
  attempts: number;
  /**
   * Commands that the agent runs in the background.
   */
  background: string[];
  /**
   * Working directory of the agent.
   */
  cwd: string;
  /**
   * Run directory.
   */
  dir: string;
  /**
   * Downtime: the machine slept, or the run had no supervisor.
   */
  downtime_ms: Span;
  /**
   * When the run finished.
   */
  ended_at: Rfc3339 | null;
  /**
   * Why no further data is available.
   */
  error: string | null;
  /**
   * Estimated cost, in addition to the reported cost.
   */
  estimated_cost_usd: Dollars;
  /**
   * Fault that the run is waiting out, or that finished it.
   */
  fault: Fault | null;
  /**
   * Id of the run.
   */
  id: RunId;
  /**
   * Requested model.
   */
  model: string | null;
  /**
   * Name given by the user.
   */
  name: string | null;
  /**
   * Command to type next. `None` if there is nothing to do.
   */
  next: string | null;
  /**
   * Outcome. `None` if the run is not finished.
   */
  outcome: OutcomeKind | null;
  /**
   * Reported cost, including the running attempt.
   */
  reported_cost_usd: Dollars;
  /**
   * Number of times the finished run was resumed.
   */
  resume_generation: number;
  /**
   * When a retry makes sense.
   */
  retry_at: Rfc3339 | null;
  /**
   * When the run was created.
   */
  started_at: Rfc3339;
  /**
   * State of the run.
   */
  state: RowState;
  /**
   * Start of the task, on one line.
   */
  task: string;
  /**
   * Cost reported by the agent plus cost estimated by Longhaul, including the running attempt.
   */
  total_cost_usd: Dollars;
  /**
   * Number of tokens of all kinds, including truncated messages.
   */
  total_tokens: number;
  /**
   * Whether some usage has no known price. The cost is then a lower bound.
   */
  unpriced: boolean;
  /**
   * End of the current wait.
   */
  until: Rfc3339 | null;
  /**
   * Time spent waiting between attempts.
   */
  waiting_ms: Span;
  /**
   * Position in the workflow that started the run.
   */
  workflow?: WorkflowPosition | null;
}
/**
 * A run's position in the workflow that started it.
 */
export interface WorkflowPosition {
  /**
   * Id of the workflow.
   */
  id: RunId;
  /**
   * Item, as text, if the phase has items.
   */
  item?: string | null;
  /**
   * Iteration, starting at 1.
   */
  iteration: number;
  /**
   * Name of the phase.
   */
  phase: string;
}
/**
 * The state of a workflow.
 */
export interface WorkflowStatus {
  /**
   * Working time.
   */
  active_ms: Span;
  /**
   * Limit on the cost.
   */
  budget_usd: Dollars | null;
  /**
   * Reason for that: `start_gap`, `memory` (the next run waits until more is available), `park` or `time`.
   */
  deadline: string | null;
  /**
   * When the workflow next acts without an event.
   */
  deadline_at: Rfc3339 | null;
  /**
   * Current or last iteration, starting at 1; 0 before the first.
   */
  iteration: number;
  /**
   * Maximum number of iterations.
   */
  iterations_max: number;
  /**
   * Phases of this iteration, in the order of the file.
   */
  phases: PhaseReport[];
  /**
   * When a retry makes sense (`retry_later`).
   */
  retry_at: Rfc3339 | null;
  /**
   * Exit code of the outcome.
   */
  returncode: number | null;
  /**
   * `running`, `waiting`, `suspended` or the outcome's word.
   */
  status: string;
  /**
   * PID of the supervisor.
   */
  supervisor_pid: number;
  /**
   * Limit on the working time.
   */
  time_limit_ms: Span | null;
  /**
   * Cost of all runs that ended.
   */
  total_cost_usd: Dollars;
  /**
   * Whether the condition of `until` held in this iteration. `None` if it was not evaluated.
   */
  until_holds: boolean | null;
  /**
   * Why the condition could not be evaluated.
   */
  until_problem: string | null;
  /**
   * When the file was written.
   */
  updated_at: Rfc3339;
  /**
   * Warnings of this iteration: parts that are left out, and files that could not be written.
   */
  warnings?: string[];
  /**
   * Id of the workflow.
   */
  workflow_id: RunId;
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

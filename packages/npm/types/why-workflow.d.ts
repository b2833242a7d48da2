// Generated from docs/schemas/why-workflow.schema.json by dev/generate-types.mjs.

/**
 * A point in time in UTC, in RFC 3339, such as 2026-11-22T15:08:38.120Z
 */
export type Rfc3339 = string;
/**
 * A decision in the journal of a workflow. Only `Workflow::apply` turns it into state.
 */
export type WorkflowRecord =
  | {
      /**
       * Time of the record.
       */
      at: Moment;
      record: 'workflow_started';
    }
  | {
      /**
       * Time of the record.
       */
      at: Moment;
      /**
       * New maximum of iterations. `None` keeps the old one.
       */
      iterations_max?: number | null;
      /**
       * New limits. `None` keeps the old ones.
       */
      limits?: WorkflowLimits | null;
      record: 'workflow_reopened';
    }
  | {
      /**
       * Time of the record.
       */
      at: Moment;
      /**
       * Number of the iteration, starting at 1.
       */
      iteration: number;
      record: 'iteration_started';
    }
  | {
      /**
       * Time of the record.
       */
      at: Moment;
      /**
       * Whether its items are being listed.
       */
      has_items?: boolean;
      /**
       * Index of the phase.
       */
      phase: number;
      record: 'phase_started';
    }
  | {
      /**
       * Time of the record.
       */
      at: Moment;
      /**
       * Number of items above the maximum, deferred.
       */
      deferred?: number;
      /**
       * Items, as text for people and for run names. Items that are JSON are compact JSON.
       */
      items: string[];
      /**
       * Index of the phase.
       */
      phase: number;
      record: 'items_listed';
    }
  | {
      /**
       * Time of the record.
       */
      at: Moment;
      /**
       * Position of the run.
       */
      key: RunKey;
      record: 'run_planned';
      /**
       * Whether an existing run is resumed.
       */
      resumed?: boolean;
      /**
       * Its share of the limits.
       */
      share: RunShare;
    }
  | {
      /**
       * Time of the record.
       */
      at: Moment;
      /**
       * How it ended.
       */
      end: RunEnd;
      /**
       * Position of the run.
       */
      key: RunKey;
      /**
       * What follows.
       */
      next: AfterRun & string;
      /**
       * When it is resumed, with jitter included, if it is parked.
       */
      parked_until?: Moment | null;
      record: 'run_ended';
    }
  | {
      /**
       * Time of the record.
       */
      at: Moment;
      /**
       * Position of the run.
       */
      key: RunKey;
      /**
       * What follows: the reaction to `over_budget`.
       */
      next: AfterRun;
      record: 'share_refused';
    }
  | {
      /**
       * Time of the record.
       */
      at: Moment;
      record: 'time_exhausted';
    }
  | {
      /**
       * Time of the record.
       */
      at: Moment;
      /**
       * Index of the phase.
       */
      phase: number;
      record: 'merge_started';
    }
  | {
      /**
       * Time of the record.
       */
      at: Moment;
      /**
       * Outcome: `done`, or that of the first item that did not finish as `done`.
       */
      outcome: Outcome;
      /**
       * Index of the phase.
       */
      phase: number;
      /**
       * Problem that is not a run's: the items could not be listed, a merge has conflicts.
       */
      problem?: string | null;
      record: 'phase_ended';
      /**
       * Whether the workflow stops because of the problem.
       */
      stops?: boolean;
    }
  | {
      /**
       * Time of the record.
       */
      at: Moment;
      record: 'until_started';
    }
  | {
      /**
       * Time of the record.
       */
      at: Moment;
      /**
       * Whether it holds. `None` if it could not be evaluated.
       */
      holds: boolean | null;
      /**
       * Why it could not be evaluated.
       */
      problem?: string | null;
      record: 'until_ended';
    }
  | {
      /**
       * Time of the record.
       */
      at: Moment;
      record: 'clock_stopped';
    }
  | {
      /**
       * Time of the record.
       */
      at: Moment;
      record: 'clock_started';
    }
  | {
      /**
       * Length of the sleep, which does not count as working time.
       */
      duration: Span;
      record: 'workflow_downtime';
    }
  | {
      /**
       * Time of the record.
       */
      at: Moment;
      /**
       * Time of the last record or heartbeat before it; the time between does not count as working time.
       */
      idle_since: Moment;
      record: 'taken_over';
    }
  | {
      /**
       * Time of the record.
       */
      at: Moment;
      record: 'cancel_ordered';
      /**
       * Source of the cancellation.
       */
      source: CancelSource;
    }
  | {
      /**
       * Time of the record.
       */
      at: Moment;
      record: 'workflow_suspend_ordered';
      /**
       * Signal.
       */
      source: CancelSource;
    }
  | {
      /**
       * Time of the record.
       */
      at: Moment;
      record: 'workflow_suspended';
      /**
       * Signal.
       */
      source: CancelSource;
    }
  | {
      /**
       * Time of the record.
       */
      at: Moment;
      /**
       * Outcome of the workflow.
       */
      outcome: Outcome;
      record: 'workflow_finished';
    };
/**
 * A point in time: milliseconds since the Unix epoch.
 */
export type Moment = number;
/**
 * An amount of US dollars, in micro-dollars (one millionth).
 */
export type Usd = number;
/**
 * A length of time in milliseconds.
 */
export type Span = number;
/**
 * The source of a request to stop the run.
 */
export type CancelSource = 'person' | 'person_now' | 'sigterm' | 'sighup';
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
 * A limit that ends a run.
 */
export type Limit = 'budget' | 'tokens' | 'time' | 'wall' | 'turns' | 'attempts';
/**
 * What follows a run that ended.
 */
export type AfterRun = 'complete' | 'continue' | 'retry' | 'park' | 'raise' | 'suspend' | 'stop';
/**
 * The id of a run: short random letters. Any unique prefix addresses it.
 */
export type RunId = string;

/**
 * Timeline of a workflow. JSON keys are only added, never removed.
 */
export interface WhyWorkflow {
  /**
   * Decisions, oldest first.
   */
  entries: WorkflowEntry[];
  /**
   * What happens next.
   */
  next: NextStep;
  /**
   * Outcome. `None` if the workflow is not finished.
   */
  outcome: OutcomeKind | null;
  /**
   * Id of the workflow.
   */
  workflow: string;
}
/**
 * A decision of a workflow.
 */
export interface WorkflowEntry {
  /**
   * Time of the decision.
   */
  at: Rfc3339;
  /**
   * Decision, as in the journal: lengths of time in milliseconds, money in millionths of a dollar.
   */
  decision: WorkflowRecord;
  /**
   * Time since the start of the workflow.
   */
  elapsed_ms: Span;
  /**
   * Run that the decision is about.
   */
  run: RunId | null;
  /**
   * Sentence for people.
   */
  text: string;
}
/**
 * Limits of a workflow over all its runs. `None` is unlimited.
 */
export interface WorkflowLimits {
  /**
   * Maximum cost.
   */
  budget?: Usd | null;
  /**
   * Maximum working time: time in which at least one run works. Parks, downtime and the time in which every live run waits do not count.
   */
  time?: Span | null;
}
/**
 * A run's position in its workflow. The id of the run derives from it, so that a new supervisor finds the run.
 */
export interface RunKey {
  /**
   * Index of the item; 0 without items.
   */
  item: number;
  /**
   * Iteration, starting at 1.
   */
  iteration: number;
  /**
   * Index of the phase.
   */
  phase: number;
  /**
   * Number of runs of the same item before this one.
   */
  retry?: number;
}
/**
 * A run's share of the workflow's limits, reserved until the run ends. `None` is unlimited.
 */
export interface RunShare {
  /**
   * Maximum cost of the run, over all its attempts and resumes.
   */
  budget?: Usd | null;
  /**
   * Maximum working time of the run, over all its attempts and resumes.
   */
  time?: Span | null;
}
/**
 * How a run ended: its outcome and its usage, over all its attempts and resumes.
 */
export interface RunEnd {
  /**
   * Working time of the run.
   */
  active: Span;
  /**
   * Cost of the run.
   */
  cost: Usd;
  /**
   * Outcome of the run.
   */
  outcome: Outcome;
}
/**
 * How a run finished, with the cause.
 */
export interface Outcome {
  /**
   * Source of the cancellation (`cancelled`), or the signal that suspended the run (`suspended`).
   */
  cancelled_by?: CancelSource | null;
  /**
   * Fault that led to it, if any.
   */
  fault?: Fault | null;
  /**
   * Kind of outcome.
   */
  kind: OutcomeKind;
  /**
   * Limit that led to it, if any (`over_budget`, `out_of_time`).
   */
  limit?: Limit | null;
  /**
   * Earliest moment at which a retry makes sense, if known (`retry_later`).
   */
  retry_at?: Moment | null;
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

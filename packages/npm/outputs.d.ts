// Generated from docs/schemas by dev/generate-types.mjs.

/**
 * US dollars
 */
export type Dollars = number;
/**
 * A point in time in UTC, in RFC 3339, such as 2026-11-22T15:08:38.120Z
 */
export type Rfc3339 = string;
/**
 * A length of time in milliseconds.
 */
export type Span = number;
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
  | 'invalid_result'
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
 * A limit that ends a run.
 */
export type Limit = 'budget' | 'tokens' | 'time' | 'wall' | 'turns' | 'attempts';
/**
 * The proof that the work of a run is done.
 */
export type Verified = 'checks' | 'review' | 'none';
/**
 * The effect of an attempt's timeout on the run.
 */
export type TimeoutAction = 'while_progressing' | 'retry' | 'final';
/**
 * The random spread of a wait.
 */
export type Jitter =
  | 'full'
  | {
      percent: number;
    }
  | 'none';
/**
 * An amount of US dollars, in micro-dollars (one millionth).
 */
export type Usd = number;
/**
 * The effect on a run if its supervisor receives SIGTERM or SIGHUP. The system sends these signals: a reboot, `systemctl stop`, a preempted job, a closed terminal.
 */
export type OnTerminate = 'suspend' | 'cancel';
/**
 * The bound on waiting while the API fails.
 */
export type OutageBound =
  | {
      time: Span | null;
    }
  | 'retries';
/**
 * The reaction to a session that the agent does not know.
 */
export type SessionLoss = 'fall_back' | 'fresh_with_warning' | 'fresh' | 'spend_attempt';
/**
 * How the conversation of an ended attempt relates to the one that it resumed.
 */
export type Continuity = 'continued' | 'unchanged' | 'branched' | 'unrelated';
/**
 * How a process ended.
 */
export type Exit =
  | {
      code: number;
    }
  | {
      signal: number;
    }
  | 'unobserved'
  | 'never_spawned';
/**
 * The reason for a resume strategy.
 */
export type StrategyReason =
  | {
      session_file: SessionFileState;
    }
  | {
      fault: Fault;
    }
  | 'never_opened';
/**
 * The state of the file of a session to resume.
 */
export type SessionFileState = 'ready' | 'damaged' | 'stale' | 'elsewhere' | 'empty' | 'missing';
/**
 * The reaction to a fault.
 */
export type Remedy =
  | 'wait_out'
  | 'park'
  | 'resume'
  | 'resume_once'
  | 'resume_while_progressing'
  | 'resume_within_limit'
  | 'resume_existing'
  | 'replace_lost_session'
  | 'replace_full_session'
  | 'try_fork'
  | {
      nudge: Nudge;
    }
  | 'keep_going'
  | 'retry_once'
  | 'end'
  | 'end_unless_allowed';
/**
 * A short prompt on the same session, sent after an unusable answer rather than after a fault of the environment.
 */
export type Nudge = 'answer' | 'smaller_steps';
/**
 * The session that an attempt works on.
 */
export type SessionPlan =
  | {
      new: SessionId;
    }
  | {
      resume: SessionId;
    }
  | {
      fork: {
        /**
         * Session to copy the history from.
         */
        from: SessionId;
        /**
         * Id of the new session.
         */
        to: SessionId;
      };
    };
/**
 * The id of the agent's own conversation, as the agent names it (a UUID for Claude Code).
 */
export type SessionId = string;
/**
 * The state of a process.
 */
export type ProcessState = 'idle' | 'busy' | 'blocked' | 'frozen';
/**
 * Reason why Longhaul stopped an agent, a summary, a check or a reviewer.
 */
export type StopCause =
  | 'stalled'
  | 'no_progress'
  | 'timed_out'
  | 'auth_rejected'
  | 'wrong_session'
  | 'wrap_up'
  | 'limit_reached'
  | 'memory_limit'
  | 'did_not_exit'
  | 'background_stopped'
  | 'cancelled'
  | 'suspended';
/**
 * How the history of a conversation reaches an attempt.
 */
export type ResumeStrategy = 'as_is' | 'relocate' | 'repair' | 'fork' | 'handoff' | 'fresh';
/**
 * The result of a summary.
 */
export type SummaryResult =
  | 'written'
  | 'not_needed'
  | {
      failed: Fault;
    };
/**
 * The result of a check.
 */
export type CheckResult = 'passed' | 'failed' | 'needs_person' | 'timed_out' | 'stopped';
/**
 * The result of one reviewer process.
 */
export type ReviewResult =
  | 'passed'
  | {
      failed: number;
    }
  | {
      no_verdict: Fault;
    };
/**
 * State of a run, including whether a supervisor is attached.
 */
export type RowState = 'running' | 'waiting' | 'suspended' | 'orphaned' | 'unreadable' | 'finished';
/**
 * A record of the run between the agent's own events.
 */
export type Decision = Decision1 & Decision2;
export type Decision1 =
  | {
      record: 'run_started';
    }
  | {
      /**
       * Settings that the user changed.
       */
      changes?: SettingChange[];
      record: 'run_reopened';
      /**
       * The request.
       */
      request: ResumeRequest;
    }
  | {
      /**
       * Plan of the attempt.
       */
      plan: AttemptPlan;
      record: 'attempt_started';
    }
  | {
      /**
       * Reason for the choice.
       */
      reason: StrategyReason;
      record: 'resume_strategy_chosen';
      /**
       * Chosen strategy.
       */
      strategy: ResumeStrategy;
    }
  | {
      record: 'summary_started';
    }
  | {
      /**
       * Reason for the stop.
       */
      cause: StopCause;
      record: 'summary_stop_ordered';
    }
  | {
      record: 'summary_ended';
      /**
       * Result of the summary.
       */
      result: SummaryResult;
      /**
       * Usage of the summary.
       */
      usage: Usage;
    }
  | {
      /**
       * The agent's process.
       */
      process: ProcessId;
      record: 'attempt_spawned';
    }
  | {
      record: 'session_opened';
      /**
       * Session id that the agent reported.
       */
      session: SessionId;
    }
  | {
      record: 'progress_made';
      /**
       * Whether the progress resets the count of failures before it.
       */
      resets_retries: boolean;
    }
  | {
      /**
       * Limit that was reached.
       */
      limit: Limit;
      record: 'limit_reached';
      /**
       * Number of the attempt's exchanges that had ended. A later reader of the stream identifies later results by it.
       */
      results?: number;
      /**
       * Threshold that was reached.
       */
      threshold: LimitThreshold;
    }
  | {
      /**
       * Number of background commands and sub-agents that were running.
       */
      background?: number;
      /**
       * Whether the agent claimed that the work is done.
       */
      claimed_done: boolean;
      record: 'agent_stopped';
      /**
       * Number of the attempt's exchanges that had ended. None of them counts as a further stop.
       */
      results?: number;
      /**
       * Fingerprint of the workspace. `None` if it was not read.
       */
      workspace_fingerprint?: number | null;
    }
  | {
      /**
       * Kind of prompt.
       */
      prompt: PromptKind;
      record: 'prompt_sent';
      /**
       * Remaining amounts of the run's limits.
       */
      remaining?: Remaining;
      /**
       * Number of the attempt's exchanges that had ended.
       */
      results?: number;
    }
  | {
      record: 'input_closed';
    }
  | {
      /**
       * Reason for the stop.
       */
      cause: StopCause;
      /**
       * Level of the stop.
       */
      level: StopLevel;
      record: 'stop_ordered';
      /**
       * Observations of the stall, if the agent counts as stalled.
       */
      stall?: StallReport | null;
    }
  | {
      record: 'stall_deferred';
      /**
       * Observations of the silence.
       */
      stall: StallReport;
      /**
       * Moment until which the silence does not count as a stall.
       */
      until: Moment;
    }
  | {
      /**
       * Settings that the user changed at the takeover.
       */
      changes?: SettingChange[];
      /**
       * State in which the new supervisor found the run.
       */
      finding: RecoveryFinding;
      /**
       * Time of the last record or heartbeat of the dead supervisor, which died then or later.
       */
      last_record_at?: Moment | null;
      record: 'recovered';
    }
  | {
      /**
       * Length of the downtime.
       */
      duration: Span;
      record: 'downtime';
    }
  | (AttemptEnd & {
      record: 'attempt_ended';
    })
  | {
      record: 'check_started';
    }
  | {
      /**
       * Whether the check has commands. They passed.
       */
      after_commands?: boolean;
      record: 'review_started';
    }
  | {
      record: 'review_ended';
      /**
       * Result of the review.
       */
      result: ReviewResult;
      /**
       * Time at which the reviewer is started again. `None` if it is not.
       */
      retry_at?: Moment | null;
      /**
       * Usage of the reviewer.
       */
      usage: Usage;
    }
  | {
      /**
       * Reason for the stop.
       */
      cause: StopCause;
      record: 'check_stop_ordered';
    }
  | {
      record: 'check_ended';
      /**
       * Result of the check.
       */
      result: CheckResult;
    }
  | {
      record: 'swept';
      /**
       * Number of processes that had to be stopped.
       */
      stopped_processes: number;
    }
  | {
      record: 'cancel_requested';
      /**
       * Source of the cancellation.
       */
      source: CancelSource;
    }
  | {
      record: 'suspend_ordered';
      /**
       * Signal.
       */
      source: CancelSource;
    }
  | {
      record: 'suspended';
      /**
       * Signal.
       */
      source: CancelSource;
    }
  | {
      /**
       * Outcome of the run.
       */
      outcome: Outcome;
      record: 'run_finished';
    };
/**
 * The prompt that the user, or the workflow of the run, requests when resuming a run.
 */
export type ResumeRequest =
  | 'continue'
  | 'repeat_task'
  | {
      prompt: string;
    }
  | {
      workflow: number;
    };
/**
 * The kind of prompt to send to the agent. The dialect supplies the text.
 */
export type PromptKind =
  | 'task'
  | {
      task_after_loss: Fault;
    }
  | 'follow_up'
  | {
      continue: Fault;
    }
  | {
      nudge: Nudge;
    }
  | {
      wrap_up: Limit;
    }
  | {
      limit_raised: Limit;
    }
  | {
      check_failed: number;
    }
  | {
      keep_going: KeepGoingPrompt;
    }
  | 'confirm_done';
/**
 * A threshold of a limit: how much of it is used.
 */
export type LimitThreshold = 'reserve' | 'exhausted';
/**
 * How hard to stop the agent. If it does not react to one level within the grace period, the next level follows.
 */
export type StopLevel = 'interrupt' | 'term' | 'kill';
/**
 * A point in time: milliseconds since the Unix epoch.
 */
export type Moment = number;
/**
 * The state in which a new supervisor found a run.
 */
export type RecoveryFinding =
  | 'agent_running'
  | 'agent_finished'
  | 'agent_gone'
  | 'not_started'
  | 'summarizing'
  | 'checking'
  | 'sweeping'
  | 'waiting'
  | 'suspended'
  | 'finished';
/**
 * Whether a usage window lets requests pass.
 */
export type RateLimitStatus = 'allowed' | 'warning' | 'rejected';
/**
 * The vendor's typed API error (`api_error` of Claude Code 2.1.330).
 */
export type ApiError =
  | 'usage_limit_reached'
  | 'connection_failed'
  | 'timed_out'
  | 'malformed'
  | 'max_output_tokens'
  | 'org_disabled'
  | 'agent_too_old'
  | 'other';
/**
 * The error word on a synthetic message (`assistant.error` of Claude Code 2.1.330).
 */
export type MessageError =
  | 'authentication'
  | 'billing'
  | 'rate_limit'
  | 'overloaded'
  | 'invalid_request'
  | 'model_not_found'
  | 'server_error'
  | 'max_output_tokens'
  | 'unknown';
/**
 * Reason why the model stopped (`stop_reason` of the Messages API).
 */
export type StopReason = 'end_turn' | 'refusal' | 'pause_turn' | 'other';
/**
 * Reason why an exchange ended (`terminal_reason` of Claude Code 2.1.330).
 */
export type TerminalReason =
  | 'completed'
  | 'api_error'
  | 'prompt_too_long'
  | 'too_large'
  | 'aborted'
  | 'hook_stopped'
  | 'max_turns'
  | 'budget_exhausted'
  | 'invalid_result'
  | 'other'
  | 'not_reported';
/**
 * An error that prevented a start.
 */
export type StartupError =
  | 'program_missing'
  | 'unusable'
  | 'bypass_as_root'
  | 'unknown_permission_mode'
  | 'sandbox_missing'
  | 'not_an_agent'
  | 'session_unknown'
  | 'session_in_use'
  | 'session_held';
/**
 * The step after an attempt.
 */
export type AfterAttempt =
  | {
      attempt: {
        /**
         * Earliest moment, with jitter included.
         */
        at: Moment;
        /**
         * Plan of the attempt.
         */
        plan: AttemptPlan;
        /**
         * Remedy for the fault.
         */
        remedy: Remedy;
      };
    }
  | 'check'
  | {
      finish: Outcome;
    };
/**
 * The source of a request to stop the run.
 */
export type CancelSource = 'person' | 'person_now' | 'sigterm' | 'sighup';
export type StreamType = 'longhaul';
/**
 * Claude Code's kinds of results.
 */
export type ResultSubtype = 'success' | 'error_max_turns' | 'error_max_budget_usd' | 'error_during_execution';
export type ResultType = 'result';
/**
 * An entry with its text.
 */
export type EntryWithText = {
  /**
   * When it happened. For repeated events, the first time.
   */
  at: Rfc3339;
  /**
   * Time since the start of the run.
   */
  elapsed_ms: Span;
  /**
   * Sentence for people.
   */
  text: string;
  /**
   * The last time, or when the run continued. The same as `at` for a single event.
   */
  until: Rfc3339;
} & EntryWithText1;
export type EntryWithText1 =
  | {
      kind: 'started';
      /**
       * Session of the first attempt.
       */
      session: SessionPlan;
    }
  | {
      /**
       * Settings that the user changed.
       */
      changes: SettingChange[];
      /**
       * Time since the run finished.
       */
      finished_ms: Span;
      kind: 'reopened';
      /**
       * The request of the user.
       */
      request: ResumeRequest;
    }
  | {
      /**
       * Number of the attempt, starting at 1.
       */
      attempt: number;
      kind: 'attempt_started';
      /**
       * Prompt that the agent starts with.
       */
      prompt: PromptKind;
      /**
       * Reason for the strategy.
       */
      reason: StrategyReason | null;
      /**
       * How the conversation's history reached it.
       */
      strategy: ResumeStrategy | null;
    }
  | {
      /**
       * Attempt that the summary is for.
       */
      attempt: number;
      /**
       * Duration of the summary.
       */
      duration_ms: Span;
      kind: 'summary';
      /**
       * Result of the summary.
       */
      result: SummaryResult;
      /**
       * Cost of the summary.
       */
      total_cost_usd: Dollars;
    }
  | (AttemptsEnded & {
      kind: 'attempt_ended';
    })
  | {
      /**
       * Number of the attempt.
       */
      attempt: number;
      kind: 'limit_reached';
      /**
       * The limit.
       */
      limit: Limit;
      /**
       * Whether its reserve was reached or it is exhausted.
       */
      threshold: LimitThreshold;
    }
  | {
      /**
       * Number of the attempt.
       */
      attempt: number;
      kind: 'prompt_sent';
      /**
       * The prompt.
       */
      prompt: PromptKind;
    }
  | {
      /**
       * Number of the attempt.
       */
      attempt: number;
      /**
       * Number of stops with a done claim.
       */
      done_claims: number;
      kind: 'agent_stopped';
      /**
       * Number of prompts to continue.
       */
      prompts: number;
      /**
       * Number of stops.
       */
      stops: number;
    }
  | {
      /**
       * Number of the attempt.
       */
      attempt: number;
      kind: 'stall_deferred';
      /**
       * Observations at the last deferral.
       */
      stall: StallReport;
      /**
       * Number of deferrals.
       */
      times: number;
    }
  | {
      /**
       * Number of the attempt.
       */
      attempt: number;
      kind: 'watchdog_stopped';
      /**
       * Number of stopped processes. `None` if the watchdog died before they were gone.
       */
      processes_stopped: number | null;
      /**
       * Time since the agent's last output.
       */
      silent_ms: Span;
    }
  | {
      /**
       * Number of the attempt.
       */
      attempt: number;
      /**
       * Settings that the user changed at the takeover.
       */
      changes: SettingChange[];
      /**
       * Whether the disk was full, so that the last supervisor stopped.
       */
      disk_was_full: boolean;
      /**
       * Finding of the new supervisor.
       */
      finding: RecoveryFinding;
      /**
       * Part of that time in which nothing ran.
       */
      idle_ms: Span;
      kind: 'recovered';
      /**
       * Longest possible time without a supervisor. `None` if the dead one had written no record.
       */
      unsupervised_ms: Span | null;
    }
  | {
      /**
       * Length of the downtime.
       */
      duration_ms: Span;
      kind: 'downtime';
    }
  | {
      /**
       * Number of the check, starting at 1.
       */
      check: number;
      /**
       * Duration of the check.
       */
      duration_ms: Span;
      kind: 'check_ended';
      /**
       * Result of the check.
       */
      result: CheckResult;
    }
  | {
      /**
       * Number of its check, starting at 1.
       */
      check: number;
      /**
       * Duration of the process.
       */
      duration_ms: Span;
      kind: 'review_ended';
      /**
       * Result of the review.
       */
      result: ReviewResult;
      /**
       * Time at which the reviewer is started again. `None` if it is not.
       */
      retry_at: Rfc3339 | null;
      /**
       * Cost of the process.
       */
      total_cost_usd: Dollars;
    }
  | {
      kind: 'cancelled';
      /**
       * Source of the request.
       */
      source: CancelSource;
    }
  | {
      kind: 'suspended';
      /**
       * The signal.
       */
      source: CancelSource;
    }
  | {
      /**
       * Number of attempts.
       */
      attempts: number;
      /**
       * Part of that time in which nothing ran.
       */
      downtime_ms: Span;
      kind: 'finished';
      /**
       * Outcome of the run.
       */
      outcome: Outcome;
      /**
       * Cost of the run.
       */
      total_cost_usd: Dollars;
      /**
       * Part of that time in which the run waited.
       */
      waiting_ms: Span;
      /**
       * Time from start to finish.
       */
      wall_ms: Span;
    };
/**
 * A decision in the journal of a workflow, with its time.
 */
export type WorkflowRecord = {
  /**
   * Time of the record.
   */
  at: Moment;
} & WorkflowRecord1;
export type WorkflowRecord1 =
  | {
      record: 'workflow_started';
    }
  | {
      /**
       * Runs that the user resumed on their own meanwhile, and that did not fail again. They are not replaced.
       */
      continued?: RunKey[];
      /**
       * Costs of runs that the user resumed on their own meanwhile.
       */
      costs?: RunCost[];
      /**
       * New maximum of iterations. `None` keeps the old one.
       */
      iterations_max?: number | null;
      /**
       * New limits. `None` keeps the old ones.
       */
      limits?: WorkflowLimits | null;
      record: 'workflow_reopened';
      /**
       * Phases that started before a phase that they need takes place again. All their items get new runs.
       */
      repeated?: number[];
    }
  | {
      /**
       * Number of the iteration, starting at 1.
       */
      iteration: number;
      record: 'iteration_started';
    }
  | {
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
      record: 'time_exhausted';
    }
  | {
      /**
       * Index of the phase.
       */
      phase: number;
      record: 'merge_started';
    }
  | {
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
      record: 'until_started';
    }
  | {
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
      record: 'clock_stopped';
    }
  | {
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
       * Time of the last record or heartbeat before it; the time between does not count as working time.
       */
      idle_since: Moment;
      record: 'taken_over';
    }
  | {
      record: 'cancel_ordered';
      /**
       * Source of the cancellation.
       */
      source: CancelSource;
    }
  | {
      record: 'workflow_suspend_ordered';
      /**
       * Signal.
       */
      source: CancelSource;
    }
  | {
      record: 'workflow_suspended';
      /**
       * Signal.
       */
      source: CancelSource;
    }
  | {
      /**
       * Outcome of the workflow.
       */
      outcome: Outcome;
      record: 'workflow_finished';
    };
/**
 * What follows a run that ended.
 */
export type AfterRun = 'complete' | 'continue' | 'retry' | 'park' | 'raise' | 'suspend' | 'stop';

/**
 * The output of each schema.
 */
export interface Outputs {
  cost?: Cost;
  loop?: LoopResult;
  run?: Envelope;
  'run-detached'?: DetachedOutput;
  'run-dry-run'?: DryRun;
  show?: Show;
  'show-workflow'?: ShowWorkflow;
  status?: Status;
  'stream-json'?: Decision;
  'stream-result'?: RunResult;
  why?: Why;
  'why-workflow'?: WhyWorkflow;
}
export interface Cost {
  /**
   * Basis of the prices, as text.
   */
  basis: string;
  /**
   * Grouping: `day`, `model`, `project`, `run`, `workflow` or `agent`.
   */
  by: string;
  /**
   * Spending of each group. Days are listed newest first.
   */
  rows: Row[];
  /**
   * Start of the period. `None` for all time.
   */
  since: Rfc3339 | null;
  /**
   * Sum of all rows.
   */
  total: Row;
}
/**
 * Spending of one group.
 */
export interface Row {
  /**
   * Input tokens written to the prompt cache.
   */
  cache_creation_input_tokens: number;
  /**
   * Input tokens read from the prompt cache.
   */
  cache_read_input_tokens: number;
  /**
   * The part of the cost that Longhaul estimates, for processes that ended without reporting theirs.
   */
  estimated_cost_usd: Dollars;
  /**
   * Input tokens that no cache served.
   */
  input_tokens: number;
  /**
   * Name of the group. `None` if it is unknown, and for the total.
   */
  key: string | null;
  /**
   * Number of completed messages.
   */
  messages: number;
  /**
   * Name of the run. Only set when grouped by run.
   */
  name: string | null;
  /**
   * Output tokens, thinking included.
   */
  output_tokens: number;
  /**
   * Cost reported by the agent.
   */
  reported_cost_usd: Dollars;
  /**
   * Start of the run's task. Only set when grouped by run.
   */
  task: string | null;
  /**
   * Reported cost plus estimated cost.
   */
  total_cost_usd: Dollars;
  /**
   * Estimated tokens of truncated messages. The counts above do not include them.
   */
  truncated_tokens: number;
  /**
   * Whether some tokens have no known price.
   */
  unpriced: boolean;
}
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
   * Number of items above the maximum, which this iteration leaves out.
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
  /**
   * Cost of all runs of the phase that ended, also of those that a newer run of the same item replaced.
   */
  total_cost_usd: Dollars;
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
 * The JSON output of `longhaul run`, and of the commands of `longhaul gsd`, some of which have another result.
 */
export interface Envelope {
  /**
   * Time from start to finish, waits included.
   */
  duration_ms: Span;
  /**
   * Errors, for people: first the reason for the outcome, then the last lines of a failed check, then the agent's own messages. Empty only if the work is done.
   */
  errors: string[];
  /**
   * The agent's last answer. It is partial if the run did not finish.
   */
  result: string | null;
  /**
   * Everything specific to Longhaul.
   */
  run: RunInfo;
  /**
   * The session that can be resumed.
   */
  session_id: string | null;
  /**
   * Whether the work is done. False for every outcome but `done`.
   */
  success: boolean;
  usage: EnvelopeUsage;
}
export interface RunInfo {
  /**
   * Time in which the run worked.
   */
  active_ms: Span;
  /**
   * Number of attempts.
   */
  attempts: number;
  /**
   * Background commands that were stopped with the agent of the last attempt.
   */
  background_stopped: BackgroundTask[];
  /**
   * Number of tool calls that guards denied.
   */
  denied_calls: number;
  /**
   * Directory of the run.
   */
  dir: string | null;
  /**
   * Downtime: the machine slept, or no supervisor was running and the agent was idle.
   */
  downtime_ms: Span;
  /**
   * The outcome as the exit code of the command that supervised the run.
   */
  exit_code: number;
  /**
   * Fault that decided the outcome.
   */
  fault: Fault | null;
  /**
   * Id of the run. `None` if none was started.
   */
  id: string | null;
  /**
   * Limit that decided the outcome: `budget`, `tokens`, `time`, `wall`, `turns` or `attempts`.
   */
  limit: Limit | null;
  /**
   * Model that did the work, as the agent reported it.
   */
  model: string | null;
  /**
   * All commands that continue the work, the most likely first. Each works as printed.
   */
  next: string[];
  /**
   * Outcome of the run.
   */
  outcome: OutcomeKind;
  /**
   * How the agent's questions were answered.
   */
  questions: Questions;
  /**
   * Command that continues the work, if that makes sense.
   */
  resume: string | null;
  /**
   * When to retry (`retry_later`), as an RFC 3339 time.
   */
  retry_at: Rfc3339 | null;
  /**
   * The proof that the work is done: `checks`, or `none` if no check was set or the work is not done.
   */
  verified: Verified;
  /**
   * Time in which the run waited with no process running.
   */
  waiting_ms: Span;
}
/**
 * A command or sub-agent that the agent does not wait for.
 */
export interface BackgroundTask {
  /**
   * The command, or the description of a sub-agent, on one line.
   */
  command: string;
  /**
   * Last lines of its output, if any. The decoder leaves this empty.
   */
  last_lines: string | null;
  /**
   * File with its output, if the agent named it.
   */
  output_file: string | null;
}
/**
 * Questions that an agent would have asked a person.
 */
export interface Questions {
  /**
   * Number of answered questions.
   */
  answered: number;
  /**
   * Number of those answered by a default, because no configured answer matched.
   */
  by_default: number;
}
/**
 * Tokens and cost. Costs appear only here.
 */
export interface EnvelopeUsage {
  /**
   * Input tokens written to the prompt cache.
   */
  cache_creation_input_tokens: number;
  /**
   * Input tokens read from the prompt cache.
   */
  cache_read_input_tokens: number;
  /**
   * The part of the cost that Longhaul estimates, for processes that ended without reporting theirs.
   */
  estimated_cost_usd: Dollars;
  /**
   * Input tokens that no cache served.
   */
  input_tokens: number;
  /**
   * Output tokens, thinking included.
   */
  output_tokens: number;
  /**
   * Reported cost plus estimated cost.
   */
  total_cost_usd: Dollars;
  /**
   * Estimated tokens of truncated messages. The counts above do not include them.
   */
  truncated_tokens: number;
  /**
   * Whether some tokens have no known price.
   */
  unpriced: boolean;
}
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
/**
 * Description of a run that is not started. JSON keys are only added, never removed.
 */
export interface DryRun {
  /**
   * Origins of the settings that flags or the configuration changed.
   */
  changed: {
    [k: string]: string;
  };
  /**
   * Commands that would check the work.
   */
  checks: string[];
  /**
   * Command that would start the agent.
   */
  command: Command;
  /**
   * Changes of the agent's environment.
   */
  env: Env;
  /**
   * Guards, and prepared answers to the agent's questions. The keys are those of a plan.
   */
  guards: {
    [k: string]: string[];
  };
  /**
   * Request for a summary of older work, for a handoff to a fresh session. `None` if no summary is requested.
   */
  handoff_summary: HandoffSummary | null;
  /**
   * Effective policy.
   */
  policy: Policy;
  /**
   * Preset of the policy.
   */
  preset: string;
  /**
   * Reviewer that would read the work after these commands. `None` without one.
   */
  review: ReviewRun | null;
  /**
   * Content of the agent's standard input.
   */
  stdin: string;
  /**
   * Worst case of the policy.
   */
  worst_case: WorstCase;
}
/**
 * A program, its arguments and its working directory.
 */
export interface Command {
  /**
   * Arguments of the program.
   */
  args: string[];
  /**
   * Working directory of the program.
   */
  cwd: string;
  /**
   * Path of the program.
   */
  program: string;
}
/**
 * Differences between the agent's environment and that of Longhaul.
 */
export interface Env {
  /**
   * Names of variables that are removed.
   */
  removed: string[];
  /**
   * Variables that are added.
   */
  set: Variable[];
}
export interface Variable {
  /**
   * Name of the variable.
   */
  name: string;
  /**
   * Value of the variable.
   */
  value: string;
}
/**
 * Request to a model for a summary of older work.
 */
export interface HandoffSummary {
  /**
   * Command as it would be typed.
   */
  command: string;
  /**
   * Model to ask.
   */
  model: string;
  /**
   * Timeout of the request.
   */
  timeout_ms: Span;
}
/**
 * The behavior of a run. It is fixed when the run starts and stored in its plan.
 */
export interface Policy {
  /**
   * Whether denied tools are accepted as part of the work.
   */
  allow_denials: boolean;
  /**
   * Timeout of one attempt. `None` if unlimited.
   */
  attempt_timeout: Span | null;
  /**
   * Effect of an attempt's timeout on the run.
   */
  attempt_timeout_action: TimeoutAction;
  /**
   * Number of attempts before the run gives up, regardless of progress. A user who resumes the run grants as many again.
   */
  attempts_max: number;
  /**
   * Longest time that background shells may outlive the result.
   */
  background_wait: Span;
  /**
   * Schedule of waits between attempts.
   */
  backoff: Backoff;
  /**
   * Checks after a done claim. `None` accepts the claim without a check.
   */
  checks: Checks | null;
  /**
   * Cap on waits early in an outage of an overloaded API. Most such outages are short.
   */
  early_overload_cap: Span;
  /**
   * Length of the early part of an outage.
   */
  early_overload_period: Span;
  /**
   * Grace period for an agent without an open exchange to exit on its own.
   */
  exit_timeout: Span;
  /**
   * Summary of older work in a handoff prompt. `None` lists older work in one line per step.
   */
  handoff_summary: HandoffSummary2 | null;
  /**
   * Number of the agent's own retries of one request, set in its environment.
   */
  inner_retries: number;
  /**
   * Keep-going settings for an agent that stops on its own. `None` finishes the run after such a stop.
   */
  keep_going: KeepGoing | null;
  /**
   * Limits over all attempts.
   */
  limits: Limits;
  /**
   * Longest wait for the reset of a usage window. `None` if unlimited.
   */
  max_reset_wait: Span | null;
  /**
   * Effect on the run if its supervisor receives SIGTERM or SIGHUP.
   */
  on_terminate: OnTerminate & string;
  /**
   * Longest silence of an agent without a supervisor, after which a watchdog stops it. `None` starts no watchdog, as in plans of versions without one. The core makes no decision from it.
   */
  orphan_timeout: Span | null;
  /**
   * Bound on waiting for 429, 5xx, 529 and network faults.
   */
  outage_bound: OutageBound;
  /**
   * Whether progress (a completed exchange or tool call) resets the count of failures.
   */
  progress_resets_retries: boolean;
  /**
   * Longest time without a completed message or tool call and with no tool running, whatever else the agent sends. `None` if unlimited, as in plans of versions without this timeout.
   */
  progress_timeout: Span | null;
  /**
   * Jitter after a known reset, so that many runs do not resume at the same moment.
   */
  reset_jitter: Span;
  /**
   * Number of failed attempts in a row, without progress, before the run gives up.
   */
  retries_max: number;
  /**
   * Reaction to a missing session, named by the user or lost during the run.
   */
  session_loss: SessionLoss;
  /**
   * Longest silence of an agent with no tool running. `None` if unlimited.
   */
  stall_timeout: Span | null;
  /**
   * Grace period after a stop before the next, harder one.
   */
  stop_grace: Span;
  /**
   * Reserve for the wrap-up. `None` stops the agent without a wrap-up, as in plans of versions without limits.
   */
  wrap_up: WrapUp | null;
}
/**
 * A schedule of waits: `jitter(min(cap, base · 2^n))`.
 */
export interface Backoff {
  /**
   * The first wait.
   */
  base: Span;
  /**
   * The longest wait.
   */
  cap: Span;
  /**
   * Random spread of each wait.
   */
  jitter: Jitter;
}
/**
 * The checks of a run and their limits.
 */
export interface Checks {
  /**
   * Commands in shell syntax. They run in order, and the first failure decides.
   */
  commands: string[];
  /**
   * Number of failed checks after which the run ends.
   */
  failures_max: number;
  /**
   * Review of the work, once every command has passed. `None` without one.
   */
  review?: Review | null;
  /**
   * Time limit of one check, for all of its commands together. `None` if unlimited.
   */
  timeout: Span | null;
}
/**
 * How a model reviews the work.
 */
export interface Review {
  /**
   * The model, as the agent names it. `None` for the model of the run.
   */
  model: string | null;
  /**
   * Timeout of one reviewer process. After it, the reviewer is started again, a bounded number of times.
   */
  timeout: Span;
}
/**
 * How a model summarizes older work for a handoff prompt.
 */
export interface HandoffSummary2 {
  /**
   * The model, as the agent names it.
   */
  model: string;
  /**
   * Timeout of the summary. After it, the handoff prompt is sent without the summary.
   */
  timeout: Span;
}
/**
 * Settings of keep-going.
 */
export interface KeepGoing {
  /**
   * Last line of a message with which the agent claims that the work is done. `None` if no line does.
   */
  done_when?: string | null;
  /**
   * Whether the agent gets a tool to claim that the work is done, if a program serves it.
   */
  finish_tool: boolean;
  /**
   * Number of stops in a row without a change to the workspace after which the run ends.
   */
  idle_stops_max: number;
  /**
   * Whether to ask for more than the task: to improve the work until nothing is left to improve.
   */
  keep_improving: boolean;
  /**
   * Number of stops between two status reports to the agent. 0 disables them.
   */
  status_every: number;
}
/**
 * Limits of a run over all its attempts. `None` is unlimited.
 */
export interface Limits {
  /**
   * Maximum cost.
   */
  budget?: Usd | null;
  /**
   * Maximum resident memory of all its processes, in bytes.
   */
  memory?: number | null;
  /**
   * Maximum time that the run works, without waits, parks and downtime.
   */
  time?: Span | null;
  /**
   * Maximum number of tokens, of every kind.
   */
  tokens?: number | null;
  /**
   * Maximum number of model responses, without those of sub-agents.
   */
  turns?: number | null;
  /**
   * Maximum time since the run started, without the time in which it was finished.
   */
  wall?: Span | null;
}
/**
 * The reserve of a limit, in which the agent can save its work.
 */
export interface WrapUp {
  /**
   * Reserve of a time limit. `None` is a tenth of it, from 30 s to 5 min.
   */
  reserve: Span | null;
}
/**
 * Reviewer of the work.
 */
export interface ReviewRun {
  /**
   * Command as it would be typed.
   */
  command: string;
  /**
   * Model of the reviewer. `None` for the model that the agent chooses.
   */
  model: string | null;
  /**
   * Maximum number of reviewer processes of one check that fail for another reason than an outage.
   */
  processes_max: number;
  /**
   * Timeout of one reviewer process.
   */
  timeout_ms: Span;
  /**
   * Maximum number of turns of one reviewer process.
   */
  turns_max: number;
}
/**
 * The worst case of one stretch without progress.
 */
export interface WorstCase {
  /**
   * Longest single wait, except for the reset of a usage window.
   */
  longest_backoff_ms: Span;
  /**
   * Longest wait for a reset. `None` if it is only bounded by the window.
   */
  longest_park_ms: Span | null;
  /**
   * Requests to the API. `None` if unlimited.
   */
  requests_without_progress: number | null;
  /**
   * Elapsed time, with the longest waits and one reset. `None` if unlimited.
   */
  wall_without_progress_ms: Span | null;
}
/**
 * A run, as printed. JSON keys are only added, never removed.
 */
export interface Show {
  /**
   * Time spent working.
   */
  active_ms: Span;
  /**
   * The agent.
   */
  agent: AgentInfo;
  /**
   * Attempts, oldest first.
   */
  attempts: Attempt[];
  /**
   * Changes in the workspace. `None` if the run is not finished or the changes were not recorded.
   */
  changed: DiffStat | null;
  /**
   * Checks and their results.
   */
  checks: Check[];
  /**
   * Working directory of the agent.
   */
  cwd: string;
  /**
   * Run directory.
   */
  dir: string;
  /**
   * Downtime: the machine slept, or no supervisor was running and the agent was idle.
   */
  downtime_ms: Span;
  ended_at: Rfc3339 | null;
  /**
   * Errors of a finished run that is not done: first the reason, then the end of a failed check and the agent's own messages.
   */
  errors: string[];
  /**
   * Estimated cost of usage for which the agent reported no cost.
   */
  estimated_cost_usd: Dollars;
  /**
   * Fault that caused the outcome.
   */
  fault: Fault | null;
  /**
   * Sizes of the run's files.
   */
  files: RunFiles;
  /**
   * Id of the run.
   */
  id: string;
  /**
   * Limit that finished the run.
   */
  limit: Limit | null;
  /**
   * The limits that are set.
   */
  limits: LimitStatus[];
  /**
   * Name given by the user.
   */
  name: string | null;
  /**
   * What happens next.
   */
  next: NextStep;
  /**
   * Outcome. `None` if the run is not finished.
   */
  outcome: OutcomeKind | null;
  /**
   * Number of takeovers from a dead supervisor.
   */
  recoveries: number;
  /**
   * Cost reported by the agent.
   */
  reported_cost_usd: Dollars;
  /**
   * When a retry makes sense (`retry_later`).
   */
  retry_at: Rfc3339 | null;
  /**
   * Session that can be resumed.
   */
  session_id: string | null;
  started_at: Rfc3339 | null;
  /**
   * Whether a supervisor is attached.
   */
  supervised: boolean;
  /**
   * Start of the prompt, on one line.
   */
  task: string;
  /**
   * Tokens of completed messages.
   */
  tokens: Tokens;
  /**
   * Cost reported by the agent plus cost estimated by Longhaul.
   */
  total_cost_usd: Dollars;
  /**
   * Estimated tokens of truncated messages. They are not included in the other counts.
   */
  truncated_tokens: number;
  /**
   * Turns in the main conversation.
   */
  turns: number;
  /**
   * Whether some tokens have no known price. The costs are then lower bounds.
   */
  unpriced: boolean;
  /**
   * Upper bound of the total time without a supervisor.
   */
  unsupervised_ms: Span;
  /**
   * Proof that the work is done: `checks`, `review` if a reviewer was the only check, or `none` if no check was set or the work is not done.
   */
  verified: Verified;
  /**
   * Time spent waiting, with no process running.
   */
  waiting_ms: Span;
  /**
   * Time since the start, without the time between finish and resume.
   */
  wall_ms: Span;
}
/**
 * The agent of a run. Unknown values are `None`.
 */
export interface AgentInfo {
  /**
   * Model reported by the agent.
   */
  model: string | null;
  /**
   * Name of the agent.
   */
  name: string;
  /**
   * Path of its program.
   */
  program: string;
  /**
   * Model requested by the user.
   */
  requested_model: string | null;
  /**
   * Whether the agent uses a subscription, so that costs are what the API would charge. `None` if unknown.
   */
  subscription: boolean | null;
  /**
   * Version reported by the last attempt that reported one.
   */
  version: string | null;
}
/**
 * One attempt.
 */
export interface Attempt {
  /**
   * The agent's first hundred questions.
   */
  answers: AnsweredQuestion[];
  /**
   * Background commands that were stopped together with the agent.
   */
  background_stopped: BackgroundTask[];
  /**
   * Whether the attempt continued the intended conversation. `None` if that is unknown.
   */
  continuity: Continuity | null;
  /**
   * Number of tool calls that guards denied.
   */
  denied_calls: number;
  /**
   * Duration without sleep of the machine. `None` if the attempt is running.
   */
  duration_ms: Span | null;
  /**
   * When the attempt ended. `None` if it is running.
   */
  ended_at: Rfc3339 | null;
  /**
   * Estimated part of the cost.
   */
  estimated_cost_usd: Dollars;
  /**
   * Short evidence of the fault.
   */
  evidence: string | null;
  /**
   * Exit of the process. `unobserved` if no supervisor was running.
   */
  exit: Exit | null;
  /**
   * Fault that ended the attempt. `None` if it did not fail.
   */
  fault: Fault | null;
  /**
   * Number of leftover processes that were stopped.
   */
  leftover_processes: number;
  /**
   * Number of the attempt, starting at 1.
   */
  number: number;
  /**
   * Planned wait after the attempt. `None` if no attempt was to follow.
   */
  planned_wait_ms: Span | null;
  /**
   * How the agent's questions were answered.
   */
  questions: Questions;
  /**
   * Why that strategy was chosen.
   */
  reason: StrategyReason | null;
  /**
   * Remedy for the fault.
   */
  remedy: Remedy | null;
  /**
   * Session that the attempt worked on.
   */
  session: SessionPlan;
  /**
   * Last activity, if the attempt was stopped for a stall.
   */
  stall: StallReport | null;
  /**
   * Number of stalls that were deferred because a process was active.
   */
  stalls_deferred: number;
  /**
   * When the attempt started.
   */
  started_at: Rfc3339;
  /**
   * Why the attempt was first stopped. `None` if it was not.
   */
  stop_cause: StopCause | null;
  /**
   * How the conversation's history reached the attempt. `None` if there was no history.
   */
  strategy: ResumeStrategy | null;
  /**
   * Summary of older work. `None` if none was requested.
   */
  summary: SummaryOutput | null;
  /**
   * Cost of the attempt, without its summary.
   */
  total_cost_usd: Dollars;
  /**
   * Turns in the main conversation.
   */
  turns: number;
  /**
   * Actual wait. `None` if the run is still waiting.
   */
  waited_ms: Span | null;
  /**
   * Stop by the watchdog, after the supervisor died and no other took over.
   */
  watchdog: WatchdogStop | null;
}
/**
 * A question that was answered. Long texts are truncated.
 */
export interface AnsweredQuestion {
  /**
   * The answer the agent received. Empty if there was none.
   */
  answer: string;
  /**
   * Key of the configured answer that matched. `None` if none matched and the default was sent.
   */
  key: string | null;
  /**
   * The agent's question.
   */
  question: string;
}
/**
 * Observations of a silent agent.
 */
export interface StallReport {
  /**
   * Time without a completed message or tool call.
   */
  no_progress_for: Span;
  /**
   * Number of tool calls that were running.
   */
  open_tools: number;
  /**
   * Activity of the run's processes. `None` if they could not be probed.
   */
  processes?: ProcessActivity | null;
  /**
   * Time without any output.
   */
  silent_for: Span;
}
/**
 * The activity of a run's processes, observed for about a second.
 */
export interface ProcessActivity {
  /**
   * State of the agent's own process.
   */
  agent: ProcessState;
  /**
   * Number of children that used the CPU.
   */
  busy_children: number;
  /**
   * Number of other processes with the run marker: tools, hooks, servers and their children.
   */
  children: number;
  /**
   * Number of open network connections of all processes.
   */
  connections: number;
}
/**
 * A summary of older work, made for an attempt.
 */
export interface SummaryOutput {
  /**
   * Result of the request.
   */
  outcome: SummaryResult;
  /**
   * Cost of the request.
   */
  total_cost_usd: Dollars;
}
/**
 * A stop of the agent by the watchdog. No supervisor observed it.
 */
export interface WatchdogStop {
  /**
   * When the watchdog started to stop the agent.
   */
  at: Rfc3339;
  /**
   * Number of stopped processes. `None` if the watchdog died before they had exited.
   */
  processes_stopped: number | null;
  /**
   * How long the agent had been silent by then, in milliseconds without the machine's sleep.
   */
  silent_ms: Span;
}
/**
 * The size of a change.
 */
export interface DiffStat {
  /**
   * Deleted lines of text.
   */
  deletions: number;
  /**
   * Files that were added, deleted, changed or renamed.
   */
  files: number;
  /**
   * Added lines of text.
   */
  insertions: number;
}
/**
 * One check of the work.
 */
export interface Check {
  /**
   * When the check started.
   */
  at: Rfc3339;
  /**
   * Duration of the check.
   */
  duration_ms: Span | null;
  /**
   * Number of the check, starting at 1.
   */
  number: number;
  /**
   * Path of the output of its commands, with the findings of the reviewer.
   */
  output: string;
  /**
   * Result. `None` if the check is running.
   */
  result: CheckResult | null;
  /**
   * Its review. `None` if no reviewer has started.
   */
  review?: ReviewRow | null;
}
/**
 * The review of a check.
 */
export interface ReviewRow {
  /**
   * Directory of the last one.
   */
  dir: string;
  /**
   * Number of reviewer processes.
   */
  processes: number;
  /**
   * Result of its last reviewer. `None` if that is running.
   */
  result: ReviewResult | null;
  /**
   * Cost of all of them, as part of the run's cost.
   */
  total_cost_usd: Dollars;
}
/**
 * Sizes of a run's files in bytes. `None` for a missing file.
 */
export interface RunFiles {
  /**
   * Number of texts on noteworthy events.
   */
  diagnostics: number;
  /**
   * `journal.jsonl`.
   */
  journal_bytes: number | null;
  /**
   * `plan.json`.
   */
  plan_bytes: number | null;
  /**
   * Output of the agent, for each attempt.
   */
  streams: StreamSize[];
  /**
   * `logs/transcript.jsonl`.
   */
  transcript_bytes: number | null;
}
/**
 * Size of one attempt's stream.
 */
export interface StreamSize {
  /**
   * Number of the attempt, starting at 1.
   */
  attempt: number;
  /**
   * Size in bytes.
   */
  bytes: number;
}
/**
 * One limit: cost in dollars, time in milliseconds, everything else as a count.
 */
export interface LimitStatus {
  /**
   * The limit.
   */
  limit: Limit;
  /**
   * The limit's value.
   */
  limit_value: number;
  /**
   * Amount remaining.
   */
  remaining: number;
  /**
   * Amount used.
   */
  used: number;
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
 * Tokens of one or more API messages, by billing category.
 */
export interface Tokens {
  /**
   * Input served from the prompt cache.
   */
  cache_read: number;
  /**
   * Input written to the prompt cache.
   */
  cache_write: number;
  /**
   * Input that no cache served.
   */
  input: number;
  /**
   * Output, including thinking.
   */
  output: number;
}
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
   * Number of items above the maximum, which this iteration leaves out.
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
  /**
   * Cost of all runs of the phase that ended, also of those that a newer run of the same item replaced.
   */
  total_cost_usd: Dollars;
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
   * The unfinished runs and the unreadable runs of the last week, newest first.
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
 * An unfinished or unreadable run.
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
   * Whether some usage has no known price, or the journal cannot be read. The cost is then a lower bound.
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
   * Limit of the workflow that stopped it or a run, and that a resume must raise: `budget` or `time`.
   */
  exhausted_limit?: Limit | null;
  /**
   * Current or last iteration, starting at 1; 0 before the first.
   */
  iteration: number;
  /**
   * Maximum number of iterations.
   */
  iterations_max: number;
  /**
   * Run that stopped the workflow by a limit of its own, which no limit of the workflow raises.
   */
  own_limit_run?: RunId | null;
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
 * A setting that the user changed when resuming the run. It never holds a secret: commands are counted, not quoted.
 */
export interface SettingChange {
  /**
   * Previous value: `none` for unlimited or empty, `default` for the agent's own setting.
   */
  from: string;
  /**
   * Its name.
   */
  setting: string;
  /**
   * New value.
   */
  to: string;
}
/**
 * How to start one attempt.
 */
export interface AttemptPlan {
  /**
   * Number of the attempt in its run, starting at 1.
   */
  attempt: number;
  /**
   * Prompt to start with.
   */
  prompt: PromptKind;
  /**
   * Remaining amounts of the run's limits when the attempt was planned.
   */
  remaining?: Remaining;
  /**
   * Session to work on.
   */
  session: SessionPlan;
  /**
   * How the conversation's history reaches the agent. `None` if there is no history, or if the session has not been inspected yet.
   */
  strategy?: ResumeStrategy | null;
  /**
   * Whether a model summarized the older work for this attempt.
   */
  with_summary?: boolean;
}
/**
 * Content of the prompt for an agent that stopped on its own.
 */
export interface KeepGoingPrompt {
  /**
   * Time that the run has worked. `None` if the prompt contains no status report.
   */
  active_time?: Span | null;
  /**
   * Whether to ask for more than the task.
   */
  keep_improving?: boolean;
  /**
   * Whether to warn, once, that a limit is near.
   */
  limit_near?: boolean;
  /**
   * Ordinal of this stop, starting at 1.
   */
  stop_number: number;
}
/**
 * Remaining amounts of the limits that are set.
 */
export interface Remaining {
  /**
   * Remaining budget.
   */
  budget?: Usd | null;
  /**
   * Remaining time, of the time limit that is reached first if the run works without a pause.
   */
  time?: Span | null;
  /**
   * Remaining turns.
   */
  turns?: number | null;
}
/**
 * The usage of one attempt, from its stream.
 */
export interface Usage {
  /**
   * Cost that Longhaul estimated for messages without a reported cost.
   */
  estimated_cost: Usd;
  /**
   * Number of completed messages.
   */
  messages: number;
  /**
   * Cost that the vendor reported for this process.
   */
  reported_cost: Usd;
  /**
   * Tokens of completed messages. Each message counts once.
   */
  tokens: Tokens;
  /**
   * Number of truncated messages.
   */
  truncated_messages: number;
  /**
   * Tokens of truncated messages: an estimate.
   */
  truncated_tokens: Tokens;
  /**
   * Number of completed messages in the main conversation, as counted by the limit on turns. Messages of sub-agents are excluded.
   */
  turns?: number;
  /**
   * Whether some tokens have no price, because their model is in no price table.
   */
  unpriced: boolean;
}
/**
 * A process, identified so that a reused PID is not mistaken for it.
 */
export interface ProcessId {
  /**
   * Process id.
   */
  pid: number;
  /**
   * Start time in the kernel's clock ticks since boot (field 22 of `/proc/PID/stat`). On macOS, the number that the kernel gives to this process only (`p_uniqueid`).
   */
  start_ticks: number;
}
/**
 * The end of an attempt.
 */
export interface AttemptEnd {
  /**
   * Number of background commands and sub-agents that ended with the process. `background.json` has their names.
   */
  background?: number;
  /**
   * Whether the attempt continued the intended conversation. `None` if that could not be read.
   */
  continuity?: Continuity | null;
  /**
   * Number of calls that Longhaul's guards denied.
   */
  denied_calls?: number;
  /**
   * Evidence, kept for an unknown fault and for an agent that refused to start.
   */
  evidence?: Evidence | null;
  /**
   * Fault of the attempt. `None` if it succeeded.
   */
  fault: Fault | null;
  /**
   * Next step, once no process of the attempt is left.
   */
  next: AfterAttempt;
  /**
   * Counts of the agent's questions.
   */
  questions?: Questions;
  /**
   * Last result, if there was one.
   */
  result: AgentResult | null;
  /**
   * Usage of the attempt, without its summary.
   */
  usage: Usage;
}
/**
 * Everything that decides why an attempt ended.  `classify` reads the fields from top to bottom: later evidence never overrides earlier evidence.
 */
export interface Evidence {
  /**
   * Number of background commands and sub-agents that ended with the process.
   */
  background?: number;
  /**
   * Whether the agent claimed in its last exchange that the work is done, by tool or by line.
   */
  claimed_done?: boolean;
  /**
   * Whether the attempt continued the session's history. `None` if that cannot be read. The supervisor sets it, because it has the session's file.
   */
  continuity?: Continuity | null;
  /**
   * Number of calls that Longhaul's guards denied.
   */
  denied_calls?: number;
  /**
   * Whether an exchange had started after that result. If so, the result is not the end.
   */
  exchange_open: boolean;
  /**
   * How the process ended.
   */
  exit: Exit;
  /**
   * Whether a hook gave no verdict or was cancelled without an answer.
   */
  guard_lapsed: boolean;
  /**
   * Whether sub-agents are among them.
   */
  lost_sub_agents?: boolean;
  /**
   * Whether an exchange or a tool call was completed, with or without a running supervisor.
   */
  made_progress: boolean;
  /**
   * Whether the kernel or our memory limit killed it.
   */
  oom_killed: boolean;
  /**
   * Counts of the agent's questions.
   */
  questions?: Questions;
  /**
   * Last reported state of the account's usage window.
   */
  rate_limit: RateLimit | null;
  /**
   * Last result of the process, if there was one.
   */
  result: AgentResult | null;
  /**
   * Number of exchanges that ended with a result.
   */
  results?: number;
  /**
   * Verdict in the structured answer of a reviewer. `None` for every other process.
   */
  review?: ReviewVerdict | null;
  /**
   * Session id from the stream. `None` if the agent died before it reported one.
   */
  session: SessionId | null;
  /**
   * Whether the agent chooses the ids of its sessions, so that a new session has an id that no plan knows.
   */
  session_named_by_agent?: boolean;
  /**
   * Reason why it could not be started or refused to start.
   */
  startup: StartupError | null;
  /**
   * Reason why Longhaul stopped the agent, if it did. The run sets it, not the dialect.
   */
  stop_cause: StopCause | null;
  /**
   * Usage of the attempt.
   */
  usage: Usage;
  /**
   * Fingerprint of the workspace at the end, if it was read. The supervisor sets it.
   */
  workspace_fingerprint?: number | null;
}
/**
 * The state of the account's usage window.
 */
export interface RateLimit {
  /**
   * Moment at which the window resets, if reported.
   */
  resets_at: Moment | null;
  /**
   * Whether requests pass.
   */
  status: RateLimitStatus;
}
/**
 * The vendor's result at the end of an exchange, in closed enums.
 */
export interface AgentResult {
  /**
   * Vendor's typed API error.
   */
  api_error: ApiError | null;
  /**
   * HTTP status of an API error.
   */
  api_status: number | null;
  /**
   * Number of tools denied by anything except our guards and the user's hooks.
   */
  denials: number;
  /**
   * Whether the answer is empty.
   */
  empty: boolean;
  /**
   * Vendor's own verdict. On its own it proves nothing.
   */
  is_error: boolean;
  /**
   * Error on the last synthetic message.
   */
  message_error: MessageError | null;
  /**
   * Whether the cap on a stop hook's blocks ended the exchange.
   */
  stop_hook_capped: boolean;
  /**
   * Reason why the model stopped.
   */
  stop_reason: StopReason;
  /**
   * Reason why the exchange ended.
   */
  terminal_reason: TerminalReason;
}
/**
 * The verdict in a reviewer's structured answer.
 */
export interface ReviewVerdict {
  /**
   * Whether the reviewer considers the task complete.
   */
  complete: boolean;
  /**
   * Number of missing things that it lists.
   */
  missing: number;
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
export interface Decision2 {
  /**
   * Time of the decision.
   */
  at: Rfc3339;
  /**
   * Id of the run.
   */
  run: RunId;
  /**
   * Number of the record in its run, starting at 1. Each number occurs once.
   */
  seq: number;
  /**
   * Distinguishes the line from the agent's own.
   */
  type: StreamType;
}
/**
 * The result of a run. All keys except `run` are those of Claude Code.
 */
export interface RunResult {
  /**
   * Time from start to finish of the run, waits included.
   */
  duration_ms: Span;
  /**
   * Errors, for people. Empty only if the work is done.
   */
  errors: string[];
  /**
   * Whether the work is not done. False only for the outcome `done`.
   */
  is_error: boolean;
  /**
   * Tokens and cost of the whole run, by model.
   */
  modelUsage: {
    [k: string]: ResultModelUsage;
  };
  /**
   * Turns in the main conversation, of all attempts.
   */
  num_turns: number;
  /**
   * The agent's last answer. It is partial if the run did not finish.
   */
  result: string | null;
  /**
   * Everything specific to Longhaul.
   */
  run: ResultRun;
  /**
   * The session that can be resumed.
   */
  session_id: string | null;
  /**
   * Kind of result. `run.outcome` is more precise.
   */
  subtype: ResultSubtype;
  /**
   * Reported cost plus estimated cost, of the whole run.
   */
  total_cost_usd: Dollars;
  /**
   * Distinguishes the line from all others of the stream.
   */
  type: ResultType;
  /**
   * Tokens of the whole run.
   */
  usage: TokenUsage;
}
/**
 * Tokens and cost of one model.
 */
export interface ResultModelUsage {
  /**
   * Input tokens written to the prompt cache.
   */
  cacheCreationInputTokens: number;
  /**
   * Input tokens read from the prompt cache.
   */
  cacheReadInputTokens: number;
  /**
   * Reported cost plus estimated cost.
   */
  costUSD: Dollars;
  /**
   * Input tokens that no cache served.
   */
  inputTokens: number;
  /**
   * Output tokens, thinking included.
   */
  outputTokens: number;
}
/**
 * The run, as in the envelope, with the keys of its `usage` that Claude Code does not have.
 */
export interface ResultRun extends RunInfo {
  /**
   * The part of the cost that Longhaul estimates, for processes that ended without reporting theirs.
   */
  estimated_cost_usd: Dollars;
  /**
   * Estimated tokens of truncated messages. The counts above do not include them.
   */
  truncated_tokens: number;
  /**
   * Whether some tokens have no known price.
   */
  unpriced: boolean;
}
/**
 * Tokens, with the keys of Claude Code.
 */
export interface TokenUsage {
  /**
   * Input tokens written to the prompt cache.
   */
  cache_creation_input_tokens: number;
  /**
   * Input tokens read from the prompt cache.
   */
  cache_read_input_tokens: number;
  /**
   * Input tokens that no cache served.
   */
  input_tokens: number;
  /**
   * Output tokens, thinking included.
   */
  output_tokens: number;
}
/**
 * Timeline of a run. Output of the command.
 */
export interface Why {
  /**
   * Noteworthy events, oldest first.
   */
  entries: EntryWithText[];
  /**
   * Errors of a finished run that is not done: first the reason, then the end of a failed check and the agent's own messages.
   */
  errors: string[];
  /**
   * Fault that caused the outcome.
   */
  fault: Fault | null;
  /**
   * Id of the run.
   */
  id: string;
  /**
   * What happens next.
   */
  next: NextStep;
  /**
   * Outcome. `None` if the run is not finished.
   */
  outcome: OutcomeKind | null;
}
/**
 * One or more attempts that ended.
 */
export interface AttemptsEnded {
  /**
   * Number of the first attempt, starting at 1.
   */
  attempt: number;
  /**
   * Background commands that were stopped with the agent.
   */
  background_stopped: BackgroundTask[];
  /**
   * Whether a check follows.
   */
  check_follows: boolean;
  /**
   * Whether the attempt ended with an accepted done claim.
   */
  claimed_done: boolean;
  /**
   * Number of tool calls that guards denied.
   */
  denied_calls: number;
  /**
   * Evidence for the fault, as text.
   */
  evidence: string | null;
  /**
   * How the process ended. `unobserved` if no supervisor was there.
   */
  exit: Exit | null;
  /**
   * Why they failed. `None` if they did not.
   */
  fault: Fault | null;
  /**
   * Whether it had to be killed.
   */
  killed: boolean;
  /**
   * Number of the last attempt. The same as the first for a single one.
   */
  last_attempt: number;
  /**
   * Number of leftover processes that had to be stopped.
   */
  leftover_processes: number;
  /**
   * Planned wait, in total.
   */
  planned_wait_ms: Span | null;
  /**
   * Number of questions that were answered.
   */
  questions: number;
  /**
   * Remedy for the fault. `None` if no attempt follows.
   */
  remedy: Remedy | null;
  /**
   * Last result of the agent.
   */
  result: AgentResult | null;
  /**
   * When the first attempt started.
   */
  since: Rfc3339;
  /**
   * Why Longhaul stopped it, if it did.
   */
  stop_cause: StopCause | null;
  /**
   * Actual wait, in total. `None` while the run waits.
   */
  waited_ms: Span | null;
  /**
   * End of the wait, while the run waits.
   */
  waiting_until: Rfc3339 | null;
  work: WorkDone;
}
/**
 * The work of one or more attempts.
 */
export interface WorkDone {
  duration_ms: Span;
  /**
   * Estimated part of the cost.
   */
  estimated_cost_usd: Dollars;
  /**
   * Number of tool calls. `None` if they were not counted.
   */
  tool_calls: number | null;
  /**
   * Reported cost plus estimated cost.
   */
  total_cost_usd: Dollars;
  /**
   * Turns in the main conversation.
   */
  turns: number;
}
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
 * Cost of a run that the user resumed on its own.
 */
export interface RunCost {
  /**
   * Cost of the run, over all its attempts and resumes.
   */
  cost: Usd;
  /**
   * Key of the run.
   */
  run: RunKey;
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

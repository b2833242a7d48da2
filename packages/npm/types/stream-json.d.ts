// Generated from docs/schemas/stream-json.schema.json by dev/generate-types.mjs.

/**
 * A record of the run between the agent's own events.
 */
export type Decision = {
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
} & (
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
       * The user's request.
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
       * Time of the last record of the dead supervisor, which died then or later.
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
  | {
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
      record: 'attempt_ended';
      /**
       * Last result, if there was one.
       */
      result: AgentResult | null;
      /**
       * Usage of the attempt.
       */
      usage: Usage;
    }
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
    }
);
/**
 * A point in time in UTC, in RFC 3339, such as 2026-11-22T15:08:38.120Z
 */
export type Rfc3339 = string;
/**
 * The id of a run: short random letters. Any unique prefix addresses it.
 */
export type RunId = string;
export type StreamType = 'longhaul';
/**
 * The prompt that the user requests when resuming a run.
 */
export type ResumeRequest =
  | 'continue'
  | 'repeat_task'
  | {
      prompt: string;
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
 * A short prompt on the same session, sent after an unusable answer rather than after a fault of the environment.
 */
export type Nudge = 'answer' | 'smaller_steps';
/**
 * A limit that ends a run.
 */
export type Limit = 'budget' | 'tokens' | 'time' | 'wall' | 'turns' | 'attempts';
/**
 * A length of time in milliseconds.
 */
export type Span = number;
/**
 * An amount of US dollars, in micro-dollars (one millionth).
 */
export type Usd = number;
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
 * How the history of a conversation reaches an attempt.
 */
export type ResumeStrategy = 'as_is' | 'relocate' | 'repair' | 'fork' | 'handoff' | 'fresh';
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
 * The result of a summary.
 */
export type SummaryResult =
  | 'written'
  | 'not_needed'
  | {
      failed: Fault;
    };
/**
 * A threshold of a limit: how much of it is used.
 */
export type LimitThreshold = 'reserve' | 'exhausted';
/**
 * How hard to stop the agent. If it does not react to one level within the grace period, the next level follows.
 */
export type StopLevel = 'interrupt' | 'term' | 'kill';
/**
 * The state of a process.
 */
export type ProcessState = 'idle' | 'busy' | 'blocked' | 'frozen';
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
 * The source of a request to stop the run.
 */
export type CancelSource = 'person' | 'person_now' | 'sigterm' | 'sighup';
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
 * The result of a check.
 */
export type CheckResult = 'passed' | 'failed' | 'needs_person' | 'stopped';

/**
 * A setting that the user changed when resuming the run. It never holds a secret: commands are counted, not quoted.
 */
export interface SettingChange {
  /**
   * Previous value: `none` for unlimited or empty, `default` for the agent's own setting.
   */
  from: string;
  /**
   * Name of its flag, with `_`.
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

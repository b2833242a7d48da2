// Generated from docs/schemas/why.schema.json by dev/generate-types.mjs.

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
/**
 * A point in time in UTC, in RFC 3339, such as 2026-11-22T15:08:38.120Z
 */
export type Rfc3339 = string;
/**
 * A length of time in milliseconds.
 */
export type Span = number;
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
 * US dollars
 */
export type Dollars = number;
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
 * A threshold of a limit: how much of it is used.
 */
export type LimitThreshold = 'reserve' | 'exhausted';
/**
 * The state of a process.
 */
export type ProcessState = 'idle' | 'busy' | 'blocked' | 'frozen';
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
 * The result of a check.
 */
export type CheckResult = 'passed' | 'failed' | 'needs_person' | 'stopped';
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
 * A point in time: milliseconds since the Unix epoch.
 */
export type Moment = number;

/**
 * Timeline of a run. Output of the command.
 */
export interface Why {
  /**
   * Noteworthy events, oldest first.
   */
  entries: EntryWithText[];
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

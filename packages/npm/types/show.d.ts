// Generated from docs/schemas/show.schema.json by dev/generate-types.mjs.

/**
 * A length of time in milliseconds.
 */
export type Span = number;
/**
 * How the conversation of an ended attempt relates to the one that it resumed.
 */
export type Continuity = 'continued' | 'unchanged' | 'branched' | 'unrelated';
/**
 * A point in time in UTC, in RFC 3339, such as 2026-11-22T15:08:38.120Z
 */
export type Rfc3339 = string;
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
 * A limit that ends a run.
 */
export type Limit = 'budget' | 'tokens' | 'time' | 'wall' | 'turns' | 'attempts';
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
 * The proof that the work of a run is done.
 */
export type Verified = 'checks' | 'review' | 'none';

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
   * Time in which nothing ran: the machine slept, or no supervisor was running.
   */
  downtime_ms: Span;
  ended_at: Rfc3339 | null;
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

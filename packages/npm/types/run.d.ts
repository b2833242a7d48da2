// Generated from docs/schemas/run.schema.json by dev/generate-types.mjs.

/**
 * A length of time in milliseconds.
 */
export type Span = number;
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
 * A point in time in UTC, in RFC 3339, such as 2026-11-22T15:08:38.120Z
 */
export type Rfc3339 = string;
/**
 * The proof that the work of a run is done.
 */
export type Verified = 'checks' | 'review' | 'none';
/**
 * US dollars
 */
export type Dollars = number;

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
   * Time in which nothing ran: the machine slept, or the run had no supervisor.
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

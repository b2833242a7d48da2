// Generated from docs/schemas/run-dry-run.schema.json by dev/generate-types.mjs.

/**
 * A length of time in milliseconds.
 */
export type Span = number;
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
 * Description of a run that is not started. JSON keys are only added, never removed.
 */
export interface DryRun {
  /**
   * Origins of the policy values that were set.
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

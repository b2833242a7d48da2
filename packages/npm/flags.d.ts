// Generated from packages/flags.json by dev/generate-types.mjs.
import type { Amount, Duration, Mapping } from './options.js';

/** Flags of `longhaul run`, `longhaul resume`, `longhaul loop`. */
export interface AgentFlags {
  /** The model, as the agent names it */
  model?: string;
  /** The agent's permission mode [default: your settings of the agent] */
  permissionMode?: string;
  /** The agent's program [default: `claude`, on PATH or where its installers put it] */
  agentPath?: string;
  /** Allow the agent only these tools, such as `Read` or `mcp__github__*` */
  allowTools?: string | string[];
  /** Deny the agent these tools, whatever else permits them */
  denyTools?: string | string[];
  /** Verify the work with this shell command when the agent reports that it is done; repeatable */
  check?: string | string[];
  /** Retries in a row without progress [default: 5] */
  maxRetries?: Amount;
  /** Maximum number of attempts, after which the run fails [default: 1000] */
  maxAttempts?: Amount;
  /** First wait between attempts; the later ones double [default: 2s] */
  retryBase?: Duration;
  /** Longest wait between attempts [default: 5m] */
  retryCap?: Duration;
  /** Random spread of waits: full, none, or a percentage [default: full] */
  retryJitter?: string;
  /** Maximum length of one API outage, from its first failure [default: 6h] */
  outageLimit?: Duration;
  /** Maximum duration of one attempt [default: none] */
  attemptTimeout?: Duration;
  /** Maximum silence of the agent while no tool runs [default: 7m] */
  stallTimeout?: Duration;
  /** Maximum time without a finished message or tool call [default: 2h20m] */
  progressTimeout?: Duration;
  /** Maximum silence of the agent of an orphaned run; then a watchdog stops it [default: 1h] */
  orphanTimeout?: Duration;
  /** Maximum wait for a usage window's reset; a later reset finishes the run as `retry_later` [default: 192h] */
  maxResetWait?: Duration;
  /** Time that background commands may outlive the result [default: 10m] */
  backgroundWait?: Duration;
  /** Retries of one request inside the agent [default: 4] */
  innerRetries?: Amount;
  /** Failed checks after which the run finishes as check_failed [default: 10] */
  maxFailedChecks?: Amount;
  /** Maximum duration of one check, all of its commands together [default: 30m] */
  checkTimeout?: Duration;
  /** Have a model review the work when the agent reports that it is done; `none` for no review */
  review?: boolean | string;
  /** Maximum duration of one reviewer [default: 10m] */
  reviewTimeout?: Duration;
  /** On SIGTERM and SIGHUP, `suspend` the run until `longhaul recover`, or `cancel` it [default: suspend] */
  onTerminate?: string;
  /** Count a run with denied tool calls as done */
  allowDenials?: boolean;
}

/** Flags of `longhaul run`, `longhaul resume`. */
export interface LimitFlags {
  /** Run in the background; the run survives this terminal */
  detach?: boolean;
  /** Maximum cost in dollars; `none` means unlimited (as for every limit) [default: none] */
  budget?: Amount;
  /** Maximum number of tokens of every kind, such as 500k or 2M [default: none] */
  maxTokens?: Amount;
  /** Maximum working time; waits between attempts and machine sleep do not count [default: none] */
  timeLimit?: Duration;
  /** Maximum elapsed time, including waits and sleep [default: none] */
  wallLimit?: Duration;
  /** Maximum number of model responses, without those of sub-agents [default: none] */
  maxTurns?: Amount;
  /** Maximum resident memory of the agent's processes, such as 8G [default: none] */
  memoryLimit?: Amount;
}

/** Flags of `longhaul run`. */
export interface RunFlags extends AgentFlags, LimitFlags {
  /** The agent: Claude Code, or any agent that speaks the Agent Client Protocol */
  agent?: 'claude' | 'acp';
  /** Working directory [default: this one] */
  cwd?: string;
  /** UUID of the new session [default: random] */
  sessionId?: string;
  /** Continue this session; an unknown session is an error */
  resume?: string;
  /** Continue this session, or start a new one if it is unknown */
  resumeOrNew?: string;
  /** Maximum size of the handoff prompt, in tokens [default: 12000] */
  handoffTokens?: Amount;
  /** Summarize older work in the handoff prompt with this model */
  handoffSummary?: string;
  /** Token prices that override the bundled ones: a TOML file */
  pricesFile?: string;
  /** More tool calls with side effects that a resumed agent must not repeat: a TOML file */
  effectsFile?: string;
  /** Restrict the agent's commands to these hosts, or `none` */
  network?: string | string[];
  /** Let the agent ask questions, and answer VALUE if KEY matches or occurs in the text */
  answer?: string | string[] | Mapping;
  /** Answers from a JSON or TOML file, for keys that --answer does not name */
  answersFile?: string;
  /** Let the agent ask questions, and answer each with its first option, with a warning */
  answerDefaults?: boolean;
  /** Deny tool calls that name this URL */
  blockUrl?: string | string[];
  /** Deny tool calls that name a URL in this file */
  blockUrlsFile?: string;
  /** Deny tool calls that name this file or directory, or anything below it */
  blockPath?: string | string[];
  /** Keep partial messages in the stream file after the run */
  keepPartialMessages?: boolean;
  /** Write a text file for each noteworthy event to the run's `diagnostic/` */
  diagnostic?: boolean;
  /** Keep the run's directory in `DIR/<date>/<id>` [default: `runs` in `$LONGHAUL_HOME`] */
  runsDir?: string;
  /** Id of the run: letters, digits, `-`, `_` and `.` [default: random letters] */
  runId?: string;
  /** Start this task once, under a key that becomes the run's id */
  key?: string;
  /** With --key: resume the run unless it finished as `done` or `cancelled` */
  retry?: boolean;
  /** With --key: fail if the run is running, instead of following it */
  noAttach?: boolean;
  /** Name of the run; commands accept it for the newest run with this name */
  name?: string;
  /** Print the command, the policy and the worst case; start nothing */
  dryRun?: boolean;
  /** Part of a time limit that is kept for the wrap-up [default: a tenth, from 30s to 5m] */
  wrapUpReserve?: Duration;
  /** Prompt for the wrap-up [default: write down the state of the work, commit, stop] */
  wrapUpPrompt?: string;
  /** Keep no reserve: stop the agent when a limit is reached */
  noWrapUp?: boolean;
  /** Keep prompting the agent until it confirms that the work is done, or a limit is reached */
  keepGoing?: boolean;
  /** Ask for improvements beyond the task [default: if the run may take 24h or more] */
  keepImproving?: boolean;
  /** Also accept this line at the end of the last message, twice in a row, as done */
  doneWhen?: string;
  /** State used and remaining time and cost every N stops; 0 means never [default: 5] */
  statusEvery?: Amount;
  /** Stops in a row without a change in the workspace, after which the run fails [default: 3] */
  maxIdleStops?: Amount;
  /** Give the agent the project's playbook, and learn from its sessions */
  learn?: boolean;
  /** Judge of the sessions: `api` uses your key, `claude` uses Claude Code's login [default: api] */
  learnJudge?: 'api' | 'claude';
  /** Maximum number of playbook tokens per session; the points that match the prompt best come first */
  learnTokens?: Amount;
  /** Policy to start from: default, openclawpack, archon, researchgym, keypoints, drill */
  preset?: string;
  /** Notify when the run finishes, needs a person, or waits longer than 15 minutes; repeatable */
  notify?: string | string[];
  /** Write each decision as a JSON line to FILE, stdout (`-`) or a descriptor (`fd:3`) */
  events?: string;
}

/** Flags of `longhaul resume`. */
export interface ResumeFlags extends AgentFlags, LimitFlags {
  /** Send the original task again */
  repeatTask?: boolean;
  /** Start a new run whose session begins with the history of this one, which stays unchanged */
  fork?: boolean;
  /** Working directory, if the workspace has moved [default: the same] */
  cwd?: string;
  /** New maximum number of iterations, for a workflow */
  maxIterations?: Amount;
  /** Add this many dollars to the budget */
  addBudget?: Amount;
  /** Add this much time to each time limit */
  addTime?: Duration;
  /** Notify when the run finishes, needs a person, or waits longer than 15 minutes; repeatable */
  notify?: string | string[];
  /** Write each decision as a JSON line to FILE, stdout (`-`) or a descriptor (`fd:3`) */
  events?: string;
}

/** Flags of `longhaul recover`. */
export interface RecoverFlags {
  /** Only runs that were active in this last period, such as 7d */
  activeWithin?: Duration;
  /** Notify when the run finishes, needs a person, or waits longer than 15 minutes; repeatable */
  notify?: string | string[];
  /** Write each decision as a JSON line to FILE, stdout (`-`) or a descriptor (`fd:3`) */
  events?: string;
}

/** Flags of `longhaul cancel`. */
export interface CancelFlags {
  /** Do not wait for the agent's result; unfinished work of the agent is lost */
  now?: boolean;
}

/** Flags of `longhaul status`. */
export interface StatusFlags {
  /** Only what works in this directory or below it; repeatable */
  project?: string | string[];
}

/** Flags of `longhaul cost`. */
export interface CostFlags {
  /** Group spending by this */
  by?: 'day' | 'model' | 'project' | 'run' | 'agent' | 'workflow';
  /** Only spending since WHEN: a duration like 12h or 7d, a date, or a time [default: 30d] */
  since?: string;
  /** Show the spending of all time */
  all?: boolean;
}

/** Flags of `longhaul attach`. */
export interface AttachFlags {
  /** Write each decision as a JSON line to FILE, stdout (`-`) or a descriptor (`fd:3`) */
  events?: string;
}

/** Flags of `longhaul loop`. */
export interface LoopFlags extends AgentFlags {
  /** Set a parameter of the workflow; repeatable */
  set?: string | string[] | Mapping;
  /** Text for prompts that quote `focus` */
  focus?: string;
  /** Start the first iteration with this phase */
  from?: string;
  /** Run only this phase */
  only?: string;
  /** Leave out this phase; repeatable */
  skip?: string | string[];
  /** Leave out the phase `review` */
  noReview?: boolean;
  /** Work on this stage of an Archon project [default: as in its PROGRESS.md] */
  stage?: 'autoformalize' | 'prover' | 'polish';
  /** Also keep the agents' own messages in the logs of an Archon project */
  verboseLogs?: boolean;
  /** Maximum number of iterations [default: as in the file] */
  maxIterations?: Amount;
  /** Maximum number of runs at the same time [default: as in the file] */
  maxParallel?: Amount;
  /** One run after another */
  serial?: boolean;
  /** Maximum cost of all runs in dollars; `none` means unlimited [default: as in the file] */
  budget?: Amount;
  /** Maximum working time; parks and time in which every run waits do not count [default: as in the file] */
  timeLimit?: Duration;
  /** Memory that must be available before a run starts [default: as in the file, or 500 MB] */
  memoryReserve?: Amount;
  /** Name of the workflow; commands accept it for the newest workflow with this name */
  name?: string;
  /** Policy to start from: default, openclawpack, archon, researchgym, keypoints, drill */
  preset?: string;
  /** Notify when the run finishes, needs a person, or waits longer than 15 minutes; repeatable */
  notify?: string | string[];
}

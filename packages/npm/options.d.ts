// The options of each command: its flags in camel case. `longhaul COMMAND --help` explains them.

/** `90s`, `5m` or `1h30m`; a bare number is seconds. Limits also accept `none`. */
export type Duration = string | number;
/** An amount; `none` means unlimited. */
export type Amount = number | string;
/** A duration until now, such as `12h` or `7d`, a date, or a time. */
export type When = string;

/** Values by key: `{ depth: 3 }` is `depth=3`. */
export type Mapping = Record<string, string | number | boolean>;

/** Options of every call. */
export interface CallOptions {
  /** Environment of the program and of the agent. Default: `process.env`. */
  env?: Record<string, string | undefined>;
  /** Interrupts the call, as Ctrl-C does. A command that drives a run then cancels the run and returns its result. */
  signal?: AbortSignal;
  profile?: string;
  noConfig?: boolean;
}

/** Options of runs and of workflows. */
interface SharedOptions {
  model?: string;
  permissionMode?: string;
  agentPath?: string;
  allowTools?: string[];
  denyTools?: string[];
  check?: string | string[];
  budget?: Amount;
  timeLimit?: Duration;
  maxRetries?: number;
  maxAttempts?: number;
  retryBase?: Duration;
  retryCap?: Duration;
  retryJitter?: 'full' | 'none' | number | string;
  outageLimit?: Duration;
  attemptTimeout?: Duration;
  stallTimeout?: Duration;
  progressTimeout?: Duration;
  orphanTimeout?: Duration;
  maxResetWait?: Duration;
  backgroundWait?: Duration;
  innerRetries?: number;
  maxFailedChecks?: number;
  checkTimeout?: Duration;
  /** The model of the reviewer, or `true` for the model of the run. */
  review?: boolean | string;
  reviewTimeout?: Duration;
  onTerminate?: 'suspend' | 'cancel';
  allowDenials?: boolean;
  notify?: string | string[];
}

/** Options that a resumed run may change. */
interface ChangeOptions extends SharedOptions {
  maxTokens?: Amount;
  wallLimit?: Duration;
  maxTurns?: Amount;
  memoryLimit?: Amount;
  /** A file, or a descriptor such as `fd:3`; stdout is taken. */
  events?: string;
  cwd?: string;
}

/** Options of `run`. */
export interface RunOptions extends CallOptions, ChangeOptions {
  agent?: 'claude' | 'acp';
  /** Arguments passed to the agent unchanged; with the agent `acp`, its command. */
  agentArgs?: string[];
  sessionId?: string;
  resume?: string;
  resumeOrNew?: string;
  handoffTokens?: number;
  handoffSummary?: string;
  pricesFile?: string;
  effectsFile?: string;
  network?: string | string[];
  answer?: string | string[] | Mapping;
  answersFile?: string;
  answerDefaults?: boolean;
  blockUrl?: string | string[];
  blockUrlsFile?: string;
  blockPath?: string | string[];
  keepPartialMessages?: boolean;
  diagnostic?: boolean;
  runsDir?: string;
  runId?: string;
  key?: string;
  retry?: boolean;
  noAttach?: boolean;
  name?: string;
  detach?: boolean;
  dryRun?: boolean;
  wrapUpReserve?: Duration;
  wrapUpPrompt?: string;
  noWrapUp?: boolean;
  keepGoing?: boolean;
  keepImproving?: boolean;
  doneWhen?: string;
  statusEvery?: number;
  maxIdleStops?: number;
  learn?: boolean;
  learnJudge?: 'api' | 'claude';
  learnTokens?: number;
  preset?: 'default' | 'openclawpack' | 'archon' | 'researchgym' | 'keypoints' | 'drill';
}

/** Options of `resume`. */
export interface ResumeOptions extends CallOptions, ChangeOptions {
  /** A further request. Default: continue. */
  prompt?: string;
  repeatTask?: boolean;
  fork?: boolean;
  maxIterations?: number;
  detach?: boolean;
  addBudget?: number | string;
  addTime?: Duration;
}

/** Options of `recover`. */
export interface RecoverOptions extends CallOptions {
  /** A run or a workflow. Default: every orphaned one. */
  run?: string;
  activeWithin?: Duration;
  notify?: string | string[];
  events?: string;
}

/** Options of `cancel`. */
export interface CancelOptions extends CallOptions {
  /** Do not wait for the agent's result. */
  now?: boolean;
}

/** Options of `status`. */
export interface StatusOptions extends CallOptions {
  /** Only what works in this directory or below it. */
  project?: string | string[];
}

/** Options of `cost`. */
export interface CostOptions extends CallOptions {
  by?: 'day' | 'model' | 'project' | 'run' | 'agent' | 'workflow';
  since?: When;
  all?: boolean;
}

/** Options of `attach`. */
export interface AttachOptions extends CallOptions {
  /** A file, or a descriptor such as `fd:3`; stdout is taken. */
  events?: string;
}

/** Options of `loop`. */
export interface LoopOptions extends CallOptions, SharedOptions {
  /** Directory to work in. Default: this one. */
  project?: string;
  /** Parameters of the workflow. */
  set?: string | string[] | Mapping;
  focus?: string;
  from?: string;
  only?: string;
  skip?: string | string[];
  noReview?: boolean;
  stage?: 'autoformalize' | 'prover' | 'polish';
  verboseLogs?: boolean;
  maxIterations?: number;
  maxParallel?: number;
  serial?: boolean;
  memoryReserve?: Amount;
  name?: string;
  preset?: string;
}

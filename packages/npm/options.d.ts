// The options of each command: its flags in camel case, and those of the functions.
import type {
  AttachFlags,
  CancelFlags,
  CostFlags,
  LoopFlags,
  RecoverFlags,
  ResumeFlags,
  RunFlags,
  StatusFlags,
} from './flags.js';

/** `90s`, `5m`, `1h30m` or `2d`; a bare number is seconds. Limits also accept `none`. */
export type Duration = string | number;
/** An amount, such as `5`, `2M` or `8G`; `none` means unlimited. */
export type Amount = number | string;

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

/** Options of `run`. */
export interface RunOptions extends CallOptions, RunFlags {
  /** Arguments passed to the agent unchanged; with the agent `acp`, its command. */
  agentArgs?: string[];
}

/** Options of `resume`. */
export interface ResumeOptions extends CallOptions, ResumeFlags {
  /** A further request. Default: continue. */
  prompt?: string;
}

/** Options of `recover`. */
export interface RecoverOptions extends CallOptions, RecoverFlags {
  /** A run or a workflow. Default: every orphaned one. */
  run?: string;
}

/** Options of `cancel`. */
export interface CancelOptions extends CallOptions, CancelFlags {}

/** Options of `status`. */
export interface StatusOptions extends CallOptions, StatusFlags {}

/** Options of `cost`. */
export interface CostOptions extends CallOptions, CostFlags {}

/** Options of `attach`. */
export interface AttachOptions extends CallOptions, AttachFlags {}

/** Options of `loop`. */
export interface LoopOptions extends CallOptions, LoopFlags {
  /** Directory to work in. Default: this one. */
  project?: string;
}

import type {
  AttachOptions,
  CallOptions,
  CancelOptions,
  CostOptions,
  LoopOptions,
  RecoverOptions,
  ResumeOptions,
  RunOptions,
  StatusOptions,
} from './options.js';
import type {
  Cost,
  Decision,
  DetachedOutput,
  DryRun,
  Envelope,
  LoopResult,
  RunResult,
  Show,
  ShowWorkflow,
  Status,
  Why,
  WhyWorkflow,
} from './outputs.js';

export type * from './options.js';
export type * from './outputs.js';

/** An event of the agent, unchanged. The agent defines its keys, and may print other types. */
export interface AgentEvent {
  type: 'system' | 'assistant' | 'user' | 'stream_event' | 'rate_limit_event' | 'attempt_result';
  [key: string]: unknown;
}

/** A decision about a workflow. `longhaul schema loop-stream` describes its keys. */
export interface WorkflowEvent {
  type: 'longhaul_workflow';
  [key: string]: unknown;
}

/** A line of `--output-format stream-json`: a decision of Longhaul, an event of the agent, or the result. */
export type RunEvent = Decision | WorkflowEvent | AgentEvent | RunResult;

/**
 * A started run: an iterable of its events, and a promise of its result.
 *
 * - The run starts at once, whether or not its events are read.
 * - The events can be read once, and the first loop gets all of them. Start it before you await the result: a promise
 *   that is awaited first drops the events.
 * - Leaving the loop early does not stop the run. `AbortSignal`, `cancel()` and Ctrl-C do.
 * - The result is the last event. An outcome other than `done` is a result, not an error: see `result.run.outcome`.
 * - If the call has no result, the loop and the promise throw a `LonghaulError`.
 */
export interface Run<Result = RunResult> extends Promise<Result>, AsyncIterable<RunEvent> {}

/**
 * Runs a task to completion: `longhaul run`. The prompt reaches the program over stdin. With `detach` and the `key` of a
 * finished run, resolves with the envelope of that run.
 */
export function run(prompt: string, options: RunOptions & { detach: true }): Promise<DetachedOutput>;
export function run(prompt: string, options: RunOptions & { dryRun: true }): Promise<DryRun>;
export function run(prompt: string, options?: RunOptions): Run;

/** Continues a finished run in its session: `longhaul resume`. For a workflow, name its type: `resume<LoopResult>()`. */
export function resume(run: string, options: ResumeOptions & { detach: true }): Promise<DetachedOutput>;
export function resume<Result extends RunResult | LoopResult = RunResult>(
  run: string,
  options?: ResumeOptions,
): Run<Result>;

/** Takes over runs whose supervisor died: `longhaul recover`. Returns the result of each. */
export function recover<Result extends RunResult | LoopResult = RunResult>(options?: RecoverOptions): Run<Result[]>;

/**
 * Follows a run of another process until it finishes: `longhaul attach`. Default: the latest run. Aborting the signal
 * does not stop the run; the call then throws the reason of the signal. For a workflow, name its type.
 */
export function attach<Result extends RunResult | LoopResult = RunResult>(
  run?: string,
  options?: AttachOptions,
): Run<Result>;

/** Runs a workflow to completion: `longhaul loop`. `file` may also name a built-in workflow. */
export function loop<Result extends RunResult | LoopResult = LoopResult>(
  file: string,
  options?: LoopOptions,
): Run<Result>;

/** Stops a run and everything that it started: `longhaul cancel`. A finished run is an error. */
export function cancel<Result extends Envelope | LoopResult = Envelope>(
  run: string,
  options?: CancelOptions,
): Promise<Result>;

/** Returns the unfinished runs and workflows: `longhaul status`. */
export function status(options?: StatusOptions): Promise<Status>;

/** Returns one run and its attempts: `longhaul show`. Default: the latest run. */
export function show<Result extends Show | ShowWorkflow = Show>(run?: string, options?: CallOptions): Promise<Result>;

/** Explains what happened and what to do next: `longhaul why`. Default: the latest run. */
export function why<Result extends Why | WhyWorkflow = Why>(run?: string, options?: CallOptions): Promise<Result>;

/** Returns the spending: `longhaul cost`. */
export function cost(options?: CostOptions): Promise<Cost>;

/** A call without a result: wrong usage, an unexpected error, or a missing program. */
export class LonghaulError extends Error {
  /** What to do next, if the program says so. */
  hint: string | null;
  /** Exit code of the program: 2 for wrong usage. `null` if the program did not start or was ended by a signal. */
  exitCode: number | null;
}

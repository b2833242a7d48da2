//! The supervisor library: drives one agent run to its outcome.
//!
//! A [`Supervisor`] drives each [`RunSpec`] to a [`RunReport`]. It starts the agent, reads its output,
//! classifies each end of an attempt and resumes the session. It stops when the work is done, a limit is
//! reached or a person is needed.
//!
//! This crate never prints, and no text of an agent decides anything.
//!
//! ```standalone_crate
//! # mod fixture { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/examples/fixture.rs")); }
//! # fn main() -> std::process::ExitCode { fixture::run_example(example) }
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use longhaul::{Checks, OutcomeKind, Preset, RunSpec, Span, Supervisor, Usd, find_agent::find_claude};
//!
//! let (cwd, policy) = (std::env::current_dir()?, Preset::Default.policy());
//! let mut spec = RunSpec::new(find_claude(None)?, cwd, "Write hello.txt.", policy);
//! spec.permission_mode = Some("acceptEdits".to_owned());
//! spec.guards.deny_tools = vec!["WebFetch".to_owned()];
//! spec.policy.limits.budget = Usd::from_dollars(5.0);
//! spec.policy.limits.time = Some(Span::from_hours(3));
//! spec.policy.checks = Some(Checks::new(vec!["test -s hello.txt".to_owned()]));
//! let report = Supervisor::open(None)?.run(spec)?.outcome().await?;
//! println!("{}: {}", report.outcome.kind, report.result.unwrap_or_default());
//! # assert_eq!(report.outcome.kind, OutcomeKind::Done);
//! # assert_eq!(report.attempts, 2);
//! # assert_eq!(report.verified, longhaul::Verified::Checks);
//! # assert_eq!(std::fs::read_to_string("hello.txt")?, "hello\n");
//! # Ok(())
//! # }
//! ```
//!
//! # Reading order
//!
//! 1. [`RunSpec`]: the input. It describes the run: prompt, guards, model and policy. `plan.json` contains it.
//!    - The [`Policy`] holds limits, schedules, checks and keep-going; [`Preset`] names some.
//!    - A [`RunRequest`] also says where the run is stored.
//! 2. [`Supervisor`]: the entry point. Its runs share one thread of their own, so it works with any executor.
//!    - Its [`Environment`] holds the agent's variables and helper programs. Without a
//!      [watchdog](Environment::watchdog), an agent that hangs after the supervisor's death is never stopped.
//! 3. [`RunHandle`]: a run. It returns a stream of [`RunEvent`]s, cancels the run and waits for its outcome.
//! 4. [`RunReport`]: the result. [`OutcomeKind`] is a closed list, and only `Done` is success. A [`RunError`]
//!    means that the run never started or could no longer be journaled.
//!
//! A run outlives its supervisor, because its directory holds all of its state:
//!
//! - [`Supervisor::recover`] takes over a run whose supervisor died, and [`Supervisor::resume`] continues a
//!   finished one.
//! - [`Supervisor::attach`] follows the run of another process.
//! - [`fork_request`] creates a request for another run on a copy of its session.
//! - [`changes::diff()`] returns what the run changed in its workspace.
//! - The [`Ledger`] lists and sums all runs.
//!
//! A program with its own tokio runtime can drive a run on one of its threads with [`Supervisor::observe`]. Its
//! [`Observer`] borrows the state of the run after each step, and changes nothing.
//!
//! Internally, a pure [`Run`] decides, a `World` acts, and `drive` is the loop between them.
//!
//! # Examples
//!
//! ```text
//! cargo run -p longhaul --example run_task -- "Fix the tests."   one request with Ctrl-C handling
//! cargo run -p longhaul --example watch -- "Fix the tests."      the same, printing each decision
//! cargo run -p longhaul --example costs                          the newest runs, and the cost of each model
//! ```
//! A fourth example, `fleet`, drives a hundred runs on one thread and measures itself.

mod canceller;
pub mod changes;
mod channel;
mod clock;
mod cost_breakdown;
mod dialect;
mod driver;
mod environment;
mod failpoints;
mod file_end;
pub mod files;
pub mod find_agent;
mod follow;
mod git;
mod handoff;
mod hang_up;
pub mod history;
pub mod ledger;
mod live;
pub mod messages;
mod notification;
mod observer;
pub mod records;
mod recover;
mod resume;
mod run_handle;
mod run_report;
mod run_request;
mod run_start;
mod run_watch;
mod summarize;
mod supervise;
mod supervise_error;
mod supervisor;
pub mod transfer;
pub mod watchdog;
pub mod workflow;

pub use canceller::Canceller;
pub use channel::{Channel, ChannelError};
pub use environment::{Environment, NotifiedCommand, NotifiedWorkflowCommand, StoreHint};
pub use git::{GitError, create_repository};
pub use handoff::{HandoffError, RecordedWork};
pub use hang_up::ignores_hang_up;
pub use live::{MARKER_VARIABLE, RUN_VARIABLE, RunMarker, enclosing_run, is_frozen};
#[cfg(feature = "schema")]
pub use notification::NotificationBody;
pub use notification::{NotificationKind, NotifyFailure};
pub use observer::{NoObserver, Observer, StepView};
pub use recover::recoverable;
pub use resume::{ResumeOptions, fork_request, rerun_request};
pub use run_handle::{RunEvent, RunEvents, RunHandle};
pub use run_report::{FailedCheck, RunReport, describe_stopped_task};
pub use run_request::RunRequest;
pub use run_start::{Observed, ObservedRun, RunStart};
pub use run_watch::RunWatch;
pub use summarize::{SummarizeError, summarize};
pub use supervise_error::{RunError, SuperviseError};
pub use supervisor::Supervisor;

// The description of a run and its parts.
pub use longhaul_agent::{
    AnswersError, BlockedPathError, GuardError, NetworkError, Program, UrlPatternError,
};
pub use longhaul_agent::{TableError, UserTablesError, WrittenSummary};
pub use longhaul_core::{
    AgentProgram, Backoff, Checks, GuardRules, HandoffSummary, Harness, Jitter, KeepGoing, LearnOptions,
    Limits, OnTerminate, OutageBound, Policy, Preset, ResumeRequest, Review, RunSpec, SessionId, SessionLoss,
    SessionPlan, SpecError, TimeoutAction, WorstCase, WrapUp,
};

// The result of a run.
pub use longhaul_core::{
    AgentResult, BackgroundTask, CancelSource, Clocks, Fault, Limit, Outcome, OutcomeKind, Questions, RunId,
    StartupError, Tokens, Usage, Verified,
};

// Values.
pub use longhaul_core::{Dollars, Moment, OsText, Rfc3339, Seconds, Span, Usd};

// The events of a run. The modules `records` and `messages` have the types in them.
pub use longhaul_agent::AttemptSnapshot;
pub use longhaul_agent::transcript_message::TranscriptMessage;
pub use longhaul_core::{Record, Run, Step};
pub use longhaul_store::JournalEntry;

// Stored runs. The modules `history`, `files` and `ledger` have the types in them.
pub use longhaul_store::{
    CostBy, Home, Inherited, Ledger, LedgerRun, Placement, RunDir, RunFilter, StoreError,
};

//! The supervisor library: drives one agent run to its outcome.
//!
//! [`supervise`] takes a [`RunRequest`] and returns a [`RunReport`]. It starts the agent, reads its output,
//! classifies each end of an attempt and resumes the session. It stops when the work is done, a limit is
//! reached or a person is needed.
//!
//! This crate never prints, and no text of an agent decides anything.
//!
//! ```standalone_crate
//! # mod fixture { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/examples/fixture.rs")); }
//! # fn main() -> std::process::ExitCode { fixture::run_example(example) }
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use longhaul::{NoObserver, RunRequest, find_agent::find_claude, supervise};
//! use longhaul_core::{Preset, RunSpec};
//! use longhaul_store::Home;
//!
//! let home = Home::open(None, |name| std::env::var_os(name))?;
//! let (cwd, policy) = (std::env::current_dir()?, Preset::Default.policy());
//! let mut spec = RunSpec::new(find_claude(None)?, cwd, "Write hello.txt.", policy);
//! spec.permission_mode = Some("acceptEdits".to_owned());
//! let (_cancel, cancels) = tokio::sync::mpsc::channel(1);
//! let report = supervise(RunRequest::new(home, spec), &mut NoObserver, cancels).await?;
//! println!("{}: {}", report.outcome.kind, report.result.unwrap_or_default());
//! # assert_eq!(report.outcome.kind, longhaul_core::OutcomeKind::Done);
//! # assert_eq!(report.attempts, 2);
//! # assert_eq!(std::fs::read_to_string("hello.txt")?, "hello\n");
//! # Ok(())
//! # }
//! ```
//!
//! # Reading order
//!
//! 1. [`RunRequest`]: the input.
//!    - Its [`RunSpec`](longhaul_core::RunSpec) describes the run: prompt, guards, model and policy.
//!      `plan.json` contains it.
//!    - The [`Policy`](longhaul_core::Policy) holds limits, schedules, checks and keep-going;
//!      [`Preset`](longhaul_core::Preset) names some.
//!    - Its [`Environment`] holds the agent's variables and helper programs. Without a
//!      [watchdog](Environment::watchdog), an agent that hangs after the supervisor's death is never stopped.
//! 2. [`supervise`]: the entry point. It needs a tokio runtime with time and I/O. Its future stays on one
//!    thread, which it can share with many others. Sending a [`CancelSource`](longhaul_core::CancelSource)
//!    cancels the run.
//! 3. [`Observer`]: receives each step with its [records](longhaul_core::Record) and a [`StepView`] of the
//!    resulting state. An observer changes nothing.
//! 4. [`RunReport`]: the result. [`OutcomeKind`](longhaul_core::OutcomeKind) is a closed list, and only
//!    `Done` is success. A [`RunError`] means that the run never started or could no longer be journaled.
//!
//! A run outlives its supervisor, because its directory holds all of its state:
//!
//! - [`recover()`] takes over a run whose supervisor died, and [`resume()`] continues a finished one.
//! - [`fork_request`] creates a request for another run on a copy of its session, and [`follow()`] watches the
//!   run of another process.
//! - [`changes::diff()`] returns what the run changed in its workspace.
//! - The [`Ledger`](longhaul_store::Ledger) lists and sums all runs.
//!
//! Internally, a pure [`Run`](longhaul_core::Run) decides, a [`World`] acts, and [`drive`] is the loop
//! between them.
//!
//! # Examples
//!
//! ```text
//! cargo run -p longhaul --example run_task -- "Fix the tests."   one request with Ctrl-C handling
//! cargo run -p longhaul --example watch -- "Fix the tests."      the same, printing each decision
//! cargo run -p longhaul --example costs                          the newest runs, and the cost of each model
//! ```
//! A fourth example, `fleet`, drives a hundred runs on one thread and measures itself.

pub mod changes;
mod channel;
mod cost_breakdown;
mod diagnostic;
mod driver;
mod failpoints;
pub mod find_agent;
mod follow;
mod git;
mod handoff;
mod live;
mod next_commands;
mod notification;
mod observer;
mod recover;
mod resume;
mod run_report;
mod run_request;
mod run_watch;
mod summarize;
mod supervisor;
pub mod transfer;
pub mod watchdog;
mod world;

pub use channel::{Channel, ChannelError};
pub use driver::drive;
pub use follow::{FollowEnd, follow};
pub use git::GitError;
pub use handoff::{HandoffError, RecordedWork};
pub use live::{MARKER_VARIABLE, RUN_VARIABLE, RunMarker, processes_with, sweep};
pub use next_commands::{CommandContext, flags_to_raise_limits, next_commands, quoted};
#[cfg(feature = "schema")]
pub use notification::NotificationBody;
pub use notification::{NotificationKind, NotifyFailure};
pub use observer::{NoObserver, Observer, StepView};
pub use recover::{recover, recoverable};
pub use resume::{ResumeOptions, fork_request, rerun_request, resume};
pub use run_report::{FailedCheck, RunReport, describe_stopped_task};
pub use run_request::RunRequest;
pub use run_watch::RunWatch;
pub use summarize::{SummarizeError, summarize};
pub use supervisor::{Environment, RunError, SuperviseError, supervise};
pub use world::World;

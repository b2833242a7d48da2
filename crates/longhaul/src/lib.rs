//! The supervisor library: drives one agent run to an honest end.
//!
//! [`supervise`] takes a [`Request`] and returns a [`Report`]. In between it starts the agent, reads what it writes,
//! decides what an ending means, and goes on with the same conversation until the work is done, a limit is reached or
//! a person is needed. This crate never prints, and nothing of an agent's prose reaches a decision.
//!
//! ```standalone_crate
//! # mod stage { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/examples/stage.rs")); }
//! # fn main() -> std::process::ExitCode { stage::play(example) }
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use longhaul::{Request, Unobserved, agents::find_claude, supervise};
//! use longhaul_core::Preset;
//! use longhaul_store::Home;
//!
//! let home = Home::open(None, |name| std::env::var_os(name))?;
//! let (cwd, policy) = (std::env::current_dir()?, Preset::Default.policy());
//! let mut request = Request::new(home, find_claude(None)?, cwd, "Write hello.txt.", policy);
//! request.order.permission_mode = Some("acceptEdits".to_owned());
//! let (_cancel, cancels) = tokio::sync::mpsc::channel(1);
//! let report = supervise(request, &mut Unobserved, cancels).await?;
//! println!("{}: {}", report.outcome.kind, report.result.unwrap_or_default());
//! # assert_eq!(report.outcome.kind, longhaul_core::OutcomeKind::Done);
//! # assert_eq!(report.attempts, 2);
//! # assert_eq!(std::fs::read_to_string("hello.txt")?, "hello\n");
//! # Ok(())
//! # }
//! ```
//!
//! # In which order to read
//!
//! 1. [`Request`]: what is asked for. Its [`Order`](longhaul_agent::Order) is the task as the agent gets it: guards,
//!    checks, model. Its [`Policy`](longhaul_core::Policy) is limits and schedules;
//!    [`Preset`](longhaul_core::Preset) has some by name. Its [`Environment`] is what surrounds the agent: without a
//!    [watchdog](Environment::watchdog), nobody ends one that hangs after our death.
//! 2. [`supervise`]: the front door. It needs a tokio runtime with time and I/O, and its future stays on one thread,
//!    which it shares with as many others as you like. Whoever sends a [`By`](longhaul_core::By) cancels the run.
//! 3. [`Observer`]: is shown each step with its [records](longhaul_core::Record), and the [`View`] that it leaves.
//!    Watching changes nothing.
//! 4. [`Report`]: how it ended. [`OutcomeKind`](longhaul_core::OutcomeKind) is a closed list, and only `Done` is
//!    success. A [`RunError`] is a run that was never begun, or one that could no longer be written down.
//!
//! A run outlives its supervisor, because all of it is in its directory: [`recover`] goes on with one whose supervisor
//! died, [`resume`] with one that is over, [`branch`] makes another one of its conversation, and [`follow`] watches the
//! run of another process. What it changed in its workspace is told by [`changes::view`]. Lists and sums of all runs are in
//! the [`Ledger`](longhaul_store::Ledger).
//!
//! Below that, a pure [`Run`](longhaul_core::Run) decides, a [`World`] acts, and [`drive`] is the loop between them.
//!
//! # Programs to begin with
//!
//! ```text
//! cargo run -p longhaul --example carry -- "Fix the tests."    one request, to its end, with Ctrl-C
//! cargo run -p longhaul --example watch -- "Fix the tests."    the same, each decision as it is made
//! cargo run -p longhaul --example costs                        the newest runs, and what each model cost
//! ```
//! A fourth one, `fleet`, has a hundred runs on one thread and measures itself.

pub mod changes;
mod channel;
mod cost_breakdown;
mod diagnostic;
mod driver;
mod failpoints;
pub mod find_agent;
mod follow;
mod handoff;
mod live;
mod next_commands;
mod notification;
mod observer;
mod plan_changes;
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
pub use handoff::{HandoffError, RecordedWork};
pub use live::{MARK_VARIABLE, RUN_VARIABLE, RunMarker, processes_with, sweep};
pub use next_commands::{CommandContext, next_commands, quoted, raised};
#[cfg(feature = "schema")]
pub use notification::NotificationBody;
pub use notification::{NotificationKind, NotifyFailure};
pub use observer::{NoObserver, Observer, StepView};
pub use plan_changes::PlanChanges;
pub use recover::{recover, recoverable};
pub use resume::{ResumeOptions, fork_request, rerun_request, resume};
pub use run_report::{FailedCheck, RunReport, stopped_words};
pub use run_watch::RunWatch;
pub use summarize::{SummarizeError, summarize};
pub use supervisor::{Environment, RunError, RunRequest, SessionChoice, SuperviseError, supervise};
pub use world::World;

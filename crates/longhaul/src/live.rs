//! The live world: a run directory, an agent process, the machine's clock.

mod adopted_process;
mod agent_process;
mod background;
mod clock;
mod disk_space;
mod file_watch;
mod ledger_writer;
mod loaded_session;
mod one_shot;
mod oom_watch;
mod process_activity;
mod process_discovery;
mod requests;
mod rss;
mod run_marker;
mod sessions;
mod stream_replay;
mod sweep;
mod tail;
mod transcript_recorder;
mod workspace_fingerprint;
mod world;

pub(crate) use adopted_process::AdoptedProcess;
pub(crate) use agent_process::{AgentProcess, LaunchSpec, start_ticks};
pub(crate) use clock::{LiveClock, random_seed};
pub(crate) use file_watch::FileWatch;
pub(crate) use one_shot::{OneShotProcess, evidence_of};
pub(crate) use process_discovery::{live_agent, stream_of_original};
pub use run_marker::{MARKER_VARIABLE, RUN_VARIABLE, RunMarker};
pub(crate) use stream_replay::{tail, tail_of};
pub(crate) use sweep::sweep_and_count;
pub use sweep::{processes_with, sweep};
pub(crate) use tail::Tail;
pub(crate) use world::{LiveWorld, WorldConfig};

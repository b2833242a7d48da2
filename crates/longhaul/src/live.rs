//! The live world: a run directory, an agent process, the machine's clock.

mod agent_process;
mod attempt_process;
mod background;
mod check_run;
mod diagnostic;
mod disk_space;
mod ended_attempts;
mod ledger_writer;
mod loaded_session;
mod notifier;
mod notify_sender;
mod one_shot;
mod process_activity;
mod process_discovery;
mod publisher;
mod requests;
mod review_run;
mod run_marker;
mod run_sessions;
mod sessions;
mod subscriber;
mod subscribers;
mod summary_run;
mod sweep;
mod system;
mod tail;
mod transcript_recorder;
mod watchdog_process;
mod workspace_fingerprint;
mod world;
mod world_config;

pub(crate) use agent_process::{AgentProcess, LaunchSpec};
pub(crate) use notify_sender::NotifySender;
pub(crate) use one_shot::{OneShotProcess, evidence_of};
pub(crate) use process_discovery::{live_agent, stream_of_original};
pub(crate) use requests::forward_stops;
pub use run_marker::{MARKER_VARIABLE, RUN_VARIABLE, RunMarker, enclosing_run};
pub(crate) use sessions::SessionFiles;
pub(crate) use sweep::{processes_with, sweep, sweep_and_count};
pub use system::is_frozen;
pub(crate) use system::{
    AdoptedProcess, FileWatch, ProcessWatch, available_bytes, processes_of, start_ticks,
};
pub(crate) use tail::Tail;
pub(crate) use world::LiveWorld;
pub(crate) use world_config::WorldConfig;

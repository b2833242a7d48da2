//! A one-shot process: one prompt and one answer, or one command. Its input ends after the prompt, so that it
//! exits on its own even without a supervisor.

use super::agent_process::{AgentProcess, LaunchSpec};
use super::process_discovery::exit_of;
use super::run_marker::RunMarker;
use super::sweep::sweep;
use super::system::search;
use super::tail::decode;
use super::world_config::WorldConfig;
use crate::failpoints::{self, Failpoint};
use crate::file_end::tail_of;
use longhaul_agent::{Decoder, Dialect, DoneSignals, Guards, Invocation};
use longhaul_core::{Evidence, Exit, ProcessId, SpawnError, StopLevel};
use longhaul_store::AttemptDir;
use std::io;
use std::path::Path;

/// How a one-shot process ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OneShotEnd {
    Exited,
    Stopped,
    /// Stopped, because it took too long.
    TimedOut,
}

pub(crate) struct OneShotProcess {
    agent: AgentProcess,
    exit: Option<Exit>,
}

impl OneShotProcess {
    pub(crate) fn start(
        launch: LaunchSpec,
        prompt: Vec<u8>,
    ) -> Result<(OneShotProcess, ProcessId), (SpawnError, io::Error)> {
        let (mut agent, process) = AgentProcess::start(launch, prompt)?;
        agent.close_input(None);
        Ok((OneShotProcess { agent, exit: None }, process))
    }

    pub(crate) fn exit(&self) -> Option<Exit> {
        self.exit
    }

    /// Stops the process if it is running, and its leftover processes.
    pub(crate) async fn stop(&mut self, marker: &RunMarker) -> io::Result<Exit> {
        search(marker);
        if self.exit.is_none() {
            self.agent.signal(StopLevel::Term);
        }
        sweep(marker).await?;
        // The sweep has stopped the process, unless the process removed its marker.
        if self.exit.is_none() {
            self.agent.signal(StopLevel::Kill);
        }
        self.wait_for_exit().await
    }

    pub(crate) async fn wait_for_exit(&mut self) -> io::Result<Exit> {
        if let Some(exit) = self.exit {
            return Ok(exit);
        }
        let exit = self.agent.wait_for_exit().await?;
        self.exit = Some(exit);
        Ok(exit)
    }
}

pub(crate) struct ModelRun {
    pub(super) process: OneShotProcess,
    dir: AttemptDir,
}

impl ModelRun {
    /// Starts a model with its files in `dir`, and creates the directory.
    pub(crate) fn start(
        config: &WorldConfig<'_>,
        dir: AttemptDir,
        invocation: Invocation,
    ) -> Result<ModelRun, SpawnError> {
        let no_resources = |_| SpawnError::NoResources;
        let dir = dir.create().map_err(no_resources)?;
        let stdout = dir.create_stream().map_err(no_resources)?;
        let stderr = dir.create_stderr().map_err(no_resources)?;
        let launch = LaunchSpec::new(&invocation, &config.environment, &config.marker, stdout, stderr);
        // For people.
        let _ = dir.write(&launch.argv());
        let started = OneShotProcess::start(launch, invocation.stdin);
        let (process, process_id) = started.map_err(|(kind, _)| kind)?;
        failpoints::agent_is(process_id.pid);
        failpoints::hit(Failpoint::Spawned);
        Ok(ModelRun { process, dir })
    }

    /// Stops the process if it is running, with its leftover processes, and reads its files.
    pub(crate) async fn end(mut self, config: &WorldConfig<'_>) -> io::Result<EndedOneShot> {
        let exit = self.process.stop(&config.marker).await?;
        Ok(EndedOneShot::read(config, self.dir, exit))
    }
}

/// A model's process that ended. Its files contain the answer.
pub(crate) struct EndedOneShot {
    pub(crate) dir: AttemptDir,
    pub(crate) decoder: Box<dyn Decoder>,
    pub(crate) evidence: Evidence,
}

impl EndedOneShot {
    /// Reads the files of a process that a dead supervisor started in this directory. It must be stopped.
    pub(crate) fn find(config: &WorldConfig<'_>, dir: AttemptDir) -> EndedOneShot {
        let exit = exit_of(&dir);
        EndedOneShot::read(config, dir, exit)
    }

    pub(crate) fn read(config: &WorldConfig<'_>, dir: AttemptDir, exit: Exit) -> EndedOneShot {
        let (stream, stderr) = (dir.stream_path(), dir.stderr_path());
        let (evidence, decoder) = evidence_of(config.dialect.as_ref(), &stream, &stderr, exit);
        EndedOneShot { dir, decoder, evidence }
    }
}

pub(crate) fn unspawned(error: SpawnError) -> Evidence {
    Evidence { startup: error.startup(), ..Evidence::from_exit(Exit::NeverSpawned) }
}

/// Returns the evidence of a process from its files. The answer is in the decoder's snapshot.
pub(crate) fn evidence_of(
    dialect: &dyn Dialect,
    stream: &Path,
    stderr: &Path,
    exit: Exit,
) -> (Evidence, Box<dyn Decoder>) {
    // The process has no tools to guard and makes no done claim.
    let mut decoder = dialect.decoder(&Guards::default(), &DoneSignals::default());
    // An unreadable stream yields evidence without an answer.
    let _ = decode(stream, decoder.as_mut(), |_| {});
    let evidence = decoder.evidence(exit, &tail_of(stderr));
    (evidence, decoder)
}

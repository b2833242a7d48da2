//! A one-shot process: one prompt and one answer, or one command. Its input ends after the prompt, so that it
//! exits on its own even without a supervisor.

use super::agent_process::{AgentProcess, LaunchSpec};
use super::run_marker::RunMarker;
use super::stream_replay::{decode, tail_of};
use super::sweep::sweep;
use longhaul_agent::{Decoder, Dialect, DoneSignals, Guards};
use longhaul_core::{Evidence, Exit, ProcessId, SpawnError, StopLevel};
use std::io;
use std::path::Path;

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

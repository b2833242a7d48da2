//! A model that condenses older work: one process of the agent's for one answer, started into files. Its input ends
//! with the prompt, so that it ends by itself after the answer, also when nobody is left to read that.

use super::agent_process::{AgentProcess, LaunchSpec};
use super::run_marker::RunMarker;
use super::stream_replay::{decode, tail_of};
use super::sweep::sweep;
use longhaul_agent::{Decoder, Dialect, DoneSignals, Guards};
use longhaul_core::{Evidence, Exit, ProcessId, SpawnError, StopLevel};
use std::io;
use std::path::Path;

/// The process.
pub(crate) struct OneShotProcess {
    agent: AgentProcess,
    exit: Option<Exit>,
}

impl OneShotProcess {
    /// Starts it with `prompt` for its input.
    pub(crate) fn start(
        launch: LaunchSpec,
        prompt: Vec<u8>,
    ) -> Result<(OneShotProcess, ProcessId), (SpawnError, io::Error)> {
        let (mut agent, process) = AgentProcess::start(launch, prompt)?;
        agent.end_input(Vec::new());
        Ok((OneShotProcess { agent, exit: None }, process))
    }

    /// Whether its end was seen.
    pub(crate) fn is_gone(&self) -> bool {
        self.exit.is_some()
    }

    /// How it ended, once that was seen.
    pub(crate) fn exit(&self) -> Option<Exit> {
        self.exit
    }

    /// Ends it, if it lives, and whatever it left behind.
    pub(crate) async fn end(&mut self, marker: &RunMarker) -> io::Result<Exit> {
        if !self.is_gone() {
            self.agent.signal(StopLevel::Term);
        }
        sweep(marker).await?;
        // The sweep has waited for it, unless somebody took its mark away.
        if !self.is_gone() {
            self.agent.signal(StopLevel::Kill);
        }
        self.gone().await
    }

    /// Waits for its end.
    pub(crate) async fn gone(&mut self) -> io::Result<Exit> {
        if let Some(exit) = self.exit {
            return Ok(exit);
        }
        let exit = self.agent.exited().await?;
        self.exit = Some(exit);
        Ok(exit)
    }
}

/// What such a process proves by what it left. The answer is in the decoder's glance.
pub(crate) fn evidence_of(
    dialect: &dyn Dialect,
    (stream, stderr): (&Path, &Path),
    exit: Exit,
) -> (Evidence, Box<dyn Decoder>) {
    // It has no tools that could be guarded, and no work to finish.
    let mut decoder = dialect.decoder(&Guards::default(), &DoneSignals::default());
    // What cannot be read is no answer.
    let _ = decode(stream, decoder.as_mut());
    let evidence = decoder.evidence(exit, &tail_of(stderr));
    (evidence, decoder)
}

//! The fixed parts of a live run: what its processes are started with. Nothing changes them while the
//! supervisor runs.

use super::run_marker::RunMarker;
use super::workspace_fingerprint::fingerprint;
use crate::Environment;
use longhaul_agent::{AgentContext, Decoder, Dialect};
use longhaul_core::{Run, RunSpec};
use longhaul_store::{Home, Inherited, RunDir};
use std::sync::Arc;

pub(crate) struct WorldConfig<'a> {
    pub(crate) home: &'a Home,
    pub(crate) dir: RunDir,
    pub(crate) marker: RunMarker,
    pub(crate) dialect: Arc<dyn Dialect>,
    /// The description of the run, and what else the agent is started with.
    pub(crate) context: AgentContext,
    pub(crate) environment: Environment,
    /// Usage of another harness that worked on the same task before.
    pub(crate) inherited: Option<Inherited>,
    /// Variables that the agent needs and that are not set. If there are any, no agent is started.
    pub(crate) missing: Vec<String>,
}

impl WorldConfig<'_> {
    pub(crate) fn spec(&self) -> &RunSpec {
        &self.context.spec
    }

    /// Returns the command that a notification offers for the run in this state.
    pub(crate) fn notified_command(&self, run: &Run) -> Option<String> {
        self.environment.notified_command.map(|name| name(self.dir.id(), run, self.spec()))
    }

    /// Returns a decoder for the stream of an attempt. It collects the messages.
    pub(crate) fn decoder(&self, attempt: u32) -> Box<dyn Decoder> {
        let mut decoder = self.notice_decoder();
        decoder.collect_messages(attempt);
        decoder
    }

    /// Returns a decoder that collects no messages.
    pub(crate) fn notice_decoder(&self) -> Box<dyn Decoder> {
        self.dialect.decoder(self.context.guards(), &self.context.done_signals())
    }

    pub(crate) fn fingerprint(&self) -> Option<u64> {
        self.spec().policy.keep_going.as_ref().and_then(|_| fingerprint(&self.spec().cwd))
    }
}

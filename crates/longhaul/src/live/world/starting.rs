//! Starts an attempt: locks and prepares its session, creates its files, collects data for the agent, and
//! starts its process. An obstacle becomes evidence, as if the agent had refused to start.

use super::{AttemptProcess, LiveWorld, WorldConfig};
use crate::SuperviseError;
use crate::failpoints::{self, Failpoint};
use crate::handoff::conversation_of;
use crate::live::agent_process::{AgentProcess, InputFifo, LaunchSpec};
use crate::live::oom_watch::OomWatch;
use crate::live::sessions::{PreparedSession, SessionFiles};
use crate::live::tail::Tail;
use longhaul_agent::SessionStart;
use longhaul_core::{
    AttemptPlan, Event, Evidence, Exit, PromptKind, Remaining, SessionId, SessionPlan, StartupError,
};
use longhaul_store::{SessionLock, StoreError};
use std::collections::BTreeSet;

impl LiveWorld<'_> {
    pub(super) fn spawn(&mut self, plan: &AttemptPlan) -> Result<(), SuperviseError> {
        if !plan.session.is_valid() {
            self.refuse_session("its id is not a valid session id");
            return Ok(());
        }
        if let Some(refusal) = self.lock_session(plan)? {
            self.events.push_back(Event::Exited(refusal));
            return Ok(());
        }
        let wrap_up = self.setup.context.spec.wrap_up_prompt.as_deref();
        let inspected = self.inspected.take();
        let prepared = match self
            .session_files()
            .map_or(Ok(PreparedSession::default()), |files| files.prepare(plan, wrap_up, inspected))
        {
            Ok(prepared) => prepared,
            Err(error) => {
                self.refuse_session(&error.to_string());
                return Ok(());
            }
        };
        if prepared.resume_at.as_ref().is_some_and(|message| !SessionId::from(message.as_str()).is_name()) {
            self.refuse_session("its last message has no valid id");
            return Ok(());
        }
        self.prior_attempts.resume_at = prepared.resume_at;
        self.collect_prior(plan, prepared.visible_tool_results);
        let invocation = self.setup.dialect.invocation(&self.setup.context, plan, &self.prior_attempts);
        self.prior_attempts.added = Remaining::default();
        let dir = self.setup.dir.create_attempt(plan.attempt)?;
        if let Some(session) = &prepared.session {
            // Needed later to verify that the history arrived. The work does not need it.
            let _ = dir.write_session(session);
        }
        let (stdout, stderr) = (dir.create_stream()?, dir.create_stderr()?);
        let write_end = invocation.input_outlives_supervisor.then(|| dir.create_input()).transpose()?;
        let launch = LaunchSpec {
            input: write_end.map(|end| InputFifo { end, path: dir.input_path() }),
            ..LaunchSpec::new(&invocation, &self.setup.environment, &self.setup.marker, stdout, stderr)
        };
        // If the disk has no room for this file, it has none for the agent's output, and the agent would work
        // unobserved.
        if let Err(error) = dir.write_argv(&launch.argv())
            && error.is_disk_full()
        {
            return Err(error.into());
        }
        // For people. The work does not need it.
        let _ = dir.write_prompt(&invocation.prompt);
        // The watch starts before the agent can write, so that no output is missed.
        self.watch.add_file(&dir.stream_path());
        let tail = Tail::open(&dir.stream_path())?;
        let memory = OomWatch::start();
        let mut decoder = self.decoder(plan.attempt);
        decoder.begin(SessionStart { spec: self.spec(), plan, prompt: &invocation.prompt, sent: Vec::new() });
        match AgentProcess::start(launch, invocation.stdin) {
            Ok((agent, process)) => {
                failpoints::agent_is(process.pid);
                failpoints::hit(Failpoint::Spawned);
                self.recorder.start_attempt(plan, invocation.prompt, self.clock.at());
                self.attempt = Some(AttemptProcess::new(agent, process, memory, tail, decoder, dir));
                self.events.push_back(Event::Spawned(process));
            }
            Err((kind, error)) => {
                self.spawn_error =
                    Some(format!("cannot start {}: {error}", self.spec().agent.program.display()));
                self.events.push_back(Event::SpawnFailed(kind));
            }
        }
        Ok(())
    }

    /// Reports the session as unknown to the agent.
    fn refuse_session(&mut self, reason: &str) {
        self.spawn_error = Some(format!("cannot continue the session: {reason}"));
        self.events.push_back(Event::Exited(refused(StartupError::SessionUnknown)));
    }

    /// Collects the data of earlier attempts for the agent of this one.
    fn collect_prior(&mut self, plan: &AttemptPlan, visible_tool_results: Option<BTreeSet<String>>) {
        self.prior_attempts.visible_tool_results = visible_tool_results;
        self.prior_attempts.check_output = self.check_output_for(plan);
        if matches!(plan.session, SessionPlan::New(_)) {
            self.prior_attempts.side_effects.clear_session();
        }
        if matches!(plan.prompt, PromptKind::TaskAfterLoss(_)) {
            let (dir, dialect) = (&self.setup.dir, self.setup.dialect.as_ref());
            // If the records cannot be read, the prompt contains only the task.
            self.prior_attempts.conversation =
                conversation_of(dir, dialect, &self.spec().prompt, plan.attempt - 1).unwrap_or_default();
            self.prior_attempts.summary = self.summary_for(plan);
        }
    }

    /// Returns the session files of the run's agent, or `None` if their location is unknown.
    pub(super) fn session_files(&self) -> Option<SessionFiles<'_>> {
        let WorldConfig { dialect, dir, environment, context, .. } = &self.setup;
        SessionFiles::new(dialect.sessions()?, dir, environment, &context.spec.cwd)
    }

    /// Locks the session for this run. Returns the evidence of a refusal if another run holds it.
    pub(super) fn lock_session(&mut self, plan: &AttemptPlan) -> Result<Option<Evidence>, SuperviseError> {
        let session = plan.session.id();
        if self.locks.iter().any(|(locked, _)| locked == session) {
            return Ok(None);
        }
        match SessionLock::acquire(self.setup.home, self.setup.dialect.name(), session, self.setup.dir.id()) {
            Ok(lock) => {
                self.locks.push((session.clone(), lock));
                Ok(None)
            }
            Err(busy @ (StoreError::SessionBusy { .. } | StoreError::SessionOrphaned { .. })) => {
                let hint = busy.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
                self.spawn_error = Some(format!("{busy}{hint}"));
                Ok(Some(refused(StartupError::SessionHeld)))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns the evidence of an agent that refused to start.
fn refused(startup: StartupError) -> Evidence {
    Evidence { startup: Some(startup), ..Evidence::from_exit(Exit::NeverSpawned) }
}

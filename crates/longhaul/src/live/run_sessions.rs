//! The agent's sessions of one run: locks them against other runs, inspects their files, and prepares the one
//! that an attempt continues.

use super::loaded_session::LoadedSession;
use super::sessions::{PreparedSession, SessionFiles};
use super::world_config::WorldConfig;
use longhaul_agent::Decoder;
use longhaul_core::{AttemptPlan, Continuity, Evidence, Exit, SessionFileState, SessionId, StartupError};
use longhaul_store::{AttemptDir, SessionLock, StoreError, is_disk_full};

#[derive(Default)]
pub(crate) struct RunSessions {
    /// Locks of the run's sessions. They are held until the run finishes, because the run may need its
    /// earlier sessions again.
    locks: Vec<(SessionId, SessionLock)>,
    inspected: Option<LoadedSession>,
}

/// The reason why an attempt cannot start with its session. It counts as a refusal of the agent.
pub(crate) struct SessionRefusal {
    startup: StartupError,
    pub(crate) message: String,
}

impl SessionRefusal {
    fn unknown(reason: &str) -> SessionRefusal {
        let message = format!("cannot continue the session: {reason}");
        SessionRefusal { startup: StartupError::SessionUnknown, message }
    }

    pub(crate) fn evidence(&self) -> Evidence {
        Evidence { startup: Some(self.startup), ..Evidence::from_exit(Exit::NeverSpawned) }
    }
}

impl RunSessions {
    /// Locks a session for this run. The inner error means that another run holds it.
    pub(crate) fn lock(
        &mut self,
        config: &WorldConfig<'_>,
        session: &SessionId,
    ) -> Result<Result<(), SessionRefusal>, StoreError> {
        if self.locks.iter().any(|(locked, _)| locked == session) {
            return Ok(Ok(()));
        }
        match SessionLock::acquire(config.home, config.dialect.name(), session, config.dir.id()) {
            Ok(lock) => {
                self.locks.push((session.clone(), lock));
                Ok(Ok(()))
            }
            Err(busy @ (StoreError::SessionBusy { .. } | StoreError::SessionOrphaned { .. })) => {
                let hint = config.environment.store_hint.and_then(|hint| hint(&busy));
                let hint = hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
                let message = format!("{busy}{hint}");
                Ok(Err(SessionRefusal { startup: StartupError::SessionHeld, message }))
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) fn inspect(&mut self, config: &WorldConfig<'_>, session: &SessionId) -> SessionFileState {
        let inspected = files(config).map(|files| files.inspect(session));
        let (state, loaded) = inspected.unwrap_or((SessionFileState::Ready, None));
        self.inspected = loaded;
        state
    }

    /// Locks and prepares the session of an attempt. The inner error means that the attempt cannot start
    /// with it.
    pub(crate) fn prepare(
        &mut self,
        config: &WorldConfig<'_>,
        plan: &AttemptPlan,
    ) -> Result<Result<PreparedSession, SessionRefusal>, StoreError> {
        if !plan.session.is_valid() {
            return Ok(Err(SessionRefusal::unknown("its id is not a valid session id")));
        }
        if let Err(refusal) = self.lock(config, plan.session.id())? {
            return Ok(Err(refusal));
        }
        let wrap_up = config.spec().wrap_up_prompt.as_deref();
        let inspected = self.inspected.take();
        let prepared = files(config)
            .map_or(Ok(PreparedSession::default()), |files| files.prepare(plan, wrap_up, inspected));
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(error) if is_disk_full(&error) => {
                let path = files(config).map(|files| files.path(plan.session.id())).unwrap_or_default();
                return Err(StoreError::io("write", &path)(error));
            }
            Err(error) => return Ok(Err(SessionRefusal::unknown(&error.to_string()))),
        };
        let message = prepared.resume_at.as_ref().map(|point| SessionId::from(point.message.as_str()));
        if message.is_some_and(|message| !message.is_name()) {
            return Ok(Err(SessionRefusal::unknown("its last message has no valid id")));
        }
        Ok(Ok(prepared))
    }

    pub(crate) fn release(&mut self) {
        self.locks.clear();
    }

    /// Releases the locks of an unfinished run. No other run takes its sessions before it continues.
    pub(crate) fn leave(&mut self) {
        self.locks.drain(..).for_each(|(_, lock)| lock.leave());
    }
}

/// Returns how the attempt's session relates to the history that it was planned to continue.
pub(crate) fn continuity_of(config: &WorldConfig<'_>, attempt: &AttemptDir) -> Option<Continuity> {
    if let Some(files) = files(config) {
        return files.continuity_of(attempt);
    }
    // An agent that did not receive the prompt only opened its session.
    let sent = attempt.sent_requests().ok()?;
    let has_prompt = sent.iter().any(|request| config.dialect.is_prompt(request));
    (!has_prompt).then_some(Continuity::Unchanged)
}

/// Adds what the stream of an ended attempt does not state: the usage of sub-agents. Without their files, it stays
/// estimated.
pub(crate) fn read_sub_agent_files(config: &WorldConfig<'_>, decoder: &mut dyn Decoder) {
    let session = decoder.snapshot().session.clone().filter(|_| decoder.needs_sub_agent_files());
    if let Some((session, files)) = session.zip(files(config)) {
        files.sub_agent_files(&session).for_each(|file| decoder.read_sub_agent_file(&file));
    }
}

/// Returns the session files of the run's agent, or `None` if their location is unknown.
fn files<'c>(config: &'c WorldConfig<'_>) -> Option<SessionFiles<'c>> {
    SessionFiles::new(config.dialect.sessions()?, &config.dir, &config.environment, &config.spec().cwd)
}

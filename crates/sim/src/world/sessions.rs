//! The true state of the agent's sessions on disk, which the supervisor may not know.

use longhaul_core::SessionId;

/// One session.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub id: SessionId,
    /// Whether it exceeds the model's context.
    pub full: bool,
    /// Whether the API rejects its content.
    pub rejected: bool,
    /// Whether its file is missing.
    pub lost: bool,
    /// Whether its file is not where the agent expects it.
    pub elsewhere: bool,
    /// Whether parts of its file are invalid.
    pub damaged: bool,
    /// Whether its file lacks the agent's last messages.
    pub stale: bool,
    /// Whether it has any content.
    pub has_content: bool,
}

/// All sessions of a world.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sessions(Vec<Session>);

impl Sessions {
    pub(crate) fn find(&self, id: &SessionId) -> Option<&Session> {
        self.0.iter().rev().find(|session| session.id == *id)
    }

    /// Returns the session with this id, or `None` if it does not exist.
    pub(crate) fn find_mut(&mut self, id: &SessionId) -> Option<&mut Session> {
        self.0.iter_mut().rev().find(|session| session.id == *id)
    }

    /// Returns the session with this id. Creates it if it does not exist.
    pub(crate) fn find_or_create(&mut self, id: &SessionId) -> &mut Session {
        let index = self.0.iter().position(|session| session.id == *id).unwrap_or_else(|| {
            self.0.push(Session {
                id: id.clone(),
                full: false,
                rejected: false,
                lost: false,
                elsewhere: false,
                damaged: false,
                stale: false,
                has_content: false,
            });
            self.0.len() - 1
        });
        &mut self.0[index]
    }
}

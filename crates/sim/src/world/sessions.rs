//! The agent's own conversations as they truly are on its disk, whatever a supervisor believes.

use longhaul_core::SessionId;

/// One conversation.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) id: SessionId,
    /// It no longer fits the model.
    pub(crate) full: bool,
    /// The API rejects what is in it.
    pub(crate) poisoned: bool,
    /// Its file is gone.
    pub(crate) lost: bool,
    /// Its file is not where the agent looks.
    pub(crate) elsewhere: bool,
    /// Parts of its file are no rows.
    pub(crate) damaged: bool,
    /// Its file lacks what the agent said last.
    pub(crate) stale: bool,
    /// Something is written in it.
    pub(crate) spoken: bool,
}

/// All conversations of a world.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sessions(Vec<Session>);

impl Sessions {
    pub(crate) fn find(&self, id: &SessionId) -> Option<&Session> {
        self.0.iter().rev().find(|session| session.id == *id)
    }

    /// The session of this id, if it is there, to be changed.
    pub(crate) fn open_if_there(&mut self, id: &SessionId) -> Option<&mut Session> {
        self.0.iter_mut().rev().find(|session| session.id == *id)
    }

    /// The session of this id, made if it is not there.
    pub(crate) fn open(&mut self, id: &SessionId) -> &mut Session {
        let place = self.0.iter().position(|session| session.id == *id).unwrap_or_else(|| {
            self.0.push(Session {
                id: id.clone(),
                full: false,
                poisoned: false,
                lost: false,
                elsewhere: false,
                damaged: false,
                stale: false,
                spoken: false,
            });
            self.0.len() - 1
        });
        &mut self.0[place]
    }
}

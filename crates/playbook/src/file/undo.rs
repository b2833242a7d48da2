//! Taking changes back: the playbook becomes what it was before one of them. That is a change like any other.

use super::state::{Held, held};
use super::{Changed, FileError, PlaybookFile};
use crate::database::{Revision, RevisionCause};
use crate::points::{Applied, ChangeSummary};
use crate::{LearningDb, Playbook};
use longhaul_core::Moment;
use thiserror::Error;

/// What an undo does.
#[derive(Clone, Debug, PartialEq)]
pub struct Undoing {
    /// The first change that it takes back.
    pub number: i64,
    /// The later ones that go with it.
    pub later: Vec<i64>,
    /// What the playbook becomes.
    pub playbook: Playbook,
    /// What that changes.
    pub changes: ChangeSummary,
}

/// Why a change cannot be taken back.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UndoError {
    /// None was made.
    #[error("nothing was changed yet")]
    Nothing,
    /// There is no such one.
    #[error("there is no change {number} of this playbook")]
    NoSuch {
        /// What was asked for.
        number: i64,
    },
    /// It is too long ago.
    #[error("what the playbook was before change {number} is no longer kept")]
    Forgotten {
        /// What was asked for.
        number: i64,
    },
    /// What a person wrote would be lost.
    #[error("{by} would be lost")]
    Edited {
        /// What was asked for.
        number: i64,
        /// What would be lost.
        by: String,
    },
}

impl PlaybookFile {
    /// What taking back a change would do, and nothing is done.
    ///
    /// # Errors
    /// [`FileError::Undo`] if it cannot be, and whatever keeps the playbook from being read.
    pub fn undoing(
        &self,
        learning: &LearningDb,
        number: Option<i64>,
        force: bool,
    ) -> Result<Undoing, FileError> {
        let saves = learning.saves(&self.project())?;
        let (text, playbook) = match held(&self.place()?)? {
            Held::Playbook { text, playbook, .. } => (text, *playbook),
            Held::Nothing | Held::Damage { .. } => {
                let text = saves.last().and_then(|last| last.content.clone()).unwrap_or_default();
                let playbook = Playbook::read(&text).unwrap_or_default().0;
                (text, playbook)
            }
        };
        let is_found = saves.last().is_some_and(|last| last.content.as_ref() != Some(&text));
        Ok(planned(&saves, &playbook, is_found, number, force)?)
    }

    /// Takes back a change and all that came after it; without a number the last one. What a person wrote since is taken
    /// back only by `force`, and stays in the history.
    ///
    /// # Errors
    /// As [`PlaybookFile::undoing`] and [`PlaybookFile::change`]; nothing is changed then.
    pub fn undo(
        &self,
        learning: &mut LearningDb,
        number: Option<i64>,
        force: bool,
        at: Moment,
    ) -> Result<Changed, FileError> {
        self.change_as(learning, at, |learning, state| {
            let saves = learning.saves(&self.project())?;
            let undoing = planned(&saves, &state.playbook, state.is_found(), number, force)?;
            let Undoing { number, later: _, playbook, changes: told } = undoing;
            Ok((RevisionCause::Undo(number), Applied { playbook, changes: told }))
        })
    }
}

fn planned(
    saves: &[Revision],
    now: &Playbook,
    is_found: bool,
    number: Option<i64>,
    force: bool,
) -> Result<Undoing, UndoError> {
    let has_changed =
        |place: &usize| match (place.checked_sub(1).and_then(|place| saves.get(place)), &saves[*place]) {
            (Some(before), save) => before.content != save.content || save.content.is_none(),
            (None, save) => !save.changes.applied.is_empty() || save.cause == RevisionCause::External,
        };
    let place = match number {
        Some(number) => {
            saves.iter().position(|save| save.id == number).ok_or(UndoError::NoSuch { number })?
        }
        // What was found before anything was changed is where all began.
        None => (0..saves.len())
            .rev()
            .find(|place| {
                has_changed(place) && (*place > 0 || saves[*place].cause != RevisionCause::External)
            })
            .ok_or(UndoError::Nothing)?,
    };
    let number = saves[place].id;
    let before = match place.checked_sub(1).and_then(|place| saves.get(place)) {
        Some(before) => before.content.as_deref().ok_or(UndoError::Forgotten { number })?,
        None => "{\"sections\":{}}",
    };
    let is_persons = |place: &usize| {
        matches!(saves[*place].cause, RevisionCause::External | RevisionCause::Edit) && has_changed(place)
    };
    let edited = (place + 1..saves.len()).find(is_persons).map(|place| saves[place].id);
    // Where all began is what somebody wrote, too.
    let is_beginning = place == 0 && saves[place].cause == RevisionCause::External;
    let lost = match edited {
        Some(edit) => Some(format!("what was written by hand in {edit} since change {number}")),
        None if is_found => Some(format!("what was written by hand since change {number}")),
        None if is_beginning => Some(format!("what was there in {number}, before anything was learnt,")),
        None => None,
    };
    if let Some(by) = lost.filter(|_| !force) {
        return Err(UndoError::Edited { number, by });
    }
    let (playbook, _) = Playbook::read(before).map_err(|_| UndoError::Forgotten { number })?;
    let later = saves.iter().skip(place + 1).map(|save| save.id).collect();
    let told = ChangeSummary::diff(now, &playbook);
    Ok(Undoing { number, later, playbook, changes: told })
}

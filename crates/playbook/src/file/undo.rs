//! Undoes changes: restores the playbook from before a change. An undo is itself a change.

use super::state::{Held, held};
use super::{Changed, FileError, PlaybookFile};
use crate::database::{Revision, RevisionCause};
use crate::points::{Applied, ChangeSummary};
use crate::{LearningDb, Playbook};
use longhaul_core::Moment;
use thiserror::Error;

/// The effect of an undo.
#[derive(Clone, Debug, PartialEq)]
pub struct Undoing {
    /// First change that it undoes.
    pub number: i64,
    /// Later changes that are undone too.
    pub later: Vec<i64>,
    /// Resulting playbook.
    pub playbook: Playbook,
    /// Changes to the playbook.
    pub changes: ChangeSummary,
}

/// Why a change cannot be undone.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UndoError {
    /// There are no changes.
    #[error("nothing was changed yet")]
    Nothing,
    /// There is no change with this number.
    #[error("there is no change {number} of this playbook")]
    NoSuch {
        /// Requested number.
        number: i64,
    },
    /// The change is too old.
    #[error("what the playbook was before change {number} is no longer kept")]
    Forgotten {
        /// Requested number.
        number: i64,
    },
    /// An edit by a person would be lost.
    #[error("{by} would be lost")]
    Edited {
        /// Requested number.
        number: i64,
        /// Description of the lost edit.
        by: String,
    },
}

impl PlaybookFile {
    /// Returns the effect of an undo without performing it.
    ///
    /// # Errors
    /// Returns [`FileError::Undo`] if the change cannot be undone, or another error if the playbook cannot be
    /// read.
    pub fn undoing(
        &self,
        learning: &LearningDb,
        number: Option<i64>,
        force: bool,
    ) -> Result<Undoing, FileError> {
        let saves = learning.saves(&self.project())?;
        let (text, playbook) = match held(&self.target()?)? {
            Held::Playbook { text, playbook, .. } => (text, *playbook),
            Held::Nothing | Held::Damage { .. } => {
                let text = saves.last().and_then(|last| last.content.clone()).unwrap_or_default();
                let playbook = Playbook::read(&text).unwrap_or_default().0;
                (text, playbook)
            }
        };
        let is_found = saves.last().is_some_and(|last| last.content.as_ref() != Some(&text));
        Ok(plan_undo(&saves, &playbook, is_found, number, force)?)
    }

    /// Undoes a change and all later ones. Without a number, undoes the last change. An edit by a person is
    /// undone only with `force`, and stays in the history.
    ///
    /// # Errors
    /// Returns the errors of [`PlaybookFile::undoing`] and [`PlaybookFile::change`] if nothing was changed.
    pub fn undo(
        &self,
        learning: &mut LearningDb,
        number: Option<i64>,
        force: bool,
        at: Moment,
    ) -> Result<Changed, FileError> {
        self.change_as(learning, at, |learning, state| {
            let saves = learning.saves(&self.project())?;
            let undoing = plan_undo(&saves, &state.playbook, state.is_found(), number, force)?;
            let Undoing { number, later: _, playbook, changes } = undoing;
            Ok((RevisionCause::Undo(number), Applied { playbook, changes }))
        })
    }
}

fn plan_undo(
    saves: &[Revision],
    now: &Playbook,
    is_found: bool,
    number: Option<i64>,
    force: bool,
) -> Result<Undoing, UndoError> {
    let has_changed =
        |index: &usize| match (index.checked_sub(1).and_then(|index| saves.get(index)), &saves[*index]) {
            (Some(before), save) => before.content != save.content || save.content.is_none(),
            (None, save) => !save.changes.applied.is_empty() || save.cause == RevisionCause::External,
        };
    let index = match number {
        Some(number) => {
            saves.iter().position(|save| save.id == number).ok_or(UndoError::NoSuch { number })?
        }
        // The state found before the first change is the start of the history.
        None => (0..saves.len())
            .rev()
            .find(|index| {
                has_changed(index) && (*index > 0 || saves[*index].cause != RevisionCause::External)
            })
            .ok_or(UndoError::Nothing)?,
    };
    let number = saves[index].id;
    let before = match index.checked_sub(1).and_then(|index| saves.get(index)) {
        Some(before) => before.content.as_deref().ok_or(UndoError::Forgotten { number })?,
        None => "{\"sections\":{}}",
    };
    let is_by_person = |index: &usize| {
        matches!(saves[*index].cause, RevisionCause::External | RevisionCause::Edit) && has_changed(index)
    };
    let edited = (index + 1..saves.len()).find(is_by_person).map(|index| saves[index].id);
    // The start of the history was also written by another program or a person.
    let is_start = index == 0 && saves[index].cause == RevisionCause::External;
    let lost = match edited {
        Some(edit) => Some(format!("what was written by hand in {edit} since change {number}")),
        None if is_found => Some(format!("what was written by hand since change {number}")),
        None if is_start => Some(format!("the content of {number} before anything was learned")),
        None => None,
    };
    if let Some(by) = lost.filter(|_| !force) {
        return Err(UndoError::Edited { number, by });
    }
    let (playbook, _) = Playbook::read(before).map_err(|_| UndoError::Forgotten { number })?;
    let later = saves.iter().skip(index + 1).map(|save| save.id).collect();
    let changes = ChangeSummary::diff(now, &playbook);
    Ok(Undoing { number, later, playbook, changes })
}

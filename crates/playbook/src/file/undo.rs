//! Undoes changes: restores the playbook from before a change. An undo is itself a change.

use super::state::{FileContent, read_content};
use super::{ChangeResult, FileError, LoadedPlaybook, PlaybookFile};
use crate::database::{Revision, RevisionCause};
use crate::points::{Applied, ChangeSummary};
use crate::{LearningDb, Playbook};
use longhaul_core::Moment;
use thiserror::Error;

/// The effect of an undo.
#[derive(Clone, Debug, PartialEq)]
pub struct UndoPlan {
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
    #[error("there are no changes")]
    Nothing,
    /// There is no change with this number.
    #[error("there is no change {0} of this playbook")]
    NoSuch(i64),
    /// The change is too old.
    #[error("the state before change {0} is no longer stored")]
    ContentDeleted(i64),
    /// An edit by a person would be lost.
    #[error("{description} would be lost")]
    Edited {
        /// Requested number.
        number: i64,
        /// Description of the edit.
        description: String,
    },
}

impl PlaybookFile {
    /// Returns the effect of an undo without performing it.
    ///
    /// # Errors
    /// Returns [`FileError::Undo`] if the change cannot be undone, or another error if the playbook cannot be
    /// read.
    pub fn undo_plan(
        &self,
        learning: &LearningDb,
        number: Option<i64>,
        force: bool,
    ) -> Result<UndoPlan, FileError> {
        let revisions = learning.revisions(&self.project())?;
        let read = match read_content(&self.target()?)? {
            FileContent::Readable(loaded) => {
                let LoadedPlaybook { text, playbook, .. } = *loaded;
                text.map(|text| (text, playbook))
            }
            FileContent::Damaged { .. } => None,
        };
        let (text, playbook) = read.unwrap_or_else(|| {
            let last = revisions.last();
            let text = last.and_then(|last| last.content.clone()).unwrap_or_default();
            (text, last.map(Revision::playbook).unwrap_or_default())
        });
        let has_external_change = revisions.last().is_some_and(|last| last.content.as_ref() != Some(&text));
        Ok(plan_undo(&revisions, &playbook, has_external_change, number, force)?)
    }

    /// Undoes a change and all later ones. Without a number, undoes the last change. An edit by a person is
    /// undone only with `force`, and stays in the history.
    pub fn undo(
        &self,
        learning: &mut LearningDb,
        number: Option<i64>,
        force: bool,
        at: Moment,
    ) -> Result<ChangeResult, FileError> {
        let locked = self.lock(learning)?;
        let revisions = learning.revisions(&locked.project)?;
        let plan = plan_undo(&revisions, &locked.playbook, locked.has_external_change(), number, force)?;
        let UndoPlan { number, later: _, playbook, changes } = plan;
        locked.save(learning, RevisionCause::Undo(number), at, Applied { playbook, changes })
    }
}

fn plan_undo(
    revisions: &[Revision],
    now: &Playbook,
    has_external_change: bool,
    number: Option<i64>,
    force: bool,
) -> Result<UndoPlan, UndoError> {
    let before = |index: usize| index.checked_sub(1).map(|previous| &revisions[previous]);
    let has_changed = |index: &usize| match (before(*index), &revisions[*index]) {
        (Some(previous), revision) => previous.content != revision.content || revision.content.is_none(),
        (None, revision) => !revision.changes.applied.is_empty() || revision.cause == RevisionCause::External,
    };
    let index = match number {
        Some(number) => {
            revisions.iter().position(|revision| revision.id == number).ok_or(UndoError::NoSuch(number))?
        }
        // The state found before the first change is the start of the history.
        None => (0..revisions.len())
            .rev()
            .find(|index| {
                has_changed(index) && (*index > 0 || revisions[*index].cause != RevisionCause::External)
            })
            .ok_or(UndoError::Nothing)?,
    };
    let number = revisions[index].id;
    let previous_content = match before(index) {
        Some(previous) => previous.content.as_deref().ok_or(UndoError::ContentDeleted(number))?,
        None => "{\"sections\":{}}",
    };
    let is_by_person = |index: &usize| {
        matches!(revisions[*index].cause, RevisionCause::External | RevisionCause::Edit) && has_changed(index)
    };
    let edited = (index + 1..revisions.len()).find(is_by_person).map(|index| revisions[index].id);
    // The start of the history was also written by another program or a person.
    let is_start = index == 0 && revisions[index].cause == RevisionCause::External;
    let lost = match edited {
        Some(edit) => Some(format!("manual change {edit}, made after change {number},")),
        None if has_external_change => Some(format!("an unrecorded manual change after change {number}")),
        None if is_start => Some(format!("the content of change {number}, from before the first lesson,")),
        None => None,
    };
    if let Some(description) = lost.filter(|_| !force) {
        return Err(UndoError::Edited { number, description });
    }
    let (playbook, _) = Playbook::read(previous_content).map_err(|_| UndoError::ContentDeleted(number))?;
    let later = revisions.iter().skip(index + 1).map(|revision| revision.id).collect();
    let changes = ChangeSummary::diff(now, &playbook);
    Ok(UndoPlan { number, later, playbook, changes })
}

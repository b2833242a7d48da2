//! Every state of every playbook: what it was for, what changed, and what the file was before and after. A state is here
//! before it is in its file.

use super::{LearningDb, LearningError};
use crate::points::ChangeSummary;
use longhaul_core::Moment;
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};
use std::fmt;
use std::str::FromStr;

// Some months of daily work, and about a megabyte. What a slice was learnt with is known for ever, so that it is not learnt
// twice.
const CONTENTS_MAX: i64 = 100;

/// What a change was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevisionCause {
    /// What was learnt from a slice of a transcript. It is learnt once.
    SliceRow(i64),
    /// A person's editor.
    Edit,
    /// Taking back everything from this save on.
    Undo(i64),
    /// Somebody else wrote the file: another program, or a person.
    External,
}

/// A state of a playbook.
#[derive(Clone, Debug, PartialEq)]
pub struct Revision {
    /// Its number.
    pub id: i64,
    /// When it was written down.
    pub at: Moment,
    /// What it was for.
    pub cause: RevisionCause,
    /// `last_updated` of the file before it; nothing if there was none.
    pub before: Option<String>,
    /// The same after it.
    pub after: String,
    /// The text of the file; nothing if that is too long ago.
    pub content: Option<String>,
    /// Whether it is known to have been in the file.
    pub written: bool,
    /// What was done and what was skipped.
    pub changes: ChangeSummary,
}

/// A state that is to be written down.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NewRevision {
    pub(crate) at: Moment,
    pub(crate) cause: RevisionCause,
    pub(crate) before: Option<String>,
    pub(crate) after: String,
    pub(crate) content: String,
    pub(crate) placed: bool,
    pub(crate) changes: ChangeSummary,
}

impl LearningDb {
    /// Every state of a project's playbook, the oldest first.
    ///
    /// # Errors
    /// [`LearningError`].
    pub fn saves(&self, project: &str) -> Result<Vec<Revision>, LearningError> {
        self.known(|db| {
            let mut rows = db.prepare(&select("WHERE project = ?1 ORDER BY id"))?;
            rows.query_map(params![project], save)?.collect()
        })
    }

    /// The last state of a project's playbook, and the one before it.
    pub(crate) fn last_saves(
        &self,
        project: &str,
    ) -> Result<(Option<Revision>, Option<Revision>), LearningError> {
        self.known(|db| {
            let mut rows = db.prepare(&select("WHERE project = ?1 ORDER BY id DESC LIMIT 2"))?;
            let mut saves = rows.query_map(params![project], save)?;
            Ok((saves.next().transpose()?, saves.next().transpose()?))
        })
    }

    /// The save of a slice, if it was learnt.
    ///
    /// # Errors
    /// [`LearningError`].
    pub fn save_of_slice(&self, slice: i64) -> Result<Option<Revision>, LearningError> {
        let cause = RevisionCause::SliceRow(slice).to_string();
        self.known(|db| db.prepare(&select("WHERE cause = ?1"))?.query_row(params![cause], save).optional())
    }

    /// Writes states down at once, and says the number of the last. What older ones were is forgotten.
    pub(crate) fn insert_revisions(
        &mut self,
        project: &str,
        saves: &[NewRevision],
    ) -> Result<i64, LearningError> {
        self.change(|db| {
            for save in saves {
                insert(db, project, save)?;
            }
            let id = db.last_insert_rowid();
            db.prepare(
                "UPDATE saves SET content = '' WHERE project = ?1 AND content <> '' AND id <= coalesce(
                     (SELECT id FROM saves WHERE project = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2), 0)",
            )?
            .execute(params![project, CONTENTS_MAX])?;
            Ok(id)
        })
    }

    /// Notes that it is in the file.
    pub(crate) fn is_placed(&self, id: i64) -> Result<(), LearningError> {
        self.known(|db| {
            db.prepare("UPDATE saves SET placed = 1 WHERE id = ?1")?.execute(params![id]).map(|_| ())
        })
    }

    /// Takes back one that is not in the file and never was.
    pub(crate) fn take_back(&self, id: i64) -> Result<(), LearningError> {
        self.known(|db| db.prepare("DELETE FROM saves WHERE id = ?1")?.execute(params![id]).map(|_| ()))
    }
}

fn insert(db: &Connection, project: &str, save: &NewRevision) -> rusqlite::Result<usize> {
    let told = serde_json::to_string(&save.changes).expect("what was done has only string keys");
    db.prepare(
        "INSERT INTO saves (project, at, cause, before, after, content, placed, told)
         VALUES (:project, :at, :cause, :before, :after, :content, :placed, :told)",
    )?
    .execute(named_params! {
        ":project": project,
        ":at": save.at.0.cast_signed(),
        ":cause": save.cause.to_string(),
        ":before": save.before,
        ":after": save.after,
        ":content": save.content,
        ":placed": save.placed,
        ":told": told,
    })
}

fn select(which: &str) -> String {
    format!("SELECT id, at, cause, before, after, content, placed, told FROM saves {which}")
}

fn save(row: &Row<'_>) -> rusqlite::Result<Revision> {
    let content: String = row.get("content")?;
    let told: String = row.get("told")?;
    let cause: String = row.get("cause")?;
    Ok(Revision {
        id: row.get("id")?,
        at: Moment(row.get::<_, i64>("at")?.cast_unsigned()),
        // One that a later version wrote: somebody else's to us.
        cause: cause.parse().unwrap_or(RevisionCause::External),
        before: row.get("before")?,
        after: row.get("after")?,
        content: Some(content).filter(|content| !content.is_empty()),
        written: row.get("placed")?,
        changes: serde_json::from_str(&told).unwrap_or_default(),
    })
}

impl fmt::Display for RevisionCause {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RevisionCause::SliceRow(slice) => write!(out, "slice {slice}"),
            RevisionCause::Edit => out.write_str("edit"),
            RevisionCause::Undo(save) => write!(out, "undo {save}"),
            RevisionCause::External => out.write_str("found"),
        }
    }
}

impl FromStr for RevisionCause {
    type Err = ();

    fn from_str(text: &str) -> Result<RevisionCause, ()> {
        match text.split_once(' ') {
            Some(("slice", slice)) => slice.parse().map(RevisionCause::SliceRow).map_err(|_| ()),
            Some(("undo", save)) => save.parse().map(RevisionCause::Undo).map_err(|_| ()),
            None if text == "edit" => Ok(RevisionCause::Edit),
            None if text == "found" => Ok(RevisionCause::External),
            Some(_) | None => Err(()),
        }
    }
}

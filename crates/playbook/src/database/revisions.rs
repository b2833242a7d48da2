//! Records every revision of every playbook: its cause, its changes, and the file before and after. A
//! revision is recorded before its file is written.

use super::LearningDb;
use crate::points::ChangeSummary;
use longhaul_core::Moment;
use longhaul_store::DatabaseError;
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};
use std::fmt;
use std::str::FromStr;

// About a megabyte, for some months of daily work. The cause of a revision is stored forever, so that no
// slice is learned twice.
const CONTENTS_MAX: i64 = 100;

/// The cause of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevisionCause {
    /// Learning from this slice of a transcript. It happens once.
    SliceRow(i64),
    /// An edit by the user.
    Edit,
    /// An undo of all changes since this revision.
    Undo(i64),
    /// Another program or a person wrote the file.
    External,
}

/// A revision of a playbook.
#[derive(Clone, Debug, PartialEq)]
pub struct Revision {
    /// Row id.
    pub id: i64,
    /// When it was recorded.
    pub at: Moment,
    /// Cause of the change.
    pub cause: RevisionCause,
    /// `last_updated` of the file before it, or `None` if there was no file.
    pub before: Option<String>,
    /// `last_updated` of the file after it.
    pub after: String,
    /// Text of the file, or `None` if the revision is too old.
    pub content: Option<String>,
    /// Whether the file is known to have contained it.
    pub written: bool,
    /// Applied and skipped changes.
    pub changes: ChangeSummary,
}

/// A revision to record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NewRevision {
    pub(crate) at: Moment,
    pub(crate) cause: RevisionCause,
    pub(crate) before: Option<String>,
    pub(crate) after: String,
    pub(crate) content: String,
    pub(crate) written: bool,
    pub(crate) changes: ChangeSummary,
}

impl LearningDb {
    /// Returns every revision of a project's playbook, oldest first.
    ///
    /// # Errors
    /// Returns [`DatabaseError`] if the database cannot be read.
    pub fn revisions(&self, project: &str) -> Result<Vec<Revision>, DatabaseError> {
        self.database.query(|db| {
            let mut rows = db.prepare(&select("WHERE project = ?1 ORDER BY id"))?;
            rows.query_map(params![project], revision_from_row)?.collect()
        })
    }

    /// Returns the last revision of a project's playbook and the one before it.
    pub(crate) fn last_revisions(
        &self,
        project: &str,
    ) -> Result<(Option<Revision>, Option<Revision>), DatabaseError> {
        self.database.query(|db| {
            let mut rows = db.prepare(&select("WHERE project = ?1 ORDER BY id DESC LIMIT 2"))?;
            let mut revisions = rows.query_map(params![project], revision_from_row)?;
            Ok((revisions.next().transpose()?, revisions.next().transpose()?))
        })
    }

    /// Returns the revision of a slice, or `None` if it was not learned.
    ///
    /// # Errors
    /// Returns [`DatabaseError`] if the database cannot be read.
    pub fn revision_of_slice(&self, slice: i64) -> Result<Option<Revision>, DatabaseError> {
        let cause = RevisionCause::SliceRow(slice).to_string();
        self.database.query(|db| {
            db.prepare(&select("WHERE cause = ?1"))?.query_row(params![cause], revision_from_row).optional()
        })
    }

    /// Records revisions in one transaction and returns the id of the last. Deletes the text of old
    /// revisions.
    pub(crate) fn insert_revisions(
        &mut self,
        project: &str,
        revisions: &[NewRevision],
    ) -> Result<i64, DatabaseError> {
        self.database.change(|db| {
            for revision in revisions {
                insert(db, project, revision)?;
            }
            let id = db.last_insert_rowid();
            db.prepare(
                "UPDATE revisions SET content = '' WHERE project = ?1 AND content <> '' AND id <= coalesce(
                     (SELECT id FROM revisions WHERE project = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2), 0)",
            )?
            .execute(params![project, CONTENTS_MAX])?;
            Ok(id)
        })
    }

    /// Records that the revision is in the file.
    pub(crate) fn mark_written(&self, id: i64) -> Result<(), DatabaseError> {
        self.database.query(|db| {
            db.prepare("UPDATE revisions SET written = 1 WHERE id = ?1")?.execute(params![id]).map(|_| ())
        })
    }

    /// Deletes a revision that never reached the file.
    pub(crate) fn delete_revision(&self, id: i64) -> Result<(), DatabaseError> {
        self.database
            .query(|db| db.prepare("DELETE FROM revisions WHERE id = ?1")?.execute(params![id]).map(|_| ()))
    }
}

fn insert(db: &Connection, project: &str, revision: &NewRevision) -> rusqlite::Result<usize> {
    let changes = serde_json::to_string(&revision.changes).expect("a change summary has only string keys");
    db.prepare(
        "INSERT INTO revisions (project, at, cause, before, after, content, written, changes)
         VALUES (:project, :at, :cause, :before, :after, :content, :written, :changes)",
    )?
    .execute(named_params! {
        ":project": project,
        ":at": revision.at.0.cast_signed(),
        ":cause": revision.cause.to_string(),
        ":before": revision.before,
        ":after": revision.after,
        ":content": revision.content,
        ":written": revision.written,
        ":changes": changes,
    })
}

fn select(condition: &str) -> String {
    format!("SELECT id, at, cause, before, after, content, written, changes FROM revisions {condition}")
}

fn revision_from_row(row: &Row<'_>) -> rusqlite::Result<Revision> {
    let content: String = row.get("content")?;
    let changes: String = row.get("changes")?;
    let cause: String = row.get("cause")?;
    Ok(Revision {
        id: row.get("id")?,
        at: Moment(row.get::<_, i64>("at")?.cast_unsigned()),
        // A later version may write causes that are unknown here.
        cause: cause.parse().unwrap_or(RevisionCause::External),
        before: row.get("before")?,
        after: row.get("after")?,
        content: Some(content).filter(|content| !content.is_empty()),
        written: row.get("written")?,
        changes: serde_json::from_str(&changes).unwrap_or_default(),
    })
}

impl fmt::Display for RevisionCause {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RevisionCause::SliceRow(slice) => write!(out, "slice {slice}"),
            RevisionCause::Edit => out.write_str("edit"),
            RevisionCause::Undo(revision) => write!(out, "undo {revision}"),
            RevisionCause::External => out.write_str("found"),
        }
    }
}

impl FromStr for RevisionCause {
    type Err = ();

    fn from_str(text: &str) -> Result<RevisionCause, ()> {
        match text.split_once(' ') {
            Some(("slice", slice)) => slice.parse().map(RevisionCause::SliceRow).map_err(|_| ()),
            Some(("undo", revision)) => revision.parse().map(RevisionCause::Undo).map_err(|_| ()),
            None if text == "edit" => Ok(RevisionCause::Edit),
            None if text == "found" => Ok(RevisionCause::External),
            Some(_) | None => Err(()),
        }
    }
}

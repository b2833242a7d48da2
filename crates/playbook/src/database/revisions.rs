//! Records every revision of every playbook: its cause, its changes, and the file before and after. A
//! revision is recorded before its file is written.

use super::status::rows;
use super::{LearningDb, moment};
use crate::Playbook;
use crate::points::ChangeSummary;
use longhaul_core::Moment;
use longhaul_store::DatabaseError;
use rusqlite::{Row, params};
use strum::Display;

// About a megabyte, for some months of daily work. The cause of a revision is stored forever, so that no
// slice is learned twice.
const CONTENTS_MAX: i64 = 100;

/// The cause of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display)]
pub enum RevisionCause {
    /// Learning from this slice of a transcript. It happens once.
    #[strum(to_string = "slice {0}")]
    SliceRow(i64),
    /// An edit by the user.
    #[strum(to_string = "edit")]
    Edit,
    /// An undo of all changes since this revision.
    #[strum(to_string = "undo {0}")]
    Undo(i64),
    /// Another program or a person wrote the file.
    #[strum(to_string = "found")]
    External,
}

/// A revision of a playbook.
#[derive(Clone, Debug, PartialEq)]
pub struct Revision {
    /// Row id, or 0 before it is recorded.
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

impl Revision {
    /// Returns the stored playbook. It is empty if its text was deleted or is invalid.
    pub(crate) fn playbook(&self) -> Playbook {
        let text = self.content.as_deref();
        text.and_then(|text| Playbook::read(text).ok()).unwrap_or_default().0
    }
}

impl LearningDb {
    /// Returns every revision of a project's playbook, oldest first.
    pub fn revisions(&self, project: &str) -> Result<Vec<Revision>, DatabaseError> {
        self.select("WHERE project = ?1 ORDER BY id", project)
    }

    pub(crate) fn last_revisions(
        &self,
        project: &str,
    ) -> Result<(Option<Revision>, Option<Revision>), DatabaseError> {
        let mut revisions = self.select("WHERE project = ?1 ORDER BY id DESC LIMIT 2", project)?.into_iter();
        Ok((revisions.next(), revisions.next()))
    }

    pub(crate) fn revision_of_slice(&self, slice: i64) -> Result<Option<Revision>, DatabaseError> {
        Ok(self.select("WHERE cause = ?1", &RevisionCause::SliceRow(slice).to_string())?.pop())
    }

    fn select(&self, condition: &str, parameter: &str) -> Result<Vec<Revision>, DatabaseError> {
        let sql = format!(
            "SELECT id, at, cause, before, after, content, written, changes FROM revisions {condition}"
        );
        self.database.query(|db| rows(db, &sql, [parameter], revision))
    }

    /// Records revisions in one transaction and returns the id of the last. Deletes the text of old
    /// revisions.
    pub(crate) fn insert_revisions(
        &mut self,
        project: &str,
        revisions: &[Revision],
    ) -> Result<i64, DatabaseError> {
        let sql = "INSERT INTO revisions (project, at, cause, before, after, content, written, changes)
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
        self.database.change(|db| {
            for Revision { id: _, at, cause, before, after, content, written, changes } in revisions {
                let changes =
                    serde_json::to_string(changes).expect("a change summary has only string keys");
                let (at, cause) = (at.0.cast_signed(), cause.to_string());
                let content = content.as_deref().unwrap_or_default();
                db.execute(sql, params![project, at, cause, before, after, content, written, changes])?;
            }
            let id = db.last_insert_rowid();
            let sql = "UPDATE revisions SET content = '' WHERE project = ?1 AND content <> '' AND id <= coalesce(
                           (SELECT id FROM revisions WHERE project = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2), 0)";
            db.execute(sql, params![project, CONTENTS_MAX])?;
            Ok(id)
        })
    }

    pub(crate) fn mark_written(&self, id: i64) -> Result<(), DatabaseError> {
        self.database.query(|db| db.execute("UPDATE revisions SET written = 1 WHERE id = ?", [id]).map(drop))
    }

    /// Deletes a revision that never reached the file.
    pub(crate) fn delete_revision(&self, id: i64) -> Result<(), DatabaseError> {
        self.database.query(|db| db.execute("DELETE FROM revisions WHERE id = ?", [id]).map(drop))
    }
}

fn revision(row: &Row<'_>) -> rusqlite::Result<Revision> {
    let (cause, changes): (String, String) = (row.get(2)?, row.get(7)?);
    Ok(Revision {
        id: row.get(0)?,
        at: moment(row, 1)?,
        cause: parse_cause(&cause),
        before: row.get(3)?,
        after: row.get(4)?,
        content: Some(row.get(5)?).filter(|content: &String| !content.is_empty()),
        written: row.get(6)?,
        changes: serde_json::from_str(&changes).unwrap_or_default(),
    })
}

fn parse_cause(text: &str) -> RevisionCause {
    let (kind, number) = text.split_once(' ').unwrap_or((text, ""));
    match (kind, number.parse()) {
        ("slice", Ok(slice)) => RevisionCause::SliceRow(slice),
        ("undo", Ok(revision)) => RevisionCause::Undo(revision),
        ("edit", _) => RevisionCause::Edit,
        // Another program wrote the file, or a later version of this one knows more causes.
        _ => RevisionCause::External,
    }
}

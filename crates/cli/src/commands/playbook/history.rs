//! `longhaul playbook history`: the changes of a playbook and their causes.

use super::project;
use crate::args::playbook::HistoryArgs;
use crate::args::{GlobalArgs, OutputFormat};
use crate::failure::Failure;
use crate::output;
use crate::output::pager::page;
use crate::output::table::{Column, table};
use crate::time_arg::ago;
use longhaul_core::{Moment, Rfc3339};
use longhaul_playbook::database::{Revision, RevisionCause};
use longhaul_playbook::points::ChangeSummary;
use serde::Serialize;

/// Output of the command.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HistoryOutput {
    /// Path of the playbook.
    path: String,
    /// Changes, newest first.
    changes: Vec<Change>,
    /// Whether there are more changes than requested.
    more: bool,
}

/// One change.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Change {
    /// Number of the change, which `undo` accepts.
    change: i64,
    /// Time of the change.
    at: Rfc3339,
    /// Cause: `slice 17` of a session, `edit`, `undo 3`, or `found` for a change by another program or a
    /// person.
    cause: String,
    /// Whether the state before the change is kept.
    kept: bool,
    /// Applied and skipped changes.
    #[serde(flatten)]
    changes: ChangeSummary,
    #[serde(skip)]
    revision_cause: RevisionCause,
}

pub fn history(global: &GlobalArgs, args: &HistoryArgs) -> Result<u8, Failure> {
    let file = project::file(&args.project)?;
    let revisions = match project::existing_db()? {
        Some(learning) => learning.revisions(&file.project())?,
        None => Vec::new(),
    };
    let limit = if args.all { usize::MAX } else { args.limit.get() };
    let more = revisions.len() > limit;
    let has_content: Vec<bool> = revisions.iter().map(|revision| revision.content.is_some()).collect();
    // The state before the first change is empty or an external revision.
    let is_kept = |index: usize| index.checked_sub(1).is_none_or(|previous| has_content[previous]);
    let changes = revisions.into_iter().enumerate().rev().take(limit);
    let changes = changes.map(|(index, revision)| change(revision, is_kept(index))).collect();
    let history = HistoryOutput { path: file.path().display().to_string(), changes, more };
    match output::format(global) {
        format @ (OutputFormat::Json | OutputFormat::StreamJson) => output::print_json(format, &history),
        OutputFormat::Text if history.changes.is_empty() => {
            output::print_status(&format!("nothing was changed in {} yet", history.path));
        }
        OutputFormat::Text => {
            page(global, &text(&history, output::now()));
            if more {
                output::print_status(&format!("only the newest {limit}; --all or -n N shows more"));
            }
        }
    }
    Ok(0)
}

fn change(revision: Revision, kept: bool) -> Change {
    let Revision { id, at, cause, changes, .. } = revision;
    Change { change: id, at: at.into(), cause: cause.to_string(), kept, changes, revision_cause: cause }
}

fn text(history: &HistoryOutput, now: Moment) -> String {
    let mut cells = vec![["change", "time", "cause", "result"].map(str::to_owned).to_vec()];
    cells.extend(history.changes.iter().map(|change| {
        vec![
            change.change.to_string(),
            ago(change.at.0, now),
            cause(change.revision_cause),
            change.changes.summary_line(),
        ]
    }));
    table(&cells, &[Column::Right, Column::Left, Column::Left, Column::Last], output::width())
}

fn cause(cause: RevisionCause) -> String {
    match cause {
        RevisionCause::SliceRow(slice) => format!("a session (slice {slice})"),
        RevisionCause::Edit => "an edit".to_owned(),
        RevisionCause::Undo(change) => format!("undo {change}"),
        RevisionCause::External => "external change".to_owned(),
    }
}

//! `longhaul playbook history`: what a playbook was changed for, and what each change did.

use super::project;
use crate::args::playbook::HistoryArgs;
use crate::args::{GlobalArgs, OutputFormat};
use crate::failure::Failure;
use crate::output;
use crate::output::pager::page;
use crate::output::table::{Column, table};
use crate::time_arg::ago;
use longhaul_core::Moment;
use longhaul_playbook::database::{Revision, RevisionCause};
use longhaul_playbook::points::ChangeSummary;
use longhaul_store::rfc3339;
use serde::Serialize;

/// What is printed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HistoryOutput {
    /// The file.
    path: String,
    /// The changes, the newest first.
    changes: Vec<Change>,
    /// Whether there are more than were asked for.
    more: bool,
}

/// One change.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Change {
    /// Its number, which `undo` takes.
    change: i64,
    /// When it was made.
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Rfc3339"))]
    at: String,
    /// What it was for: `slice 17` of what was learnt from, `extracted`, `edit`, `undo 3`; `found` is what somebody else
    /// wrote.
    cause: String,
    /// Whether it can be gone back to before it.
    kept: bool,
    /// What was done, and what was skipped.
    #[serde(flatten)]
    changes: ChangeSummary,
    #[serde(skip)]
    of: RevisionCause,
    #[serde(skip)]
    when: Moment,
}

/// Carries out the command and returns its exit code.
pub fn history(global: &GlobalArgs, args: &HistoryArgs) -> Result<u8, Failure> {
    let file = project::file(&args.project)?;
    let saves = match project::known()? {
        Some(learning) => learning.saves(&file.project()).map_err(|error| project::failure(&error.into()))?,
        None => Vec::new(),
    };
    let limit = if args.all { usize::MAX } else { args.limit.get() };
    let more = saves.len() > limit;
    let kept: Vec<bool> = saves.iter().map(|save| save.content.is_some()).collect();
    // The state before the first was none, or is what was found.
    let is_kept = |place: usize| place.checked_sub(1).is_none_or(|before| kept[before]);
    let changes = saves.into_iter().enumerate().rev().take(limit);
    let changes = changes.map(|(place, save)| change(save, is_kept(place))).collect();
    let listed = HistoryOutput { path: file.path().display().to_string(), changes, more };
    match output::format(global) {
        OutputFormat::Json | OutputFormat::StreamJson => output::print_json(&listed),
        OutputFormat::Text if listed.changes.is_empty() => {
            if !global.quiet {
                output::print_status(&format!("nothing was changed in {} yet", listed.path));
            }
        }
        OutputFormat::Text => {
            page(global, &text(&listed, output::now()));
            if more && !global.quiet {
                output::print_status(&format!("the newest {limit}; --all or -n N tells of more"));
            }
        }
    }
    Ok(0)
}

fn change(save: Revision, kept: bool) -> Change {
    let Revision { id, at, cause, changes: told, .. } = save;
    Change { change: id, at: rfc3339(at), cause: cause.to_string(), kept, changes: told, of: cause, when: at }
}

fn text(listed: &HistoryOutput, now: Moment) -> String {
    let mut cells = vec![["change", "made", "for", "did"].map(str::to_owned).to_vec()];
    cells.extend(listed.changes.iter().map(|change| {
        vec![
            change.change.to_string(),
            ago(change.when, now),
            cause(change.of),
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
        RevisionCause::External => "written by others".to_owned(),
    }
}

//! The report of a playbook change, as JSON and as text.

use crate::args::GlobalArgs;
use crate::output;
use crate::output::phrases::one_line;
use longhaul_playbook::points::{AppliedChange, ChangeSummary};
use longhaul_playbook::{ChangeOutcome, ChangeResult, PlaybookFile};
use serde::Serialize;

/// Output of the commands that change a playbook.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ChangeReport {
    /// Path of the playbook.
    path: String,
    /// Whether nothing was written.
    dry_run: bool,
    /// Whether the playbook changed, or would change.
    changed: bool,
    /// Number of the change, which `undo` accepts. `None` if nothing was saved.
    change: Option<i64>,
    /// Changes that were reverted, oldest first. Empty except for `undo`.
    reverted: Vec<i64>,
    #[serde(flatten)]
    changes: ChangeSummary,
    /// Copy of the playbook, if it was damaged.
    damaged_copy: Option<String>,
}

impl ChangeReport {
    pub fn new(file: &PlaybookFile, changed: ChangeResult, reverted: Vec<i64>) -> ChangeReport {
        ChangeReport {
            dry_run: false,
            changed: changed.outcome == ChangeOutcome::Saved,
            change: changed.revision,
            damaged_copy: changed.damaged_copy.map(|path| path.display().to_string()),
            ..ChangeReport::dry_run(file, changed.changes, reverted)
        }
    }

    pub fn unchanged(file: &PlaybookFile) -> ChangeReport {
        ChangeReport { dry_run: false, ..ChangeReport::dry_run(file, ChangeSummary::default(), Vec::new()) }
    }

    pub fn dry_run(file: &PlaybookFile, changes: ChangeSummary, reverted: Vec<i64>) -> ChangeReport {
        ChangeReport {
            path: file.path().display().to_string(),
            dry_run: true,
            changed: !changes.applied.is_empty(),
            change: None,
            reverted,
            changes,
            damaged_copy: None,
        }
    }

    pub fn print(&self, global: &GlobalArgs) {
        output::print_output(global, self, || self.text());
    }

    fn text(&self) -> String {
        let mut out: String =
            self.changes.applied.iter().map(|change| format!("{}\n", line(change))).collect();
        let would = if self.dry_run { "would be " } else { "" };
        out += &match (self.changed, self.change) {
            (true, Some(change)) => format!("change {change} of {}\n", self.path),
            (true, None) => format!("{} {would}changed\n", self.path),
            (false, _) => format!("{}: nothing {would}changed\n", self.path),
        };
        if let Some(copy) = &self.damaged_copy {
            out += &format!("the damaged file is kept as {copy}\n");
        }
        out
    }
}

pub fn line(change: &AppliedChange) -> String {
    match change {
        AppliedChange::Helped { name } => format!("{name} helped"),
        AppliedChange::Harmed { name } => format!("{name} was harmful"),
        AppliedChange::Added { name, section, text, .. } => {
            format!("+ {name} {}  ({section})", one_line(text))
        }
        AppliedChange::Updated { name, previous_text, text } => {
            format!("~ {name} {}  (was: {})", one_line(text), one_line(previous_text))
        }
        AppliedChange::Deleted { name, text, .. } => format!("- {name} {}", one_line(text)),
        AppliedChange::Merged { name, text, from, .. } => {
            let from: Vec<&str> = from.iter().map(|from| from.as_str()).collect();
            format!("+ {name} {}  (of {})", one_line(text), from.join(", "))
        }
        AppliedChange::Joined { name, from, text } => format!("- {from} {}  (now {name})", one_line(text)),
        AppliedChange::Pruned { name, text, helpful, harmful, .. } => {
            format!("- {name} {}  (helped {helpful}, harmful {harmful})", one_line(text))
        }
        AppliedChange::Changed { name, section, helpful, harmful } => {
            format!("~ {name} helped {helpful}, harmful {harmful}  ({section})")
        }
    }
}

//! What a change of a playbook came to, as it is printed, and in words.

use crate::output::phrases::{counted, one_line};
use longhaul_playbook::points::{AppliedChange, ChangeSummary, SkippedChange};
use longhaul_playbook::{Changed, Outcome, PlaybookFile};
use serde::Serialize;

/// What is printed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ChangeReport {
    /// The file.
    path: String,
    /// Whether it was only told what would be done.
    dry_run: bool,
    /// Whether the playbook has changed, or would.
    changed: bool,
    /// The number of the change, by which it can be taken back; nothing if there is none.
    change: Option<i64>,
    /// The changes that were taken back, the oldest first; none but for `undo`.
    reverted: Vec<i64>,
    /// What was done, in its order.
    applied: Vec<AppliedChange>,
    /// What was asked for and not done.
    skipped: Vec<SkippedChange>,
    /// Where the file was kept that could not be read.
    damaged_copy: Option<String>,
}

impl ChangeReport {
    pub fn new(file: &PlaybookFile, changed: Changed, reverted: Vec<i64>) -> ChangeReport {
        let Changed {
            save,
            outcome,
            changes: ChangeSummary { applied: done, skipped },
            damaged_copy: set_aside,
            warnings: _,
        } = changed;
        ChangeReport {
            path: file.path().display().to_string(),
            dry_run: false,
            changed: outcome == Outcome::Saved,
            change: save,
            reverted,
            applied: done,
            skipped,
            damaged_copy: set_aside.map(|path| path.display().to_string()),
        }
    }

    /// That nothing was asked for.
    pub fn nothing(file: &PlaybookFile) -> ChangeReport {
        ChangeReport { dry_run: false, ..ChangeReport::planned(file, ChangeSummary::default(), Vec::new()) }
    }

    /// What would be done.
    pub fn planned(file: &PlaybookFile, told: ChangeSummary, reverted: Vec<i64>) -> ChangeReport {
        ChangeReport {
            path: file.path().display().to_string(),
            dry_run: true,
            changed: !told.applied.is_empty(),
            change: None,
            reverted,
            applied: told.applied,
            skipped: told.skipped,
            damaged_copy: None,
        }
    }

    /// The same for people: a line each, and where it was done.
    pub fn text(&self) -> String {
        let mut out: String = self.applied.iter().map(|done| format!("{}\n", line(done))).collect();
        let would = if self.dry_run { "would be " } else { "" };
        out += &match (self.changed, self.change) {
            (true, Some(change)) => format!("change {change} of {}\n", self.path),
            (true, None) => format!("{} {would}changed\n", self.path),
            (false, _) => format!("{}: nothing {would}changed\n", self.path),
        };
        if let Some(kept) = &self.damaged_copy {
            out += &format!("the damaged file is kept as {kept}\n");
        }
        out
    }
}

/// One thing that was done, in a line.
pub fn line(done: &AppliedChange) -> String {
    match done {
        AppliedChange::Helped { name } => format!("{name} helped"),
        AppliedChange::Harmed { name } => format!("{name} did harm"),
        AppliedChange::Added { name, section, text, .. } => {
            format!("+ {name} {}  ({section})", one_line(text))
        }
        AppliedChange::Updated { name, previous_text: was, text } => {
            format!("~ {name} {}  (was: {})", one_line(text), one_line(was))
        }
        AppliedChange::Deleted { name, text, .. } => format!("- {name} {}", one_line(text)),
        AppliedChange::Merged { name, text, from, .. } => {
            let from: Vec<&str> = from.iter().map(|from| from.as_str()).collect();
            format!("+ {name} {}  (of {})", one_line(text), from.join(", "))
        }
        AppliedChange::Joined { name, from, text } => format!("- {from} {}  (now {name})", one_line(text)),
        AppliedChange::Pruned { name, text, helpful, harmful, .. } => {
            format!("- {name} {}  (helped {helpful}, did harm {harmful})", one_line(text))
        }
        AppliedChange::Changed { name, section, helpful, harmful } => {
            format!("~ {name} helped {helpful}, did harm {harmful}  ({section})")
        }
    }
}

/// `5 points`.
pub fn points(count: usize) -> String {
    counted(count as u64, "point")
}

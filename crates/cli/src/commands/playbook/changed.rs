//! What a change of a playbook came to, as it is printed, and in words.

use crate::output::words::{counted, one_line};
use longhaul_playbook::points::{Done, Skipped, Told};
use longhaul_playbook::{Changed, Outcome, PlaybookFile};
use serde::Serialize;

/// What is printed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Printed {
    /// The file.
    path: String,
    /// Whether it was only told what would be done.
    dry_run: bool,
    /// Whether the playbook has changed, or would.
    changed: bool,
    /// The number of the change, by which it can be taken back; nothing if there is none.
    change: Option<i64>,
    /// The changes that were taken back, the oldest first; none but for `undo`.
    taken_back: Vec<i64>,
    /// What was done, in its order.
    done: Vec<Done>,
    /// What was asked for and not done.
    skipped: Vec<Skipped>,
    /// Where the file was kept that could not be read.
    set_aside: Option<String>,
}

impl Printed {
    pub fn of(file: &PlaybookFile, changed: Changed, taken_back: Vec<i64>) -> Printed {
        let Changed { save, outcome, told: Told { done, skipped }, set_aside, noticed: _ } = changed;
        Printed {
            path: file.path().display().to_string(),
            dry_run: false,
            changed: outcome == Outcome::Saved,
            change: save,
            taken_back,
            done,
            skipped,
            set_aside: set_aside.map(|path| path.display().to_string()),
        }
    }

    /// That nothing was asked for.
    pub fn nothing(file: &PlaybookFile) -> Printed {
        Printed { dry_run: false, ..Printed::planned(file, Told::default(), Vec::new()) }
    }

    /// What would be done.
    pub fn planned(file: &PlaybookFile, told: Told, taken_back: Vec<i64>) -> Printed {
        Printed {
            path: file.path().display().to_string(),
            dry_run: true,
            changed: !told.done.is_empty(),
            change: None,
            taken_back,
            done: told.done,
            skipped: told.skipped,
            set_aside: None,
        }
    }

    /// The same for people: a line each, and where it was done.
    pub fn text(&self) -> String {
        let mut out: String = self.done.iter().map(|done| format!("{}\n", line(done))).collect();
        let would = if self.dry_run { "would be " } else { "" };
        out += &match (self.changed, self.change) {
            (true, Some(change)) => format!("change {change} of {}\n", self.path),
            (true, None) => format!("{} {would}changed\n", self.path),
            (false, _) => format!("{}: nothing {would}changed\n", self.path),
        };
        if let Some(kept) = &self.set_aside {
            out += &format!("the damaged file is kept as {kept}\n");
        }
        out
    }
}

/// One thing that was done, in a line.
pub fn line(done: &Done) -> String {
    match done {
        Done::Helped { name } => format!("{name} helped"),
        Done::Harmed { name } => format!("{name} did harm"),
        Done::Added { name, section, text, .. } => format!("+ {name} {}  ({section})", one_line(text)),
        Done::Updated { name, was, text } => format!("~ {name} {}  (was: {})", one_line(text), one_line(was)),
        Done::Deleted { name, text, .. } => format!("- {name} {}", one_line(text)),
        Done::Merged { name, text, from, .. } => {
            let from: Vec<&str> = from.iter().map(|from| from.as_str()).collect();
            format!("+ {name} {}  (of {})", one_line(text), from.join(", "))
        }
        Done::Joined { name, from, text } => format!("- {from} {}  (now {name})", one_line(text)),
        Done::Pruned { name, text, helpful, harmful, .. } => {
            format!("- {name} {}  (helped {helpful}, did harm {harmful})", one_line(text))
        }
        Done::Changed { name, section, helpful, harmful } => {
            format!("~ {name} helped {helpful}, did harm {harmful}  ({section})")
        }
    }
}

/// `5 points`.
pub fn points(count: usize) -> String {
    counted(count as u64, "point")
}

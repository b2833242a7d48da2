//! Prints a line at the start and end of each attempt, from the journal.

use crate::failure::Failure;
use crate::output::phrases;
use crate::output::time::TimeFormat;
use crate::run_history::timeline_text;
use crate::run_history::{AttemptFiles, attempt_end, read_attempt_files};
use longhaul_core::{Moment, RunHistory};
use longhaul_store::{JournalFollower, RunDir, StoreError};
use std::collections::BTreeMap;

pub struct Attempts {
    dir: RunDir,
    journal: Option<JournalFollower>,
    pub history: RunHistory,
    files: BTreeMap<u32, AttemptFiles>,
    clock: TimeFormat,
}

impl Attempts {
    pub fn new(dir: &RunDir) -> Attempts {
        Attempts {
            dir: dir.clone(),
            journal: None,
            history: RunHistory::default(),
            files: BTreeMap::new(),
            clock: TimeFormat::here(),
        }
    }

    pub fn update(&mut self) -> Result<(), StoreError> {
        let journal = match &mut self.journal {
            Some(journal) => journal,
            empty => empty.insert(JournalFollower::open(&self.dir.journal_path())?),
        };
        let entries = journal.read()?;
        if entries.is_empty() {
            return Ok(());
        }
        for entry in entries {
            for record in &entry.records {
                self.history.apply(entry.at, record);
            }
        }
        self.files = read_attempt_files(&self.dir, self.history.attempts());
        Ok(())
    }

    /// Returns whether this attempt has ended. Its transcript is then complete.
    pub fn has_ended(&self, number: u32) -> bool {
        self.history.attempt(number).is_some_and(|attempt| attempt.end.is_some())
    }

    pub fn check(&self, number: u32) -> Result<(), Failure> {
        if self.history.attempt(number).is_some() {
            return Ok(());
        }
        let hint = match self.history.attempts() {
            [] => "no attempt has started yet".to_owned(),
            [only] => format!("the run has only attempt {}", only.number),
            [first, .., last] => format!("the run has attempts {} to {}", first.number, last.number),
        };
        Err(Failure::usage(format!("run {} has no attempt {number}", self.dir.id()), hint))
    }

    /// Returns the line before an attempt. Uses the time of the first message if the journal does not contain
    /// the attempt.
    pub fn banner(&self, number: u32, since: Option<Moment>) -> String {
        let Some(attempt) = self.history.attempt(number) else {
            let since = since.map(|at| format!(", {}", self.clock.whole(at))).unwrap_or_default();
            return format!("attempt {number}{since}\n");
        };
        let strategy = match attempt.strategy {
            Some(_) => format!(": {}", phrases::strategy_text(attempt.strategy, attempt.reason)),
            None => String::new(),
        };
        format!("attempt {number}, {}{strategy}\n", self.clock.whole(attempt.agent_started_at()))
    }

    /// Returns the line after an attempt, or `None` if it has not ended.
    pub fn ending(&self, number: u32) -> Option<String> {
        let attempt = self.history.attempt(number)?;
        let ended = attempt_end(attempt, self.files.get(&number))?;
        let at = attempt.ended_at?;
        Some(format!("{}\n", timeline_text::describe_attempts_end(&ended, at, at, &self.clock)))
    }
}

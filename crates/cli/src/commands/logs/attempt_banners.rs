//! What the journal says of a run's attempts, as far as it has come: for the lines between what was said in them.

use crate::failure::Failure;
use crate::output::time::TimeFormat;
use crate::output::{phrases, timeline_text};
use crate::run_history::{AttemptFiles, AttemptHistory, RecordAt, attempts_of, ending, read_attempt_files};
use longhaul_core::{Moment, Record, Run};
use longhaul_store::{JournalFollower, RunDir, StoreError};
use std::collections::BTreeMap;

/// The attempts of a run.
pub struct Attempts {
    dir: RunDir,
    journal: Option<JournalFollower>,
    records: Vec<(Moment, Record)>,
    run: Run,
    attempts: Vec<AttemptHistory>,
    facts: BTreeMap<u32, AttemptFiles>,
    clock: TimeFormat,
}

impl Attempts {
    pub fn new(dir: &RunDir) -> Attempts {
        Attempts {
            dir: dir.clone(),
            journal: None,
            records: Vec::new(),
            run: Run::new(),
            attempts: Vec::new(),
            facts: BTreeMap::new(),
            clock: TimeFormat::here(),
        }
    }

    /// Takes in what the journal has that it did not have before.
    pub fn read_on(&mut self) -> Result<(), StoreError> {
        let journal = match &mut self.journal {
            Some(journal) => journal,
            none => none.insert(JournalFollower::open(&self.dir.journal_path())?),
        };
        let entries = journal.read()?;
        if entries.is_empty() {
            return Ok(());
        }
        for entry in entries {
            for record in entry.records {
                self.run.apply(&record);
                self.records.push((entry.at, record));
            }
        }
        let told: Vec<RecordAt<'_>> = self.records.iter().map(|(at, record)| (*at, record)).collect();
        self.attempts = attempts_of(told);
        self.facts = read_attempt_files(&self.dir, &self.attempts);
        Ok(())
    }

    pub fn run(&self) -> &Run {
        &self.run
    }

    pub fn all(&self) -> &[AttemptHistory] {
        &self.attempts
    }

    fn attempt(&self, number: u32) -> Option<&AttemptHistory> {
        self.attempts.iter().find(|attempt| attempt.number == number)
    }

    /// Whether this attempt has ended: then all that was said in it is written down.
    pub fn has_ended(&self, number: u32) -> bool {
        self.attempt(number).is_some_and(|attempt| attempt.end.is_some())
    }

    /// Refuses an attempt that is not there.
    pub fn check(&self, number: u32) -> Result<(), Failure> {
        if self.attempt(number).is_some() {
            return Ok(());
        }
        let there = match self.attempts.as_slice() {
            [] => "no attempt was begun yet".to_owned(),
            [one] => format!("there is attempt {} alone", one.number),
            [first, .., last] => format!("there are attempts {} to {}", first.number, last.number),
        };
        Err(Failure::usage(format!("print attempt {number} of run {}: there is none", self.dir.id()), there))
    }

    /// The line before what was said in an attempt; by the first message's time where the journal says nothing.
    pub fn banner(&self, number: u32, since: Option<Moment>) -> String {
        let Some(attempt) = self.attempt(number) else {
            let since = since.map(|at| format!(", {}", self.clock.whole(at))).unwrap_or_default();
            return format!("attempt {number}{since}\n");
        };
        let strategy = match attempt.strategy {
            Some(_) => format!(": {}", phrases::strategy_text(attempt.strategy, attempt.reason)),
            None => String::new(),
        };
        format!("attempt {number}, {}{strategy}\n", self.clock.whole(attempt.began()))
    }

    /// The line behind it, once it has ended.
    pub fn ending(&self, number: u32) -> Option<String> {
        let attempt = self.attempt(number)?;
        let ended = ending(attempt, self.facts.get(&number))?;
        let at = attempt.end.as_ref()?.at;
        Some(format!("{}\n", timeline_text::ending(&ended, at, &self.clock)))
    }
}

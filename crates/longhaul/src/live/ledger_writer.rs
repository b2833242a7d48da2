//! Keeps the run's place in the ledger up to date, beside its work. The ledger is derived: what cannot be written is
//! written later, or derived by whoever reads it next, and no run waits for it or fails for it.

use longhaul_core::{Record, Run};
use longhaul_store::{
    Home, JournalPosition, Ledger, LedgerEntry, LedgerRun, RunDir, RunState, model_usage_of,
};
use std::time::Duration;

// While the agent works, somebody who reads or writes the ledger is waited for no longer than nobody notices.
const WAIT: Duration = Duration::from_millis(20);
// When the run is over there is nothing else to do. Two hundred runs that end at once write for less than a second.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// A run, as the ledger is told of it.
pub(crate) struct LedgerWriter {
    home: Home,
    dir: RunDir,
    entry: LedgerEntry,
    /// What was written last.
    written: Option<LedgerRun>,
    ledger: Option<Ledger>,
}

impl LedgerWriter {
    /// The run as it stands.
    pub(crate) fn new(home: &Home, dir: &RunDir) -> LedgerWriter {
        let entry = LedgerEntry::from_journal(dir);
        if entry.run.state == RunState::Finished {
            // The ledger has it as over, and nobody looks again at such a run: until it knows better, this tells.
            let _ = home.mark_stale(dir);
        }
        LedgerWriter { home: home.clone(), dir: dir.clone(), entry, written: None, ledger: None }
    }

    /// Takes in what was decided.
    pub(crate) fn take(&mut self, run: &Run, records: &[Record]) {
        for record in records {
            self.entry.apply(record, |attempt| model_usage_of(&self.dir, attempt));
        }
        if !records.is_empty() {
            self.entry.update_state(run);
        }
    }

    /// Writes down what has changed since, if anything a reader sees has, while the run goes on.
    pub(crate) fn write(&mut self) {
        self.write_within(WAIT);
    }

    /// The same for a run that is over.
    pub(crate) fn write_last(&mut self) {
        // What was opened waits as briefly as it did.
        self.ledger = None;
        self.write_within(LAST_WAIT);
    }

    fn write_within(&mut self, wait: Duration) {
        if self.written.as_ref() == Some(&self.entry.run) {
            return;
        }
        let entry =
            self.entry.clone().with_live_usage(&self.dir, JournalPosition::new(&self.dir.journal_path()));
        if self.ledger.is_none() {
            self.ledger = Ledger::open(&self.home, wait).ok();
        }
        let Some(ledger) = &mut self.ledger else { return };
        match ledger.upsert(&entry) {
            Ok(()) => {
                self.written = Some(self.entry.run.clone());
                self.home.clear_stale(self.dir.id());
            }
            // It may have been made anew meanwhile.
            Err(_) => self.ledger = None,
        }
    }
}

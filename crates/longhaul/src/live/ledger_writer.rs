//! Keeps the run's row in the ledger up to date. The ledger is derived: a failed write is repeated later, or
//! the next reader repeats it. No run waits long for the ledger or fails because of it.

use super::subscriber::{Subscriber, WorldView};
use longhaul_core::{Moment, Policy, Run, Step};
use longhaul_store::{Home, JournalPosition, Ledger, LedgerEntry, LedgerRun, RunDir, RunState};
use std::time::Duration;

// While the agent works, a wait for another writer of the ledger must not be noticeable.
const WAIT: Duration = Duration::from_millis(20);
// A finished run may wait longer. Two hundred runs that finish together write for less than a second.
const LAST_WAIT: Duration = Duration::from_secs(2);

pub(crate) struct LedgerWriter {
    home: Home,
    dir: RunDir,
    entry: LedgerEntry,
    /// Row that was written last.
    written: Option<LedgerRun>,
    ledger: Option<Ledger>,
}

impl LedgerWriter {
    pub(crate) fn new(home: &Home, dir: &RunDir) -> LedgerWriter {
        let entry = LedgerEntry::from_journal(dir);
        if entry.run.state == RunState::Finished {
            // The ledger lists the run as finished and does not read it again. This mark makes readers check
            // the run until the row is updated.
            let _ = home.mark_stale(dir);
        }
        LedgerWriter { home: home.clone(), dir: dir.clone(), entry, written: None, ledger: None }
    }

    fn write(&mut self, timeout: Duration) {
        if self.written.as_ref() == Some(&self.entry.run) {
            return;
        }
        let entry = self.entry.with_live_usage(&self.dir, JournalPosition::new(&self.dir.journal_path()));
        if self.ledger.is_none() {
            self.ledger = Ledger::open(&self.home, timeout).ok();
        }
        let Some(ledger) = &mut self.ledger else { return };
        match ledger.upsert(&entry).and_then(|()| ledger.shrink()) {
            Ok(()) => {
                self.written = Some(self.entry.run.clone());
                self.home.clear_stale(self.dir.id());
            }
            // The file may have been replaced meanwhile.
            Err(_) => self.ledger = None,
        }
    }
}

impl Subscriber for LedgerWriter {
    fn on_step(&mut self, _run: &Run, _policy: &Policy, view: &WorldView<'_>, step: &Step) {
        for record in &step.records {
            self.entry.apply(view.at, record, &self.dir);
        }
        if !step.records.is_empty() {
            self.entry.update_rows();
        }
    }

    fn on_idle(&mut self, _view: &WorldView<'_>) -> Option<Moment> {
        self.write(WAIT);
        None
    }

    fn on_finish(&mut self) {
        self.write(WAIT);
        // If another writer was faster, the ledger is opened again, because it keeps its timeout.
        self.write(LAST_WAIT);
    }
}

//! Follows a run that another process supervises. It only reads the run's files, except to forward a cancel or a
//! suspension.

use crate::SuperviseError;
use crate::dialect::dialect_of;
use crate::live::{FileWatch, Tail, forward_stops};
use crate::observer::{Observer, StepView};
use crate::run_report::RunReport;
use longhaul_agent::{Decoder, Dialect, DoneSignals, Guards};
use longhaul_core::{CancelSource, Moment, Outcome, Phase, Run, Step};
use longhaul_store::{Journal, JournalEntry, JournalFollower, Plan, RunDir};
use std::io;
use std::time::Duration;
use tokio::sync::mpsc;

// A supervisor that dies causes no file event, so its lock is polled.
const SUPERVISOR_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Follows a run until it finishes or is suspended, and forwards each cancel or suspension to its supervisor.
pub(crate) async fn attach(
    dir: &RunDir,
    observer: &mut dyn Observer,
    cancels: mpsc::Receiver<CancelSource>,
) -> Result<RunReport, SuperviseError> {
    let followed = follow(dir, observer);
    forward_stops(followed, cancels, &dir.requests()).await
}

/// Follows a run until it finishes or is suspended. Calls `observer` as the supervisor of
/// the run does.
async fn follow(dir: &RunDir, observer: &mut dyn Observer) -> Result<RunReport, SuperviseError> {
    let plan = dir.plan()?;
    let (dialect, guards) = (dialect_of(&plan.spec)?, Guards::compile(&plan.spec.guards, &plan.spec.cwd)?);
    let journal_path = dir.journal_path();
    // The watch starts before the first read, so that no write in between is missed.
    let mut watch = FileWatch::new();
    watch.add_file(&journal_path);
    // The last file of a finished run is renamed into it.
    watch.add_dir(dir.path());
    let mut journal = JournalFollower::open(&journal_path)?;
    observer.on_start(dir.id(), dir.path());
    let mut state = FollowState {
        dir,
        plan: &plan,
        dialect: &*dialect,
        guards,
        done_signals: DoneSignals::new(&plan.spec.policy),
        run: Run::new(),
        watch,
        at: Moment(0),
        attempt: None,
    };
    loop {
        // The lock is checked first, so that the last writes of a dead supervisor are still read.
        let is_locked = Journal::is_locked(&journal_path)?;
        let entries = journal.read()?;
        let is_new = !entries.is_empty();
        for entry in entries {
            state.read_stream(observer)?;
            state.apply(entry, observer)?;
        }
        if is_new {
            observer.on_sync();
        }
        state.read_stream(observer)?;
        let outcome = state.run.state().outcome();
        // The supervisor may still be writing the files that people read.
        if let Some(outcome) = outcome.filter(|_| dir.is_outcome_published()) {
            return Ok(state.report(outcome));
        }
        if !is_locked {
            if let Phase::Suspended { source, .. } = state.run.state().phase {
                return Ok(state.report(Outcome::suspended(source)));
            }
            return Err(SuperviseError::Orphaned(dir.id().clone()));
        }
        tokio::select! {
            () = tokio::time::sleep(SUPERVISOR_POLL_INTERVAL) => {}
            changed = state.watch.changed() => {
                changed?;
            }
        }
    }
}

struct FollowState<'a> {
    dir: &'a RunDir,
    plan: &'a Plan,
    dialect: &'a dyn Dialect,
    guards: Guards,
    done_signals: DoneSignals,
    run: Run,
    watch: FileWatch,
    at: Moment,
    attempt: Option<(Tail, Box<dyn Decoder>)>,
}

impl FollowState<'_> {
    fn apply(&mut self, entry: JournalEntry, observer: &mut dyn Observer) -> io::Result<()> {
        let before = self.run.state().attempts();
        for record in &entry.records {
            self.run.apply(entry.at, record);
        }
        self.at = entry.at;
        let attempt = self.run.state().attempts();
        if attempt != before {
            self.attempt = None;
        }
        if self.attempt.is_none() && self.run.state().process.is_some() {
            let stream = self.dir.attempt(attempt).stream_path();
            self.watch.add_file(&stream);
            let tail = Tail::open(&stream)?;
            let mut decoder = self.dialect.decoder(&self.guards, &self.done_signals);
            decoder.collect_messages(attempt);
            self.attempt = Some((tail, decoder));
        }
        self.show(&Step { records: entry.records, actions: Vec::new() }, observer);
        Ok(())
    }

    fn read_stream(&mut self, observer: &mut dyn Observer) -> io::Result<()> {
        let mut notices = Vec::new();
        while let Some((tail, decoder)) = &mut self.attempt {
            let bytes = tail.read()?;
            if bytes.is_empty() {
                break;
            }
            decoder.feed(bytes, &mut notices);
            observer.on_bytes(bytes);
            observer.on_messages(&decoder.take_messages());
            notices.clear();
            self.show(&Step::default(), observer);
        }
        Ok(())
    }

    fn show(&self, step: &Step, observer: &mut dyn Observer) {
        let snapshot = self.attempt.as_ref().map(|(_, decoder)| decoder.snapshot());
        observer.on_step(
            StepView { run: &self.run, policy: &self.plan.spec.policy, at: self.at, snapshot },
            step,
        );
    }

    fn report(&self, outcome: Outcome) -> RunReport {
        let snapshot =
            self.attempt.as_ref().map(|(_, decoder)| decoder.snapshot().clone()).unwrap_or_default();
        RunReport::new(self.dir, &self.run, &self.plan.spec, outcome, self.at, &snapshot, None)
    }
}

//! Watches a run that another process supervises, by its files alone. It changes nothing.

use crate::SuperviseError;
use crate::live::{FileWatch, Tail};
use crate::observer::{Observer, StepView};
use crate::recover::is_outcome_published;
use crate::run_report::RunReport;
use crate::supervisor::{dialect_from_plan, done_signals_from_plan, guards_from_plan};
use longhaul_agent::{Decoder, Dialect, DoneSignals, Guards};
use longhaul_core::{Moment, Outcome, Phase, Run, Step};
use longhaul_store::{Journal, JournalEntry, JournalFollower, Plan, RunDir};
use std::io;
use std::time::Duration;

// A supervisor that dies says nothing; its lock tells.
const LOOK_FOR_SUPERVISOR: Duration = Duration::from_secs(1);
// From its last record to the last of its files a supervisor needs a few milliseconds.
const LOOK_WHETHER_TOLD: Duration = Duration::from_millis(5);

/// How following a run ended.
#[derive(Debug)]
pub enum FollowEnd {
    /// The run ended, or a signal suspended it.
    Ended(Box<RunReport>),
    /// Nobody supervises the run, and it has not ended, or nobody was told how.
    Orphaned,
}

/// Follows a run until it ends or its supervisor is gone, and shows it to `observer` as its own
/// supervisor would.
///
/// # Errors
///
/// If its files cannot be read, or its agent is of a kind that this version does not know.
pub async fn follow(dir: &RunDir, observer: &mut dyn Observer) -> Result<FollowEnd, SuperviseError> {
    let plan = dir.plan()?;
    let (dialect, guards) = (dialect_from_plan(&plan)?, guards_from_plan(&plan)?);
    let journal_path = dir.journal_path();
    // Watched before it is read: what is written in between is seen.
    let mut watch = FileWatch::new();
    watch.file(&journal_path);
    let mut journal = JournalFollower::open(&journal_path)?;
    observer.on_start(dir.id(), dir.path());
    let mut following = FollowState {
        dir,
        plan: &plan,
        dialect: &*dialect,
        guards,
        claims: done_signals_from_plan(&plan),
        run: Run::new(),
        watch,
        at: Moment(0),
        attempt: None,
    };
    loop {
        // In this order: what its supervisor wrote last is read after the supervisor is seen to be gone.
        let held = Journal::is_locked(&journal_path)?;
        for entry in journal.read()? {
            following.read_stream(observer)?;
            following.take(entry, observer)?;
        }
        following.read_stream(observer)?;
        let outcome = following.run.state().outcome();
        // Its supervisor still brings the files in order that people read.
        if let Some(outcome) = outcome.filter(|_| is_outcome_published(dir)) {
            return Ok(FollowEnd::Ended(Box::new(following.report(outcome))));
        }
        if !held {
            if let Phase::Suspended { source: by, .. } = following.run.state().phase {
                return Ok(FollowEnd::Ended(Box::new(following.report(Outcome::suspended(by)))));
            }
            return Ok(FollowEnd::Orphaned);
        }
        let pause = if outcome.is_some() { LOOK_WHETHER_TOLD } else { LOOK_FOR_SUPERVISOR };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            changed = following.watch.changed() => {
                changed?;
            }
        }
    }
}

/// A run as its files have told it so far.
struct FollowState<'a> {
    dir: &'a RunDir,
    plan: &'a Plan,
    dialect: &'a dyn Dialect,
    guards: Guards,
    claims: DoneSignals,
    run: Run,
    watch: FileWatch,
    at: Moment,
    attempt: Option<(Tail, Box<dyn Decoder>)>,
}

impl FollowState<'_> {
    fn take(&mut self, entry: JournalEntry, observer: &mut dyn Observer) -> io::Result<()> {
        let before = self.run.state().attempts();
        for record in &entry.records {
            self.run.apply(record);
        }
        self.at = entry.at;
        let attempt = self.run.state().attempts();
        if attempt != before {
            self.attempt = None;
        }
        if self.attempt.is_none() && self.run.state().process.is_some() {
            let stream = self.dir.attempt(attempt).stream_path();
            self.watch.file(&stream);
            let tail = Tail::open(&stream)?;
            self.attempt = Some((tail, self.dialect.decoder(&self.guards, &self.claims)));
        }
        self.show(&Step { records: entry.records, actions: Vec::new() }, observer);
        observer.on_sync();
        Ok(())
    }

    fn read_stream(&mut self, observer: &mut dyn Observer) -> io::Result<()> {
        let mut silent_for = Vec::new();
        while let Some((tail, decoder)) = &mut self.attempt {
            let bytes = tail.read()?;
            if bytes.is_empty() {
                break;
            }
            observer.on_output(bytes);
            decoder.feed(bytes, &mut silent_for);
            silent_for.clear();
            self.show(&Step::default(), observer);
        }
        Ok(())
    }

    fn show(&self, step: &Step, observer: &mut dyn Observer) {
        let snapshot = self.attempt.as_ref().map(|(_, decoder)| decoder.snapshot());
        observer.on_step(StepView { run: &self.run, policy: &self.plan.policy, at: self.at, snapshot }, step);
    }

    fn report(&self, outcome: Outcome) -> RunReport {
        let snapshot =
            self.attempt.as_ref().map(|(_, decoder)| decoder.snapshot().clone()).unwrap_or_default();
        RunReport::new(self.dir, &self.run, (outcome, self.at), &snapshot, None)
    }
}

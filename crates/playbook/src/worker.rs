//! Processes the learning queue slice by slice. Each answer is recorded before it is used.
//!
//! A worker may be killed at any time; the next one continues its work. It uses one judge, takes only the
//! items of that judge, and is the only worker that does ([`WorkerLock`]).
//!
//! Items that cannot be learned now stay queued or are stored as failed. A worker never discards an item and
//! never decides about retries: `longhaul_core::ApiCall` and `longhaul_core::Backoff` do.

pub(crate) mod failpoints;
mod learn_steps;
mod lock;
mod recorded_judge;
mod retention;
mod steps;
mod transcript;

pub use learn_steps::LearnSteps;
pub use lock::WorkerLock;
pub use steps::{StepError, StepInput, WorkerSteps};

use crate::database::{Item, JudgeKind, LearningDb, NextItem, Slice, SliceState};
use crate::judge::{Clock, RetryAdvice};
use crate::judging::JudgeQuestion;
use crate::{Judge, LearningPaths};
use failpoints::{Failpoint, pass};
use longhaul_core::{Moment, Preset, Span};
use longhaul_store::DatabaseError;
use recorded_judge::RecordedJudge;
use retention::prune;
use std::collections::BTreeSet;
use std::path::Path;
use transcript::{Rows, SLICE_BYTES_MAX};

// After a longer outage the next worker continues. The end of any session starts one.
const LINGER_MAX: Span = Span::from_hours(1);
// The delay that an API requests may be wrong by years. If the API really needs more than a day, one failed
// question a day costs nothing.
const HINT_MAX: Span = Span::from_hours(24);
// A lesson may be late by this much. A check takes a few microseconds, and file events would also report
// every reader.
const POLL_INTERVAL: Span = Span::from_secs(1);

/// A worker.
pub struct Worker<'a> {
    /// Paths of the learning data.
    pub paths: &'a LearningPaths,
    /// Judge that answers.
    pub judge: &'a dyn Judge,
    /// How the judge is reached.
    pub kind: JudgeKind,
    /// API of the judge. Items of another API stay queued.
    pub destination: &'a str,
    /// Transcript to process, or `None` for all. An item that a hook queues meanwhile waits for the next
    /// session, because the hook starts no second worker.
    pub transcript: Option<&'a Path>,
    /// Questions to the judge and their effects.
    pub steps: &'a dyn WorkerSteps,
    /// Clock and random numbers.
    pub clock: &'a dyn Clock,
    /// Whether to wait for items that are not due yet, for an hour at most.
    pub linger: bool,
    /// Receives the events.
    pub on_event: &'a dyn Fn(WorkerEvent<'_>),
}

/// An event of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerEvent<'a> {
    /// A slice was started or is continued.
    Started(&'a Item, &'a Slice),
    /// The reflector has answered.
    Reflected(&'a Item),
    /// The curator has answered.
    Curated(&'a Item),
    /// A slice was learned, with this result.
    Learned(&'a Item, &'a str),
    /// There was nothing to learn, for this reason.
    Empty(&'a Item, &'a str),
    /// Learning failed for this reason and is repeated only by hand.
    Failed(&'a Item, &'a str),
    /// The item waits until then, for this reason.
    Waits(&'a Item, Moment, &'a str),
    /// All items wait until a person changes this.
    NeedsPerson {
        /// Description of the problem.
        reason: &'a str,
        /// Whether the reason is new.
        is_news: bool,
    },
    /// The database was damaged and has been moved to this path.
    DatabaseDamaged(&'a Path),
}

/// The result of a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerReport {
    /// Number of learned slices.
    pub learned: u32,
    /// Number of items with nothing to learn.
    pub empty: u32,
    /// Number of failed items.
    pub failed: u32,
    /// When the next item is due, if any waits.
    pub due_at: Option<Moment>,
    /// Change that a person must make first.
    pub needs_person: Option<String>,
    /// Whether another worker is active.
    pub other_worker_active: bool,
}

/// What to do after an item.
enum AfterItem {
    /// Take the next one: the item or a slice of it is finished.
    Next,
    /// Retry the item later.
    Waits,
    NeedsPerson(String),
}

impl Worker<'_> {
    /// Processes all items of this judge and returns. Items that are queued during shutdown are processed
    /// too, because their hook saw an active worker and started none.
    ///
    /// # Errors
    /// Returns [`DatabaseError`] if the database fails. Results up to then are stored.
    pub async fn work(&self) -> Result<WorkerReport, DatabaseError> {
        let mut report = WorkerReport::default();
        loop {
            let Some(lock) = WorkerLock::take(self.paths, self.destination, self.kind, self.clock).await?
            else {
                return Ok(WorkerReport { other_worker_active: true, ..report });
            };
            let mut learning = self.open()?;
            let mut may_reopen = true;
            loop {
                match self.drain(&mut learning, &mut report).await {
                    Err(DatabaseError::Damaged { .. }) if may_reopen => {
                        learning = self.reopen()?;
                        // If nothing was moved aside now, either another process did it or the new database
                        // is damaged too.
                        may_reopen = learning.damaged_copy().is_some();
                    }
                    drained => break drained?,
                }
            }
            let now = self.clock.now().at;
            prune(&mut learning, now)?;
            learning.checkpoint()?;
            drop(lock);
            match self.next(&learning, now)? {
                NextItem::Due(_) if report.needs_person.is_none() => {}
                NextItem::Due(_) => return Ok(WorkerReport { due_at: Some(now), ..report }),
                NextItem::Waits(until) => return Ok(WorkerReport { due_at: Some(until), ..report }),
                NextItem::Nothing => return Ok(report),
            }
        }
    }

    /// Returns the next item of this worker.
    ///
    /// # Errors
    /// Returns [`DatabaseError`] if the database cannot be read.
    pub fn next(&self, learning: &LearningDb, now: Moment) -> Result<NextItem, DatabaseError> {
        learning.next_for(self.kind, self.destination, self.transcript, now)
    }

    fn open(&self) -> Result<LearningDb, DatabaseError> {
        let learning = LearningDb::open(self.paths)?;
        match learning.quick_check() {
            Err(DatabaseError::Damaged { .. }) => self.reopen(),
            Err(error) => Err(error),
            Ok(()) => {
                self.report_damaged_copy(&learning);
                Ok(learning)
            }
        }
    }

    fn reopen(&self) -> Result<LearningDb, DatabaseError> {
        let learning = LearningDb::replace_if_damaged(self.paths)?;
        self.report_damaged_copy(&learning);
        Ok(learning)
    }

    fn report_damaged_copy(&self, learning: &LearningDb) {
        if let Some(path) = learning.damaged_copy() {
            (self.on_event)(WorkerEvent::DatabaseDamaged(path));
        }
    }

    async fn drain(&self, learning: &mut LearningDb, report: &mut WorkerReport) -> Result<(), DatabaseError> {
        let mut idle_since = self.clock.now().at;
        loop {
            let now = self.clock.now().at;
            match self.next(learning, now)? {
                NextItem::Due(item) => {
                    match self.process_item(learning, &item, report).await? {
                        AfterItem::Next => idle_since = self.clock.now().at,
                        AfterItem::Waits => {}
                        AfterItem::NeedsPerson(reason) => {
                            report.needs_person = Some(reason);
                            return Ok(());
                        }
                    }
                    // The log is not needed for long, and hooks only append to it.
                    learning.checkpoint()?;
                }
                NextItem::Waits(_) if self.linger && now.since(idle_since) < LINGER_MAX => {
                    self.clock.sleep_until(now + POLL_INTERVAL).await;
                }
                NextItem::Waits(_) | NextItem::Nothing => return Ok(()),
            }
        }
    }

    async fn process_item(
        &self,
        learning: &mut LearningDb,
        item: &Item,
        report: &mut WorkerReport,
    ) -> Result<AfterItem, DatabaseError> {
        let slice = match self.next_slice(learning, item)? {
            Ok(slice) => slice,
            Err(result) => {
                learning.finish(item, self.clock.now().at, result.as_deref().map_err(String::as_str))?;
                match result {
                    Ok(reason) => {
                        report.empty += 1;
                        (self.on_event)(WorkerEvent::Empty(item, &reason));
                    }
                    Err(reason) => {
                        report.failed += 1;
                        (self.on_event)(WorkerEvent::Failed(item, &reason));
                    }
                }
                return Ok(AfterItem::Next);
            }
        };
        pass(Failpoint::Started);
        (self.on_event)(WorkerEvent::Started(item, &slice));
        let (state, result) = match self.process_slice(learning, item, slice.clone()).await? {
            Ok(summary) => (SliceState::Learned, summary),
            Err(StepError::Nothing) => (SliceState::Empty, "it contains no messages".to_owned()),
            Err(StepError::Never(result)) => (SliceState::Failed, result),
            Err(StepError::Later(result)) => {
                let until = self.clock.now().at + self.wait(item.tries, None);
                let until = learning.delay(item, &result, until)?;
                (self.on_event)(WorkerEvent::Waits(item, until, &result));
                return Ok(AfterItem::Waits);
            }
            Err(StepError::Judge(error)) => match error.retry {
                RetryAdvice::Never => (SliceState::Failed, error.message),
                RetryAdvice::NeedsPerson => return self.pause(learning, item, error.message),
                RetryAdvice::Later(at) => {
                    let now = self.clock.now().at;
                    let hint = at.map(|at| at.since(now).at_most(HINT_MAX));
                    let wait = |number| self.wait(number, hint);
                    let until = learning.postpone(item, now, &error.message, wait)?;
                    (self.on_event)(WorkerEvent::Waits(item, until, &error.message));
                    return Ok(AfterItem::Waits);
                }
            },
        };
        learning.finish_slice(item, &slice, self.clock.now().at, state, &result)?;
        pass(Failpoint::Ended);
        match state {
            SliceState::Learned => {
                report.learned += 1;
                (self.on_event)(WorkerEvent::Learned(item, &result));
            }
            SliceState::Failed => {
                report.failed += 1;
                (self.on_event)(WorkerEvent::Failed(item, &result));
            }
            SliceState::Empty | SliceState::Started | SliceState::Reflected | SliceState::Curated => {
                report.empty += 1;
                (self.on_event)(WorkerEvent::Empty(item, &result));
            }
        }
        Ok(AfterItem::Next)
    }

    fn pause(
        &self,
        learning: &mut LearningDb,
        item: &Item,
        reason: String,
    ) -> Result<AfterItem, DatabaseError> {
        let is_news = learning.pause_judge(item, self.clock.now().at, &reason)?;
        (self.on_event)(WorkerEvent::NeedsPerson { reason: &reason, is_news });
        Ok(AfterItem::NeedsPerson(reason))
    }

    /// Returns the delay by the default policy of runs, because the API is the same.
    fn wait(&self, number: u32, hint: Option<Span>) -> Span {
        Preset::Default.policy().backoff.delay(number, hint, self.clock.now().roll)
    }

    /// Returns the unfinished slice of a dead worker, or a new one. If there is none, returns the result of
    /// the item.
    fn next_slice(
        &self,
        learning: &mut LearningDb,
        item: &Item,
    ) -> Result<Result<Slice, Result<String, String>>, DatabaseError> {
        let path = &item.queued.transcript;
        let refused = |cause: std::io::Error| Err(Err(format!("cannot read {}: {cause}", path.display())));
        if let Some(slice) = learning.unfinished_slice(item)? {
            // A slice with a reflection is not read again.
            if slice.state != SliceState::Started {
                return Ok(Ok(slice));
            }
            match transcript::is_unchanged(path, slice.part) {
                Ok(true) => return Ok(Ok(slice)),
                Ok(false) => learning.finish_replaced(&slice, self.clock.now().at)?,
                Err(cause) => {
                    let reason = format!("cannot read {}: {cause}", path.display());
                    let state = SliceState::Failed;
                    learning.finish_slice(item, &slice, self.clock.now().at, state, &reason)?;
                    return Ok(Err(Err(reason)));
                }
            }
        }
        loop {
            let last = learning.last_slice(path)?;
            let part =
                match transcript::next_part(path, last.as_ref().map(|slice| slice.part), SLICE_BYTES_MAX) {
                    Ok(Some(part)) => part,
                    Ok(None) => return Ok(Err(Ok("it contains nothing new".to_owned()))),
                    Err(cause) => return Ok(refused(cause)),
                };
            if let Some(slice) = learning.start_slice(item, self.clock.now().at, last.as_ref(), part)? {
                return Ok(Ok(slice));
            }
        }
    }

    /// Processes a slice from its state until the playbook is updated. Returns a summary.
    async fn process_slice(
        &self,
        learning: &mut LearningDb,
        item: &Item,
        slice: Slice,
    ) -> Result<Result<String, StepError>, DatabaseError> {
        let needs_reflection = slice.state == SliceState::Started;
        // A slice with a reflection is not read again, because the file may have changed.
        let bytes = if needs_reflection {
            match transcript::read(&item.queued.transcript, slice.part) {
                Ok(bytes) => bytes,
                Err(cause) => {
                    let reason = format!("cannot read {}: {cause}", item.queued.transcript.display());
                    return Ok(Err(StepError::Never(reason)));
                }
            }
        } else {
            Vec::new()
        };
        let rows = Rows::new(&bytes);
        let judged = learning.judged_rows(&rows.all)?;
        let unjudged: BTreeSet<i64> = rows.all.difference(&judged).copied().collect();
        if needs_reflection && rows.all_have_ids && unjudged.is_empty() {
            return Ok(Err(StepError::Nothing));
        }
        let subject =
            StepInput { item, slice: slice.id, bytes: &bytes, judged: &judged, at: self.clock.now().at };

        let reflection = match slice.reflection.clone() {
            Some(reflection) => reflection,
            None if !needs_reflection => {
                let reason = "the stored reflection has an unknown format";
                return Ok(Err(StepError::Never(reason.to_owned())));
            }
            None => {
                let recorded_judge =
                    self.recorded_judge(learning, item, slice.id, JudgeQuestion::Reflector)?;
                let reflected = match self.steps.reflect(&subject, &recorded_judge).await {
                    Ok(reflected) => reflected,
                    Err(error) => return Ok(Err(error)),
                };
                learning.store_reflection(&slice, &reflected, &unjudged)?;
                pass(Failpoint::Reflected);
                (self.on_event)(WorkerEvent::Reflected(item));
                reflected.reflection
            }
        };
        let operations = match slice.operations.clone() {
            Some(operations) => operations,
            None => {
                let recorded_judge = self.recorded_judge(learning, item, slice.id, JudgeQuestion::Curator)?;
                let operations = match self.steps.curate(&subject, &reflection, &recorded_judge).await {
                    Ok(operations) => operations,
                    Err(error) => return Ok(Err(error)),
                };
                learning.store_operations(&slice, &operations)?;
                pass(Failpoint::Curated);
                (self.on_event)(WorkerEvent::Curated(item));
                operations
            }
        };
        let learned = self.steps.learn(learning, &subject, &reflection, &operations);
        pass(Failpoint::Saved);
        Ok(learned)
    }

    fn recorded_judge<'b>(
        &'b self,
        learning: &LearningDb,
        item: &'b Item,
        slice: i64,
        question: JudgeQuestion,
    ) -> Result<RecordedJudge<'b>, DatabaseError> {
        // A separate connection, because it writes while the worker waits.
        let learning = LearningDb::open(learning.paths())?;
        Ok(RecordedJudge::new(self, learning, item, slice, question))
    }
}

#[cfg(test)]
mod tests;

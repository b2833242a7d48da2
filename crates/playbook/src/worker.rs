//! Processes the learning queue slice by slice. Each answer is recorded before it is used.
//!
//! A worker may be killed at any time; the next one continues its work. It uses one judge, takes only the
//! items of that judge, and is the only worker that does ([`WorkerLock`]).
//!
//! Items that cannot be learned now stay queued or are stored as failed. A worker never discards an item and
//! never decides about retries: `longhaul_core::ApiCall` and `longhaul_core::Backoff` do.

mod lock;
mod recorded_judge;
mod retention;
mod steps;
mod transcript;

pub use lock::WorkerLock;
pub use steps::LearnRules;

use crate::database::{Item, JudgeKind, LearnResult, LearningDb, NextItem, Slice, SliceState};
use crate::failpoints::{Failpoint, pass};
use crate::judge::{Clock, RetryAdvice};
use crate::{Judge, LearningPaths};
use longhaul_core::{Moment, Preset, Span};
use longhaul_store::DatabaseError;
use retention::prune;
use std::fmt::Display;
use std::path::Path;
use steps::StepError;
use transcript::SLICE_BYTES_MAX;

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
    /// Prompts for the judge and the rule for duplicates.
    pub rules: &'a LearnRules,
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
    /// A slice or an item is finished, with this result and its description.
    Finished(&'a Item, LearnResult, &'a str),
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
    /// Number of slices and items with nothing to learn.
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
            let mut learning = self.open_verified()?;
            let mut may_reopen = true;
            loop {
                match self.drain(&mut learning, &mut report).await {
                    Err(DatabaseError::Damaged { .. }) if may_reopen => {
                        learning = self.open_verified()?;
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
    pub fn next(&self, learning: &LearningDb, now: Moment) -> Result<NextItem, DatabaseError> {
        learning.next(self.kind, self.destination, self.transcript, now)
    }

    fn open_verified(&self) -> Result<LearningDb, DatabaseError> {
        let learning = LearningDb::replace_if_damaged(self.paths)?;
        if let Some(path) = learning.damaged_copy() {
            (self.on_event)(WorkerEvent::DatabaseDamaged(path));
        }
        Ok(learning)
    }

    /// Processes items until none is due, or until a person is needed.
    async fn drain(&self, learning: &mut LearningDb, report: &mut WorkerReport) -> Result<(), DatabaseError> {
        let mut idle_since = self.clock.now().at;
        loop {
            let now = self.clock.now().at;
            match self.next(learning, now)? {
                NextItem::Due(item) => {
                    if self.process_item(learning, &item, report).await? {
                        idle_since = self.clock.now().at;
                    }
                    if report.needs_person.is_some() {
                        return Ok(());
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

    /// Returns whether the item or a slice of it is finished.
    async fn process_item(
        &self,
        learning: &mut LearningDb,
        item: &Item,
        report: &mut WorkerReport,
    ) -> Result<bool, DatabaseError> {
        let (slice, result) = match self.next_slice(learning, item) {
            Ok(slice) => {
                pass(Failpoint::Started);
                (self.on_event)(WorkerEvent::Started(item, &slice));
                let result = self.process_slice(learning, item, &slice).await;
                (Some(slice), result)
            }
            Err(error) => (None, Err(error)),
        };
        let now = self.clock.now().at;
        let waits = |until, reason: &str| {
            (self.on_event)(WorkerEvent::Waits(item, until, reason));
            Ok(false)
        };
        let is_unanswered = matches!(result, Err(StepError::Unanswered));
        let (result, reason) = match result {
            Ok(summary) => (LearnResult::Learned, summary),
            Err(StepError::Nothing(reason)) => (LearnResult::Empty, reason.to_owned()),
            Err(StepError::Unanswered) => (LearnResult::Empty, "the agent has not answered".to_owned()),
            Err(StepError::Never(reason)) => (LearnResult::Failed, reason),
            Err(StepError::Database(error)) => return Err(error),
            Err(StepError::Later(reason)) => {
                let until = learning.delay(item, &reason, now + self.wait(item.tries, None))?;
                return waits(until, &reason);
            }
            Err(StepError::Judge(error)) => match error.retry {
                RetryAdvice::Never => (LearnResult::Failed, error.message),
                RetryAdvice::NeedsPerson => {
                    let is_news = learning.pause_judge(item, now, &error.message)?;
                    (self.on_event)(WorkerEvent::NeedsPerson { reason: &error.message, is_news });
                    report.needs_person = Some(error.message);
                    return Ok(false);
                }
                RetryAdvice::Later(at) => {
                    let hint = at.map(|at| at.since(now).at_most(HINT_MAX));
                    let wait = |number| self.wait(number, hint);
                    let until = learning.postpone(item, now, &error.message, wait)?;
                    return waits(until, &error.message);
                }
            },
        };
        match &slice {
            Some(slice) if is_unanswered && !slice.part.more => {
                learning.discard_slice(item, slice, now, &reason)?;
            }
            Some(slice) => {
                learning.finish_slice(item, slice, now, result, &reason)?;
                pass(Failpoint::Ended);
            }
            None => learning.finish(item, now, result, &reason)?,
        }
        match result {
            LearnResult::Learned => report.learned += 1,
            LearnResult::Empty => report.empty += 1,
            LearnResult::Failed => report.failed += 1,
        }
        (self.on_event)(WorkerEvent::Finished(item, result, &reason));
        Ok(true)
    }

    /// Returns the delay by the default policy of runs, because the API is the same.
    fn wait(&self, number: u32, hint: Option<Span>) -> Span {
        Preset::Default.policy().backoff.delay(number, hint, self.clock.now().roll)
    }

    fn next_slice(&self, learning: &mut LearningDb, item: &Item) -> Result<Slice, StepError> {
        let path = &item.queued.transcript;
        let now = self.clock.now().at;
        if let Some(slice) = learning.unfinished_slice(item)? {
            // A slice with a reflection is not read again.
            if slice.state != SliceState::Started {
                return Ok(slice);
            }
            match transcript::is_unchanged(path, slice.part) {
                Ok(true) => return Ok(slice),
                Ok(false) => learning.finish_replaced(&slice, now)?,
                Err(cause) => {
                    let reason = unreadable(path, &cause);
                    learning.finish_slice(item, &slice, now, LearnResult::Failed, &reason)?;
                    return Err(StepError::Never(reason));
                }
            }
        }
        loop {
            let last = learning.last_slice(path)?;
            let last_part = last.as_ref().map(|slice| slice.part);
            let part = transcript::next_part(path, last_part, SLICE_BYTES_MAX)
                .map_err(|cause| StepError::Never(unreadable(path, &cause)))?
                .ok_or(StepError::Nothing("it contains nothing new"))?;
            if let Some(slice) = learning.start_slice(item, now, last.as_ref(), part)? {
                return Ok(slice);
            }
        }
    }
}

fn unreadable(path: &Path, cause: &dyn Display) -> String {
    format!("cannot read {}: {cause}", path.display())
}

#[cfg(test)]
mod tests;

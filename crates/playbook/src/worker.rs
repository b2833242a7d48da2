//! Who learns: takes what is queued, slice by slice, asks, and writes down each answer before it does anything with it.
//!
//! A worker may be killed at any moment: the next one goes on where it was. It asks one judge, takes only what is for that
//! judge, and is the only one that does ([`WorkerLock`]). What it cannot learn from stays queued or is kept as failed; a
//! worker gives up nothing, and decides nothing about requests (`longhaul_core::Call` does) or waits
//! (`longhaul_core::Backoff` does).

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

use crate::database::{Item, JudgeKind, LearningDb, LearningError, NextItem, Slice, SliceState};
use crate::judge::{Clock, RetryAdvice};
use crate::judging::JudgeQuestion;
use crate::{Judge, LearningPaths};
use failpoints::{Failpoint, pass};
use longhaul_core::{Moment, Preset, Span};
use recorded_judge::RecordedJudge;
use retention::prune;
use std::collections::BTreeSet;
use std::path::Path;
use transcript::{Rows, SLICE_BYTES_MAX};

// An API that is down for longer is waited for by the next worker: each session's end starts one.
const STAY: Span = Span::from_hours(1);
// What an API says of when it will answer may be a mistake, of years. One that means more than a day is asked once a day in
// vain: that costs nothing.
const HINT_MAX: Span = Span::from_hours(24);
// As long as a lesson may be late. A look is a few microseconds, and file events would tell of every reader, too.
const LOOK_EVERY: Span = Span::from_secs(1);

/// One worker.
pub struct Worker<'a> {
    /// Where everything is.
    pub paths: &'a LearningPaths,
    /// Who is asked.
    pub judge: &'a dyn Judge,
    /// By what way.
    pub kind: JudgeKind,
    /// The API that is asked: what is for another one stays queued.
    pub destination: &'a str,
    /// The transcript that it takes; nothing if it takes whatever is queued. What a hook queues meanwhile, which starts no
    /// second worker, is then left until the next session is used.
    pub only: Option<&'a Path>,
    /// What is asked and what is made of the answers.
    pub steps: &'a dyn WorkerSteps,
    /// Time and chance.
    pub clock: &'a dyn Clock,
    /// Whether it stays for what is not due yet, for an hour at most.
    pub linger: bool,
    /// Is told of what happens.
    pub on_event: &'a dyn Fn(WorkerEvent<'_>),
}

/// What a worker has just done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerEvent<'a> {
    /// A slice is judged from now on, or gone on with.
    Began(&'a Item, &'a Slice),
    /// The reflector has answered.
    Reflected(&'a Item),
    /// The curator has answered.
    Curated(&'a Item),
    /// It is learnt, and this came of it.
    Learned(&'a Item, &'a str),
    /// There was nothing to learn, for this reason.
    Empty(&'a Item, &'a str),
    /// Nothing will come of it, for this reason, unless it is tried again by hand.
    Failed(&'a Item, &'a str),
    /// It waits until then, for this reason.
    Waits(&'a Item, Moment, &'a str),
    /// Nothing will come of anything before a person has changed this.
    NeedsPerson {
        /// What is wrong.
        reason: &'a str,
        /// Whether it is said for the first time.
        is_news: bool,
    },
    /// The database was damaged, and is kept under another name.
    SetAside(&'a Path),
}

/// What a worker did, and why it left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerReport {
    /// Slices that were learnt.
    pub learned: u32,
    /// Items in which there was nothing to learn.
    pub empty: u32,
    /// Items of which nothing came.
    pub failed: u32,
    /// When the next item is due, where some wait.
    pub waits: Option<Moment>,
    /// What a person must change first.
    pub person: Option<String>,
    /// Whether another worker does the work.
    pub other_worker_active: bool,
}

/// What follows when an item was tried.
enum AfterItem {
    /// It has come to its end, or a slice of it has.
    Next,
    /// It is tried again later.
    Waits,
    Person(String),
}

impl Worker<'_> {
    /// Learns from everything that is queued for its judge, and leaves. What is queued while it is about to leave is not
    /// forgotten: whoever queued it saw a worker at work, and started none.
    ///
    /// # Errors
    /// [`LearningError`]. What was learnt by then is.
    pub async fn work(&self) -> Result<WorkerReport, LearningError> {
        let mut worked = WorkerReport::default();
        loop {
            let Some(lock) = WorkerLock::take(self.paths, self.destination, self.kind, self.clock).await?
            else {
                return Ok(WorkerReport { other_worker_active: true, ..worked });
            };
            let mut learning = self.open()?;
            let mut is_other = true;
            loop {
                match self.drain(&mut learning, &mut worked).await {
                    Err(LearningError::Damaged { .. }) if is_other => {
                        learning = self.opened_anew()?;
                        // If it was not set aside now, somebody else did that before, or it is the same one again.
                        is_other = learning.set_aside().is_some();
                    }
                    drained => break drained?,
                }
            }
            let now = self.clock.now().at;
            prune(&mut learning, now)?;
            learning.checkpoint()?;
            drop(lock);
            match self.next(&learning, now)? {
                NextItem::Due(_) if worked.person.is_none() => {}
                NextItem::Due(_) => return Ok(WorkerReport { waits: Some(now), ..worked }),
                NextItem::Waits(until) => return Ok(WorkerReport { waits: Some(until), ..worked }),
                NextItem::Nothing => return Ok(worked),
            }
        }
    }

    /// What is next for it.
    ///
    /// # Errors
    /// [`LearningError`].
    pub fn next(&self, learning: &LearningDb, now: Moment) -> Result<NextItem, LearningError> {
        learning.next_of(self.kind, self.destination, self.only, now)
    }

    fn open(&self) -> Result<LearningDb, LearningError> {
        let learning = LearningDb::open(self.paths)?;
        match learning.quick_check() {
            Err(LearningError::Damaged { .. }) => self.opened_anew(),
            Err(error) => Err(error),
            Ok(()) => {
                self.say_set_aside(&learning);
                Ok(learning)
            }
        }
    }

    fn opened_anew(&self) -> Result<LearningDb, LearningError> {
        let learning = LearningDb::open_anew(self.paths)?;
        self.say_set_aside(&learning);
        Ok(learning)
    }

    fn say_set_aside(&self, learning: &LearningDb) {
        if let Some(path) = learning.set_aside() {
            (self.on_event)(WorkerEvent::SetAside(path));
        }
    }

    async fn drain(&self, learning: &mut LearningDb, worked: &mut WorkerReport) -> Result<(), LearningError> {
        let mut idle_since = self.clock.now().at;
        loop {
            let now = self.clock.now().at;
            match self.next(learning, now)? {
                NextItem::Due(item) => {
                    match self.item(learning, &item, worked).await? {
                        AfterItem::Next => idle_since = self.clock.now().at,
                        AfterItem::Waits => {}
                        AfterItem::Person(why) => {
                            worked.person = Some(why);
                            return Ok(());
                        }
                    }
                    // Nothing needs the log for long, and hooks only ever write to its end.
                    learning.checkpoint()?;
                }
                NextItem::Waits(_) if self.linger && now.since(idle_since) < STAY => {
                    self.clock.sleep_until(now + LOOK_EVERY).await;
                }
                NextItem::Waits(_) | NextItem::Nothing => return Ok(()),
            }
        }
    }

    async fn item(
        &self,
        learning: &mut LearningDb,
        item: &Item,
        worked: &mut WorkerReport,
    ) -> Result<AfterItem, LearningError> {
        let slice = match self.slice(learning, item)? {
            Ok(slice) => slice,
            Err(result) => {
                learning.finish(item, self.clock.now().at, result.as_deref().map_err(String::as_str))?;
                match result {
                    Ok(why) => {
                        worked.empty += 1;
                        (self.on_event)(WorkerEvent::Empty(item, &why));
                    }
                    Err(why) => {
                        worked.failed += 1;
                        (self.on_event)(WorkerEvent::Failed(item, &why));
                    }
                }
                return Ok(AfterItem::Next);
            }
        };
        pass(Failpoint::Begun);
        (self.on_event)(WorkerEvent::Began(item, &slice));
        let (state, why) = match self.judge(learning, item, slice.clone()).await? {
            Ok(said) => (SliceState::Learned, said),
            Err(StepError::Nothing) => (SliceState::Empty, "nothing was said in it".to_owned()),
            Err(StepError::Never(why)) => (SliceState::Failed, why),
            Err(StepError::Later(why)) => {
                let until = self.clock.now().at + self.wait(item.tries, None);
                let until = learning.delay(item, &why, until)?;
                (self.on_event)(WorkerEvent::Waits(item, until, &why));
                return Ok(AfterItem::Waits);
            }
            Err(StepError::Judge(error)) => match error.retry {
                RetryAdvice::Never => (SliceState::Failed, error.message),
                RetryAdvice::NeedsPerson => return self.person(learning, item, error.message),
                RetryAdvice::Later(at) => {
                    let now = self.clock.now().at;
                    let hint = at.map(|at| at.since(now).at_most(HINT_MAX));
                    let wait = |number| self.wait(number, hint);
                    let until = learning.postpone(item, (now, &error.message), wait)?;
                    (self.on_event)(WorkerEvent::Waits(item, until, &error.message));
                    return Ok(AfterItem::Waits);
                }
            },
        };
        learning.end((item, &slice), self.clock.now().at, (state, &why))?;
        pass(Failpoint::Ended);
        match state {
            SliceState::Learned => {
                worked.learned += 1;
                (self.on_event)(WorkerEvent::Learned(item, &why));
            }
            SliceState::Failed => {
                worked.failed += 1;
                (self.on_event)(WorkerEvent::Failed(item, &why));
            }
            SliceState::Empty | SliceState::Started | SliceState::Reflected | SliceState::Curated => {
                worked.empty += 1;
                (self.on_event)(WorkerEvent::Empty(item, &why));
            }
        }
        Ok(AfterItem::Next)
    }

    fn person(
        &self,
        learning: &mut LearningDb,
        item: &Item,
        why: String,
    ) -> Result<AfterItem, LearningError> {
        let is_news = learning.needs_person(item, (self.clock.now().at, &why))?;
        (self.on_event)(WorkerEvent::NeedsPerson { reason: &why, is_news });
        Ok(AfterItem::Person(why))
    }

    /// How long to wait by the policy that is the default of runs, too: for the API it is the same.
    fn wait(&self, number: u32, hint: Option<Span>) -> Span {
        Preset::Default.policy().backoff.delay(number, hint, self.clock.now().roll)
    }

    /// The slice of this item that a dead worker left, or else a new one; if there is none, what came of the item.
    fn slice(
        &self,
        learning: &mut LearningDb,
        item: &Item,
    ) -> Result<Result<Slice, Result<String, String>>, LearningError> {
        let path = &item.queued.transcript;
        let refused = |cause: std::io::Error| Err(Err(format!("read {}: {cause}", path.display())));
        if let Some(slice) = learning.unfinished(item)? {
            // What was reflected on is not read again.
            if slice.state != SliceState::Started {
                return Ok(Ok(slice));
            }
            match transcript::is_there(path, slice.part) {
                Ok(true) => return Ok(Ok(slice)),
                Ok(false) => learning.replaced(&slice, self.clock.now().at)?,
                Err(cause) => {
                    let why = format!("read {}: {cause}", path.display());
                    let failed = (SliceState::Failed, why.as_str());
                    learning.end((item, &slice), self.clock.now().at, failed)?;
                    return Ok(Err(Err(why)));
                }
            }
        }
        loop {
            let last = learning.last_slice(path)?;
            let part =
                match transcript::next_part(path, last.as_ref().map(|slice| slice.part), SLICE_BYTES_MAX) {
                    Ok(Some(part)) => part,
                    Ok(None) => return Ok(Err(Ok("nothing was new in it".to_owned()))),
                    Err(cause) => return Ok(refused(cause)),
                };
            if let Some(slice) = learning.begin(item, self.clock.now().at, (last.as_ref(), part))? {
                return Ok(Ok(slice));
            }
        }
    }

    /// Takes a slice from where it has come to until the playbook says it. Returns what came of it.
    async fn judge(
        &self,
        learning: &mut LearningDb,
        item: &Item,
        slice: Slice,
    ) -> Result<Result<String, StepError>, LearningError> {
        let is_begun = slice.state == SliceState::Started;
        // What was reflected on is not read again: it may be another file by now.
        let bytes = if is_begun {
            match transcript::read(&item.queued.transcript, slice.part) {
                Ok(bytes) => bytes,
                Err(cause) => {
                    let why = format!("read {}: {cause}", item.queued.transcript.display());
                    return Ok(Err(StepError::Never(why)));
                }
            }
        } else {
            Vec::new()
        };
        let rows = Rows::new(&bytes);
        let judged = learning.judged(&rows.all)?;
        let fresh: BTreeSet<i64> = rows.all.difference(&judged).copied().collect();
        if is_begun && rows.has_no_other && fresh.is_empty() {
            return Ok(Err(StepError::Nothing));
        }
        let subject =
            StepInput { item, slice: slice.id, bytes: &bytes, judged: &judged, at: self.clock.now().at };

        let reflection = match slice.reflection.clone() {
            Some(reflection) => reflection,
            None if !is_begun => {
                let why = "what its reflector said was kept in a form that is not known";
                return Ok(Err(StepError::Never(why.to_owned())));
            }
            None => {
                let counted = self.counted(learning, item, slice.id, JudgeQuestion::Reflector)?;
                let reflected = match self.steps.reflect(&subject, &counted).await {
                    Ok(reflected) => reflected,
                    Err(error) => return Ok(Err(error)),
                };
                learning.reflected(&slice, &reflected, &fresh)?;
                pass(Failpoint::Reflected);
                (self.on_event)(WorkerEvent::Reflected(item));
                reflected.reflection
            }
        };
        let operations = match slice.operations.clone() {
            Some(operations) => operations,
            None => {
                let counted = self.counted(learning, item, slice.id, JudgeQuestion::Curator)?;
                let operations = match self.steps.curate(&subject, &reflection, &counted).await {
                    Ok(operations) => operations,
                    Err(error) => return Ok(Err(error)),
                };
                learning.curated(&slice, &operations)?;
                pass(Failpoint::Curated);
                (self.on_event)(WorkerEvent::Curated(item));
                operations
            }
        };
        let learned = self.steps.learn(learning, &subject, &reflection, &operations);
        pass(Failpoint::Saved);
        Ok(learned)
    }

    fn counted<'b>(
        &'b self,
        learning: &LearningDb,
        item: &'b Item,
        slice: i64,
        what: JudgeQuestion,
    ) -> Result<RecordedJudge<'b>, LearningError> {
        // A connection of its own: it writes while the worker waits.
        let learning = LearningDb::open(learning.place())?;
        Ok(RecordedJudge::new(self, (learning, item), (slice, what)))
    }
}

#[cfg(test)]
mod tests;

//! One session after the other: queued, learnt from by a worker of this process, and noted in the project. Whatever stops it
//! loses nothing: what is queued stays queued, and a question that was answered is not asked again.

use super::output::{BootstrapOutput, SessionProgress};
use crate::api_judge::SystemClock;
use crate::args::GlobalArgs;
use crate::commands::playbook::learn::{self, progress::name_of};
use crate::failure::Failure;
use crate::output::envelope_text::fit;
use crate::output::phrases::{money, one_line};
use crate::output::region::Region;
use crate::output::time::coming;
use crate::{output, runtime, signals};
use jiff::Zoned;
use longhaul_core::{CancelSource, OutcomeKind, Span, Usd};
use longhaul_playbook::bootstrap::{BootstrapPlan, BootstrapState, SessionResult, result_of, spent_since};
use longhaul_playbook::database::{JudgeKind, Queued, QueuedEvent};
use longhaul_playbook::judge::Clock;
use longhaul_playbook::worker::{Worker, WorkerEvent, WorkerReport};
use longhaul_playbook::{Judge, LearningDb, LearningPaths, PlaybookFile};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc::Receiver;

/// What is learnt from, and how.
pub struct BootstrapLearner {
    pub home: LearningPaths,
    pub project: PathBuf,
    pub kind: JudgeKind,
    pub destination: String,
    pub judge: Box<dyn Judge>,
    pub clock: Arc<SystemClock>,
    /// How long to wait between two sessions.
    pub delay: Span,
    /// No further session is begun when this much was spent.
    pub budget: Option<Usd>,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Somebody wanted the end.
    Cancelled(CancelSource),
    /// Like a run that ends so.
    By(OutcomeKind),
}

/// Why no further session is begun.
struct Stop {
    ended: Ended,
    message: String,
}

impl BootstrapLearner {
    /// Learns from what is planned.
    pub fn learn(
        &self,
        global: &GlobalArgs,
        mut state: BootstrapState,
        plan: &BootstrapPlan,
        printed: &mut BootstrapOutput,
    ) -> Result<Ended, Failure> {
        runtime::new()?.block_on(async {
            let mut cancels = signals::cancels()
                .map_err(|error| Failure::unexpected(format!("listen for signals: {error}")))?;
            let screen = Screen::new(global, plan.included.len());
            let stop = self.all(global, &mut state, plan, printed, (&screen, &mut cancels)).await;
            screen.end();
            let stop = stop?;
            printed.stopped = stop.as_ref().map(|stop| stop.message.clone());
            // What waits may yet be learnt, and what failed will not by itself.
            let all = if printed.count(SessionProgress::Waits) > 0 {
                OutcomeKind::RetryLater
            } else if printed.count(SessionProgress::Failed) > 0 {
                OutcomeKind::Failed
            } else {
                OutcomeKind::Done
            };
            Ok(stop.map_or(Ended::By(all), |stop| stop.ended))
        })
    }

    async fn all(
        &self,
        global: &GlobalArgs,
        state: &mut BootstrapState,
        plan: &BootstrapPlan,
        printed: &mut BootstrapOutput,
        (screen, cancels): (&Screen, &mut Receiver<CancelSource>),
    ) -> Result<Option<Stop>, Failure> {
        let started = self.clock.now().at;
        let lessons = learn::lessons(&self.home, global);
        for (place, planned) in plan.included.iter().enumerate() {
            let learning = self.open()?;
            let spent = spent_since(&learning, started).map_err(|error| learn::failure(&error))?;
            printed.cost_usd = spent.as_dollars();
            if let Some(budget) = self.budget.filter(|budget| spent >= *budget) {
                let said = format!("the budget of {} is used up; run it again to go on", money(budget));
                return Ok(Some(Stop { ended: Ended::By(OutcomeKind::OverBudget), message: said }));
            }
            screen.begins(place, &planned.session.path, spent);
            let queued = self.queued(&planned.session.path);
            learning.enqueue(output::now(), &queued).map_err(|error| learn::failure(&error))?;
            drop(learning);
            let last = Mutex::new(None);
            let told = |happening: WorkerEvent<'_>| screen.tell(happening, &queued.transcript, &last);
            let worker = Worker {
                paths: &self.home,
                judge: &*self.judge,
                kind: self.kind,
                destination: &self.destination,
                // What else is queued is within neither limit nor budget.
                only: Some(&queued.transcript),
                steps: &lessons,
                clock: &*self.clock,
                linger: false,
                on_event: &told,
            };
            let worked = tokio::select! {
                worked = learn::work_or_wait(&worker, global.quiet) => worked.map_err(|error| learn::failure(&error))?,
                Some(by) = cancels.recv() => return Ok(Some(cancelled(by))),
            };
            let said = last.lock().unwrap_or_else(PoisonError::into_inner).take();
            let result = self.note(state, &planned.session.path)?;
            printed.came(place, result, said);
            printed.cost_usd =
                spent_since(&self.open()?, started).map_err(|error| learn::failure(&error))?.as_dollars();
            if let Some(stop) = stop(worked, result) {
                return Ok(Some(stop));
            }
            if place + 1 < plan.included.len() {
                tokio::select! {
                    () = tokio::time::sleep(self.delay.to_std()) => {}
                    Some(by) = cancels.recv() => return Ok(Some(cancelled(by))),
                }
            }
        }
        Ok(None)
    }

    fn open(&self) -> Result<LearningDb, Failure> {
        LearningDb::open(&self.home).map_err(|error| learn::failure(&error))
    }

    fn queued(&self, transcript: &Path) -> Queued {
        Queued {
            project: self.project.clone(),
            session: None,
            transcript: std::fs::canonicalize(transcript).unwrap_or_else(|_| transcript.to_owned()),
            event: QueuedEvent::Manual,
            reason: None,
            judge: self.kind,
            destination: self.destination.clone(),
        }
    }

    /// What came of a session, by what the database knows. What is done is noted in the project.
    fn note(&self, state: &mut BootstrapState, transcript: &Path) -> Result<SessionProgress, Failure> {
        let learning = self.open()?;
        let result = result_of(&learning, &self.queued(transcript));
        let result = match result.map_err(|error| learn::failure(&error))? {
            SessionResult::Open => return Ok(SessionProgress::Waits),
            SessionResult::Failed => return Ok(SessionProgress::Failed),
            SessionResult::Learned => SessionProgress::Learned,
            SessionResult::Empty => SessionProgress::Empty,
        };
        let found = PlaybookFile::of_project(&self.project).read();
        let points = found.map_or(0, |found| found.playbook.points().count());
        let now = Zoned::now().strftime("%Y-%m-%dT%H:%M:%S%.6f").to_string();
        let noted = state.record_learned(transcript, &now, points);
        noted.map_err(|error| Failure::not_started(error.to_string(), error.hint(), None))?;
        Ok(result)
    }
}

/// Why no further session is begun; nothing if one is.
fn stop(worked: WorkerReport, result: SessionProgress) -> Option<Stop> {
    if let Some(why) = worked.person {
        let said = format!("{why}; what is queued is kept, and running it again goes on");
        return Some(Stop { ended: Ended::By(OutcomeKind::NeedsPerson), message: said });
    }
    // What waits for another judge, or another API, keeps nobody waiting here.
    let until = worked.waits.filter(|_| result == SessionProgress::Waits)?;
    let said = format!(
        "the judge has no answer now, and is left alone until {}; running it again goes on",
        coming(until)
    );
    Some(Stop { ended: Ended::By(OutcomeKind::RetryLater), message: said })
}

fn cancelled(by: CancelSource) -> Stop {
    let said = "cancelled; what is queued is kept, and running it again goes on".to_owned();
    Stop { ended: Ended::Cancelled(by), message: said }
}

/// What a person sees meanwhile: a line that is redrawn in place on a terminal, and lines elsewhere.
struct Screen {
    region: Option<Region>,
    /// The line in the region.
    line: Arc<Mutex<String>>,
    quiet: bool,
    sessions: usize,
}

impl Screen {
    fn new(global: &GlobalArgs, sessions: usize) -> Screen {
        let line = Arc::<Mutex<String>>::default();
        let drawn = Arc::clone(&line);
        let frame = move |width, _| vec![fit(&drawn.lock().unwrap_or_else(PoisonError::into_inner), width)];
        let region = if global.quiet { None } else { Region::open(frame) };
        Screen { region, line, quiet: global.quiet, sessions }
    }

    fn begins(&self, place: usize, transcript: &Path, spent: Usd) {
        let line = format!("{} of {}: {}", place + 1, self.sessions, name_of(transcript));
        match &self.region {
            Some(region) => {
                let line = format!("{} ({} spent)", one_line(&line), money(spent));
                *self.line.lock().unwrap_or_else(PoisonError::into_inner) = line;
                region.redraw();
            }
            None if !self.quiet => output::print_status(&line),
            None => {}
        }
    }

    /// Tells what happens, and remembers what came of this transcript.
    fn tell(&self, happening: WorkerEvent<'_>, transcript: &Path, last: &Mutex<Option<String>>) {
        let (item, said) = match happening {
            WorkerEvent::Learned(item, said) | WorkerEvent::Empty(item, said) => (item, said.to_owned()),
            WorkerEvent::Failed(item, why) => (item, why.to_owned()),
            WorkerEvent::Waits(item, _, why) => (item, why.to_owned()),
            WorkerEvent::Began(..)
            | WorkerEvent::Reflected(_)
            | WorkerEvent::Curated(_)
            | WorkerEvent::NeedsPerson { .. } => return,
            WorkerEvent::SetAside(path) => return learn::progress::say_set_aside(path),
        };
        if item.queued.transcript == transcript {
            *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(said.clone());
        }
        let line = format!("{}: {said}", name_of(&item.queued.transcript));
        match &self.region {
            Some(region) => region.print_above(|| output::print_status(&line)),
            None if !self.quiet => output::print_status(&line),
            None => {}
        }
    }

    fn end(self) {
        if let Some(region) = self.region {
            region.close();
        }
    }
}

//! Learns from one session after another: queues it, runs a worker in this process and records the result in
//! the project.
//!
//! An interruption loses nothing: queued sessions stay queued, and answered questions are not repeated.

use super::output::{BootstrapOutput, SessionProgress};
use crate::api_judge::SystemClock;
use crate::commands::playbook::learn::progress::{name_of, print_event};
use crate::commands::playbook::learn::{self, WorkerTarget};
use crate::failure::{Failure, code};
use crate::output::time::future_time;
use crate::{output, runtime, signals};
use jiff::Zoned;
use longhaul_core::{CancelSource, Moment, OutcomeKind, Span, Usd};
use longhaul_playbook::bootstrap::{BootstrapPlan, BootstrapState, result_of, spent_since};
use longhaul_playbook::database::{LearnResult, Queued};
use longhaul_playbook::judge::Clock;
use longhaul_playbook::worker::{Worker, WorkerEvent, WorkerReport};
use longhaul_playbook::{Judge, LearningDb, PlaybookFile};
use longhaul_store::DatabaseError;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

pub struct BootstrapLearner {
    pub target: WorkerTarget,
    pub project: PathBuf,
    pub judge: Box<dyn Judge>,
    pub clock: Arc<SystemClock>,
    /// Wait between two sessions.
    pub delay: Span,
    /// No further session starts once this amount is spent.
    pub budget: Option<Usd>,
}

/// Why no further session starts.
struct Stop {
    exit_code: u8,
    message: String,
}

impl BootstrapLearner {
    /// Learns from the planned sessions, fills in their results, and returns the exit code.
    pub fn learn(
        &self,
        mut state: BootstrapState,
        plan: &BootstrapPlan,
        command_output: &mut BootstrapOutput,
    ) -> Result<u8, Failure> {
        let started = self.clock.now().at;
        let stop =
            runtime::new()?.block_on(self.learn_sessions(&mut state, plan, started, command_output))?;
        command_output.cost_usd = self.spent_since(started, plan)?.into();
        if let Some(stop) = stop {
            command_output.stopped = Some(stop.message);
            return Ok(stop.exit_code);
        }
        // Queued sessions may still be learned. Failed ones need a retry.
        Ok(code(if command_output.count(SessionProgress::Queued) > 0 {
            OutcomeKind::RetryLater
        } else if command_output.count(SessionProgress::Failed) > 0 {
            OutcomeKind::Failed
        } else {
            OutcomeKind::Done
        }))
    }

    /// Returns the cost of the planned sessions, as far as the database knows it.
    fn spent_since(&self, started: Moment, plan: &BootstrapPlan) -> Result<Usd, DatabaseError> {
        let learning = LearningDb::open(&self.target.home)?;
        let transcripts: Vec<PathBuf> =
            plan.included.iter().map(|planned| real_path(&planned.session.path)).collect();
        spent_since(&learning, started, transcripts.iter().map(PathBuf::as_path))
    }

    async fn learn_sessions(
        &self,
        state: &mut BootstrapState,
        plan: &BootstrapPlan,
        started: Moment,
        command_output: &mut BootstrapOutput,
    ) -> Result<Option<Stop>, Failure> {
        let mut cancels = signals::cancels()?;
        let rules = learn::learn_rules();
        for (index, planned) in plan.included.iter().enumerate() {
            if let Some(budget) = self.budget
                && self.spent_since(started, plan)? >= budget
            {
                let message = format!("the budget of {budget} is exhausted; run it again to continue");
                return Ok(Some(Stop { exit_code: code(OutcomeKind::OverBudget), message }));
            }
            let (number, name) = (index + 1, name_of(&planned.session.path));
            output::print_status(&format!("{number} of {}: {name}", plan.included.len()));
            let queued = self.queued(&planned.session.path);
            LearningDb::open(&self.target.home)?.enqueue(output::now(), &queued)?;
            let last_message: Mutex<Option<String>> = Mutex::new(None);
            let on_event = |event: WorkerEvent<'_>| {
                if let WorkerEvent::Finished(item, _, text) | WorkerEvent::Waits(item, _, text) = event {
                    let mut last = last_message.lock().unwrap_or_else(PoisonError::into_inner);
                    // A hook may have queued it too. That entry then contains nothing new.
                    let is_empty = matches!(event, WorkerEvent::Finished(_, LearnResult::Empty, _));
                    if item.queued.transcript == queued.transcript && !(is_empty && last.is_some()) {
                        *last = Some(text.to_owned());
                    }
                }
                // The result of the command says why it stopped.
                if !matches!(event, WorkerEvent::NeedsPerson { .. }) {
                    print_event(self.target.kind, event);
                }
            };
            let worker = Worker {
                paths: &self.target.home,
                judge: &*self.judge,
                kind: self.target.kind,
                destination: &self.target.destination,
                // Other queued transcripts count toward neither the limit nor the budget.
                transcript: Some(&queued.transcript),
                rules: &rules,
                clock: &*self.clock,
                linger: false,
                on_event: &on_event,
            };
            let report = tokio::select! {
                report = learn::work_or_wait(&worker) => report?,
                Some(source) = cancels.recv() => return Ok(Some(cancelled(source))),
            };
            let message = last_message.lock().unwrap_or_else(PoisonError::into_inner).take();
            let result = self.record_progress(state, &planned.session.path)?;
            let stop = stop(report, result, message.as_deref());
            command_output.record_result(index, result, message);
            if stop.is_some() {
                return Ok(stop);
            }
            if index + 1 < plan.included.len() {
                tokio::select! {
                    () = tokio::time::sleep(self.delay.to_std()) => {}
                    Some(source) = cancels.recv() => return Ok(Some(cancelled(source))),
                }
            }
        }
        Ok(None)
    }

    fn queued(&self, transcript: &Path) -> Queued {
        self.target.queued(&self.project, real_path(transcript))
    }

    /// Returns the result of a session according to the database. Records final results in the project.
    fn record_progress(
        &self,
        state: &mut BootstrapState,
        transcript: &Path,
    ) -> Result<SessionProgress, Failure> {
        let learning = LearningDb::open(&self.target.home)?;
        let result = match result_of(&learning, &self.queued(transcript))? {
            None => return Ok(SessionProgress::Queued),
            Some(LearnResult::Failed) => return Ok(SessionProgress::Failed),
            Some(LearnResult::Learned) => SessionProgress::Learned,
            Some(LearnResult::Empty) => SessionProgress::Empty,
        };
        let loaded = PlaybookFile::in_project(&self.project).read();
        let points = loaded.map_or(0, |loaded| loaded.playbook.points().count());
        let now = Zoned::now().strftime("%Y-%m-%dT%H:%M:%S%.6f").to_string();
        state.record_learned(transcript, &now, points)?;
        Ok(result)
    }
}

fn real_path(transcript: &Path) -> PathBuf {
    std::fs::canonicalize(transcript).unwrap_or_else(|_| transcript.to_owned())
}

/// Returns why no further session starts, or `None` if one does. `last_message` is that of the session.
fn stop(report: WorkerReport, result: SessionProgress, last_message: Option<&str>) -> Option<Stop> {
    if let Some(reason) = report.needs_person {
        let message = format!("{reason}; the queue is kept; run it again to continue");
        return Some(Stop { exit_code: code(OutcomeKind::NeedsPerson), message });
    }
    // Entries for another judge or another API do not block this one.
    let until = report.due_at.filter(|_| result == SessionProgress::Queued)?;
    // Without a message, this worker asked nothing, because the judge did not answer before.
    let reason = last_message.map_or_else(
        || "the judge does not answer and is paused".to_owned(),
        |message| format!("{message}; it waits"),
    );
    let message = format!("{reason} until {}; run it again then", future_time(until));
    Some(Stop { exit_code: code(OutcomeKind::RetryLater), message })
}

fn cancelled(source: CancelSource) -> Stop {
    let message = "cancelled; the queue is kept; run it again to continue".to_owned();
    Stop { exit_code: source.exit_code(), message }
}

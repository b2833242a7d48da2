//! The attempts and the checks of a run, as `show` prints them. Keys are only ever added.

use crate::output::phrases;
use crate::run_history::{self, AttemptFiles, RecordAt};
use longhaul_core::{
    AfterAttempt, CheckResult, Continuity, Exit, Fault, Moment, Questions, Record, Remedy, ResumeStrategy,
    SessionPlan, Span, StallReport, StopCause, StrategyReason, SummaryResult, Usage,
};
use longhaul_store::{AnsweredQuestion, AttemptDir, ModelUsage, RunDir, StoppedTask, WatchdogStop, rfc3339};
use serde::Serialize;
use std::collections::BTreeMap;

/// One attempt.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Attempt {
    /// Which one, from 1.
    pub number: u32,
    /// When it was ordered.
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub started_at: String,
    /// On which session it worked.
    pub session: SessionPlan,
    /// How the history of the conversation reached it; nothing where there was none.
    pub strategy: Option<ResumeStrategy>,
    /// Why by that rung.
    pub reason: Option<StrategyReason>,
    /// When it was over; nothing as long as it is not.
    #[cfg_attr(test, schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    pub ended_at: Option<String>,
    /// Why it failed; nothing if it did not.
    pub fault: Option<Fault>,
    /// Whether it continued the conversation that it was to continue, where that could be read.
    pub continuity: Option<Continuity>,
    /// How many of its tool calls our guards denied.
    pub denied_calls: u32,
    /// How its questions were answered.
    pub questions: Questions,
    /// What it asked; the first hundred.
    pub answers: Vec<AnsweredQuestion>,
    /// Background commands that were stopped with its agent.
    pub background_stopped: Vec<StoppedTask>,
    /// What was done about the fault.
    pub remedy: Option<Remedy>,
    /// Of the attempt itself.
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Dollars"))]
    pub total_cost_usd: f64,
    /// What came of asking a model for a summary of older work; nothing if none was asked.
    pub summary: Option<Summary>,
    /// Why it was stopped; nothing if it was not.
    pub stop_cause: Option<StopCause>,
    /// What was heard and seen of it, if it was stopped because it stalled.
    pub stall: Option<StallReport>,
    /// How often it was silent for too long while something of it worked.
    pub stalls_deferred: u32,
    /// That a watchdog ended it, because its supervisor had died and nobody had come back.
    pub watchdog: Option<WatchdogStop>,
    /// What proved its fault, in a few words.
    pub evidence: Option<String>,
    /// How its process ended; `unseen` where no supervisor was there.
    pub exit: Option<Exit>,
    /// Answers of the model in the main conversation.
    pub turns: u32,
    /// What of its cost is estimated.
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Dollars"))]
    pub estimated_cost_usd: f64,
    /// How long it took, without what was slept through; nothing as long as it does.
    pub duration_ms: Option<Span>,
    /// How long was to be waited after it; nothing where no attempt was to follow.
    pub planned_wait_ms: Option<Span>,
    /// How long was waited; nothing as long as the run waits.
    pub waited_ms: Option<Span>,
    /// How many processes had to be ended that it left behind.
    pub leftover_processes: u32,
}

/// A summary that an attempt was to be told.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Summary {
    /// What came of it.
    pub outcome: SummaryResult,
    /// What that cost.
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Dollars"))]
    pub total_cost_usd: f64,
}

/// Returns the costs of an attempt that has not ended, as its supervisor published them last.
fn live_usage(files: &AttemptDir) -> Usage {
    let models = files.model_usage().unwrap_or_default().into_iter();
    let costs = models.map(|ModelUsage { cost, estimated_cost, .. }| Usage {
        reported_cost: cost,
        estimated_cost,
        ..Usage::default()
    });
    costs.fold(Usage::default(), Usage::plus)
}

impl Attempt {
    pub fn new(
        told: &run_history::AttemptHistory,
        facts: &BTreeMap<u32, AttemptFiles>,
        dir: &RunDir,
    ) -> Attempt {
        let ended = told.end.as_ref();
        let (facts, files) = (facts.get(&told.number), dir.attempt(told.number));
        let exit = facts.and_then(|facts| facts.exit);
        let usage = ended.map_or_else(|| live_usage(&files), |ended| ended.usage);
        Attempt {
            number: told.number,
            started_at: rfc3339(told.ordered),
            session: told.session.clone(),
            strategy: told.strategy,
            reason: told.reason,
            ended_at: ended.map(|ended| rfc3339(ended.at)),
            fault: ended.and_then(|ended| ended.fault),
            continuity: ended.and_then(|ended| ended.continuity),
            denied_calls: ended.map_or(0, |ended| ended.denied_calls),
            questions: ended.map(|ended| ended.questions).unwrap_or_default(),
            // What cannot be read is told by nobody; the rest is.
            answers: files.answers().unwrap_or_default(),
            background_stopped: files.stopped_tasks().unwrap_or_default(),
            remedy: ended.and_then(|ended| match ended.next {
                AfterAttempt::Attempt { remedy, .. } => Some(remedy),
                AfterAttempt::Check | AfterAttempt::Finish(_) => None,
            }),
            total_cost_usd: usage.total_cost().as_dollars(),
            summary: told
                .summary
                .map(|(outcome, usage)| Summary { outcome, total_cost_usd: usage.total_cost().as_dollars() }),
            stop_cause: told.stop_cause,
            stall: told.stall,
            stalls_deferred: told.deferrals,
            watchdog: facts.and_then(|facts| facts.watchdog_stop),
            evidence: phrases::evidence(told, exit),
            exit,
            turns: usage.turns,
            estimated_cost_usd: usage.estimated_cost.as_dollars(),
            duration_ms: ended.map(|ended| told.took(ended.at)),
            planned_wait_ms: told.planned(),
            waited_ms: told.waited,
            leftover_processes: told.leftover_processes,
        }
    }
}

/// One time that the work was judged.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Check {
    /// Which one, from 1.
    pub number: u32,
    /// When it was ordered.
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub at: String,
    /// What came of it; nothing as long as it is under way.
    pub result: Option<CheckResult>,
    /// How long it took.
    pub duration_ms: Option<Span>,
    /// What its commands said.
    pub output: String,
}

/// The checks of a run, in their order.
pub fn checks_of(told: &[RecordAt<'_>], dir: &RunDir) -> Vec<Check> {
    let (mut checks, mut ordered): (Vec<Check>, Moment) = (Vec::new(), Moment(0));
    for (at, record) in told {
        if let Record::CheckStarted { .. } = record {
            let number = checks.len() as u32 + 1;
            let output = dir.check_output_path(number).display().to_string();
            ordered = *at;
            checks.push(Check { number, at: rfc3339(*at), result: None, duration_ms: None, output });
        } else if let (Record::CheckEnded { result, .. }, Some(check)) = (record, checks.last_mut()) {
            (check.result, check.duration_ms) = (Some(*result), Some(at.since(ordered)));
        }
    }
    checks
}

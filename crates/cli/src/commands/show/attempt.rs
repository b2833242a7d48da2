//! The attempts and checks of a run, as `show` prints them. JSON keys are only added, never removed.

use crate::output::phrases;
use crate::run_history::{AttemptFiles, live_usage};
use longhaul_core::{
    AnsweredQuestion, AttemptHistory, BackgroundTask, CheckHistory, CheckResult, Continuity, Dollars, Exit,
    Fault, Questions, Remedy, ResumeStrategy, ReviewResult, Rfc3339, RunHistory, SessionPlan, Span,
    StallReport, StopCause, StrategyReason, SummaryResult,
};
use longhaul_store::{RunDir, WatchdogStop};
use serde::Serialize;
use std::collections::BTreeMap;

/// One attempt.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Attempt {
    /// Number of the attempt, starting at 1.
    pub number: u32,
    /// When the attempt started.
    pub started_at: Rfc3339,
    /// Session that the attempt worked on.
    pub session: SessionPlan,
    /// How the conversation's history reached the attempt. `None` if there was no history.
    pub strategy: Option<ResumeStrategy>,
    /// Why that strategy was chosen.
    pub reason: Option<StrategyReason>,
    /// When the attempt ended. `None` if it is running.
    pub ended_at: Option<Rfc3339>,
    /// Fault that ended the attempt. `None` if it did not fail.
    pub fault: Option<Fault>,
    /// Whether the attempt continued the intended conversation. `None` if that is unknown.
    pub continuity: Option<Continuity>,
    /// Number of tool calls that guards denied.
    pub denied_calls: u32,
    /// How the agent's questions were answered.
    pub questions: Questions,
    /// The agent's first hundred questions.
    pub answers: Vec<AnsweredQuestion>,
    /// Background commands that were stopped together with the agent.
    pub background_stopped: Vec<BackgroundTask>,
    /// Remedy for the fault.
    pub remedy: Option<Remedy>,
    /// Cost of the attempt, without its summary.
    pub total_cost_usd: Dollars,
    /// Summary of older work. `None` if none was requested.
    pub summary: Option<SummaryOutput>,
    /// Why the attempt was first stopped. `None` if it was not.
    pub stop_cause: Option<StopCause>,
    /// Last activity, if the attempt was stopped for a stall.
    pub stall: Option<StallReport>,
    /// Number of stalls that were deferred because a process was active.
    pub stalls_deferred: u32,
    /// Stop by the watchdog, after the supervisor died and no other took over.
    pub watchdog: Option<WatchdogStop>,
    /// Short evidence of the fault.
    pub evidence: Option<String>,
    /// Exit of the process. `unobserved` if no supervisor was running.
    pub exit: Option<Exit>,
    /// Turns in the main conversation.
    pub turns: u32,
    /// Estimated part of the cost.
    pub estimated_cost_usd: Dollars,
    /// Duration without sleep of the machine. `None` if the attempt is running.
    pub duration_ms: Option<Span>,
    /// Planned wait after the attempt. `None` if no attempt was to follow.
    pub planned_wait_ms: Option<Span>,
    /// Actual wait. `None` if the run is still waiting.
    pub waited_ms: Option<Span>,
    /// Number of leftover processes that were stopped.
    pub leftover_processes: u32,
}

/// A summary of older work, made for an attempt.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SummaryOutput {
    /// Result of the request.
    pub outcome: SummaryResult,
    /// Cost of the request.
    pub total_cost_usd: Dollars,
}

impl Attempt {
    pub fn new(
        attempt: &AttemptHistory,
        attempt_files: &BTreeMap<u32, AttemptFiles>,
        dir: &RunDir,
    ) -> Attempt {
        let end = attempt.end.as_ref();
        let (attempt_files, dir) = (attempt_files.get(&attempt.number), dir.attempt(attempt.number));
        let exit = attempt_files.and_then(|files| files.exit);
        let start_error = attempt_files.and_then(|files| files.start_error.as_deref());
        let usage = end.map_or_else(|| live_usage(&dir), |end| end.usage);
        Attempt {
            number: attempt.number,
            started_at: attempt.started_at.into(),
            session: attempt.session.clone(),
            strategy: attempt.strategy,
            reason: attempt.reason,
            ended_at: attempt.ended_at.map(Rfc3339),
            fault: attempt.fault(),
            continuity: end.and_then(|end| end.continuity),
            denied_calls: end.map_or(0, |end| end.denied_calls),
            questions: end.map(|end| end.questions).unwrap_or_default(),
            // Unreadable files are ignored; the rest of the attempt is shown.
            answers: dir.read_or_default(),
            background_stopped: dir.read_or_default(),
            remedy: attempt.remedy(),
            total_cost_usd: usage.total_cost().into(),
            summary: attempt.summary.map(|summary| SummaryOutput {
                outcome: summary.result,
                total_cost_usd: summary.usage.total_cost().into(),
            }),
            stop_cause: attempt.stop_cause(),
            stall: attempt.stall(),
            stalls_deferred: attempt.deferrals,
            watchdog: attempt_files.and_then(|files| files.watchdog_stop),
            evidence: phrases::evidence(attempt, exit, start_error),
            exit,
            turns: usage.turns,
            estimated_cost_usd: usage.estimated_cost.into(),
            duration_ms: attempt.ended_at.map(|at| attempt.duration(at)),
            planned_wait_ms: attempt.planned_wait(),
            waited_ms: attempt.completed_wait(),
            leftover_processes: attempt.leftover_processes,
        }
    }
}

/// One check of the work.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Check {
    /// Number of the check, starting at 1.
    pub number: u32,
    /// When the check started.
    pub at: Rfc3339,
    /// Result. `None` if the check is running.
    pub result: Option<CheckResult>,
    /// Duration of the check.
    pub duration_ms: Option<Span>,
    /// Path of the output of its commands, with the findings of the reviewer.
    pub output: String,
    /// Its review. `None` if no reviewer has started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewRow>,
}

/// The review of a check.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReviewRow {
    /// Result of its last reviewer. `None` if that is running.
    pub result: Option<ReviewResult>,
    /// Number of reviewer processes.
    pub processes: u32,
    /// Cost of all of them, as part of the run's cost.
    pub total_cost_usd: Dollars,
    /// Directory of the last one.
    pub dir: String,
}

pub fn checks_of(history: &RunHistory, dir: &RunDir) -> Vec<Check> {
    let check = |(number, check): (u32, &CheckHistory)| Check {
        number,
        at: check.started_at.into(),
        result: check.result,
        duration_ms: check.duration(),
        output: dir.check_output_path(number).display().to_string(),
        review: check.review.map(|review| ReviewRow {
            result: review.result,
            processes: review.processes,
            total_cost_usd: review.usage.total_cost().into(),
            dir: dir.review(review.number).path().display().to_string(),
        }),
    };
    (1..).zip(history.checks()).map(check).collect()
}

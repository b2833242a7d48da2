//! What is told when a run is over: the run in figures, its result, and the files that say so too.

use crate::spending::spending_of;
use longhaul_agent::Glance;
use longhaul_core::{
    Clocks, Fault, Limit, Moment, Outcome, OutcomeKind, Policy, Questions, Run, RunId, SessionId, Span,
    Tally, TurnResult,
};
use longhaul_store::{CostSummary, Harness, RunDir, SessionSummary, Status};
use std::path::PathBuf;
use std::process;

/// A finished run.
#[derive(Clone, Debug)]
pub struct Report {
    /// The run.
    pub run: RunId,
    /// Its directory.
    pub dir: PathBuf,
    /// How it ended.
    pub outcome: Outcome,
    /// The agent's last answer, whole or partial.
    pub result: Option<String>,
    /// What went wrong, in words for people, last first.
    pub errors: Vec<String>,
    /// The session that can be continued.
    pub session: Option<SessionId>,
    /// The model that answered.
    pub model: Option<String>,
    /// How many attempts were made.
    pub attempts: u32,
    /// The last attempt's fault, survived or not.
    pub fault: Option<Fault>,
    /// The last result in closed words.
    pub ending: Option<TurnResult>,
    /// What the run used.
    pub tally: Tally,
    /// How many tool calls its guards denied.
    pub denied: u32,
    /// How the agent's questions were answered.
    pub questions: Questions,
    /// How it spent its time.
    pub clocks: Clocks,
    /// When it ended.
    pub ended: Moment,
}

impl Report {
    /// The report of a run that ended with `outcome`: its last attempt's stream said `glance`, and there
    /// was this complaint about the agent's start.
    pub(crate) fn new(
        dir: &RunDir,
        run: &Run,
        (outcome, ended): (Outcome, Moment),
        glance: &Glance,
        complaint: Option<&str>,
    ) -> Report {
        let state = run.state();
        let mut errors = Vec::new();
        if outcome.kind != OutcomeKind::Done {
            errors.extend(glance.errors.iter().cloned());
            errors.extend(complaint.map(str::to_owned));
            errors.dedup();
        }
        Report {
            run: dir.id().clone(),
            dir: dir.path().to_owned(),
            outcome,
            result: glance
                .result
                .clone()
                .or_else(|| Some(glance.said.clone()).filter(|said| !said.is_empty())),
            errors,
            session: state.session.clone(),
            model: glance.model.clone(),
            attempts: state.attempts(),
            fault: state.fault,
            ending: state.result,
            tally: state.tally,
            denied: state.denied,
            questions: state.questions,
            clocks: state.clocks,
            ended,
        }
    }

    /// The command by which a person goes on with the run, if that makes sense.
    pub fn resume_command(&self) -> Option<String> {
        resume_command(&self.run, &self.outcome)
    }

    /// How long the run took, from its start to its end.
    pub fn wall(&self) -> Span {
        self.clocks.wall(self.ended)
    }
}

/// The command by which a person goes on with a run that ended so; nothing where that makes no sense.
pub fn resume_command(run: &RunId, outcome: &Outcome) -> Option<String> {
    match outcome.kind {
        OutcomeKind::Done | OutcomeKind::Refused => None,
        OutcomeKind::Failed
        | OutcomeKind::OverBudget
        | OutcomeKind::OutOfTime
        | OutcomeKind::NeedsPerson
        | OutcomeKind::CheckFailed
        | OutcomeKind::Incomplete
        | OutcomeKind::Bug
        | OutcomeKind::RetryLater
        | OutcomeKind::Cancelled => {
            let more = outcome.limit.map(|limit| format!(" {}", more_of(limit)));
            Some(format!("longhaul resume {run}{}", more.unwrap_or_default()))
        }
    }
}

/// What `longhaul resume` is told to give a run more of what it has used up.
pub fn more_of(limit: Limit) -> &'static str {
    match limit {
        Limit::Budget => "--add-budget USD",
        Limit::Tokens => "--max-tokens TOTAL",
        Limit::Time => "--add-time DURATION",
        Limit::Wall => "--wall-limit TOTAL",
        Limit::Turns => "--max-turns TOTAL",
    }
}

/// Writes what is derived when a run is over, but for its status. None of it can fail the run: all of it can be derived
/// again.
pub(crate) fn settle(dir: &RunDir, run: &Run, policy: &Policy, harness: Option<Harness>, report: &Report) {
    let (limits, spending, model) = (policy.limits, spending_of(dir), report.model.clone());
    let summary = CostSummary::of(run.state(), limits, spending, model, report.ended);
    let inherited = dir.plan().ok().and_then(|plan| plan.inherited);
    let summary = match &inherited {
        Some(inherited) => summary.with_inherited(inherited),
        None => summary,
    };
    let _ = dir.write_cost_summary(&summary);
    if harness.is_some() {
        let _ = dir.write_metadata(run.state().reopened, report.session.clone());
    }
    let (session_id, status) = (report.session.clone(), report.outcome.kind);
    let _ = dir.write_session_summary(&SessionSummary { session_id, status, end_time: report.ended });
}

/// Says that the run is over. Last: whoever waits for the end of a run looks here, and finds all else.
pub(crate) fn tell_status(dir: &RunDir, run: &Run, policy: &Policy, report: &Report) {
    let _ = dir.write_status(&Status::of(dir.id(), run, policy, process::id(), report.ended));
}

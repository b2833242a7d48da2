//! Where a run stands, as a person sees it: well, not well, or waiting for somebody. Pure.

use crate::output::phrases;
use longhaul_core::{Fault, Outcome, OutcomeKind};
use longhaul_store::{LedgerRun, RunState};
use serde::Serialize;

/// What a person thinks of first, of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunHealth {
    /// Only a person can go on with it.
    NeedsPerson,
    /// It is over and not done.
    Failed,
    /// It goes on.
    GoingOn,
    /// Somebody stopped it.
    Cancelled,
    /// It is done.
    Done,
}

impl RunHealth {
    /// For people.
    pub fn label(self) -> &'static str {
        match self {
            RunHealth::NeedsPerson => "needs a person",
            RunHealth::Failed => "failed",
            RunHealth::GoingOn => "going on",
            RunHealth::Cancelled => "cancelled",
            RunHealth::Done => "done",
        }
    }

    /// The wire word.
    pub fn as_str(self) -> &'static str {
        match self {
            RunHealth::NeedsPerson => "needs_person",
            RunHealth::Failed => "failed",
            RunHealth::GoingOn => "going_on",
            RunHealth::Cancelled => "cancelled",
            RunHealth::Done => "done",
        }
    }

    /// Whether somebody has to look at it.
    pub fn is_urgent(self) -> bool {
        match self {
            RunHealth::NeedsPerson | RunHealth::Failed => true,
            RunHealth::GoingOn | RunHealth::Cancelled | RunHealth::Done => false,
        }
    }
}

/// What a person thinks of first, of this run.
pub fn standing(run: &LedgerRun, outcome: Option<Outcome>, attended: bool) -> RunHealth {
    match (outcome.map(|outcome| outcome.kind), run.state) {
        (_, RunState::Unreadable) => RunHealth::NeedsPerson,
        (Some(OutcomeKind::Done), _) => RunHealth::Done,
        (Some(OutcomeKind::NeedsPerson), _) => RunHealth::NeedsPerson,
        (Some(OutcomeKind::Cancelled), _) => RunHealth::Cancelled,
        (Some(OutcomeKind::Suspended), _) | (None, RunState::Suspended) => RunHealth::NeedsPerson,
        (
            Some(
                OutcomeKind::Failed
                | OutcomeKind::OverBudget
                | OutcomeKind::OutOfTime
                | OutcomeKind::CheckFailed
                | OutcomeKind::NotStarted
                | OutcomeKind::Incomplete
                | OutcomeKind::Bug
                | OutcomeKind::RetryLater,
            ),
            _,
        ) => RunHealth::Failed,
        (None, RunState::Running | RunState::Waiting | RunState::Finished) if attended => RunHealth::GoingOn,
        // Nobody will go on with it.
        (None, RunState::Running | RunState::Waiting | RunState::Finished) => RunHealth::NeedsPerson,
    }
}

/// How it ended or where it stands, in words for people that do not say its standing once more.
pub fn because(run: &LedgerRun, outcome: Option<Outcome>, attended: bool) -> String {
    let cause = |fault: Option<Fault>| fault.map(phrases::fault_text);
    match (outcome, run.state) {
        (_, RunState::Unreadable) => {
            run.error.clone().unwrap_or_else(|| "its files cannot be read".to_owned())
        }
        (Some(outcome), _) => {
            let limit = outcome.limit.map(|limit| format!("{} is used up", limit.describe()));
            let why = limit.or(cause(outcome.fault).map(str::to_owned));
            ended(outcome.kind, why.as_deref())
        }
        (None, RunState::Suspended) => "a signal suspended it; `longhaul recover` continues it".to_owned(),
        (None, _) if !attended => "it is not over, and no supervisor has it".to_owned(),
        (None, RunState::Waiting) => {
            format!("waiting: {}", cause(run.fault).unwrap_or("the next attempt has its time"))
        }
        (None, RunState::Running | RunState::Finished) => "an attempt is under way".to_owned(),
    }
}

fn ended(kind: OutcomeKind, why: Option<&str>) -> String {
    let told = match kind {
        OutcomeKind::Done => "the work is done",
        OutcomeKind::Failed => "the agent gave up, or made no progress",
        OutcomeKind::NeedsPerson => "only a person can go on",
        OutcomeKind::Cancelled => "somebody stopped it",
        OutcomeKind::Suspended => "a signal suspended it",
        OutcomeKind::OverBudget
        | OutcomeKind::OutOfTime
        | OutcomeKind::CheckFailed
        | OutcomeKind::NotStarted
        | OutcomeKind::Incomplete
        | OutcomeKind::Bug
        | OutcomeKind::RetryLater => {
            // Failed is what all of these are, each in its own way.
            let how = kind.as_str().replace('_', " ");
            return why.map_or_else(|| how.clone(), |why| format!("{how}: {why}"));
        }
    };
    why.unwrap_or(told).to_owned()
}

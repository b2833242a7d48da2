//! Checks the actions of a step before they are performed: among others, that a run has at most one live
//! process tree (the oracle `one_tree`).

use super::{Oracle, OracleResult, ensure};
use crate::world::World;
use longhaul_core::{
    Action, AfterAttempt, AttemptEnd, AttemptPlan, Moment, Outcome, PromptKind, RateLimitStatus, Record,
    SessionPlan,
};

/// Checks that a record of the attempt, already on disk, implies the action.
pub(crate) fn check_journaled(action: &Action, journal: &[(Moment, Record)]) -> OracleResult {
    let attempt_starts = |(_, record): &(Moment, Record)| matches!(record, Record::AttemptStarted { .. });
    let start = journal.iter().rposition(attempt_starts).unwrap_or(0);
    let mut records = journal[start..].iter().rev().map(|(_, record)| record);
    let has_strategy = |expected| {
        let mut records = records.clone();
        records.any(
            |record| matches!(record, Record::ResumeStrategyChosen { strategy, .. } if *strategy == expected),
        )
    };
    let is_chosen = match action {
        Action::Spawn(AttemptPlan { strategy: Some(strategy), .. }) => has_strategy(*strategy),
        _ => true,
    };
    let implied = is_chosen && records.any(|record| implies(record, action));
    ensure(implied, Oracle::Journaled, || format!("{action:?} follows from no record"))
}

fn implies(record: &Record, action: &Action) -> bool {
    match action {
        Action::InspectSession(session) => {
            let resumes = |plan: &SessionPlan| match plan {
                SessionPlan::New(_) => false,
                SessionPlan::Resume(from) | SessionPlan::Fork { from, .. } => from == session,
            };
            matches!(record, Record::AttemptStarted { plan } if resumes(&plan.session))
        }
        Action::StartCheck(_) => matches!(record, Record::CheckStarted),
        Action::StartReview(_) => matches!(record, Record::ReviewStarted { .. }),
        Action::StopCheck { .. } => matches!(record, Record::CheckStopOrdered { .. }),
        Action::StartSummary(_) => matches!(record, Record::SummaryStarted),
        Action::StopSummary => matches!(record, Record::SummaryStopOrdered { .. }),
        Action::Spawn(plan) => {
            let is_recorded = |recorded: &AttemptPlan| is_same_plan(plan, recorded);
            matches!(record, Record::AttemptStarted { plan } if is_recorded(plan))
        }
        Action::SendPrompt(prompt, remaining) => {
            matches!(record, Record::PromptSent { prompt: sent, remaining: recorded, .. } if sent == prompt && recorded == remaining)
        }
        Action::CloseInput => matches!(record, Record::InputClosed),
        Action::Stop(level) => {
            matches!(record, Record::StopOrdered { level: ordered, .. } if ordered == level)
        }
        // A probe changes nothing, but it needs a running agent.
        Action::ProbeProcesses => matches!(record, Record::AttemptSpawned { .. }),
        Action::Sweep => matches!(record, Record::AttemptEnded(_) | Record::RunFinished { .. }),
        Action::Finish(outcome) => {
            matches!(record, Record::RunFinished { outcome: ordered } if ordered == outcome)
                || matches!(record, Record::Suspended { source } if Outcome::suspended(*source) == *outcome)
        }
    }
}

/// Returns whether both are the same plan, except for the parts that are determined after the decision.
fn is_same_plan(plan: &AttemptPlan, ordered: &AttemptPlan) -> bool {
    AttemptPlan {
        strategy: plan.strategy,
        with_summary: plan.with_summary,
        remaining: plan.remaining,
        ..ordered.clone()
    } == *plan
}

/// Checks that a process may start: no other process is alive, everything is swept, and its moment has
/// arrived.
pub(crate) fn check_spawn(
    plan: &AttemptPlan,
    world: &World,
    journal: &[(Moment, Record)],
    now: Moment,
) -> OracleResult {
    ensure(!world.has_live_process(), Oracle::OneTree, || {
        format!("attempt {} starts next to a live process", plan.attempt)
    })?;
    // From newest to oldest: the start of this attempt, the sweep after the previous one, the end of that
    // one.
    let (mut swept, mut is_recovered) = (false, false);
    for (_, record) in journal.iter().rev() {
        match record {
            Record::Recovered { .. } => is_recovered = true,
            Record::SuspendOrdered { .. } if !is_recovered => {
                return ensure(false, Oracle::Cancels, || {
                    format!("attempt {} starts although the run is being suspended", plan.attempt)
                });
            }
            Record::CancelRequested { .. } => {
                return ensure(false, Oracle::Cancels, || {
                    format!("attempt {} starts after a cancel", plan.attempt)
                });
            }
            Record::Swept { .. } => swept = true,
            // The previous attempt ended, and so did the check of its work.
            Record::CheckEnded { .. } => return Ok(()),
            Record::AttemptEnded(AttemptEnd { next, .. }) => {
                ensure(swept, Oracle::SweptFirst, || {
                    format!("attempt {} starts before the sweep", plan.attempt)
                })?;
                return check_moment(next, plan, world, now);
            }
            // Older records belong to another decision.
            Record::RunReopened { .. } => return Ok(()),
            _ => {}
        }
    }
    ensure(plan.attempt == 1, Oracle::Bounds, || format!("the first attempt has number {}", plan.attempt))
}

fn check_moment(next: &AfterAttempt, plan: &AttemptPlan, world: &World, now: Moment) -> OracleResult {
    let AfterAttempt::Attempt { at, plan: decided, .. } = next else {
        return ensure(false, Oracle::Bounds, || {
            format!("attempt {} starts although none was decided", plan.attempt)
        });
    };
    // Whether the attempt is for a wrap-up is only known when it starts.
    let decided = match plan.prompt {
        PromptKind::WrapUp(_) => AttemptPlan { prompt: plan.prompt, ..decided.clone() },
        _ => decided.clone(),
    };
    ensure(is_same_plan(plan, &decided), Oracle::Journaled, || {
        format!("{plan:?} starts, but {decided:?} was decided")
    })?;
    ensure(now >= *at, Oracle::NotBefore, || {
        format!("attempt {} starts {} early", plan.attempt, at.since(now))
    })?;
    let limit = world.ended_attempt.as_ref().and_then(|ended| ended.evidence.rate_limit);
    let reset =
        limit.filter(|limit| limit.status == RateLimitStatus::Rejected).and_then(|limit| limit.resets_at);
    // The end of an exchange that started after the limit is unknown.
    let exchange_ended = world.ended_attempt.as_ref().is_some_and(|ended| {
        let evidence = &ended.evidence;
        evidence.result.is_some() && !evidence.exchange_open
    });
    ensure(reset.is_none_or(|reset| now >= reset || !exchange_ended), Oracle::NotBefore, || {
        format!("attempt {} starts before the reset of its usage limit", plan.attempt)
    })
}

//! What must hold whenever the world is about to be touched.

use super::{Oracle, OracleResult, ensure};
use crate::world::World;
use longhaul_core::{
    Action, AfterAttempt, AttemptPlan, Moment, Outcome, PromptKind, RateLimitStatus, Record, SessionPlan,
};

/// Every order is implied by a record of its attempt that is on disk.
pub(crate) fn check_journalled(action: &Action, journal: &[Record]) -> OracleResult {
    let attempt_starts = |record: &Record| matches!(record, Record::AttemptStarted { .. });
    let begin = journal.iter().rposition(attempt_starts).unwrap_or(0);
    let rung_taken = |strategy| move |record: &Record| matches!(record, Record::ResumeStrategyChosen { strategy: taken, .. } if *taken == strategy);
    let implied = journal[begin..].iter().rev().any(|record| orders(record, action))
        && match action {
            Action::Spawn(AttemptPlan { strategy: Some(strategy), .. }) => {
                journal[begin..].iter().any(rung_taken(*strategy))
            }
            _ => true,
        };
    ensure(implied, Oracle::Journalled, || format!("{action:?} is in no record"))
}

fn orders(record: &Record, action: &Action) -> bool {
    match action {
        Action::InspectSession(session) => {
            let begins_with = |plan: &SessionPlan| match plan {
                SessionPlan::New(_) => false,
                SessionPlan::Resume(from) | SessionPlan::Fork { from, .. } => from == session,
            };
            matches!(record, Record::AttemptStarted { plan, .. } if begins_with(&plan.session))
        }
        Action::StartCheck(_) => matches!(record, Record::CheckStarted { .. }),
        Action::StopCheck => matches!(record, Record::CheckStopOrdered { .. }),
        Action::StartSummary(_) => matches!(record, Record::SummaryStarted { .. }),
        Action::StopSummary => matches!(record, Record::SummaryStopOrdered { .. }),
        Action::Spawn(plan) => {
            let ordered = |ordered: &AttemptPlan| same(plan, ordered);
            matches!(record, Record::AttemptStarted { plan, .. } if ordered(plan))
        }
        Action::Say(say, left) => {
            matches!(record, Record::PromptSent { prompt: said, remaining: then, .. } if said == say && then == left)
        }
        Action::CloseInput => matches!(record, Record::InputClosed { .. }),
        Action::Stop(level) => {
            matches!(record, Record::StopOrdered { level: ordered, .. } if ordered == level)
        }
        // A look touches nothing, but only an agent that lives can be looked at.
        Action::ProbeProcesses => matches!(record, Record::AttemptSpawned { .. }),
        Action::Sweep => matches!(record, Record::AttemptEnded { .. }),
        Action::Finish(outcome) => {
            matches!(record, Record::RunFinished { outcome: ordered, .. } if ordered == outcome)
                || matches!(record, Record::Suspended { source, .. } if Outcome::suspended(*source) == *outcome)
        }
    }
}

/// Whether this is the plan that was ordered, but for what was found out about it since.
fn same(plan: &AttemptPlan, ordered: &AttemptPlan) -> bool {
    AttemptPlan {
        strategy: plan.strategy,
        with_summary: plan.with_summary,
        remaining: plan.remaining,
        ..ordered.clone()
    } == *plan
}

/// A process may be started: nothing lives, everything is swept, and it is time.
pub(crate) fn check_spawn(
    plan: &AttemptPlan,
    world: &World,
    journal: &[Record],
    now: Moment,
) -> OracleResult {
    ensure(!world.alive(), Oracle::OneTree, || {
        format!("attempt {} starts beside a living process", plan.attempt)
    })?;
    // From newest to oldest: this attempt's start, the sweep after the one before, that one's end.
    let (mut swept, mut is_recovered) = (false, false);
    for record in journal.iter().rev() {
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
            // The attempt before had its end, and what judged its work had one too.
            Record::CheckEnded { .. } => return Ok(()),
            Record::AttemptEnded { next, .. } => {
                ensure(swept, Oracle::SweptFirst, || format!("attempt {} starts unswept", plan.attempt))?;
                return check_moment(next, plan, world, now);
            }
            // What was before belongs to another decision.
            Record::RunReopened { .. } => return Ok(()),
            Record::RunStarted { .. }
            | Record::ResumeStrategyChosen { .. }
            | Record::SummaryStarted { .. }
            | Record::SummaryStopOrdered { .. }
            | Record::SummaryEnded { .. }
            | Record::AttemptStarted { .. }
            | Record::AttemptSpawned { .. }
            | Record::SessionOpened { .. }
            | Record::ProgressMade { .. }
            | Record::CheckStarted { .. }
            | Record::CheckStopOrdered { .. }
            | Record::AgentStopped { .. }
            | Record::LimitReached { .. }
            | Record::PromptSent { .. }
            | Record::InputClosed { .. }
            | Record::StallDeferred { .. }
            | Record::StopOrdered { .. }
            | Record::Downtime { .. }
            | Record::SuspendOrdered { .. }
            | Record::Suspended { .. }
            | Record::RunFinished { .. } => {}
        }
    }
    ensure(plan.attempt == 1, Oracle::Bounds, || format!("attempt {} comes first", plan.attempt))
}

fn check_moment(next: &AfterAttempt, plan: &AttemptPlan, world: &World, now: Moment) -> OracleResult {
    let AfterAttempt::Attempt { at, plan: decided, .. } = next else {
        return ensure(false, Oracle::Bounds, || format!("attempt {} after the end", plan.attempt));
    };
    // Whether it is for saving the work is known when it starts.
    let decided = match plan.prompt {
        PromptKind::WrapUp(_) => AttemptPlan { prompt: plan.prompt, ..decided.clone() },
        _ => decided.clone(),
    };
    ensure(same(plan, &decided), Oracle::Journalled, || format!("{plan:?} starts, {decided:?} was decided"))?;
    ensure(now >= *at, Oracle::NotBefore, || {
        format!("attempt {} starts {} early", plan.attempt, at.since(now))
    })?;
    let limit = world.finished.as_ref().and_then(|ended| ended.evidence.rate_limit);
    let reset =
        limit.filter(|limit| limit.status == RateLimitStatus::Rejected).and_then(|limit| limit.resets_at);
    // How a turn that had begun since would have ended, nobody knows.
    let settled = world.finished.as_ref().is_some_and(|ended| {
        let evidence = &ended.evidence;
        evidence.result.is_some() && !evidence.exchange_open
    });
    ensure(reset.is_none_or(|reset| now >= reset || !settled), Oracle::NotBefore, || {
        format!("attempt {} starts before the reset of its usage limit", plan.attempt)
    })
}

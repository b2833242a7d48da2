//! Determines what comes next in a run and which commands the user can type.

use crate::next_commands::{next_commands, raised_limits};
use crate::output::{phrases, time::TimeFormat};
use longhaul_core::{
    AfterWait, AgentProgram, CheckStage, Limit, Moment, Outcome, OutcomeKind, Phase, Run, RunSpec, State,
};
use serde::Serialize;

/// The next step of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NextStep {
    /// Description as text.
    pub text: String,
    /// Commands to type, the most likely first. Empty if nothing needs to be done.
    pub commands: Vec<String>,
}

/// Facts about a run that its journal does not contain.
#[derive(Clone, Copy, Debug)]
pub struct RunStatus {
    pub is_supervised: bool,
    /// Whether its outcome is written to the files that people read.
    pub is_outcome_published: bool,
    pub now: Moment,
}

pub fn next_step(target: &str, run: &Run, spec: &RunSpec, status: RunStatus, clock: &TimeFormat) -> NextStep {
    let state = run.state();
    let RunStatus { is_supervised, is_outcome_published, now } = status;
    match state.outcome() {
        Some(outcome) if is_outcome_published || is_supervised => {
            let commands = next_commands(target, run, spec);
            let text = advice_text(state, outcome, &spec.agent, clock, now);
            // A run that a limit stopped says so itself.
            let raised = raised_limits(run, spec).filter(|flags| {
                outcome.limit.is_none() && commands.iter().any(|command| command.ends_with(flags))
            });
            let raise = raised.map(|flags| format!("; too little is left of the limits: add `{flags}`"));
            NextStep { text: text + &raise.unwrap_or_default(), commands }
        }
        Some(_) => NextStep {
            text: "recover the run to report its outcome: its supervisor died before it did".to_owned(),
            commands: vec![format!("longhaul recover {target}")],
        },
        None if is_supervised => {
            let follow = format!("longhaul logs {target} --follow");
            NextStep { text: current_activity(state, clock, now), commands: vec![follow] }
        }
        None => {
            let activity = current_activity(state, clock, now);
            let text = if let Phase::Suspended { .. } = state.phase {
                activity
            } else if let Phase::Waiting { until, next: AfterWait::Attempt(plan), .. } = &state.phase {
                let until = clock.near(*until, now);
                format!("the run has no supervisor; attempt {} was planned for {until}", plan.attempt)
            } else {
                format!("the run has no supervisor; its last record: {activity}")
            };
            NextStep {
                text,
                commands: vec![format!("longhaul recover {target}"), format!("longhaul cancel {target}")],
            }
        }
    }
}

/// Describes what an unfinished run is doing, or was doing when its supervisor died.
fn current_activity(state: &State, clock: &TimeFormat, now: Moment) -> String {
    let attempt = state.attempts();
    match &state.phase {
        Phase::New => "no attempt has started".to_owned(),
        Phase::Starting => format!("attempt {attempt} is starting"),
        Phase::Summarizing { .. } => format!("a model summarizes older work for attempt {attempt}"),
        Phase::Running => format!("the agent is working (attempt {attempt})"),
        Phase::Closing { .. } => "the agent is exiting".to_owned(),
        Phase::Stopping { .. } => "the agent is being stopped".to_owned(),
        Phase::Sweeping { .. } => "leftover processes are being stopped".to_owned(),
        Phase::Checking { stage: CheckStage::Commands, .. } => format!("check {} is running", state.checks),
        Phase::Checking { stage: CheckStage::Review, .. } => {
            format!("a model reviews the work for check {}", state.checks)
        }
        Phase::Waiting { until, next, .. } => {
            let cause =
                state.wait_fault().map_or_else(String::new, |fault| format!(": {}", fault.describe()));
            let until = match until.since(now).millis() {
                0 => "is due".to_owned(),
                _ => format!("starts at {} (in {})", clock.near(*until, now), until.since(now)),
            };
            match next {
                AfterWait::Attempt(plan) => format!("attempt {} {until}{cause}", plan.attempt),
                AfterWait::Review(_) => format!("the next reviewer {until}{cause}"),
            }
        }
        Phase::Suspended { since, source, .. } => {
            format!("{} suspended the run at {}", source.signal(), clock.near(*since, now))
        }
        Phase::Finished { outcome } => format!("finished: {}", outcome.kind),
    }
}

fn advice_text(
    state: &State,
    outcome: Outcome,
    agent: &AgentProgram,
    clock: &TimeFormat,
    now: Moment,
) -> String {
    let advice = phrases::advice_of(state, agent).map(str::to_owned);
    match outcome.kind {
        OutcomeKind::Done => "nothing to do".to_owned(),
        OutcomeKind::Failed if outcome.limit == Some(Limit::Attempts) => {
            "the limit on attempts stopped the run; `longhaul resume` allows as many attempts again"
                .to_owned()
        }
        OutcomeKind::Failed => advice.unwrap_or_else(|| "review the work, then resume".to_owned()),
        OutcomeKind::OverBudget | OutcomeKind::OutOfTime => match outcome.limit {
            Some(limit) => {
                let total = match limit {
                    Limit::Tokens => " (--max-tokens is the new total)",
                    Limit::Turns => " (--max-turns is the new total)",
                    Limit::Budget | Limit::Time | Limit::Wall | Limit::Attempts => "",
                };
                format!("{} stopped the run; raise it to continue{total}", limit.describe())
            }
            None => advice.unwrap_or_else(|| "resume to continue".to_owned()),
        },
        OutcomeKind::NeedsPerson if !state.is_ended_by_check() => {
            advice.unwrap_or_else(|| "read the agent's last message, then resume".to_owned())
        }
        OutcomeKind::CheckFailed if !state.is_ended_by_check() && state.no_verdict.is_none() => {
            advice.unwrap_or_else(|| "review the work, then resume".to_owned())
        }
        OutcomeKind::CheckFailed | OutcomeKind::NeedsPerson => {
            format!("read checks/{:03}.log in the run directory, then resume", state.checks)
        }
        OutcomeKind::NotStarted => {
            advice.unwrap_or_else(|| "fix what kept the agent from starting, then resume the run".to_owned())
        }
        OutcomeKind::Incomplete | OutcomeKind::Partial => "resume to continue".to_owned(),
        OutcomeKind::Bug => {
            "a process of the run could not be stopped; resume after it has exited".to_owned()
        }
        OutcomeKind::RetryLater => match outcome.retry_at {
            Some(at) if at > now => {
                format!("resume at {} (in {})", clock.near(at, now), at.since(now))
            }
            Some(at) => format!("resume now (possible since {})", clock.near(at, now)),
            None => "retry later".to_owned(),
        },
        OutcomeKind::Suspended => "`longhaul recover` continues the run in its session".to_owned(),
        OutcomeKind::Cancelled => "the run was cancelled; resume to continue".to_owned(),
    }
}

#[cfg(test)]
mod tests;

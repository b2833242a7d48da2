//! One run as a state machine: `step` decides, `apply` changes the state, `deadline` returns when to tick
//! next.
//!
//! Only [`Run::apply`] changes the state that affects decisions, so a replayed journal rebuilds the run.
//! [`Observations`] are outside that promise.

mod apply;
mod checks;
mod deadline;
mod decide;
mod keep_going;
mod limits;
mod observations;
mod recovery;
mod review;
mod stall;
mod state;
mod suspend;
mod transitions;
mod wait_bound;

pub use deadline::{Deadline, DeadlineKind};
pub use observations::Observations;
pub use recovery::RecoveryFinding;
pub use state::{AfterWait, LimitState, Phase, PhaseKind, State, WrapUpStage};
pub use wait_bound::WaitBound;

use crate::{Action, CheckStage, Moment, Outcome, OutcomeKind, Record, Step, StopCause};

/// One request and its progress to an outcome.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    state: State,
    observations: Observations,
    /// The step in progress. It is empty between steps.
    step: Step,
}

impl Run {
    /// Creates a run that has not started.
    pub fn new() -> Run {
        Run::default()
    }

    /// Returns the state that the records describe. Runs with equal records have equal states.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns the observations of the current attempt. They are never journaled.
    pub fn observations(&self) -> &Observations {
        &self.observations
    }

    /// Rebuilds a run from its records, each with the time of its step, without performing any action.
    pub fn replay<'a>(records: impl IntoIterator<Item = (Moment, &'a Record)>) -> Run {
        let mut run = Run::new();
        for (at, record) in records {
            run.apply(at, record);
        }
        run
    }

    /// Returns the actions that the records imply and that a dead supervisor may not have performed.
    ///
    /// They do not include a spawn: only the supervisor can find out whether a process was spawned (see
    /// [`crate::Event::Recovered`]).
    pub fn unfinished_actions(&self) -> Vec<Action> {
        match &self.state.phase {
            Phase::Summarizing { .. } => vec![Action::StopSummary],
            Phase::Checking { stage: CheckStage::Commands, stop_cause: None, .. } => {
                vec![Action::StartCheck(self.state.checks)]
            }
            // A running reviewer is stopped. Its end decides whether it starts again.
            Phase::Checking { stop_cause, .. } => {
                vec![Action::StopCheck { timed_out: *stop_cause == Some(StopCause::TimedOut) }]
            }
            Phase::Closing { .. } => vec![Action::CloseInput],
            Phase::Stopping { level, .. } => vec![Action::Stop(*level)],
            Phase::Sweeping { .. } => vec![Action::Sweep],
            // The agent could not be stopped. The outcome waits until it and its tools are gone.
            Phase::Finished { outcome } if outcome.kind == OutcomeKind::Bug => {
                vec![Action::Sweep, Action::Finish(*outcome)]
            }
            Phase::Finished { outcome } => vec![Action::Finish(*outcome)],
            Phase::Suspended { source, .. } => vec![Action::Finish(Outcome::suspended(*source))],
            Phase::New | Phase::Starting | Phase::Running | Phase::Waiting { .. } => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;

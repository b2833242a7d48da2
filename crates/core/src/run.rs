//! One run as a state machine: `step` decides, `apply` changes, `deadline` says when to tick next.
//!
//! Nothing that decides is changed anywhere but in [`Run::apply`], so that a journal replayed is
//! the run as it was. What was merely observed lives in [`Seen`], outside of that promise.

mod apply;
mod checks;
mod deadline;
mod decide;
mod keep_going;
mod limits;
mod observations;
mod stall;
mod state;
mod suspend;
mod transitions;

pub use deadline::{Deadline, DeadlineKind};
pub use observations::Observations;
pub use state::{FaultSet, LimitState, Phase, State, WrapUpStage};

use crate::{Action, Outcome, Record};

/// One request on its way to an outcome.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    state: State,
    seen: Observations,
}

impl Run {
    /// A run that has not started.
    pub fn new() -> Run {
        Run::default()
    }

    /// What the records say. Two runs with equal records have equal states.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// What was observed of the present attempt and decides nothing by itself.
    pub fn observations(&self) -> &Observations {
        &self.seen
    }

    /// The run that these records describe. It acts on nothing.
    pub fn replay<'a>(records: impl IntoIterator<Item = &'a Record>) -> Run {
        let mut run = Run::new();
        for record in records {
            run.apply(record);
        }
        run
    }

    /// The orders that the records imply and that a dead supervisor may not have carried out.
    /// Whether a process was started is not among them: only the world can find that out
    /// (see [`crate::Event::Recovered`]).
    pub fn unfinished_actions(&self) -> Vec<Action> {
        match &self.state.phase {
            Phase::Summarizing { .. } => vec![Action::StopSummary],
            Phase::Checking { stop_cause: None, .. } => vec![Action::StartCheck(self.state.checks)],
            Phase::Checking { stop_cause: Some(_), .. } => vec![Action::StopCheck],
            Phase::Closing { .. } => vec![Action::CloseInput],
            Phase::Stopping { level, .. } => vec![Action::Stop(*level)],
            Phase::Sweeping { .. } => vec![Action::Sweep],
            Phase::Finished { outcome } => vec![Action::Finish(*outcome)],
            Phase::Suspended { source: by, .. } => vec![Action::Finish(Outcome::suspended(*by))],
            Phase::New | Phase::Starting | Phase::Running | Phase::Waiting { .. } => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;

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
mod seen;
mod stall;
mod state;
mod steps;
mod suspend;

pub use deadline::{Deadline, Why};
pub use seen::Seen;
pub use state::{FaultSet, Phase, Reached, Stage, State};

use crate::{Action, Outcome, Record};

/// One request on its way to an outcome.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    state: State,
    seen: Seen,
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
    pub fn seen(&self) -> &Seen {
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
            Phase::Condensing { .. } => vec![Action::EndCondensing],
            Phase::Checking { stopped: None, .. } => vec![Action::Check(self.state.checks)],
            Phase::Checking { stopped: Some(_), .. } => vec![Action::EndCheck],
            Phase::Closing { .. } => vec![Action::EndInput],
            Phase::Stopping { level, .. } => vec![Action::Stop(*level)],
            Phase::Sweeping { .. } => vec![Action::Sweep],
            Phase::Over { outcome } => vec![Action::Finish(*outcome)],
            Phase::Suspended { by, .. } => vec![Action::Finish(Outcome::suspended(*by))],
            Phase::New | Phase::Launching | Phase::Live | Phase::Waiting { .. } => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;

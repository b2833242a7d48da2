//! Suspends a run for SIGTERM or SIGHUP: every process of it is stopped, and the next supervisor continues it in the same
//! session. A suspension is no fault and no outcome: no retry is counted for it, and `recover` finds the run.

use super::{Phase, Run};
use crate::{
    Action, CancelSource, Moment, OnTerminate, Outcome, Policy, Record, Span, Step, StopCause, StopLevel,
};

// A system that shuts down may kill after 10 s. An interrupt, a TERM and a KILL with this grace each, and the sweep, take
// less than 8 s.
const GRACE: Span = Span::from_secs(2);

impl Run {
    /// Whether this asks for a suspension. A run that is being cancelled stays cancelled.
    pub(super) fn suspends(&self, policy: &Policy, by: CancelSource) -> bool {
        let from_system = match by {
            CancelSource::Sigterm | CancelSource::Sighup => true,
            CancelSource::Person | CancelSource::PersonNow => false,
        };
        from_system && policy.on_terminate == OnTerminate::Suspend && self.state.cancelled_by.is_none()
    }

    /// Whether the run is being suspended.
    pub(super) fn is_suspending(&self) -> bool {
        self.state.suspend.is_some() && self.state.cancelled_by.is_none()
    }

    /// Whether no process of the run is resident or expected: it has not started, is suspended, or has finished.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.state.phase, Phase::New | Phase::Suspended { .. } | Phase::Finished { .. })
    }

    /// The time between two levels of a stop.
    pub(super) fn stop_grace(&self, policy: &Policy) -> Span {
        if self.is_suspending() { policy.stop_grace.min(GRACE) } else { policy.stop_grace }
    }

    /// Stops what runs. The run is suspended once all of it is gone.
    pub(super) fn suspend(&mut self, at: Moment, by: CancelSource, step: &mut Step) {
        if self.is_idle() || self.state.suspend.is_some() {
            return;
        }
        self.record(step, Record::SuspendOrdered { at, source: by });
        match &self.state.phase {
            // An interrupted exchange ends with a result, which states its cost.
            Phase::Running => self.stop(at, StopCause::Suspended, StopLevel::Interrupt, step),
            // It has its result.
            Phase::Closing { .. } => self.stop(at, StopCause::Suspended, StopLevel::Term, step),
            Phase::Waiting { .. } => self.suspended(at, step),
            Phase::Summarizing { stop_cause: None, .. } => self.stop_summary(at, StopCause::Suspended, step),
            Phase::Checking { stop_cause: None, .. } => self.stop_checking(at, StopCause::Suspended, step),
            // The next event of the world finds the suspension in the state.
            Phase::Summarizing { stop_cause: Some(_), .. }
            | Phase::Checking { stop_cause: Some(_), .. }
            | Phase::Stopping { .. }
            | Phase::Starting
            | Phase::Sweeping { .. }
            | Phase::New
            | Phase::Suspended { .. }
            | Phase::Finished { .. } => {}
        }
    }

    /// No process is left: the supervisor may exit.
    pub(super) fn suspended(&mut self, at: Moment, step: &mut Step) {
        let Some(by) = self.state.suspend else { return };
        self.record(step, Record::Suspended { at, source: by });
        step.actions.push(Action::Finish(Outcome::suspended(by)));
    }
}

//! Suspends a run on SIGTERM or SIGHUP: stops all its processes, so that the next supervisor can continue it
//! in the same session.
//!
//! A suspension is not a fault and does not finish the run: it counts as no retry, and `recover` finds the
//! run.

use super::{Phase, Run};
use crate::{Action, CancelSource, Moment, OnTerminate, Outcome, Policy, Record, Span, StopCause, StopLevel};

// A system may kill processes 10 s after it asks them to stop. An interrupt, a SIGTERM and a SIGKILL with
// this grace, and the sweep, take less than 8 s, unless a process cannot be killed.
const GRACE: Span = Span::from_secs(2);

impl Run {
    /// Returns whether this signal suspends the run. A run that is being cancelled stays cancelled.
    pub(super) fn suspends(&self, policy: &Policy, source: CancelSource) -> bool {
        let from_system = match source {
            CancelSource::Sigterm | CancelSource::Sighup => true,
            CancelSource::Person | CancelSource::PersonNow => false,
        };
        from_system && policy.on_terminate == OnTerminate::Suspend && self.state.cancelled_by.is_none()
    }

    pub(super) fn is_suspending(&self) -> bool {
        self.state.suspended_by.is_some() && self.state.cancelled_by.is_none()
    }

    /// Returns whether no process of the run exists or is expected: it has not started, is suspended, or has
    /// finished.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.state.phase, Phase::New | Phase::Suspended { .. } | Phase::Finished { .. })
    }

    pub(super) fn stop_grace(&self, policy: &Policy) -> Span {
        if self.is_suspending() { policy.stop_grace.min(GRACE) } else { policy.stop_grace }
    }

    /// Stops all running processes. The run is suspended once they are gone.
    pub(super) fn suspend(&mut self, at: Moment, source: CancelSource) {
        if self.is_idle() || self.state.suspended_by.is_some() {
            return;
        }
        self.record(at, Record::SuspendOrdered { source });
        if let Phase::Waiting { .. } = self.state.phase {
            return self.finish_suspend(at);
        }
        // An interrupted exchange ends with a result that reports its cost.
        let has_result = matches!(self.state.phase, Phase::Closing { .. });
        let level = if has_result { StopLevel::Term } else { StopLevel::Interrupt };
        self.stop_running(at, StopCause::Suspended, level);
    }

    /// Records the suspension once no process is left, so that the supervisor may exit.
    pub(super) fn finish_suspend(&mut self, at: Moment) {
        let Some(source) = self.state.suspended_by else { return };
        self.record(at, Record::Suspended { source });
        self.step.actions.push(Action::Finish(Outcome::suspended(source)));
    }
}

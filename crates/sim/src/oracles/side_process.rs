//! Watches a process that runs between two attempts: a check, a review or a summary.

use super::facts::Facts;
use longhaul_core::{Moment, Span, StopCause};

#[derive(Clone, Debug, Default)]
pub(super) struct SideProcess {
    /// Start of the running process, moved forward by any downtime since.
    pub since: Option<Moment>,
    pub stop_cause: Option<StopCause>,
}

impl SideProcess {
    pub(super) fn start(&mut self, at: Moment) {
        *self = SideProcess { since: Some(at), stop_cause: None };
    }

    /// Returns its start if it runs and is not being stopped.
    pub(super) fn runs_since(&self) -> Option<Moment> {
        self.since.filter(|_| self.stop_cause.is_none())
    }

    pub(super) fn add_downtime(&mut self, span: Span) {
        self.since = self.since.map(|since| since + span);
    }

    pub(super) fn may_stop(
        &self,
        at: Moment,
        cause: StopCause,
        timeout: Option<Span>,
        facts: &Facts,
    ) -> bool {
        self.since.is_some_and(|since| match cause {
            StopCause::TimedOut => timeout.is_some_and(|timeout| at >= since + timeout),
            StopCause::Cancelled => facts.cancel.is_some(),
            StopCause::Suspended => facts.suspending_since.is_some(),
            _ => false,
        })
    }
}

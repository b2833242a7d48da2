//! Decides when an agent counts as stalled: it is silent for too long and its processes are idle, or it sends
//! output without completing anything.

use super::{Deadline, DeadlineKind, Run};
use crate::stall_report::PROBE_TIMEOUT;
use crate::{
    Action, Moment, Policy, ProcessActivity, ProcessState, Record, StallReport, StopCause, StopLevel,
};

impl Run {
    /// Returns the deadline of an agent that runs no tool, or whose tools cannot report to it.
    pub(super) fn stall_deadline(&self, policy: &Policy) -> Option<Deadline> {
        // A probe is limited to its own timeout.
        let silent = self.stall_due(policy).map(|due| Deadline {
            at: self.observations.probing_since.map_or(due, |since| since + PROBE_TIMEOUT),
            kind: DeadlineKind::Stall,
        });
        // A tool may take any time. If the agent freezes while the tool runs, the silence counts.
        let timeout = policy.progress_timeout.filter(|_| self.observations.open_tools == 0);
        let no_progress = timeout.map(|limit| Deadline {
            at: self.observations.last_progress_at + limit,
            kind: DeadlineKind::NoProgress,
        });
        [silent, no_progress].into_iter().flatten().min_by_key(|deadline| deadline.at)
    }

    /// Returns when the silence has lasted for too long.
    fn stall_due(&self, policy: &Policy) -> Option<Moment> {
        let due = self.observations.last_activity_at + policy.stall_timeout?;
        Some(due.max(self.state.stall_deferred_until.unwrap_or_default()))
    }

    /// Starts a probe of the processes of an agent that was silent for too long, or stops the agent if the
    /// probe timed out.
    pub(super) fn on_silence(&mut self, at: Moment) {
        if self.observations.probing_since.is_some() {
            return self.stop_stalled_agent(at, StopCause::Stalled, None);
        }
        self.observations.probing_since = Some(at);
        self.step.actions.push(Action::ProbeProcesses);
    }

    /// Judges the silence with the result of the probe.
    pub(super) fn on_processes_probed(
        &mut self,
        policy: &Policy,
        at: Moment,
        processes: Option<ProcessActivity>,
    ) {
        // An agent that sent output meanwhile is no longer silent.
        let probed = self.observations.probing_since.take().filter(|_| self.is_agent_working());
        if let Some(activity) = processes {
            self.observations.frozen = activity.agent == ProcessState::Frozen;
        }
        // A tool may be silent for any time, if the agent that waits for it was continued meanwhile.
        let waits_for_tool = self.observations.open_tools > 0 && !self.observations.frozen;
        // Downtime that was noticed during the probe shortens the silence.
        let is_due = self.stall_due(policy).is_some_and(|due| due <= at);
        if probed.is_none() || waits_for_tool || !is_due {
            return;
        }
        let stall = self.stall_report(at, processes);
        match policy.stall_timeout.and_then(|limit| stall.deferred_until(at, limit)) {
            Some(until) => self.record(at, Record::StallDeferred { until, stall }),
            None => self.stop_stalled_agent(at, StopCause::Stalled, processes),
        }
    }

    /// Stops an agent that is not expected to recover.
    pub(super) fn stop_stalled_agent(
        &mut self,
        at: Moment,
        cause: StopCause,
        processes: Option<ProcessActivity>,
    ) {
        let is_frozen = self.observations.frozen
            || processes.is_some_and(|activity| activity.agent == ProcessState::Frozen);
        // A frozen process reacts to no other signal.
        let level = if is_frozen { StopLevel::Kill } else { StopLevel::Term };
        let stall = Some(self.stall_report(at, processes));
        self.record(at, Record::StopOrdered { cause, level, stall });
        self.step.actions.push(Action::Stop(level));
    }

    fn stall_report(&self, at: Moment, processes: Option<ProcessActivity>) -> StallReport {
        StallReport {
            silent_for: at.since(self.observations.last_activity_at),
            no_progress_for: at.since(self.observations.last_progress_at),
            open_tools: self.observations.open_tools,
            processes,
        }
    }
}

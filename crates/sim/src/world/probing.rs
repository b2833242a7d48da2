//! Models agents without progress, and the results of process probes.

use super::agent::{Agent, NEVER, Stage};
use super::{Timer, World};
use crate::Interval;
use longhaul_core::{Event, Fault, Moment, Notice, ProcessActivity, ProcessState, Span};

// A probe takes two seconds, and longer on a machine that swaps.
const PROBE_DURATION: Interval = Interval::new(2_000, 20_000);
// A hundred outputs suffice to distinguish such an agent from a silent one.
const OUTPUT_COUNT: Interval = Interval::new(1, 100);

impl World {
    /// Starts a probe. Sometimes it never returns.
    pub(super) fn probe(&mut self) {
        let is_lost = self.rng.one_in(16);
        let at = if is_lost { NEVER } else { self.now + Span(self.rng.log_uniform(PROBE_DURATION)) };
        self.set_timer(Timer::Probe, at);
        if !is_lost {
            self.may_cancel_before(at);
        }
    }

    /// Returns the result of a probe. `None` if the agent is gone or the system reports nothing.
    pub(super) fn process_activity(&mut self) -> Option<ProcessActivity> {
        let odds = self.mix.busy_child;
        let (rng, agent) = (&mut self.rng, self.agent.as_mut()?);
        if rng.one_in(16) {
            return None;
        }
        // A busy child works for a while and then ends.
        let has_busy_child = *agent.has_busy_child.get_or_insert_with(|| rng.chance(odds));
        agent.has_busy_child = Some(has_busy_child && !rng.one_in(16));
        let agent = if agent.frozen {
            ProcessState::Frozen
        } else {
            rng.pick(&[ProcessState::Idle, ProcessState::Busy, ProcessState::Blocked])
        };
        let (busy, idle) = (u32::from(has_busy_child), rng.below(3) as u32);
        Some(ProcessActivity {
            agent,
            connections: rng.below(2) as u32,
            children: busy + idle,
            busy_children: busy,
        })
    }

    /// Makes the agent emit output without progress until `until`.
    pub(super) fn start_no_progress(&mut self, agent: &mut Agent, until: Moment) {
        let interval = Span(until.since(self.now).0 / self.rng.uniform(OUTPUT_COUNT) + 1);
        agent.no_progress_output = (interval, until);
        agent.enter(Stage::NoProgress, self.now + interval);
    }

    /// Emits output without progress. The agent is killed at `until`.
    pub(super) fn emit_without_progress(&mut self, mut agent: Box<Agent>) -> Option<Event> {
        let (interval, until) = agent.no_progress_output;
        if self.now >= until {
            return self.die(agent, Fault::Crashed);
        }
        agent.enter(Stage::NoProgress, self.now + interval);
        self.emit(agent, Notice::Activity)
    }
}

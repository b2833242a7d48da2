//! An agent from which nothing more comes, and what somebody sees who looks at its processes.

use super::agent::{Agent, NEVER, Stage};
use super::{World, WorldEvent};
use crate::Interval;
use longhaul_core::{Fault, Moment, Notice, ProcessActivity, ProcessState, Span};

// A look is two seconds, and longer on a machine that swaps.
const LOOK: Interval = Interval::new(2_000, 20_000);
// An agent that babbles is told apart from a silent one by a hundred words as well as by a million.
const WORDS: Interval = Interval::new(1, 100);

impl World {
    /// Somebody looks. Now and then he does not come back.
    pub(super) fn examine(&mut self) {
        let lost = self.rng.one_in(16);
        self.examine_at = if lost { NEVER } else { self.now + Span(self.rng.magnitude(LOOK)) };
        if !lost {
            self.lose_patience(self.examine_at);
        }
    }

    /// What is seen; nothing if nobody is there any more, or on a system that shows nothing.
    pub(super) fn signs(&mut self) -> Option<ProcessActivity> {
        let odds = self.mix.busy_child;
        let (rng, agent) = (&mut self.rng, self.agent.as_mut()?);
        if rng.one_in(16) {
            return None;
        }
        // What works goes on with it for a while, and ends at some time.
        let works = *agent.works.get_or_insert_with(|| rng.odds(odds));
        agent.works = Some(works && !rng.one_in(16));
        let agent = if agent.frozen {
            ProcessState::Frozen
        } else {
            rng.pick(&[ProcessState::Idle, ProcessState::Busy, ProcessState::Blocked])
        };
        let (busy, idle) = (u32::from(works), rng.below(3) as u32);
        Some(ProcessActivity {
            agent,
            connections: rng.below(2) as u32,
            children: busy + idle,
            busy_children: busy,
        })
    }

    /// An agent begins to say one thing after the other without an end, until `until`.
    pub(super) fn begins_to_babble(&mut self, agent: &mut Agent, until: Moment) {
        let every = Span(until.since(self.now).0 / self.rng.within(WORDS) + 1);
        agent.babble = (every, until);
        agent.go(Stage::NoProgress, self.now + every);
    }

    /// It says something that means nothing; at last somebody ends it.
    pub(super) fn babbles(&mut self, mut agent: Box<Agent>) -> Option<WorldEvent> {
        let (every, until) = agent.babble;
        if self.now >= until {
            return self.dies(agent, Fault::Crashed);
        }
        agent.go(Stage::NoProgress, self.now + every);
        self.says(agent, Notice::Activity)
    }
}

//! What a run does when its agent stops by itself and is to be kept going: it is told to go on in the session that it has
//! open, until it has said twice running that the work is finished, or until nothing changes any more.

use super::{Reached, Run, Stage};
use crate::{
    Action, Evidence, Fault, KeepGoing, Moment, Next, Now, Outcome, OutcomeKind, Policy, Push, Record,
    Remedy, Say, SessionPlan, SpawnPlan, Step,
};

// Who says so once is asked whether it is so.
const CLAIMS: u32 = 2;

/// What follows a stop.
enum After {
    /// The agent stands by it that the work is finished.
    Finished,
    /// It stops again and again, and changes nothing.
    Idle,
    /// It is told this.
    Told(Say),
}

impl Run {
    /// The agent has stopped by itself, and no turn is owed: tells it to go on. False where the run is not kept going,
    /// or does not go on.
    pub(super) fn goes_on(&mut self, policy: &Policy, at: Moment, step: &mut Step) -> bool {
        let ended_well = self.seen.settled.is_some_and(|(_, result)| result.is_progress());
        let Some(keep_going) = kept_going(policy).filter(|_| ended_well && self.may_go_on()) else {
            return false;
        };
        self.note_stop(at, (self.seen.claimed, self.seen.workspace), step);
        let After::Told(say) = self.after_stop(policy, &keep_going, at) else { return false };
        self.take_in(policy, at, step);
        let say = match self.state.reached {
            None => say,
            Some(Reached { limit, stage: Stage::Due }) => Say::WrapUp(limit),
            Some(_) => return false,
        };
        self.say(policy, at, say, step);
        true
    }

    /// What follows an attempt that ended well by itself; nothing where that is the end of the work.
    pub(super) fn next_stop(
        &mut self,
        policy: &Policy,
        now: Now,
        evidence: &Evidence,
        step: &mut Step,
    ) -> Option<Next> {
        let told = self.state.reached.is_some_and(|reached| reached.stage != Stage::Due);
        let keep_going = kept_going(policy).filter(|_| self.state.cancel.is_none() && !told)?;
        // What was decided about this stop while the agent lived stands.
        let answered = evidence.turns > self.state.turns_before;
        if answered && !self.has_stopped_for_good(&keep_going) {
            self.note_stop(now.at, (evidence.claimed, evidence.workspace), step);
        }
        match self.after_stop(policy, &keep_going, now.at) {
            After::Finished => None,
            After::Idle => Some(Next::Finish(Outcome::by_fault(OutcomeKind::Failed, Fault::Unfinished))),
            After::Told(say) => {
                let session = SessionPlan::Resume(self.state.session.clone()?);
                let plan = SpawnPlan::new(self.state.attempts() + 1, session, say);
                Some(Next::Attempt { at: now.at, remedy: Remedy::KeepGoing, plan })
            }
        }
    }

    fn may_go_on(&self) -> bool {
        self.state.cancel.is_none() && self.state.reached.is_none()
    }

    fn note_stop(&mut self, at: Moment, (claimed, workspace): (bool, Option<u64>), step: &mut Step) {
        self.record(step, Record::Stopped { at, claimed, workspace });
    }

    fn has_stopped_for_good(&self, keep_going: &KeepGoing) -> bool {
        self.state.claims >= CLAIMS || self.state.idle_stops >= keep_going.idle_stops_max
    }

    fn after_stop(&self, policy: &Policy, keep_going: &KeepGoing, at: Moment) -> After {
        let state = &self.state;
        match state.claims {
            CLAIMS.. => After::Finished,
            1 => After::Told(Say::Confirm),
            _ if state.idle_stops >= keep_going.idle_stops_max => After::Idle,
            _ => {
                let due = keep_going.status_every > 0 && state.stops.is_multiple_of(keep_going.status_every);
                let near = policy.limits.is_near(policy.wrap_up, &self.used(at));
                After::Told(Say::KeepGoing(Push {
                    stop: state.stops,
                    extended: keep_going.extended,
                    worked: (due || near && !state.warned).then(|| self.state.active(at)),
                    last: near && !state.warned,
                }))
            }
        }
    }

    /// Tells the agent something in the session that it has open.
    pub(super) fn say(&mut self, policy: &Policy, at: Moment, say: Say, step: &mut Step) {
        let (left, turns) = (self.left(policy, at), self.seen.turns);
        self.record(step, Record::Said { at, say, left, turns });
        step.actions.push(Action::Say(say, left));
    }
}

/// How the run is kept going: one whose work is judged is kept going by that.
fn kept_going(policy: &Policy) -> Option<KeepGoing> {
    policy.keep_going.filter(|_| policy.check.is_none())
}

//! What a run does when its agent stops by itself and is to be kept going: it is told to go on in the session that it has
//! open, until it has said twice running that the work is finished, or until nothing changes any more.

use super::{Reached, Run, Seen, Stage};
use crate::classify::by_claimed_success;
use crate::{
    Action, Evidence, Fault, KeepGoing, Moment, Next, Now, Outcome, OutcomeKind, Policy, Push, Reach, Record,
    Remedy, Say, SessionPlan, SpawnPlan, Step, TurnResult, Used,
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
        let ended_well = self.seen.settled.is_some_and(|(_, result)| is_good(policy, &result));
        let Some(keep_going) = kept_going(policy).filter(|_| ended_well && self.may_go_on()) else {
            return false;
        };
        let Seen { claimed, workspace, turns, background, .. } = self.seen;
        self.record(step, Record::Stopped { at, claimed, workspace, turns, background });
        let used = self.used(at);
        let After::Told(say) = self.after_stop(policy, &keep_going, at, &used) else { return false };
        self.take_in(policy, at, step);
        let say = match self.state.reached {
            None => say,
            Some(Reached { limit, stage: Stage::Due }) => Say::WrapUp(limit),
            Some(_) => return false,
        };
        self.say(policy, at, say, step);
        true
    }

    /// What follows an attempt that ended well by itself; nothing where others decide that.
    pub(super) fn next_stop(
        &mut self,
        policy: &Policy,
        now: Now,
        (evidence, fault): (&Evidence, Option<Fault>),
        step: &mut Step,
    ) -> Option<Next> {
        let told = self.state.reached.is_some_and(|reached| reached.stage != Stage::Due);
        let keep_going = kept_going(policy).filter(|_| !told && is_excused(policy, fault))?;
        // What was decided about this stop while the agent lived stands.
        let Evidence { claimed, workspace, turns, .. } = *evidence;
        if turns > self.state.turns_before {
            let background = 0;
            self.record(step, Record::Stopped { at: now.at, claimed, workspace, turns, background });
        }
        // Nobody may have been there to count what it used.
        let tally = self.state.tally.plus(evidence.tally);
        let times = (self.state.active(now.at), self.state.clocks.wall(now.at));
        let used = Used::of(&tally, times, self.seen.largest());
        match (self.after_stop(policy, &keep_going, now.at, &used), self.state.cancel) {
            (After::Finished, _) => None,
            (After::Idle | After::Told(_), Some(by)) => Some(Next::Finish(Outcome::cancelled(by))),
            (After::Idle, None) => {
                Some(Next::Finish(Outcome::by_fault(OutcomeKind::Failed, Fault::Unfinished)))
            }
            (After::Told(say), None) => Some(self.next_told(policy, now.at, say, &used)),
        }
    }

    /// It is told so in its session, in another process; or to save its work, if it is time for that.
    fn next_told(&self, policy: &Policy, at: Moment, say: Say, used: &Used) -> Next {
        let reached = policy.limits.reached(policy.wrap_up, used);
        let say = match (reached, self.state.reached) {
            (Some((limit, Reach::All)), _) => return Next::Finish(Outcome::by_limit(limit, None)),
            (_, Some(Reached { limit, .. })) => Say::WrapUp(limit),
            (Some((_, Reach::Reserve)) | None, None) => say,
        };
        let Some(session) = self.state.session.clone() else {
            return Next::Finish(Outcome::by_fault(OutcomeKind::Failed, Fault::SessionLost));
        };
        let plan = SpawnPlan::new(self.state.attempts() + 1, SessionPlan::Resume(session), say);
        Next::Attempt { at, remedy: Remedy::KeepGoing, plan }
    }

    /// Whether the wait for background work counts as work, which only a limit bounds: the agent ended its exchange well,
    /// and does not claim that the work is done.
    pub(super) fn waits_for_background(&self, policy: &Policy) -> bool {
        let Seen { background, claimed, settled, .. } = self.seen;
        let ended_well = settled.is_some_and(|(_, result)| is_good(policy, &result));
        background > 0 && ended_well && !claimed && kept_going(policy).is_some() && self.may_go_on()
    }

    fn may_go_on(&self) -> bool {
        self.state.cancel.is_none() && self.state.suspend.is_none() && self.state.reached.is_none()
    }

    fn after_stop(&self, policy: &Policy, keep_going: &KeepGoing, at: Moment, used: &Used) -> After {
        let state = &self.state;
        match state.claims {
            CLAIMS.. => After::Finished,
            1 => After::Told(Say::Confirm),
            _ if state.idle_stops >= keep_going.idle_stops_max => After::Idle,
            _ => {
                let due = keep_going.status_every > 0 && state.stops.is_multiple_of(keep_going.status_every);
                let near = policy.limits.is_near(policy.wrap_up, used);
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

/// Whether a turn with this result ended because the agent thought that it was time.
fn is_good(policy: &Policy, result: &TurnResult) -> bool {
    !result.is_error && is_excused(policy, by_claimed_success(result))
}

/// Whether an attempt that ended so was as good as one that ended well.
fn is_excused(policy: &Policy, fault: Option<Fault>) -> bool {
    fault.is_none_or(|fault| fault == Fault::Permission && policy.allow_denials)
}

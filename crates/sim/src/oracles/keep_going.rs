//! Whether a run is kept going whose agent stops by itself: an own count of its stops, and the rule, written anew from the
//! documentation, of what follows each of them.

use super::clocks::ClockWatch;
use super::limits::LimitWatch;
use super::{Oracle, Verdict, ensure};
use longhaul_core::{
    Ending, Event, Evidence, Fault, Found, KeepGoing, Moment, Next, Notice, OutcomeKind, Policy, Push, Reach,
    Record, Remedy, Say, StopReason, TurnResult,
};

/// What the present process has said since it was started.
#[derive(Clone, Copy, Debug, Default)]
struct Heard {
    turns: u32,
    settled: Option<TurnResult>,
    claimed: bool,
    workspace: Option<u64>,
    shells: u32,
}

/// The stops of one run, counted anew.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeepGoingWatch {
    heard: Heard,
    /// So many of its turns were over when it was last told something, or when its last stop was counted.
    answered: u32,
    /// Its stop was counted, and nothing was said to that yet.
    owed: bool,
    /// Somebody ends it.
    stopping: bool,
    stops: u32,
    /// How often in a row it said at a stop that the work is finished.
    claims: u32,
    /// How often in a row nothing had changed since the stop before.
    idle: u32,
    workspace: Option<u64>,
    warned: bool,
    cancelled: bool,
    limited: bool,
    /// The run was told to save its work, or has nothing left to do it with.
    saving: bool,
}

/// What follows a stop.
#[derive(Debug, PartialEq, Eq)]
enum Right {
    Finished,
    Idle,
    Told(Say),
}

/// What everything that a stop may depend on is read from.
type Sources<'a> = (&'a Policy, &'a ClockWatch, &'a LimitWatch);

impl KeepGoingWatch {
    /// Takes in an event before the run does.
    pub(crate) fn hear(&mut self, event: &Event) {
        match event {
            Event::Noticed(notice) => self.heard.note(notice),
            Event::Exited(evidence) | Event::Recovered { found: Found::Gone(evidence), .. } => {
                self.heard = Heard::of(evidence);
            }
            // It is told again from the beginning.
            Event::Recovered { found: Found::Live(_), .. } => self.heard = Heard::default(),
            Event::Started(_)
            | Event::Reopened(..)
            | Event::Inspected(_)
            | Event::Condensed(_)
            | Event::Checked(_)
            | Event::Examined(_)
            | Event::Spawned(_)
            | Event::SpawnFailed(_)
            | Event::Swept(_)
            | Event::Downtime(_)
            | Event::Ticked
            | Event::Cancelled(_) => {}
        }
    }

    /// Takes in a record, before those who count what the run uses do.
    pub(crate) fn take(&mut self, record: &Record, sources: Sources<'_>) -> Verdict {
        match record {
            Record::RunReopened { .. } => {
                let KeepGoingWatch { stops, workspace, .. } = *self;
                *self = KeepGoingWatch { stops, workspace, ..KeepGoingWatch::default() };
            }
            Record::AttemptStarted { plan, .. } => {
                (self.heard, self.answered) = (Heard::default(), 0);
                (self.owed, self.stopping) = (false, false);
                self.tell(plan.say)?;
            }
            Record::AttemptSpawned { .. } => self.heard = Heard::default(),
            Record::Stopped { claimed, workspace, background, .. } => {
                self.check_stop((*claimed, *workspace, *background), sources)?;
                self.stop(*claimed, *workspace, *background);
            }
            Record::Said { at, say, .. } => {
                if !matches!(say, Say::WrapUp(_)) {
                    self.check_told(*at, *say, sources)?;
                }
                self.tell(*say)?;
                (self.answered, self.owed, self.stopping) = (self.heard.turns, false, false);
            }
            Record::LimitReached { reach, .. } => {
                (self.limited, self.answered) = (true, self.heard.turns);
                self.saving |= *reach == Reach::All;
            }
            Record::CancelOrdered { .. } => self.cancelled = true,
            Record::SuspendOrdered { .. } => self.stopping = true,
            Record::StopOrdered { .. } => self.stopping = true,
            Record::InputEnded { at } => self.check_let_go(*at, sources)?,
            Record::AttemptEnded { at, fault, next, .. } => self.check_end(*at, *fault, next, sources)?,
            Record::RunFinished { outcome, .. } if outcome.kind == OutcomeKind::Done => {
                let done = kept(sources.0).is_none() || self.claims >= 2;
                ensure(done, Oracle::KeepsGoing, || format!("done, and it never said so twice: {self:?}"))?;
            }
            Record::RunStarted { .. }
            | Record::RungTaken { .. }
            | Record::CondenseOrdered { .. }
            | Record::CondenseStopped { .. }
            | Record::Condensed { .. }
            | Record::SessionOpened { .. }
            | Record::Progressed { .. }
            | Record::SilenceExcused { .. }
            | Record::Recovered { .. }
            | Record::Suspended { .. }
            | Record::CheckOrdered { .. }
            | Record::CheckStopped { .. }
            | Record::Checked { .. }
            | Record::Downtime { .. }
            | Record::Swept { .. }
            | Record::RunFinished { .. } => {}
        }
        Ok(())
    }

    fn stop(&mut self, claimed: bool, workspace: Option<u64>, shells: u32) {
        let unchanged = shells == 0 && workspace.is_some_and(|workspace| self.workspace == Some(workspace));
        self.stops += 1;
        self.claims = if claimed { self.claims + 1 } else { 0 };
        self.idle = if unchanged { self.idle + 1 } else { 0 };
        self.workspace = workspace;
        (self.answered, self.owed) = (self.heard.turns, true);
    }

    /// The agent hears this.
    fn tell(&mut self, say: Say) -> Verdict {
        self.saving |= matches!(say, Say::WrapUp(_));
        self.warned |= matches!(say, Say::KeepGoing(Push { last: true, .. }));
        let pushes = matches!(say, Say::KeepGoing(_) | Say::Confirm);
        ensure(!pushes || !self.limited && !self.cancelled, Oracle::KeepsGoing, || {
            format!("{say:?} is said to one that is to end: {self:?}")
        })?;
        let stop = if let Say::KeepGoing(push) = say { push.stop } else { self.stops };
        ensure(stop == self.stops, Oracle::KeepsGoing, || format!("{say:?} after stop {}", self.stops))
    }

    /// What follows the last stop.
    fn right(&self, keep_going: &KeepGoing, at: Moment, (policy, clocks, limits): Sources<'_>) -> Right {
        if self.claims >= 2 {
            return Right::Finished;
        }
        if self.claims == 1 {
            return Right::Told(Say::Confirm);
        }
        if self.idle >= keep_going.idle_stops_max {
            return Right::Idle;
        }
        let last = !self.warned && limits.is_near(policy, clocks, at);
        let due = keep_going.status_every > 0 && self.stops.is_multiple_of(keep_going.status_every);
        let worked = (due || last).then(|| clocks.active(at));
        let KeepGoing { extended, .. } = *keep_going;
        Right::Told(Say::KeepGoing(Push { stop: self.stops, extended, worked, last }))
    }

    /// Whether the last stop was the last of all.
    fn is_final(&self, keep_going: &KeepGoing) -> bool {
        self.claims >= 2 || self.claims == 0 && self.idle >= keep_going.idle_stops_max
    }

    fn check_stop(&self, recorded: (bool, Option<u64>, u32), (policy, ..): Sources<'_>) -> Verdict {
        let right = kept(policy).is_some()
            && self.heard.turns > self.answered
            && self.heard.settled.is_some_and(|result| is_good(policy, &result))
            && !self.saving
            && recorded == (self.heard.claimed, self.heard.workspace, self.heard.shells);
        ensure(right, Oracle::KeepsGoing, || format!("a stop at {recorded:?} that was none: {self:?}"))
    }

    /// It is told this because it stopped.
    fn check_told(&self, at: Moment, say: Say, sources: Sources<'_>) -> Verdict {
        let right = kept(sources.0).map(|keep_going| self.right(&keep_going, at, sources));
        ensure(self.owed && right == Some(Right::Told(say)), Oracle::KeepsGoing, || {
            format!("it is told {say:?}, and not {right:?}: {self:?}")
        })
    }

    /// Its input ends.
    fn check_let_go(&self, at: Moment, (policy, ..): Sources<'_>) -> Verdict {
        let Some(keep_going) = kept(policy) else { return Ok(()) };
        let stopped = self.heard.turns > self.answered || self.owed;
        let good = self.heard.settled.is_some_and(|result| is_good(policy, &result));
        let may = !(stopped && good)
            || self.is_final(&keep_going)
            || self.cancelled
            || self.limited
            || self.stopping;
        ensure(may, Oracle::KeepsGoing, || format!("it stopped, and is let go at {at:?}: {self:?}"))
    }

    /// The attempt is over: what follows?
    fn check_end(&mut self, at: Moment, fault: Option<Fault>, next: &Next, sources: Sources<'_>) -> Verdict {
        let policy = sources.0;
        let pushed = matches!(next, Next::Attempt { remedy: Remedy::KeepGoing, .. });
        let good = fault.is_none() || fault == Some(Fault::Permission) && policy.allow_denials;
        let Some(keep_going) = kept(policy).filter(|_| good && !self.saving) else {
            return ensure(!pushed, Oracle::KeepsGoing, || format!("kept going with {next:?}: {self:?}"));
        };
        ensure(self.heard.turns <= self.answered, Oracle::KeepsGoing, || {
            format!("its last stop was not counted: {self:?}")
        })?;
        let right = self.right(&keep_going, at, sources);
        let follows = match next {
            Next::Finish(outcome) => match outcome.kind {
                OutcomeKind::Done => right == Right::Finished,
                OutcomeKind::Cancelled => self.cancelled && (right != Right::Finished || fault.is_some()),
                OutcomeKind::Failed if outcome.limit.is_some() => matches!(right, Right::Told(_)),
                OutcomeKind::Failed => right == Right::Idle && outcome.fault == Some(Fault::Unfinished),
                // Those who count say whether it is reached.
                OutcomeKind::OverBudget | OutcomeKind::OutOfTime => {
                    outcome.limit.is_some() && matches!(right, Right::Told(_)) && !self.cancelled
                }
                OutcomeKind::NeedsPerson
                | OutcomeKind::CheckFailed
                | OutcomeKind::Refused
                | OutcomeKind::Incomplete
                | OutcomeKind::Bug
                | OutcomeKind::RetryLater
                | OutcomeKind::Suspended => false,
            },
            Next::Attempt { at: then, plan, .. } => {
                let saves = self.limited && matches!(plan.say, Say::WrapUp(_));
                let told = saves && matches!(right, Right::Told(_)) || right == Right::Told(plan.say);
                pushed && told && *then == at && !self.cancelled
            }
            Next::Check => false,
        };
        ensure(follows, Oracle::KeepsGoing, || {
            format!("{next:?} follows a stop, and not {right:?}: {self:?}")
        })
    }
}

impl Heard {
    fn of(evidence: &Evidence) -> Heard {
        Heard {
            turns: evidence.turns,
            settled: evidence.result.filter(|_| !evidence.turn_open),
            claimed: evidence.claimed,
            workspace: evidence.workspace,
            shells: 0,
        }
    }

    fn note(&mut self, notice: &Notice) {
        match notice {
            Notice::TurnBegan => (self.settled, self.claimed, self.workspace) = (None, false, None),
            Notice::ToolBegan => (self.settled, self.workspace) = (None, None),
            Notice::Claimed => self.claimed = true,
            Notice::TurnEnded(result) => (self.turns, self.settled) = (self.turns + 1, Some(*result)),
            Notice::Surveyed(workspace) => self.workspace = Some(*workspace),
            Notice::BackgroundChanged(shells) => self.shells = *shells,
            Notice::SessionOpened(_)
            | Notice::Stirred
            | Notice::MessageEnded
            | Notice::ToolEnded
            | Notice::Used(_)
            | Notice::Idled
            | Notice::Retrying { .. }
            | Notice::RateLimitChanged(_)
            | Notice::Halted
            | Notice::Swollen => {}
        }
    }
}

/// How the run is kept going: one whose work is judged is kept going by that.
pub(super) fn kept(policy: &Policy) -> Option<KeepGoing> {
    if policy.check.is_some() { None } else { policy.keep_going }
}

/// Whether a turn with this result ended because the agent thought that it was time.
pub(super) fn is_good(policy: &Policy, result: &TurnResult) -> bool {
    let TurnResult { is_error, ending, stop_reason, empty, denials, stop_hook_capped, .. } = *result;
    let ended = !is_error && ending == Ending::Completed && stop_reason == StopReason::EndTurn;
    ended && !empty && !stop_hook_capped && (denials == 0 || policy.allow_denials)
}

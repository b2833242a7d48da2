//! Selects the fault that strikes a request. The seed draws the turns once, at the start. After that, the
//! selection depends only on the requests.

use std::time::{Duration, Instant};

use crate::rng::Rng;
use crate::scenario::{FaultKind, ScriptedFault, Side, Times, When};

#[derive(Debug)]
pub(super) struct Faults(Vec<Pending>);

#[derive(Debug)]
struct Pending {
    /// Whether it strikes side requests, which belong to no turn.
    side: bool,
    /// The turn it strikes. `None` if it strikes any turn.
    turn: Option<u32>,
    remaining: Times,
    kind: FaultKind,
    /// End of a usage limit or another outage. `None` before it strikes.
    ends_at: Option<Instant>,
}

#[derive(Debug, Clone)]
pub(super) struct ActiveFault {
    pub kind: FaultKind,
    /// Remaining time of a usage limit or another outage.
    pub resets_in: Duration,
}

impl Faults {
    pub(super) fn new(faults: &[ScriptedFault], side: &Side, rng: &mut Rng) -> Self {
        let mut pending = Vec::new();
        for fault in faults {
            let turn = match &fault.when {
                When::Turn(turn) => Some(*turn),
                When::OneOf(turns) => turns.get(rng.below(turns.len() as u64) as usize).copied(),
                When::Always => None,
            };
            pending.push(Pending::new(false, turn, fault.times, &fault.kind, rng));
        }
        pending.extend(side.fault.iter().map(|kind| Pending::new(true, None, side.times, kind, rng)));
        Self(pending)
    }

    /// Consumes and returns the fault that strikes a request for `turn`, or a side request. Faults of the same
    /// turn strike one after the other, in the order of the file.
    pub(super) fn take_fault(
        &mut self,
        side: bool,
        turn: u32,
        stream: bool,
        now: Instant,
    ) -> Option<ActiveFault> {
        let is_due = |pending: &&mut Pending| {
            pending.side == side
                && (pending.turn.is_none_or(|due_turn| due_turn == turn) || pending.ends_at.is_some())
        };
        self.0.iter_mut().filter(is_due).find_map(|pending| pending.take_fault(stream, now))
    }
}

impl Pending {
    /// Draws the random parts of the fault.
    fn new(side: bool, turn: Option<u32>, remaining: Times, kind: &FaultKind, rng: &mut Rng) -> Pending {
        let mut kind = kind.clone();
        if let FaultKind::Kill { after, .. } = &mut kind {
            let range_ms = (*after.end() - *after.start()).as_millis() as u64;
            // An exact range consumes no random number, so that it does not change later draws.
            if range_ms > 0 {
                let drawn = *after.start() + Duration::from_millis(rng.below(range_ms + 1));
                *after = drawn..=drawn;
            }
        }
        Pending { side, turn, remaining, kind, ends_at: None }
    }

    fn take_fault(&mut self, stream: bool, now: Instant) -> Option<ActiveFault> {
        if self.remaining == Times::Count(0) || (self.kind.needs_stream() && !stream) {
            return None;
        }
        let Some(duration) = self.duration() else {
            self.remaining = decrement(self.remaining);
            return Some(ActiveFault { kind: self.kind.clone(), resets_in: Duration::ZERO });
        };
        // An outage rejects every request until it ends.
        let ends_at = *self.ends_at.get_or_insert(now + duration);
        if now < ends_at {
            return Some(ActiveFault { kind: self.kind.clone(), resets_in: ends_at - now });
        }
        (self.remaining, self.ends_at) = (decrement(self.remaining), None);
        None
    }

    /// Returns how long the fault lasts once it strikes, or `None` if it strikes a number of requests.
    fn duration(&self) -> Option<Duration> {
        match (&self.kind, self.remaining) {
            (FaultKind::UsageLimit { reset, .. }, _) => Some(*reset),
            (_, Times::Outage(duration)) => Some(duration),
            (_, Times::Count(_) | Times::Always) => None,
        }
    }
}

fn decrement(times: Times) -> Times {
    match times {
        // An outage happens once.
        Times::Outage(_) => Times::Count(0),
        Times::Count(count) => Times::Count(count.saturating_sub(1)),
        Times::Always => Times::Always,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{KillAt, Signal};

    fn fault(when: When, times: Times, kind: FaultKind) -> ScriptedFault {
        ScriptedFault { when, times, kind }
    }

    fn names(faults: &mut Faults, turns: &[u32], stream: bool) -> Vec<String> {
        let now = Instant::now();
        turns
            .iter()
            .map(|turn| {
                faults.take_fault(false, *turn, stream, now).map_or("-".to_owned(), |fault| fault.kind.name())
            })
            .collect()
    }

    #[test]
    fn faults_of_a_turn_strike_in_order_until_consumed() {
        let all = [
            fault(When::Turn(2), Times::Count(2), FaultKind::Html {}),
            fault(When::Turn(2), Times::Count(1), FaultKind::Empty {}),
            fault(When::Always, Times::Always, FaultKind::Refusal {}),
        ];
        let mut faults = Faults::new(&all, &Side::default(), &mut Rng::new(0));
        assert_eq!(
            names(&mut faults, &[1, 2, 2, 2, 2], true),
            ["refusal", "html", "html", "empty", "refusal"]
        );
    }

    #[test]
    fn side_requests_fail_as_often_as_configured() {
        let strikes = |times, count: usize| {
            let side = Side { fault: Some(FaultKind::Html {}), times, ..Side::default() };
            let mut faults = Faults::new(&[], &side, &mut Rng::new(0));
            (0..count).filter(|_| faults.take_fault(true, 1, false, Instant::now()).is_some()).count()
        };
        assert_eq!((strikes(Times::Count(2), 5), strikes(Times::Always, 5)), (2, 5));
        assert!(
            Faults::new(&[], &Side::default(), &mut Rng::new(0))
                .take_fault(true, 1, true, Instant::now())
                .is_none()
        );
    }

    #[test]
    fn seed_draws_the_delay_of_a_kill() {
        let delay_ms = |seed| {
            let after = Duration::from_millis(500)..=Duration::from_millis(1500);
            let kill = FaultKind::Kill { at: KillAt::MidTool, after, signal: Signal::Kill };
            let kill = fault(When::Turn(1), Times::Count(1), kill);
            let faults = Faults::new(&[kill], &Side::default(), &mut Rng::new(seed));
            let FaultKind::Kill { after, .. } = &faults.0[0].kind else { unreachable!("one fault, a kill") };
            after.start().as_millis()
        };
        let delays: Vec<_> = (0..50).map(delay_ms).collect();
        assert!(delays.iter().all(|delay| (500..=1500).contains(delay)), "{delays:?}");
        assert!(delays.iter().any(|delay| *delay != delays[0]), "{delays:?}");
    }

    #[test]
    fn stream_fault_waits_for_a_stream() {
        let all = [fault(When::Turn(1), Times::Count(1), FaultKind::Pings {})];
        let mut faults = Faults::new(&all, &Side::default(), &mut Rng::new(0));
        assert_eq!(names(&mut faults, &[1], false), ["-"]);
        assert_eq!(names(&mut faults, &[1, 1], true), ["pings", "-"]);
    }

    #[test]
    fn outage_rejects_every_turn_until_it_ends() {
        let outage = fault(When::Turn(2), Times::Outage(Duration::from_secs(14)), FaultKind::Html {});
        let mut faults = Faults::new(&[outage], &Side::default(), &mut Rng::new(0));
        let start = Instant::now();
        let strikes = |faults: &mut Faults, turn, after_s| {
            faults.take_fault(false, turn, true, start + Duration::from_secs(after_s)).is_some()
        };
        assert!(!strikes(&mut faults, 1, 0));
        assert!(strikes(&mut faults, 2, 1) && strikes(&mut faults, 2, 2) && strikes(&mut faults, 1, 14));
        assert!(!strikes(&mut faults, 2, 15) && !strikes(&mut faults, 2, 16));
    }

    #[test]
    fn usage_limit_rejects_every_turn_until_reset() {
        let limit = FaultKind::UsageLimit { reset: Duration::from_secs(6) };
        let limited = [fault(When::Turn(2), Times::Count(1), limit)];
        let mut faults = Faults::new(&limited, &Side::default(), &mut Rng::new(0));
        let start = Instant::now();
        assert!(faults.take_fault(false, 1, true, start).is_none());
        assert!(faults.take_fault(false, 2, true, start).is_some());
        let later = faults.take_fault(false, 1, true, start + Duration::from_secs(5));
        assert_eq!(later.map(|fault| fault.resets_in), Some(Duration::from_secs(1)));
        assert!(faults.take_fault(false, 2, true, start + Duration::from_secs(6)).is_none());
        assert!(faults.take_fault(false, 2, true, start + Duration::from_secs(7)).is_none());
    }
}

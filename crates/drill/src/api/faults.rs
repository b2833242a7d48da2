//! Selects the fault that strikes a request. The seed draws the turns once, at the start. After that, the
//! selection depends only on the requests.

use std::time::{Duration, Instant};

use crate::rng::Rng;
use crate::scenario::{FaultKind, ScriptedFault, Side, Times, When};

/// The pending faults.
#[derive(Debug)]
pub(super) struct Faults {
    pending: Vec<Pending>,
    /// The fault that strikes side requests.
    side: Option<Pending>,
}

#[derive(Debug)]
struct Pending {
    /// The turn it strikes. `None` if it strikes any turn.
    turn: Option<u32>,
    remaining: Times,
    kind: FaultKind,
    /// End of a usage limit or another outage. `None` before it strikes.
    ends_at: Option<Instant>,
}

/// A fault that strikes now.
#[derive(Debug, Clone)]
pub(super) struct ActiveFault {
    pub kind: FaultKind,
    /// Remaining time of a usage limit or another outage.
    pub resets_in: Duration,
}

impl Faults {
    pub(super) fn new(faults: &[ScriptedFault], side: &Side, rng: &mut Rng) -> Self {
        let pending = faults.iter().map(|fault| {
            let turn = match &fault.when {
                When::Turn(turn) => Some(*turn),
                When::OneOf(turns) => turns.get(rng.below(turns.len() as u64) as usize).copied(),
                When::Always => None,
            };
            Pending { turn, remaining: fault.times, kind: draw_random_parts(&fault.kind, rng), ends_at: None }
        });
        let pending = pending.collect();
        let side = side.fault.as_ref().map(|kind| Pending {
            turn: None,
            remaining: side.times,
            kind: draw_random_parts(kind, rng),
            ends_at: None,
        });
        Self { pending, side }
    }

    /// Consumes and returns the fault that strikes a request for `turn`. Faults of the same turn strike one
    /// after the other, in the order of the file.
    pub(super) fn take_fault(&mut self, turn: u32, stream: bool, now: Instant) -> Option<ActiveFault> {
        let is_due = |pending: &Pending| {
            pending.turn.is_none_or(|due_turn| due_turn == turn) || pending.ends_at.is_some()
        };
        self.pending
            .iter_mut()
            .filter(|pending| is_due(pending))
            .find_map(|pending| pending.take_fault(stream, now))
    }

    /// Consumes and returns the fault that strikes a side request, which belongs to no turn.
    pub(super) fn take_side_fault(&mut self, stream: bool, now: Instant) -> Option<ActiveFault> {
        self.side.as_mut()?.take_fault(stream, now)
    }
}

impl Pending {
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

/// Returns the fault with its random parts drawn.
fn draw_random_parts(kind: &FaultKind, rng: &mut Rng) -> FaultKind {
    let mut kind = kind.clone();
    if let FaultKind::Kill { after, .. } = &mut kind {
        *after = after.draw(rng);
    }
    kind
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

    fn fault(when: When, times: Times, kind: FaultKind) -> ScriptedFault {
        ScriptedFault { when, times, kind }
    }

    fn names(faults: &mut Faults, turns: &[u32], stream: bool) -> Vec<&'static str> {
        let now = Instant::now();
        turns
            .iter()
            .map(|turn| faults.take_fault(*turn, stream, now).map_or("-", |fault| fault.kind.name()))
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
            (0..count).filter(|_| faults.take_side_fault(false, Instant::now()).is_some()).count()
        };
        assert_eq!((strikes(Times::Count(2), 5), strikes(Times::Always, 5)), (2, 5));
        assert!(
            Faults::new(&[], &Side::default(), &mut Rng::new(0))
                .take_side_fault(true, Instant::now())
                .is_none()
        );
    }

    #[test]
    fn stream_fault_waits_for_a_stream() {
        let all = [fault(When::Turn(1), Times::Count(1), FaultKind::Pings { duration: None })];
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
            faults.take_fault(turn, true, start + Duration::from_secs(after_s)).is_some()
        };
        assert!(!strikes(&mut faults, 1, 0));
        assert!(strikes(&mut faults, 2, 1) && strikes(&mut faults, 2, 2) && strikes(&mut faults, 1, 14));
        assert!(!strikes(&mut faults, 2, 15) && !strikes(&mut faults, 2, 16));
    }

    #[test]
    fn usage_limit_rejects_every_turn_until_reset() {
        let limit = FaultKind::UsageLimit { reset: Duration::from_secs(6), window: "five_hour".into() };
        let limited = [fault(When::Turn(2), Times::Count(1), limit)];
        let mut faults = Faults::new(&limited, &Side::default(), &mut Rng::new(0));
        let start = Instant::now();
        assert!(faults.take_fault(1, true, start).is_none());
        assert!(faults.take_fault(2, true, start).is_some());
        let later = faults.take_fault(1, true, start + Duration::from_secs(5));
        assert_eq!(later.map(|fault| fault.resets_in), Some(Duration::from_secs(1)));
        assert!(faults.take_fault(2, true, start + Duration::from_secs(6)).is_none());
        assert!(faults.take_fault(2, true, start + Duration::from_secs(7)).is_none());
    }
}

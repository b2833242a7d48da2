use super::after_reset;
use crate::{Backoff, Jitter, Moment, Preset, Span};
use proptest::prelude::*;

fn jitters() -> impl Strategy<Value = Jitter> {
    prop_oneof![Just(Jitter::Full), Just(Jitter::None), any::<u8>().prop_map(Jitter::Percent)]
}

fn backoffs() -> impl Strategy<Value = Backoff> {
    let spans = || prop_oneof![0..10_000_u64, 0..10_000_000_u64, Just(u64::MAX)].prop_map(Span);
    (spans(), spans(), jitters()).prop_map(|(base, cap, jitter)| Backoff { base, cap, jitter })
}

proptest! {
    #[test]
    fn wait_is_within_schedule(backoff in backoffs(), n in 0..200_u32, roll: u64) {
        let delay = backoff.delay(n, None, roll);
        prop_assert!(delay <= backoff.longest(n));
        let whole = backoff.base.doubled(n).at_most(backoff.cap);
        let shortest = match backoff.jitter {
            Jitter::Full => Span::ZERO,
            Jitter::None => whole,
            Jitter::Percent(percent) => whole - Span(whole.0.saturating_mul(u64::from(percent)) / 100),
        };
        prop_assert!(delay >= shortest, "{delay} is shorter than {shortest}");
    }

    #[test]
    fn waits_grow_up_to_cap(backoff in backoffs(), n in 0..100_u32) {
        prop_assert!(backoff.longest(n) <= backoff.longest(n + 1));
        let capped = backoff.with_lower_cap(Span(1_000));
        prop_assert!(capped.cap <= Span(1_000) && capped.cap <= backoff.cap);
    }

    #[test]
    fn hint_is_a_floor(backoff in backoffs(), n in 0..100_u32, hint in 0..10_000_000_u64, roll: u64) {
        let hint = Span(hint);
        let delay = backoff.delay(n, Some(hint), roll);
        let without_hint = backoff.delay(n, None, roll);
        prop_assert!(delay >= hint);
        // Below the drawn wait, the hint changes nothing. Above it, the wait exceeds the hint by at most
        // `base`.
        if without_hint >= hint {
            prop_assert_eq!(delay, without_hint);
        } else {
            prop_assert!(delay <= hint + backoff.base.at_most(backoff.cap));
        }
    }

    #[test]
    fn resumes_soon_after_reset(reset in 0..u64::MAX / 2, jitter in 0..1_000_000_u64, roll: u64) {
        let at = after_reset(Moment(reset), Span(jitter), roll);
        prop_assert!((Moment(reset)..=Moment(reset + jitter)).contains(&at));
    }
}

#[test]
fn full_jitter_spreads_waits_evenly() {
    let backoff = Preset::Default.policy().backoff;
    let mut tenths = [0_u32; 10];
    for roll in 0..100_000 {
        // The seventh wait is not capped: 128 s.
        tenths[(backoff.delay(6, None, roll).0 * 10 / 128_001) as usize] += 1;
    }
    assert!(tenths.iter().all(|count| (9_500..10_500).contains(count)), "{tenths:?}");
}

#[test]
fn equal_hints_give_different_waits() {
    let backoff = Preset::Default.policy().backoff;
    let mut moments: Vec<Span> =
        (0..1_000).map(|roll| backoff.delay(0, Some(Span::from_secs(60)), roll)).collect();
    moments.sort();
    moments.dedup();
    assert!(moments.len() > 500, "{} different moments", moments.len());
}

//! The clock and the random numbers of the live world.
//!
//! Moments advance with the boot clock, starting from one reading of the calendar clock. Setting the calendar
//! clock therefore neither shortens nor extends a wait.

use jiff::{Timestamp, Zoned};
use longhaul_core::{Moment, Now, Span, draw};
use longhaul_store::local_zone;
use rustix::time::{ClockId, clock_gettime};
use std::env;
use std::time::{SystemTime, UNIX_EPOCH};

// Shorter sleeps cannot be distinguished from a busy machine.
const SLEEP_MIN: Span = Span(1_000);
// A smaller difference is an adjustment of the calendar clock.
const STEP_MIN: Span = Span(1_000);

pub(crate) fn local_now() -> Zoned {
    Timestamp::now().to_zoned(local_zone(env::var_os("TZ").as_deref()))
}

#[derive(Debug)]
pub(crate) struct LiveClock {
    /// Difference between the calendar and the boot clock, in milliseconds.
    offset_ms: u64,
    /// Total sleep of the machine at the last call, in milliseconds.
    asleep_ms: u64,
    /// Number from the system's random source, read once. Every roll is derived from it without a system
    /// call.
    seed: u64,
    rolls: u64,
}

impl LiveClock {
    pub(crate) fn new() -> LiveClock {
        LiveClock {
            offset_ms: calendar_now().0.saturating_sub(read_ms(BOOT)),
            asleep_ms: asleep_ms(),
            seed: random_seed(),
            rolls: 0,
        }
    }

    /// Advances the clock to this moment if it is behind. The calendar clock was set back while nothing ran, and
    /// the waits in the journal must not become longer.
    pub(crate) fn advance_to(&mut self, recorded: Moment) {
        self.offset_ms += recorded.since(self.at()).0;
    }

    /// Returns the moment of this clock at which the calendar clock will show `time`, as a server reports it.
    /// The two differ after the calendar clock was set.
    pub(crate) fn at_calendar_time(&self, time: Moment) -> Moment {
        let (at, calendar) = (self.at(), calendar_now());
        let (ahead, behind) = (at.since(calendar), calendar.since(at));
        if ahead.max(behind) < STEP_MIN { time } else { Moment((time + ahead).0.saturating_sub(behind.0)) }
    }

    pub(crate) fn at(&self) -> Moment {
        Moment(self.offset_ms + read_ms(BOOT))
    }

    /// Returns the current moment with a new random number.
    pub(crate) fn now(&mut self) -> Now {
        self.rolls += 1;
        Now { at: self.at(), roll: draw(self.seed, self.rolls, u64::MAX) }
    }

    /// Returns how long the machine slept since the last call, or `None` if it did not.
    pub(crate) fn sleep_since_last_call(&mut self) -> Option<Span> {
        let total = asleep_ms();
        let slept = Span(total.saturating_sub(self.asleep_ms));
        (slept >= SLEEP_MIN).then(|| {
            self.asleep_ms = total;
            slept
        })
    }
}

pub(crate) fn calendar_now() -> Moment {
    Moment(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64))
}

/// Returns the total sleep. Only the boot clock counts it.
fn asleep_ms() -> u64 {
    read_ms(BOOT).saturating_sub(awake_ms())
}

#[cfg(not(target_os = "macos"))]
const BOOT: ClockId = ClockId::Boottime;
/// The monotonic clock of macOS advances while the machine sleeps.
#[cfg(target_os = "macos")]
const BOOT: ClockId = ClockId::Monotonic;

#[cfg(not(target_os = "macos"))]
fn awake_ms() -> u64 {
    read_ms(ClockId::Monotonic)
}

/// Returns the time without sleep since the first call, which the standard library's clock measures on macOS.
#[cfg(target_os = "macos")]
fn awake_ms() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<(Instant, u64)> = OnceLock::new();
    let (start, boot_ms) = START.get_or_init(|| (Instant::now(), read_ms(BOOT)));
    boot_ms + start.elapsed().as_millis() as u64
}

fn read_ms(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000 + time.tv_nsec as u64 / 1_000_000
}

/// Returns 64 bits of the system's random source, or the boot clock's nanoseconds if it fails.
pub(crate) fn random_seed() -> u64 {
    getrandom::u64().unwrap_or_else(|_| clock_gettime(BOOT).tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::{LiveClock, calendar_now};
    use longhaul_core::Span;

    #[test]
    fn clock_only_advances() {
        let mut clock = LiveClock::new();
        let (before, later) = (clock.at(), clock.at() + Span::from_hours(3));
        clock.advance_to(later);
        assert!(clock.at() >= later);
        clock.advance_to(before);
        assert!(clock.at() >= later);
    }

    #[test]
    fn calendar_time_is_as_far_away_as_on_the_calendar_clock() {
        let mut clock = LiveClock::new();
        let reset = calendar_now() + Span::from_hours(1);
        assert_eq!(clock.at_calendar_time(reset), reset);
        clock.advance_to(clock.at() + Span::from_hours(3));
        let wait = clock.at_calendar_time(reset).since(clock.at());
        assert!(wait <= Span::from_hours(1) && wait > Span::from_mins(50), "{wait}");
    }
}

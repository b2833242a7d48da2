//! The time and the chance of the live world.
//!
//! Moments advance with the boot clock from one reading of the calendar clock, so that somebody who
//! sets the calendar clock neither cuts a wait short nor makes it endless.

use longhaul_core::{Moment, Now, Span, draw};
use rustix::time::{ClockId, clock_gettime};
use std::time::{SystemTime, UNIX_EPOCH};

// Shorter sleeps are not told from a busy machine.
const SLEEP_MIN: Span = Span(1_000);

/// The clock of one run.
#[derive(Debug)]
pub(crate) struct LiveClock {
    /// What to add to the boot clock to get the calendar's milliseconds.
    offset_ms: u64,
    /// How long the machine had been asleep in all when we last asked.
    asleep_ms: u64,
    /// From the system's random source, once: every roll is drawn from it without a system call.
    seed: u64,
    rolls: u64,
}

impl LiveClock {
    /// A clock set by the calendar, now.
    pub(crate) fn new() -> LiveClock {
        let calendar =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        LiveClock {
            offset_ms: calendar.saturating_sub(boot_ms()),
            asleep_ms: asleep_ms(),
            seed: random_seed(),
            rolls: 0,
        }
    }

    /// The present moment.
    pub(crate) fn at(&self) -> Moment {
        Moment(self.offset_ms + boot_ms())
    }

    /// The present moment with fresh chance.
    pub(crate) fn now(&mut self) -> Now {
        self.rolls += 1;
        Now { at: self.at(), roll: draw(self.seed, self.rolls, u64::MAX) }
    }

    /// How long the machine has been asleep since this was last asked, if it has.
    pub(crate) fn sleep_since_last_call(&mut self) -> Option<Span> {
        let total = asleep_ms();
        let slept = Span(total.saturating_sub(self.asleep_ms));
        (slept >= SLEEP_MIN).then(|| {
            self.asleep_ms = total;
            slept
        })
    }
}

fn boot_ms() -> u64 {
    read_ms(BOOT)
}

/// The boot clock counts sleep, the monotonic clock does not.
fn asleep_ms() -> u64 {
    read_ms(BOOT).saturating_sub(read_ms(ClockId::Monotonic))
}

#[cfg(target_os = "linux")]
const BOOT: ClockId = ClockId::Boottime;
// Elsewhere sleep is not told apart: it counts as waiting or as silence.
#[cfg(not(target_os = "linux"))]
const BOOT: ClockId = ClockId::Monotonic;

fn read_ms(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000 + time.tv_nsec as u64 / 1_000_000
}

/// 64 bits from the system's random source; the boot clock's nanoseconds should it fail.
pub(crate) fn random_seed() -> u64 {
    let mut bytes = [0_u8; 8];
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()) {
        Ok(8) => u64::from_ne_bytes(bytes),
        Ok(_) | Err(_) => clock_gettime(BOOT).tv_nsec as u64,
    }
}

//! The judge that is reached by the Messages API, as this process reaches it: by its environment, its clock and its chance.

use crate::output;
use async_trait::async_trait;
use longhaul_agent::Prices;
use longhaul_core::{Moment, Now, Preset, Span, draw};
use longhaul_playbook::judge::{ApiJudge, Clock};
use longhaul_playbook::{JudgeError, JudgeSettings};
use rustix::rand::{GetRandomFlags, getrandom};
use std::env;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Who is asked, as the environment says.
pub fn settings() -> JudgeSettings {
    JudgeSettings::from_variables(|name| env::var(name).ok())
}

/// The judge that these settings name. A question takes at most so long, waits included; nothing is no limit.
///
/// # Errors
/// If no request can be made with these settings.
pub fn judge(
    settings: &JudgeSettings,
    time_budget: Span,
    clock: Arc<SystemClock>,
) -> Result<ApiJudge, JudgeError> {
    let time_budget = if time_budget == Span::ZERO { Span(u64::MAX) } else { time_budget };
    ApiJudge::new(
        settings,
        Preset::Keypoints.policy().api_call_policy(time_budget),
        Prices::bundled().clone(),
        clock,
    )
}

/// The time and the chance of this process. Moments advance steadily from one reading of the calendar clock, so that
/// somebody who sets that neither cuts a wait short nor makes it endless.
#[derive(Debug)]
pub struct SystemClock {
    started_at: Moment,
    since: Instant,
    seed: u64,
    rolls: AtomicU64,
}

impl SystemClock {
    pub fn new() -> SystemClock {
        SystemClock {
            started_at: output::now(),
            since: Instant::now(),
            seed: seed(),
            rolls: AtomicU64::new(0),
        }
    }
}

/// From the system's random source; a kernel that has none left gives what differs from process to process.
fn seed() -> u64 {
    let mut bytes = [0; 8];
    match getrandom(&mut bytes, GetRandomFlags::empty()) {
        Ok(_) => u64::from_le_bytes(bytes),
        Err(_) => output::now().0 ^ u64::from(process::id()) << 44,
    }
}

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Now {
        let roll = draw(self.seed, self.rolls.fetch_add(1, Ordering::Relaxed), u64::MAX);
        Now { at: self.started_at + Span(self.since.elapsed().as_millis() as u64), roll }
    }

    async fn sleep_until(&self, at: Moment) {
        tokio::time::sleep(at.since(self.now().at).to_std()).await;
    }
}

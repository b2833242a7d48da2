//! The judge that uses the Messages API, with this process's environment, clock and random numbers.

use crate::output;
use async_trait::async_trait;
use longhaul_agent::Prices;
use longhaul_core::{ApiCallPolicy, Moment, Now, Preset, Span, draw};
use longhaul_playbook::judge::{ApiJudge, Clock};
use longhaul_playbook::{JudgeError, JudgeSettings};
use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

pub fn settings() -> JudgeSettings {
    JudgeSettings::from_variables(|name| env::var(name).ok())
}

/// Creates the judge that these settings name. A question takes at most `time_budget`, including waits; zero
/// means no limit.
pub fn judge(
    settings: &JudgeSettings,
    time_budget: Span,
    clock: Arc<SystemClock>,
) -> Result<ApiJudge, JudgeError> {
    let time_budget = if time_budget == Span::ZERO { Span(u64::MAX) } else { time_budget };
    ApiJudge::new(
        settings,
        ApiCallPolicy::new(&Preset::Keypoints.policy(), time_budget),
        Prices::bundled().clone(),
        clock,
    )
}

/// Returns why the judge cannot be asked with this environment, and what to set. `None` if it can.
pub fn unusable_reason() -> Option<String> {
    judge(&settings(), Span::ZERO, Arc::new(SystemClock::new())).err().map(|error| error.message)
}

/// The clock and random numbers of this process. Moments advance monotonically from one reading of the
/// calendar clock, so setting that clock neither shortens a wait nor makes it endless.
#[derive(Debug)]
pub struct SystemClock {
    started_at: Moment,
    start: Instant,
    seed: u64,
    rolls: AtomicU64,
}

impl SystemClock {
    pub fn new() -> SystemClock {
        SystemClock {
            started_at: output::now(),
            start: Instant::now(),
            // Without random numbers, only the delays of several processes are equal.
            seed: getrandom::u64().unwrap_or_default(),
            rolls: AtomicU64::new(0),
        }
    }
}

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Now {
        let roll = draw(self.seed, self.rolls.fetch_add(1, Ordering::Relaxed), u64::MAX);
        Now { at: self.started_at + Span(self.start.elapsed().as_millis() as u64), roll }
    }

    async fn sleep_until(&self, at: Moment) {
        tokio::time::sleep(at.since(self.now().at).to_std()).await;
    }
}

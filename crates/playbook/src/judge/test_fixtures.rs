//! Provides test fixtures for judges: the loopback API and a simulated clock.

use super::Clock;
use crate::JudgeSettings;
use crate::settings::Credential;
use async_trait::async_trait;
use longhaul_core::{ApiCallPolicy, Moment, Now, Preset, Span, draw};
use longhaul_drill::api::{Api, DUMMY_KEY};
use longhaul_drill::scenario::Scenario;
use std::sync::{Arc, Mutex};

pub(crate) const START: Moment = Moment(1_795_390_200_000);
pub(crate) const ROLL: u64 = 7;

/// A clock that only advances during sleeps.
pub(crate) struct SimulatedClock {
    at: Mutex<Moment>,
    slept: Mutex<Vec<Span>>,
}

impl SimulatedClock {
    pub(crate) fn new() -> Arc<SimulatedClock> {
        Arc::new(SimulatedClock { at: Mutex::new(START), slept: Mutex::default() })
    }

    pub(crate) fn slept(&self) -> Vec<Span> {
        self.slept.lock().expect("no test panics with it").clone()
    }
}

#[async_trait]
impl Clock for SimulatedClock {
    fn now(&self) -> Now {
        let sleeps = self.slept().len() as u64;
        Now { at: *self.at.lock().expect("no test panics with it"), roll: draw(ROLL, sleeps, u64::MAX) }
    }

    async fn sleep_until(&self, until: Moment) {
        let mut at = self.at.lock().expect("no test panics with it");
        self.slept.lock().expect("no test panics with it").push(until.since(*at));
        *at = until;
    }
}

pub(crate) fn policy() -> ApiCallPolicy {
    ApiCallPolicy::new(&Preset::Keypoints.policy(), Span::from_secs(120))
}

/// Starts an API that answers `text` after the faults in `side`.
pub(crate) async fn api(side: &str, text: &str) -> Api {
    let scenario = format!(
        "name = \"s\"\nsummary = \"s\"\nprompt = \"p\"\n[expect]\noutcome = \"done\"\nexit = 0\n[[turn]]\ntext = \"t\"\n\
         [side]\ntext = {text:?}\n{side}\n"
    );
    let scenario = Scenario::parse("s", &scenario).expect("the scenario is sound");
    Api::start(&scenario, 5).await.expect("loopback can be bound")
}

pub(crate) fn settings(api: &Api) -> JudgeSettings {
    let credential = Some(Credential::Key(DUMMY_KEY.to_owned()));
    JudgeSettings { base_url: api.url(), model: "claude-sonnet-4-5".to_owned(), credential, cloud: None }
}

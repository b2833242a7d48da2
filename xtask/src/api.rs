//! The loopback API of a measurement. It serves on its own thread until it is dropped.

use longhaul_drill::api::{LoggedRequest, RequestKind};
use longhaul_drill::{Api, Scenario};
use std::io;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// Returns a scenario of a measurement, with these turns and tables in its own format.
pub fn scenario(prompt: &str, turns: &str) -> io::Result<Scenario> {
    let text = format!(
        "name = \"measured\"\nsummary = \"a measurement\"\nprompt = {prompt:?}\n\
         [expect]\noutcome = \"done\"\nexit = 0\n{turns}"
    );
    Scenario::parse("measured", &text).map_err(io::Error::other)
}

pub struct Loopback {
    pub api: Api,
    /// Start of the API. The times of its log count from it.
    started: Instant,
    _runtime: Runtime,
}

impl Loopback {
    pub fn start(scenario: &Scenario, seed: u64) -> io::Result<Loopback> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let api = runtime.block_on(Api::start(scenario, seed))?;
        Ok(Loopback { api, started: Instant::now(), _runtime: runtime })
    }

    /// Starts an API that answers at once with one short turn, or with 529 until this long after the first
    /// request.
    pub fn with_outage(outage: Duration) -> io::Result<Loopback> {
        let seconds = outage.as_secs_f64();
        let fault = format!("[[fault]]\noutage_s = {seconds:?}\nstatus = {{ code = 529 }}\n");
        let fault = if outage.is_zero() { "" } else { &fault };
        let turn = format!("[[turn]]\ntext = \"Done.\"\n{fault}");
        Loopback::start(&scenario("Say that you are done.", &turn)?, 1)
    }

    pub fn first_request(&self) -> Option<Instant> {
        self.find_request(|_| true)
    }

    pub fn first_answered(&self) -> Option<Instant> {
        self.find_request(|request| request.status == 200)
    }

    fn find_request(&self, is_match: impl Fn(&LoggedRequest) -> bool) -> Option<Instant> {
        let log = self.api.request_log();
        let mut requests = log.requests.iter().filter(|request| request.kind == RequestKind::Model);
        let found = requests.find(|request| is_match(request))?;
        Some(self.started + Duration::from_millis(found.at_ms))
    }
}

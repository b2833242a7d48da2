//! A loopback Messages API for one test, and the standard scenario.

use crate::script;
use longhaul_drill::{Api, Scenario};
use tokio::runtime::Runtime;

/// The standard script: one command, then the answer.
pub const WORK: &str = "
I write the file.
$ echo hello > hello.txt
All done: hello.txt says hello.
";

/// A running API. Its only thread serves until it is dropped.
pub struct Server {
    pub api: Api,
    _runtime: Runtime,
}

impl Server {
    /// Starts an API that plays a script or a scenario file.
    pub fn start(script: &str) -> Server {
        Server::play(&script::scenario(script))
    }

    /// Starts an API that plays a scenario.
    pub fn play(scenario: &Scenario) -> Server {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().expect("there is a runtime");
        let api = runtime.block_on(Api::start(scenario, 1)).expect("there is a port");
        Server { api, _runtime: runtime }
    }
}

//! A loopback Messages API for one test, and the standard scenario.

use longhaul_drill::{Api, Scenario};
use tokio::runtime::Runtime;

/// The standard scenario: one command, then the answer.
pub const WORK: &str = r#"
name = "work"
summary = "one command, then the answer"
prompt = "p"
[expect]
outcome = "done"
exit = 0
[[turn]]
text = "I write the file."
[[turn.tools]]
bash = { command = "echo hello > hello.txt" }
[[turn]]
text = "All done: hello.txt says hello."
"#;

/// A running API. Its only thread serves until it is dropped.
pub struct Server {
    pub api: Api,
    _runtime: Runtime,
}

impl Server {
    /// Starts an API that serves a scenario.
    pub fn start(toml: &str) -> Server {
        let scenario = Scenario::parse("the test's", toml).expect("the test's scenario is valid");
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().expect("there is a runtime");
        let api = runtime.block_on(Api::start(&scenario, 1)).expect("there is a port");
        Server { api, _runtime: runtime }
    }
}

//! Answers control requests from the host.

use serde_json::{Value, json};

use super::agent::{Agent, Stop};
use super::callbacks::Callbacks;
use super::init;

impl Agent {
    /// Answers a control request. An interrupt during an exchange and `end_session` stop the current work.
    pub(super) fn control(&mut self, message: &Value) -> Result<(), Stop> {
        let id = message["request_id"].clone();
        let request = &message["request"];
        let mut stop = None;
        let response = match request["subtype"].as_str().unwrap_or_default() {
            "initialize" => {
                self.callbacks = Callbacks::read(&request["hooks"]);
                init::answer(&self.mode)
            }
            "interrupt" => {
                stop = self.in_exchange.then_some(Stop::Interrupted { by_signal: false });
                json!({"still_queued": []})
            }
            "end_session" => {
                stop = Some(Stop::Exit(0));
                json!({})
            }
            other => {
                let error = format!("Unsupported control request subtype: {other}");
                self.out.answer(json!({"subtype": "error", "request_id": id, "error": error,
                    "error_code": "unsupported_request"}));
                return Ok(());
            }
        };
        self.out.answer(json!({"subtype": "success", "request_id": id, "response": response}));
        stop.map_or(Ok(()), Err)
    }
}

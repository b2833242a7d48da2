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
        let text = |field: &str| request[field].as_str().map(str::to_owned);
        let mut stop = None;
        let response = match request["subtype"].as_str().unwrap_or_default() {
            "initialize" => {
                self.callbacks = Callbacks::read(&request["hooks"]);
                init::answer(&self.environment, &self.mode, self.in_exchange)
            }
            "interrupt" => {
                stop = self.in_exchange.then_some(Stop::Interrupted { by_signal: false });
                json!({"still_queued": []})
            }
            "end_session" => {
                stop = Some(Stop::Exit(0));
                json!({})
            }
            "set_model" => {
                if let Some(model) = text("model") {
                    self.out.event(
                        "user",
                        json!({"message": {"role": "user", "content":
                            format!("<local-command-stdout>Set model to `{model}`</local-command-stdout>")},
                            "isReplay": true, "parent_tool_use_id": null}),
                    );
                    self.model = model;
                }
                json!({"model": self.model})
            }
            "set_permission_mode" => {
                if let Some(mode) = text("mode") {
                    self.mode = mode;
                }
                self.out
                    .answer(json!({"subtype": "success", "request_id": id, "response": {"mode": self.mode}}));
                self.out.system("status", json!({"status": null, "permissionMode": self.mode}));
                return Ok(());
            }
            "get_usage" => json!({
                "session": {"total_cost_usd": self.cost_meter.dollars(), "model_usage": self.cost_meter.model_usage(),
                    "total_api_duration_ms": self.api_time.as_millis() as u64,
                    "total_duration_ms": self.started.elapsed().as_millis() as u64,
                    "total_lines_added": 0, "total_lines_removed": 0},
                "subscription_type": null, "rate_limits_available": false, "rate_limits": null,
            }),
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

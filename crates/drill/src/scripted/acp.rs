//! Speaks the Agent Client Protocol (ACP, version 1) instead of Claude Code's own protocol: the same agent,
//! turns and tools, with another input and output.
//!
//! Sessions are in a store of their own. The agent chooses their ids; `session/load` repeats the history as
//! updates, `session/resume` does not. With [`FAILURES`](super::ACP_FAILURES), the agent reports failed requests
//! as one of the measured agents does.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};

use super::VERSION;
use super::agent::{Agent, QueuedPrompt, Stop, text_of};
use super::cost::CostMeter;
use super::history::{self, History};
use super::session_file::{self, SessionFile};
use super::stdout::acp::{result_update, text_update, tool_update};

/// The store of the sessions, below the configuration directory.
const STORE: &str = "acp";
const MODES: [&str; 3] = ["default", "acceptEdits", "bypassPermissions"];
const METHOD_NOT_FOUND: i64 = -32_601;
const INVALID_PARAMS: i64 = -32_602;
const RESOURCE_NOT_FOUND: i64 = -32_002;

impl Agent {
    pub(super) fn take_acp_message(&mut self, message: &Value) -> Result<(), Stop> {
        let Some(method) = message["method"].as_str() else {
            self.take_permission(message);
            return Ok(());
        };
        let (id, params) = (&message["id"], &message["params"]);
        match method {
            "initialize" => {
                let resume = if self.out.acp.shape.resumes() { json!({"resume": {}}) } else { json!({}) };
                let capabilities = json!({"loadSession": true, "sessionCapabilities": resume});
                let info = json!({"name": self.out.acp.shape.agent_name(), "version": VERSION});
                let result =
                    json!({"protocolVersion": 1, "agentCapabilities": capabilities, "agentInfo": info});
                self.out.acp.answer(id, result);
            }
            "session/new" => {
                let session = self.out.rng.uuid();
                self.open_acp_session(params, &session, History::default());
                let mut result = self.session_state();
                result["sessionId"] = json!(session);
                self.out.acp.answer(id, result);
            }
            "session/load" | "session/resume" => {
                let session = params["sessionId"].as_str().unwrap_or_default().to_owned();
                let history = session_file::find(&self.acp_store(), cwd(params), &session)
                    .and_then(|path| history::read(&path, None));
                let Some(history) = history else {
                    self.out.acp.fail(id, RESOURCE_NOT_FOUND, "Resource not found");
                    return Ok(());
                };
                if method == "session/load" {
                    for update in replayed(&history) {
                        self.out.acp.update(&session, &update);
                    }
                }
                self.open_acp_session(params, &session, history);
                let result = self.session_state();
                self.out.acp.answer(id, result);
            }
            "session/set_mode" => {
                let Some(mode) = MODES.into_iter().find(|mode| params["modeId"] == *mode) else {
                    self.out.acp.fail(id, INVALID_PARAMS, "Invalid params");
                    return Ok(());
                };
                mode.clone_into(&mut self.mode);
                self.out.acp.answer(id, json!({}));
            }
            "session/set_config_option" => {
                params["value"].as_str().unwrap_or_default().clone_into(&mut self.model);
                let result = json!({"configOptions": self.config_options()});
                self.out.acp.answer(id, result);
            }
            "session/prompt" => {
                self.out.acp.prompts.push_back(id.clone());
                let text = text_of(&params["prompt"]);
                self.queue.push_back(QueuedPrompt { text, is_notification: false });
            }
            "session/cancel" if self.in_exchange => return Err(Stop::Interrupted { by_signal: false }),
            "session/cancel" => {}
            _ => self.out.acp.fail(id, METHOD_NOT_FOUND, "Method not found"),
        }
        Ok(())
    }

    fn take_permission(&mut self, message: &Value) {
        let outcome = &message["result"]["outcome"];
        let response = if outcome["optionId"] == "allow" {
            json!({"behavior": "allow"})
        } else {
            json!({"behavior": "deny", "message": "The user refused permission to run this tool."})
        };
        self.callbacks.take(&json!({"request_id": message["id"], "response": response}));
    }

    fn open_acp_session(&mut self, params: &Value, id: &str, history: History) {
        cwd(params).clone_into(&mut self.environment.cwd);
        id.clone_into(&mut self.out.session_id);
        let store = self.acp_store();
        let path = session_file::find(&store, cwd(params), id);
        let path = path.unwrap_or_else(|| session_file::path(&store, cwd(params), id));
        self.session = SessionFile::new(path, cwd(params), id, history.leaf.clone());
        self.cost_meter = CostMeter::from_cost_state(history.cost_state.as_ref());
        self.messages = history.messages;
        for (kind, message) in history.repairs {
            self.link(kind, json!({"message": message}));
        }
    }

    fn session_state(&self) -> Value {
        let modes = MODES.map(|mode| json!({"id": mode, "name": mode}));
        json!({"modes": {"currentModeId": self.mode, "availableModes": modes},
            "configOptions": self.config_options()})
    }

    fn config_options(&self) -> Value {
        json!([{"id": "model", "name": "Model", "category": "model", "type": "select",
            "currentValue": self.model, "options": [{"value": self.model, "name": self.model}]}])
    }

    fn acp_store(&self) -> PathBuf {
        self.environment.config.join(STORE)
    }
}

/// Returns the updates that repeat this history. A call without a result stays pending.
fn replayed(history: &History) -> impl Iterator<Item = Value> {
    let messages = history.rows.iter().filter(|row| row["isApiErrorMessage"] != true);
    messages.map(|row| &row["message"]).filter(|message| message.is_object()).flat_map(message_updates)
}

fn message_updates(message: &Value) -> Vec<Value> {
    let is_user = message["role"] == "user";
    let Some(blocks) = message["content"].as_array() else {
        return vec![text_update("user_message_chunk", &text_of(&message["content"]))];
    };
    let updates = blocks.iter().filter_map(|block| match block["type"].as_str()? {
        "text" if is_user => Some(text_update("user_message_chunk", block["text"].as_str()?)),
        "text" => Some(text_update("agent_message_chunk", block["text"].as_str()?)),
        "tool_use" => Some(tool_update(block)),
        "tool_result" => Some(result_update(block)),
        _ => None,
    });
    updates.collect()
}

fn cwd(params: &Value) -> &Path {
    Path::new(params["cwd"].as_str().unwrap_or_default())
}

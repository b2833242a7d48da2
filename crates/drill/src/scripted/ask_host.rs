//! Asks the host about tool calls, through stdout and stdin: its `PreToolUse` hooks and its permissions. As with
//! the real agent, a tool whose question is not answered does not run. After stdin closes, no tool of the turn
//! runs.

use serde_json::{Value, json};

use super::agent::{Agent, Stop};
use super::hooks::Verdict;
use super::tool_outcome::Outcome;

const DISCONNECTED: &str = "The user doesn't want to take this action right now.";
const FAILED: &str = "Hook callback failed: the SDK host replied with an error or an invalid answer.";

pub(super) enum HookDecision {
    Pass,
    Modify(Value),
    /// The tool is not called. Contains the result of the call and the metadata of the rejection.
    Refuse(Outcome, Value),
}

impl Agent {
    pub(super) fn ask_host(&mut self, call: &Value, input: &Value) -> Result<HookDecision, Stop> {
        let tool = call["name"].as_str().unwrap_or_default();
        let rejected = json!({"decision": "reject", "source": "hook"});
        for hook in self.callbacks.hooks.clone() {
            let question = json!({"subtype": "hook_callback", "callback_id": hook.id, "input": input,
                "tool_use_id": call["id"]});
            let Some(response) = self.ask_question(&question)? else { return Ok(host_disconnected()) };
            if response["subtype"] == "error" {
                self.out.system(
                    "informational",
                    json!({"content": format!("PreToolUse: {FAILED}"), "level": "warning",
                        "tag": "hook_callback_failed"}),
                );
                if hook.blocks {
                    return Ok(rejection(format!("PreToolUse:{tool} hook error: {FAILED}"), rejected));
                }
                continue;
            }
            match Verdict::parse(&response["response"]) {
                Verdict::Run | Verdict::StopAfter => {}
                Verdict::Modify(input) => return Ok(HookDecision::Modify(input)),
                Verdict::Deny(reason) => {
                    return Ok(rejection(format!("PreToolUse:{tool} hook error: {reason}"), rejected));
                }
            }
        }
        Ok(HookDecision::Pass)
    }

    /// Asks the host for a permission that the mode does not grant.
    pub(super) fn ask_permission(&mut self, call: &Value) -> Result<HookDecision, Stop> {
        let question = json!({"subtype": "can_use_tool", "tool_name": call["name"], "display_name": call["name"],
            "input": call["input"], "permission_suggestions": [], "tool_use_id": call["id"]});
        let Some(response) = self.ask_question(&question)? else { return Ok(host_disconnected()) };
        let answer = &response["response"];
        if answer["behavior"] == "allow" {
            return Ok(HookDecision::Modify(answer.get("updatedInput").unwrap_or(&call["input"]).clone()));
        }
        let message = answer["message"].as_str().unwrap_or_default().to_owned();
        Ok(rejection(message, json!({"decision": "reject", "source": "user_reject"})))
    }

    /// Returns the host's response, or `None` if stdin closed before it arrived.
    fn ask_question(&mut self, question: &Value) -> Result<Option<Value>, Stop> {
        let id = self.out.rng.uuid();
        self.callbacks.open_question = Some((id.clone(), None));
        self.out.request(&id, question);
        while !self.callbacks.is_answered() && !self.input_ended {
            self.wait(None)?;
        }
        Ok(self.callbacks.open_question.take().and_then(|(_, answer)| answer))
    }
}

fn rejection(text: String, decision: Value) -> HookDecision {
    let meta = json!({"non_execution_kind": "permission-rule", "permission_decision": decision});
    HookDecision::Refuse(Outcome::error(text), meta)
}

fn host_disconnected() -> HookDecision {
    HookDecision::Refuse(Outcome::error(DISCONNECTED.to_owned()), json!({"non_execution_kind": "cancelled"}))
}

//! Asks the host about tool calls, through stdout and stdin: its `PreToolUse` hooks and its permissions. As with
//! the real agent, a tool whose question is not answered does not run. After stdin closes, no tool of the turn
//! runs.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::agent::{Agent, Stop};
use super::hooks::{Verdict, matches_tool};
use super::tool_outcome::Outcome;

const DISCONNECTED: &str = "The user doesn't want to take this action right now. STOP what you are doing and wait for the user \
                    to tell you how to proceed.";
const FAILED: &str = "Hook callback failed: the SDK host replied with an error or an invalid answer.";
const TIMED_OUT: &str = "PreToolUse hook did not respond before its timeout (host client may be unreachable). The tool \
                      call was not executed; other configured hooks may not have completed.";

pub(super) enum HookDecision {
    Pass,
    Modify(Value),
    /// The tool is not called. Contains the result of the call and the metadata of the rejection.
    Refuse(Outcome, Value),
}

enum HostReply {
    Answer(Value),
    Failure,
    Disconnected,
    TimedOut,
}

impl Agent {
    pub(super) fn ask_host(&mut self, call: &Value, input: &Value) -> Result<HookDecision, Stop> {
        let tool = call["name"].as_str().unwrap_or_default();
        let callbacks = self.callbacks.callbacks.clone();
        for callback in callbacks.iter().filter(|callback| matches_tool(&callback.matcher, tool)) {
            let question = json!({"subtype": "hook_callback", "callback_id": callback.id, "input": input,
                "tool_use_id": call["id"]});
            match self.ask_question(&question, Some(callback.timeout))? {
                HostReply::Answer(answer) => match Verdict::parse(&answer) {
                    Verdict::Run | Verdict::StopAfter => {}
                    Verdict::Modify(input) => return Ok(HookDecision::Modify(input)),
                    Verdict::Deny(reason) => {
                        let rejected = json!({"decision": "reject", "source": "hook", "reason_type": "hook"});
                        return Ok(rejection(format!("PreToolUse:{tool} hook error: {reason}"), rejected));
                    }
                },
                HostReply::Failure => {
                    self.out.system(
                        "informational",
                        json!({"content": format!("PreToolUse: {FAILED}"), "level": "warning",
                            "tag": "hook_callback_failed"}),
                    );
                    if callback.blocks {
                        let text = format!(
                            "PreToolUse:{tool} hook error: [callback]: failed; blocking because onFailure is \"block\"\n\
                             {FAILED}"
                        );
                        return Ok(rejection(
                            text,
                            json!({"decision": "reject", "source": "hook", "reason_type": "hook"}),
                        ));
                    }
                }
                HostReply::Disconnected => return Ok(host_disconnected()),
                HostReply::TimedOut => {
                    return Ok(HookDecision::Refuse(Outcome::error(TIMED_OUT.to_owned()), json!({})));
                }
            }
        }
        Ok(HookDecision::Pass)
    }

    /// Asks the host for a permission that the mode does not grant. There is no timeout.
    pub(super) fn ask_permission(&mut self, call: &Value) -> Result<HookDecision, Stop> {
        let question = json!({"subtype": "can_use_tool", "tool_name": call["name"], "display_name": call["name"],
            "input": call["input"], "permission_suggestions": [], "tool_use_id": call["id"]});
        match self.ask_question(&question, None)? {
            HostReply::Answer(answer) if answer["behavior"] == "allow" => {
                Ok(HookDecision::Modify(answer.get("updatedInput").unwrap_or(&call["input"]).clone()))
            }
            HostReply::Answer(answer) => {
                let message = answer["message"].as_str().unwrap_or_default().to_owned();
                Ok(rejection(message, json!({"decision": "reject", "source": "user_reject"})))
            }
            HostReply::Failure => {
                let rejected = json!({"decision": "reject", "source": "config", "reason_type": "other"});
                Ok(rejection("Tool permission request failed".to_owned(), rejected))
            }
            HostReply::Disconnected | HostReply::TimedOut => Ok(host_disconnected()),
        }
    }

    fn ask_question(&mut self, question: &Value, timeout: Option<Duration>) -> Result<HostReply, Stop> {
        let id = self.out.rng.uuid();
        self.callbacks.open_question = Some((id.clone(), None));
        self.out.request(&id, question);
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        let has_time = || deadline.is_none_or(|deadline| Instant::now() < deadline);
        while !self.callbacks.is_answered() && !self.input_ended && has_time() {
            self.wait(deadline)?;
        }
        Ok(match self.callbacks.open_question.take().and_then(|(_, answer)| answer) {
            Some(answer) if answer["subtype"] == "error" => HostReply::Failure,
            Some(answer) => HostReply::Answer(answer["response"].clone()),
            None if self.input_ended => HostReply::Disconnected,
            None => {
                self.out.cancel(&id);
                HostReply::TimedOut
            }
        })
    }
}

fn rejection(text: String, decision: Value) -> HookDecision {
    let meta = json!({"non_execution_kind": "permission-rule", "permission_decision": decision});
    HookDecision::Refuse(Outcome::error(text), meta)
}

fn host_disconnected() -> HookDecision {
    HookDecision::Refuse(Outcome::error(DISCONNECTED.to_owned()), json!({"non_execution_kind": "cancelled"}))
}

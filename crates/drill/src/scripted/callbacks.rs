//! `PreToolUse` hooks that the host answers itself: it is asked on stdout and answers on stdin. As with the real agent,
//! a tool whose question is not answered does not run, and once stdin has ended no tool of the turn does.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::agent::{Agent, Stop};
use super::hooks::Verdict;
use super::tools::Outcome;

/// How long the host may take unless it says otherwise.
const TIMEOUT: Duration = Duration::from_secs(60);
const GONE: &str = "The user doesn't want to take this action right now. STOP what you are doing and wait for the user \
                    to tell you how to proceed.";
const SILENT: &str = "PreToolUse hook did not respond before its timeout (host client may be unreachable). The tool \
                      call was not executed; other configured hooks may not have completed.";

/// The hooks that the host has registered.
#[derive(Debug, Clone, Default)]
pub(super) struct Callbacks {
    registered: Vec<Callback>,
    /// The question that is open, and its answer when it has come.
    pub(super) asked: Option<(String, Option<Value>)>,
}

#[derive(Debug, Clone)]
struct Callback {
    matcher: String,
    id: String,
    timeout: Duration,
}

impl Callbacks {
    /// Those of an `initialize` request.
    pub(super) fn read(hooks: &Value) -> Callbacks {
        let groups = hooks["PreToolUse"].as_array().cloned().unwrap_or_default();
        let registered = groups.iter().flat_map(|group| {
            let matcher = group["matcher"].as_str().unwrap_or_default().to_owned();
            let timeout = group["timeout"].as_u64().map_or(TIMEOUT, Duration::from_secs);
            let ids = group["hookCallbackIds"].as_array().cloned().unwrap_or_default();
            ids.into_iter().filter_map(move |id| {
                Some(Callback { matcher: matcher.clone(), id: id.as_str()?.to_owned(), timeout })
            })
        });
        Callbacks { registered: registered.collect(), asked: None }
    }

    /// The host answers; what nobody asked is passed over.
    pub(super) fn take(&mut self, response: &Value) {
        if let Some((id, answer)) = &mut self.asked
            && response["request_id"] == id.as_str()
        {
            *answer = Some(response["response"].clone());
        }
    }

    /// Whether the open question has its answer.
    pub(super) fn is_answered(&self) -> bool {
        self.asked.as_ref().is_some_and(|(_, answer)| answer.is_some())
    }
}

impl Agent {
    /// Asks the host about a call; what the call comes to if it is not made.
    pub(super) fn ask_host(&mut self, call: &Value, input: &Value) -> Result<Option<(Outcome, Value)>, Stop> {
        let tool = call["name"].as_str().unwrap_or_default();
        let fits = |callback: &&Callback| {
            matches!(callback.matcher.as_str(), "" | "*" | ".*")
                || callback.matcher.split('|').any(|name| name == tool)
        };
        let callbacks: Vec<Callback> = self.callbacks.registered.iter().filter(fits).cloned().collect();
        for callback in callbacks {
            let id = self.out.dice.uuid();
            self.callbacks.asked = Some((id.clone(), None));
            self.out.ask(
                &id,
                &json!({"subtype": "hook_callback", "callback_id": callback.id, "input": input,
                    "tool_use_id": call["id"]}),
            );
            let until = Instant::now() + callback.timeout;
            while !self.callbacks.is_answered() && !self.input_ended && Instant::now() < until {
                self.wait(Some(until))?;
            }
            match self.callbacks.asked.take().and_then(|(_, answer)| answer) {
                Some(answer) => {
                    if let Verdict::Deny(reason) = Verdict::of(&answer) {
                        let rejected = json!({"decision": "reject", "source": "hook", "reason_type": "hook"});
                        let meta =
                            json!({"non_execution_kind": "permission-rule", "permission_decision": rejected});
                        return Ok(Some((
                            Outcome::bad(format!("PreToolUse:{tool} hook error: {reason}")),
                            meta,
                        )));
                    }
                }
                None if self.input_ended => {
                    return Ok(Some((
                        Outcome::bad(GONE.to_owned()),
                        json!({"non_execution_kind": "cancelled"}),
                    )));
                }
                None => {
                    self.out.cancel(&id);
                    return Ok(Some((Outcome::bad(SILENT.to_owned()), json!({}))));
                }
            }
        }
        Ok(None)
    }
}

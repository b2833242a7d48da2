//! Stores the `PreToolUse` hooks that the host answers itself, and the open question. It asks nothing.

use serde_json::Value;

#[derive(Debug, Clone, Default)]
pub(super) struct Callbacks {
    /// Each is asked about every tool.
    pub hooks: Vec<CallbackHook>,
    /// The id of the open question, and its answer once it has arrived.
    pub open_question: Option<(String, Option<Value>)>,
}

#[derive(Debug, Clone)]
pub(super) struct CallbackHook {
    pub id: Value,
    /// `onFailure: "block"`: a failed answer prevents the tool from running.
    pub blocks: bool,
}

impl Callbacks {
    /// Reads the hooks of an `initialize` request.
    pub(super) fn read(hooks: &Value) -> Callbacks {
        let groups = hooks["PreToolUse"].as_array().into_iter().flatten();
        let hooks = groups.flat_map(|group| {
            let ids = group["hookCallbackIds"].as_array().into_iter().flatten();
            ids.map(|id| CallbackHook { id: id.clone(), blocks: group["onFailure"] == "block" })
        });
        Callbacks { hooks: hooks.collect(), open_question: None }
    }

    /// Stores the host's answer. Ignores an answer to any other question.
    pub(super) fn take(&mut self, response: &Value) {
        if let Some((id, answer)) = &mut self.open_question
            && response["request_id"] == id.as_str()
        {
            *answer = Some(response.clone());
        }
    }

    pub(super) fn is_answered(&self) -> bool {
        self.open_question.as_ref().is_some_and(|(_, answer)| answer.is_some())
    }
}

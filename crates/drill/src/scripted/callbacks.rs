//! Stores the `PreToolUse` hooks that the host answers itself, and the open question. It asks nothing.

use std::time::Duration;

use serde_json::Value;

/// Time for the host to answer, unless it registers another timeout.
const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Default)]
pub(super) struct Callbacks {
    pub callbacks: Vec<Callback>,
    /// The id of the open question, and its answer once it has arrived.
    pub open_question: Option<(String, Option<Value>)>,
}

#[derive(Debug, Clone)]
pub(super) struct Callback {
    pub matcher: String,
    pub id: String,
    pub timeout: Duration,
    /// `onFailure: "block"`: a failed answer prevents the tool from running.
    pub blocks: bool,
}

impl Callbacks {
    /// Reads the hooks of an `initialize` request.
    pub(super) fn read(hooks: &Value) -> Callbacks {
        let groups = hooks["PreToolUse"].as_array().cloned().unwrap_or_default();
        let callbacks = groups.iter().flat_map(|group| {
            let matcher = group["matcher"].as_str().unwrap_or_default().to_owned();
            let timeout = group["timeout"].as_u64().map_or(TIMEOUT, Duration::from_secs);
            let blocks = group["onFailure"] == "block";
            let ids = group["hookCallbackIds"].as_array().cloned().unwrap_or_default();
            ids.into_iter().filter_map(move |id| {
                Some(Callback { matcher: matcher.clone(), id: id.as_str()?.to_owned(), timeout, blocks })
            })
        });
        Callbacks { callbacks: callbacks.collect(), open_question: None }
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

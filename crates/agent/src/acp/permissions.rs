//! Answers the agent's requests for permission. No person is there to answer: a call is allowed only if the
//! guards name its tool as allowed and do not deny it.

use super::rpc;
use super::tool_calls::{AcpCall, AcpCalls, CallVerdict, OTHER};
use crate::{GuardedCall, Guards, Verdict};
use agent_client_protocol_schema::{
    PermissionOption, PermissionOptionKind, RequestId, RequestPermissionOutcome, RequestPermissionResponse,
    SelectedPermissionOutcome, ToolCallUpdate,
};
use serde::Deserialize;
use serde_json::Value;
use std::mem;

// An agent asks about a handful of calls at once.
const PENDING_MAX: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct Permissions {
    guards: Guards,
    cwd: String,
    /// Answers that are not sent, each with the id of its call.
    pending: Vec<(String, Vec<u8>)>,
    /// Answers to other requests.
    refusals: Vec<Vec<u8>>,
    pub(super) denied: u32,
    /// Number of calls in this exchange that no one allowed.
    pub(super) not_allowed: u32,
    /// Whether a call was made that the guards would have denied.
    pub(super) lapsed: bool,
}

impl Permissions {
    pub(super) fn new(guards: Guards) -> Permissions {
        Permissions { guards, ..Permissions::default() }
    }

    pub(super) fn set_dir(&mut self, cwd: &str) {
        cwd.clone_into(&mut self.cwd);
    }

    pub(super) fn on_request(&mut self, id: &RequestId, params: &Value, calls: &mut AcpCalls) {
        let options = options(params);
        let update = params.get("toolCall").and_then(|call| ToolCallUpdate::deserialize(call).ok());
        let call_id = update.as_ref().map(|update| update.tool_call_id.to_string()).unwrap_or_default();
        let call = update.and_then(|update| calls.merge(&update));
        // A call that cannot be read is not allowed.
        let verdict = call.as_ref().map_or(CallVerdict::NotAllowed, |call| self.verdict(call, false));
        let (verdict, outcome) = answer(verdict, &options);
        if let Some(call) = call {
            call.verdict = Some(verdict);
        }
        match verdict {
            CallVerdict::Allowed => {}
            CallVerdict::Denied => self.denied += 1,
            CallVerdict::NotAllowed => self.not_allowed += 1,
        }
        let line = rpc::answer(id, &RequestPermissionResponse::new(outcome));
        if self.pending.len() < PENDING_MAX {
            self.pending.push((call_id, line));
        }
    }

    /// Refuses a request for something that we do not offer.
    pub(super) fn refuse(&mut self, id: &RequestId) {
        if self.refusals.len() < PENDING_MAX {
            self.refusals.push(rpc::method_not_found(id));
        }
    }

    /// Records the end of a call. Returns whether it is a lapse unless it failed: it was denied, or would have been
    /// denied with its final input.
    pub(super) fn on_call_end(&mut self, id: &str, call: &AcpCall) -> bool {
        self.pending.retain(|(call, _)| call != id);
        // If the agent did not ask, its own settings allowed the call.
        let was_allowed = call.verdict.is_none_or(|verdict| verdict == CallVerdict::Allowed);
        let is_denied = !was_allowed || self.verdict(call, true) == CallVerdict::Denied;
        is_denied && !self.guards.is_empty()
    }

    pub(super) fn on_exchange_end(&mut self) {
        self.pending.clear();
        self.not_allowed = 0;
    }

    /// Takes the answers that the agent waits for, one line each.
    pub(super) fn take_answers(&mut self) -> Vec<Vec<u8>> {
        let answers = mem::take(&mut self.pending).into_iter().map(|(_, line)| line);
        answers.chain(mem::take(&mut self.refusals)).collect()
    }

    fn verdict(&self, call: &AcpCall, has_ended: bool) -> CallVerdict {
        if self.guards.is_empty() {
            return CallVerdict::NotAllowed;
        }
        // It could be any tool, also a denied one.
        if call.tool() == OTHER && !self.guards.deny_tools.is_empty() {
            return CallVerdict::Denied;
        }
        let input = call.guarded_input(has_ended);
        let guarded = GuardedCall::new(call.tool(), input).in_context(&self.cwd, false);
        match self.guards.verdict(&guarded) {
            Verdict::Allow if self.guards.allow_tools.is_empty() => CallVerdict::NotAllowed,
            Verdict::Allow => CallVerdict::Allowed,
            // The protocol cannot change the input of a call.
            Verdict::Modify(_) | Verdict::Deny(_) => CallVerdict::Denied,
        }
    }
}

/// Returns the options that can be chosen. Others, such as those of an unknown kind, are skipped.
fn options(params: &Value) -> Vec<PermissionOption> {
    let options = params.get("options").and_then(Value::as_array).into_iter().flatten();
    options.filter_map(|option| PermissionOption::deserialize(option).ok()).collect()
}

/// Chooses the option of a verdict. An option that also decides about later calls is never chosen to allow
/// one: the agent would not ask about them.
fn answer(verdict: CallVerdict, options: &[PermissionOption]) -> (CallVerdict, RequestPermissionOutcome) {
    let option = |kind: PermissionOptionKind| {
        let option = options.iter().find(|option| option.kind == kind)?;
        let selected = SelectedPermissionOutcome::new(option.option_id.clone());
        Some(RequestPermissionOutcome::Selected(selected))
    };
    let rejection = || {
        let rejects = option(PermissionOptionKind::RejectOnce);
        rejects
            .or_else(|| option(PermissionOptionKind::RejectAlways))
            .unwrap_or(RequestPermissionOutcome::Cancelled)
    };
    match (verdict, option(PermissionOptionKind::AllowOnce)) {
        (CallVerdict::Allowed, Some(allowance)) => (verdict, allowance),
        (CallVerdict::Allowed, None) => (CallVerdict::NotAllowed, rejection()),
        (CallVerdict::Denied | CallVerdict::NotAllowed, _) => (verdict, rejection()),
    }
}

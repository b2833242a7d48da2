//! Implements guards as hook callbacks. Before each tool call the agent sends a request and waits for the
//! reply on its input. Without a reply it does not make the call (2.1.330).

use super::compaction::fingerprint;
use super::control::{INTERRUPT, hook_answer, initialize, permission_denial};
use super::questions::{self, QUESTION_TOOL};
use super::wire::{HookInput, Note, Request, Response, ResultMeta};
use crate::done_claim::FINISH;
use crate::snapshot::truncate_to_bytes;
use crate::{GuardedCall, Guards, Verdict};
use longhaul_core::{AnsweredQuestion, BlockedCall, Questions};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

// Maximum number of calls that wait for a reply at once, one for each open tool.
const OPEN_MAX: usize = 1024;
// One day: after a restart of the supervisor, the agent must still be waiting for the reply.
const TIMEOUT_S: u32 = 86_400;
const CALLBACK: &str = "longhaul-guard";
/// Fields that may state the target of a call. The first one that is present is recorded, truncated.
const TARGET_FIELDS: [&str; 4] = ["url", "command", "query", "file_path"];
const TARGET_BYTES_MAX: usize = 500;
const NO_PERSON: &str =
    "This needs a person's permission, and no one is available to give it. Continue without it.";
const UNREADABLE: &str =
    "These questions could not be parsed, and no one is available to answer them. Decide yourself.";
// An empty pipe takes this many bytes in one write. A killed supervisor may have written half of a longer
// line, and an agent exits on half a line (2.1.330).
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// Registers the guards. Must precede the first prompt.
pub(super) fn register() -> Vec<u8> {
    let before_tools = json!({
        "matcher": null,
        "hookCallbackIds": [CALLBACK],
        "timeout": TIMEOUT_S,
        // An error of ours must not let a tool run.
        "onFailure": "block",
    });
    initialize(&json!({ "PreToolUse": [before_tools] }))
}

#[derive(Debug, Default)]
pub(super) struct GuardHooks {
    guards: Guards,
    /// Whether the finish tool is offered. It has no effect, and the run may depend on it.
    offers_finish: bool,
    registered: bool,
    /// Length of the stream up to the current request.
    pub(super) stream_bytes: u64,
    pending: BTreeMap<String, PendingRequest>,
    /// Calls that the agent asked about and that have not ended.
    open_calls: BTreeSet<u64>,
    /// Calls whose request was withdrawn, unless the agent has since reported an interrupt.
    withdrawn_calls: BTreeSet<u64>,
    /// Calls with a verdict and without a result.
    decided_calls: BTreeMap<u64, DecidedCall>,
    /// Tools of which a project's hook rewrote a call into one that the guards deny. The hook names no call.
    rewritten_tools: BTreeSet<u64>,
    /// The directory of the last call, and whether the agent bypasses permissions.
    context: (String, bool),
    /// The last call, if it was denied because of a URL.
    pub(super) blocked: Option<BlockedCall>,
    pub(super) denied: u32,
    pub(super) questions: Questions,
    /// Whether a call was made or rejected without a verdict.
    lapsed: bool,
}

#[derive(Debug)]
struct DecidedCall {
    tool: u64,
    is_denied: bool,
}

#[derive(Debug)]
struct PendingRequest {
    call: u64,
    /// Whether the request is for the guards. The call must not be made without their verdict.
    is_guard: bool,
    /// The reply, until it is sent.
    answer: Option<Vec<u8>>,
    /// Length of the stream up to it.
    stream_bytes: u64,
}

impl GuardHooks {
    pub(super) fn new(guards: Guards, offers_finish: bool) -> GuardHooks {
        GuardHooks { guards, offers_finish, ..GuardHooks::default() }
    }

    pub(super) fn unmatched(&self, tools: &[&str]) -> Vec<String> {
        self.guards.unmatched(tools).map(str::to_owned).collect()
    }

    /// Handles a request of the agent. Returns its questions to a person with their answers.
    pub(super) fn on_request(&mut self, id: &str, request: &Request<'_>) -> Vec<AnsweredQuestion> {
        let call = fingerprint(request.tool_use_id.as_str());
        // Without guards, our own hook has no verdict to give.
        let is_ours = request.callback_id.is(CALLBACK);
        let is_guard = request.subtype.is("hook_callback") && !(is_ours && self.guards.is_empty());
        let (answer, given_answers) = match request.subtype.as_str() {
            "hook_callback" if is_ours => {
                self.open_calls.insert(call);
                let guarded = guarded_call(&request.input);
                self.context = (guarded.cwd.to_owned(), guarded.bypasses_permissions);
                let denied = self.denied;
                let (line, given_answers) = self.decide(id, &guarded);
                let (tool, is_denied) = (fingerprint(guarded.tool), self.denied > denied);
                if self.decided_calls.len() < OPEN_MAX {
                    self.decided_calls.insert(call, DecidedCall { tool, is_denied });
                } else {
                    // Its end can no longer be checked.
                    self.lapsed |= is_denied;
                }
                self.lapsed |= !is_denied && self.rewritten_tools.contains(&tool);
                self.blocked = is_denied.then(|| blocked(&self.guards, &guarded)).flatten();
                (Some(line), given_answers)
            }
            // Another program's hook, which its own host answers.
            "hook_callback" => (None, Vec::new()),
            // The guards allowed it, but the permission mode requires a person.
            "can_use_tool" => (Some(permission_denial(id, NO_PERSON)), Vec::new()),
            _ => return Vec::new(),
        };
        if self.pending.len() < OPEN_MAX {
            let stream_bytes = self.stream_bytes;
            self.pending.insert(id.to_owned(), PendingRequest { call, is_guard, answer, stream_bytes });
        }
        given_answers
    }

    /// Returns the reply to a call, with its questions to a person and their answers.
    fn decide(&mut self, id: &str, call: &GuardedCall<'_>) -> (Vec<u8>, Vec<AnsweredQuestion>) {
        let (verdict, given_answers) = match (self.verdict(call), &self.guards.answers) {
            (Verdict::Allow, Some(answers)) if call.tool == QUESTION_TOOL => {
                match call.input().and_then(|input| questions::answer(answers, input)) {
                    Some((input, given_answers)) => (Verdict::Modify(input), given_answers),
                    None => (Verdict::Deny(UNREADABLE.to_owned()), Vec::new()),
                }
            }
            (verdict, _) => (verdict, Vec::new()),
        };
        let (verdict, line) = encode_verdict(id, verdict);
        if let Verdict::Deny(_) = verdict {
            self.denied += 1;
            return (line, Vec::new());
        }
        self.questions.record(given_answers.iter().map(|answer| answer.key.is_none()));
        (line, given_answers)
    }

    fn verdict(&self, call: &GuardedCall<'_>) -> Verdict {
        if self.offers_finish && call.tool == FINISH { Verdict::Allow } else { self.guards.verdict(call) }
    }

    pub(super) fn on_withdrawn(&mut self, id: &str) {
        let request = self.pending.remove(id).filter(|pending| pending.is_guard);
        self.withdrawn_calls.extend(request.map(|pending| pending.call));
    }

    pub(super) fn has_lapsed(&self) -> bool {
        self.lapsed || !self.withdrawn_calls.is_empty()
    }

    /// Records the result of a call, including calls of background sub-agents. A denied call that succeeds is a lapse.
    pub(super) fn on_tool_result(&mut self, call: &str, is_error: bool) {
        let call = fingerprint(call);
        self.pending.retain(|_, pending| pending.call != call);
        if let Some(DecidedCall { tool, is_denied: true }) = self.decided_calls.remove(&call) {
            self.lapsed |= !is_error;
            // The hook had rewritten this call, which was not made.
            self.rewritten_tools.remove(&tool);
        }
    }

    /// Checks the reply of a project's hook. If it replaced the input of a call, the agent runs the
    /// replacement without another request. The guards must therefore allow the replacement, too (2.1.330). If
    /// they denied the call itself, the agent runs neither.
    pub(super) fn on_project_hook(&mut self, note: &Note<'_>) {
        let Some(tool) =
            note.hook_name.as_str().strip_prefix("PreToolUse:").filter(|_| !self.guards.is_empty())
        else {
            return;
        };
        let answer: Value = serde_json::from_str(note.stdout.as_str()).unwrap_or_default();
        let Some(input) = answer["hookSpecificOutput"].get("updatedInput") else { return };
        let input = input.to_string();
        let (cwd, bypasses_permissions) = &self.context;
        let call = GuardedCall::new(tool, &input).in_context(cwd, *bypasses_permissions);
        if self.verdict(&call) != Verdict::Allow {
            let tool = fingerprint(tool);
            self.lapsed |= self.decided_calls.values().any(|call| call.tool == tool && !call.is_denied);
            if self.rewritten_tools.len() < OPEN_MAX {
                self.rewritten_tools.insert(tool);
            } else {
                self.lapsed = true;
            }
        }
    }

    /// Drops the withdrawn request of an interrupted call. A signal to the agent withdraws requests, too, and
    /// the agent does not make their calls (2.1.330).
    pub(super) fn on_result_metadata(&mut self, meta: &ResultMeta<'_>) {
        if meta.non_execution_kind.is("user-rejected") {
            let call = fingerprint(meta.id.as_str());
            self.decided_calls.remove(&call);
            if self.withdrawn_calls.remove(&call) {
                self.open_calls.remove(&call);
            }
        }
    }

    pub(super) fn on_tool_end(&mut self, call: &str, is_error: bool) {
        let call = fingerprint(call);
        let had_request = self.open_calls.remove(&call);
        self.lapsed |= self.withdrawn_calls.contains(&call);
        // If the hooks are registered, a failed call may have been rejected before any request.
        let may_be_rejected = self.registered && is_error;
        self.lapsed |= !had_request && !may_be_rejected && !self.guards.is_empty();
    }

    /// Drops answered requests at the end of an exchange. Requests without a reply may belong to background
    /// sub-agents, and the agent ignores a superfluous reply.
    pub(super) fn on_exchange_end(&mut self) {
        self.pending.retain(|_, pending| pending.answer.is_some());
    }

    pub(super) fn on_response(&mut self, response: &Response<'_>) {
        self.registered |= response.response.hooks_applied.is_set();
        // Our interrupt withdrew these requests. Their calls must fail, because they have no verdict
        // (2.1.330).
        if response.request_id.is(INTERRUPT) {
            for call in std::mem::take(&mut self.withdrawn_calls) {
                self.open_calls.remove(&call);
                self.decided_calls.remove(&call);
            }
        }
    }

    /// Returns whether the call waits for our reply to a request after the first `replied_bytes` of the stream.
    pub(super) fn awaits_reply(&self, call: &str, replied_bytes: u64) -> bool {
        let call = fingerprint(call);
        let mut requests = self.pending.values().filter(|pending| pending.call == call);
        requests.any(|pending| pending.answer.is_some() && pending.stream_bytes > replied_bytes)
    }

    pub(super) fn take_answers(&mut self) -> Vec<Vec<u8>> {
        self.pending.values_mut().filter_map(|pending| pending.answer.take()).collect()
    }
}

fn guarded_call<'a>(input: &'a HookInput<'_>) -> GuardedCall<'a> {
    let call = GuardedCall::new(input.tool_name.as_str(), input.tool_input.json());
    call.in_context(input.cwd.as_str(), input.permission_mode.is("bypassPermissions"))
}

/// Returns the target of a denied call, if it names a blocked URL.
fn blocked(guards: &Guards, call: &GuardedCall<'_>) -> Option<BlockedCall> {
    let pattern = guards.find_blocked_url(call)?;
    let field = |name: &&str| call.input()?.get(*name)?.as_str();
    let target = TARGET_FIELDS.iter().find_map(field).unwrap_or_default();
    Some(BlockedCall {
        tool: truncate_to_bytes(call.tool, TARGET_BYTES_MAX).to_owned(),
        url: truncate_to_bytes(target, TARGET_BYTES_MAX).to_owned(),
        pattern,
    })
}

/// Encodes a verdict. A verdict that is too long is replaced by a denial.
fn encode_verdict(id: &str, verdict: Verdict) -> (Verdict, Vec<u8>) {
    let answer = hook_answer(id, &response(&verdict));
    if answer.len() <= ANSWER_BYTES_MAX {
        return (verdict, answer);
    }
    let denial =
        Verdict::Deny("The input of this call is too long to be modified as this run requires.".to_owned());
    let answer = hook_answer(id, &response(&denial));
    (denial, answer)
}

fn response(verdict: &Verdict) -> Value {
    match verdict {
        Verdict::Allow => json!({}),
        Verdict::Deny(reason) => json!({ "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }}),
        // A modified input also grants the permission to make the call.
        Verdict::Modify(input) => json!({ "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "allow",
            "updatedInput": input,
        }}),
    }
}

#[cfg(test)]
mod tests {
    use super::{ANSWER_BYTES_MAX, GuardHooks, OPEN_MAX, encode_verdict, register};
    use crate::claude::wire::{Note, ResultMeta, parse};
    use crate::{Answers, BlockedPaths, Guards, ToolPattern, Verdict};
    use expect_test::expect;
    use serde_json::json;

    const REGISTERED: &[u8] =
        br#"{"type":"control_response","response":{"response":{"hooks_applied":true}}}"#;

    const INTERRUPTED: &[u8] =
        br#"{"type":"control_response","response":{"request_id":"longhaul-interrupt","response":{}}}"#;

    fn hooks_with_guard() -> GuardHooks {
        let tools: ToolPattern = "Web*".parse().expect("a pattern");
        let mut hooks = GuardHooks::new(Guards { deny_tools: vec![tools], ..Guards::default() }, false);
        hooks.on_response(&parse::<Note<'_>>(REGISTERED).expect("an answer").response);
        hooks
    }

    fn request(hooks: &mut GuardHooks, id: &str, tool: &str) {
        let line = format!(
            r#"{{"type":"control_request","request_id":"{id}","request":{{"subtype":"hook_callback",
            "callback_id":"longhaul-guard","tool_use_id":"call-{id}","input":{{"tool_name":"{tool}"}}}}}}"#
        );
        let note: Note<'_> = parse(line.as_bytes()).expect("a request");
        hooks.on_request(note.request_id.as_str(), &note.request);
    }

    const DATABASE: &str = r#"{"questions":[{"question":"Which database?","header":"Database","multiSelect":false,
        "options":[{"label":"Postgres","description":""},{"label":"SQLite","description":""}]}]}"#;

    /// Returns the hooks of an agent that may ask questions, after a request for a call of this tool.
    fn hooks_after_call(tool: &str, input: &str) -> GuardHooks {
        let answers = Answers::new([("features".to_owned(), "Logs".to_owned())]).expect("they agree");
        let deny = "Web*".parse().expect("a pattern");
        let mut hooks = GuardHooks::new(
            Guards { answers: Some(answers), deny_tools: vec![deny], ..Guards::default() },
            false,
        );
        let line = format!(
            r#"{{"type":"control_request","request_id":"1","request":{{"subtype":"hook_callback",
            "callback_id":"longhaul-guard","tool_use_id":"call-1","input":{{"tool_name":"{tool}","tool_input":{input}}}}}}}"#
        );
        let note: Note<'_> = parse(line.as_bytes()).expect("a request");
        hooks.on_request(note.request_id.as_str(), &note.request);
        hooks
    }

    fn answers(hooks: &mut GuardHooks) -> String {
        String::from_utf8(hooks.take_answers().concat()).expect("JSON is UTF-8")
    }

    #[test]
    fn allows_finish_tool_if_offered() {
        let check = |offered: bool, denied: u32| {
            let guards =
                Guards { allow_tools: vec!["Read".parse().expect("a pattern")], ..Guards::default() };
            let mut hooks = GuardHooks::new(guards, offered);
            request(&mut hooks, "1", "mcp__longhaul-run__finish");
            assert_eq!(hooks.denied, denied, "offered: {offered}");
            request(&mut hooks, "2", "mcp__longhaul-run__other");
            assert_eq!(hooks.denied, denied + 1);
        };
        check(true, 0);
        // If the finish tool is not offered, a tool of that name is not ours.
        check(false, 1);
    }

    #[test]
    fn registers_for_every_tool_and_fails_closed() {
        expect![[r#"
            {"request":{"hooks":{"PreToolUse":[{"hookCallbackIds":["longhaul-guard"],"matcher":null,"onFailure":"block","timeout":86400}]},"subtype":"initialize"},"request_id":"longhaul-initialize","type":"control_request"}
        "#]].assert_eq(&String::from_utf8(register()).expect("JSON is UTF-8"));
    }

    #[test]
    fn replies_once_to_each_request() {
        let mut hooks = hooks_with_guard();
        request(&mut hooks, "1", "Bash");
        request(&mut hooks, "2", "WebFetch");
        expect![[r#"
            {"response":{"request_id":"1","response":{},"subtype":"success"},"type":"control_response"}
            {"response":{"request_id":"2","response":{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"The tool WebFetch is not allowed in this run. Continue without it: no one is available to allow it."}},"subtype":"success"},"type":"control_response"}
        "#]].assert_eq(&answers(&mut hooks));
        assert_eq!(answers(&mut hooks), "");
        assert_eq!((hooks.denied, hooks.has_lapsed()), (1, false));
    }

    #[test]
    fn replies_fit_into_one_pipe_write() {
        let mut hooks = hooks_with_guard();
        request(&mut hooks, "1", &format!("Web{}", "x".repeat(100_000)));
        // A pipe takes this many bytes in one write. Half a line would end the agent.
        assert!(answers(&mut hooks).len() <= 4096);
    }

    #[test]
    fn denies_calls_with_too_long_input() {
        let (verdict, answer) = encode_verdict("1", Verdict::Modify(json!({ "command": "ls" })));
        assert_eq!(verdict, Verdict::Modify(json!({ "command": "ls" })));
        expect![[r#"
            {"response":{"request_id":"1","response":{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"ls"}}},"subtype":"success"},"type":"control_response"}
        "#]].assert_eq(&String::from_utf8(answer).expect("JSON is UTF-8"));

        let long = Verdict::Modify(json!({ "command": "x".repeat(ANSWER_BYTES_MAX) }));
        let (verdict, answer) = encode_verdict("1", long);
        assert!(matches!(verdict, Verdict::Deny(_)));
        expect![[r#"
            {"response":{"request_id":"1","response":{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"The input of this call is too long to be modified as this run requires."}},"subtype":"success"},"type":"control_response"}
        "#]].assert_eq(&String::from_utf8(answer).expect("JSON is UTF-8"));
    }

    #[test]
    fn answers_questions() {
        let mut hooks = hooks_after_call("AskUserQuestion", DATABASE);
        expect![[r#"
            {"response":{"request_id":"1","response":{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"answers":{"Which database?":"Postgres"},"questions":[{"header":"Database","multiSelect":false,"options":[{"description":"","label":"Postgres"},{"description":"","label":"SQLite"}],"question":"Which database?"}]}}},"subtype":"success"},"type":"control_response"}
        "#]].assert_eq(&answers(&mut hooks));
        assert_eq!((hooks.questions.answered, hooks.questions.by_default, hooks.denied), (1, 1, 0));
        // Other calls are unaffected.
        assert!(answers(&mut hooks_after_call("Bash", DATABASE)).contains(r#""response":{}"#));
        assert!(answers(&mut hooks_after_call("WebFetch", DATABASE)).contains(r#""deny""#));
    }

    #[test]
    fn denies_unreadable_questions() {
        let long = format!(r#"{{"questions":[{{"question":"{}"}}]}}"#, "x".repeat(ANSWER_BYTES_MAX));
        for input in ["{}", r#"{"questions":[{"question":"\ud83d"}]}"#, &long] {
            let mut hooks = hooks_after_call("AskUserQuestion", input);
            assert!(answers(&mut hooks).contains(r#""permissionDecision":"deny""#));
            assert_eq!((hooks.questions.answered, hooks.denied), (0, 1));
        }
    }

    #[test]
    fn denies_permission_requests() {
        let mut hooks = hooks_with_guard();
        let line = br#"{"type":"control_request","request_id":"1","request":{"subtype":"can_use_tool",
            "tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"call-1"}}"#;
        let note: Note<'_> = parse(line).expect("a request");
        hooks.on_request(note.request_id.as_str(), &note.request);
        expect![[r#"
            {"response":{"request_id":"1","response":{"behavior":"deny","message":"This needs a person's permission, and no one is available to give it. Continue without it."},"subtype":"success"},"type":"control_response"}
        "#]].assert_eq(&answers(&mut hooks));
        // The guards allowed it; the permission mode requires a person.
        assert_eq!(hooks.denied, 0);
    }

    #[test]
    fn rereading_stream_replies_to_open_requests() {
        let mut hooks = hooks_with_guard();
        request(&mut hooks, "1", "Bash");
        request(&mut hooks, "2", "Bash");
        hooks.on_tool_end("call-1", false);
        assert!(answers(&mut hooks).contains(r#""request_id":"2""#));
        hooks.on_tool_end("call-2", false);
        assert!(!hooks.has_lapsed());
    }

    #[test]
    fn replies_to_sub_agent_after_exchange() {
        let mut hooks = hooks_with_guard();
        request(&mut hooks, "1", "Bash");
        assert!(answers(&mut hooks).contains(r#""request_id":"1""#));
        request(&mut hooks, "2", "Bash");
        // Both requests arrived at once, or the supervisor was killed before it replied.
        hooks.on_exchange_end();
        assert!(answers(&mut hooks).contains(r#""request_id":"2""#));
        hooks.on_exchange_end();
        hooks.on_withdrawn("2");
        assert!(!hooks.has_lapsed());
    }

    #[test]
    fn every_call_of_a_long_exchange_is_answered() {
        let mut hooks = hooks_with_guard();
        for number in 1..=2 * OPEN_MAX {
            request(&mut hooks, &number.to_string(), "Bash");
            assert!(!answers(&mut hooks).is_empty(), "call {number} is not answered");
            hooks.on_tool_result(&format!("call-{number}"), false);
        }
    }

    #[test]
    fn rewritten_call_is_lapse_unless_denied() {
        fn ask(hooks: &mut GuardHooks, id: &str, command: &str) {
            let line = format!(
                r#"{{"type":"control_request","request_id":"{id}","request":{{"subtype":"hook_callback",
                "callback_id":"longhaul-guard","tool_use_id":"call-{id}","input":{{"tool_name":"Bash",
                "tool_input":{{"command":"{command}"}}}}}}}}"#
            );
            let note: Note<'_> = parse(line.as_bytes()).expect("a request");
            hooks.on_request(id, &note.request);
        }
        fn rewrite(hooks: &mut GuardHooks, command: &str) {
            let answer = json!({ "hookSpecificOutput": { "updatedInput": { "command": command } } });
            let line = json!({ "hook_name": "PreToolUse:Bash", "stdout": answer.to_string() }).to_string();
            hooks.on_project_hook(&parse::<Note<'_>>(line.as_bytes()).expect("a reply"));
        }
        let check = |command: &str, replacement: &str, lapses: bool| {
            for rewrites_first in [false, true] {
                let block_paths = BlockedPaths::new(&["secret".to_owned()], "/work", "").expect("a path");
                let mut hooks = GuardHooks::new(Guards { block_paths, ..Guards::default() }, false);
                if rewrites_first {
                    rewrite(&mut hooks, replacement);
                    ask(&mut hooks, "1", command);
                } else {
                    ask(&mut hooks, "1", command);
                    rewrite(&mut hooks, replacement);
                }
                hooks.on_tool_result("call-1", true);
                // The rewrite concerns no later call.
                ask(&mut hooks, "2", "ls");
                assert_eq!(hooks.has_lapsed(), lapses, "{command} {replacement} {rewrites_first}");
            }
        };
        check("ls", "pwd", false);
        check("ls", "cat secret", true);
        // The agent makes neither call.
        check("cat secret", "cat ./secret", false);
    }

    #[test]
    fn call_without_verdict_is_lapse() {
        let lapses = |then: fn(&mut GuardHooks)| {
            let mut hooks = hooks_with_guard();
            then(&mut hooks);
            hooks.has_lapsed()
        };
        // It was made without a request.
        assert!(lapses(|hooks| hooks.on_tool_end("call-1", false)));
        // The tool does not exist, so no request was needed.
        assert!(!lapses(|hooks| hooks.on_tool_end("call-1", true)));
        // There was no reply in time.
        assert!(lapses(|hooks| {
            request(hooks, "1", "Bash");
            hooks.on_withdrawn("1");
        }));
        // A call whose request our interrupt withdrew must not be made, because it has no verdict.
        let interrupted = |is_error: bool| {
            let mut hooks = hooks_with_guard();
            request(&mut hooks, "1", "Bash");
            hooks.on_withdrawn("1");
            hooks.on_response(&parse::<Note<'_>>(INTERRUPTED).expect("an answer").response);
            hooks.on_tool_end("call-1", is_error);
            hooks.has_lapsed()
        };
        assert!(!interrupted(true));
        assert!(interrupted(false));
        // The agent had stopped waiting before the interrupt.
        assert!(lapses(|hooks| {
            request(hooks, "1", "Bash");
            hooks.on_withdrawn("1");
            hooks.on_tool_end("call-1", true);
            hooks.on_response(&parse::<Note<'_>>(INTERRUPTED).expect("an answer").response);
        }));
        // A signal interrupted the agent while it waited. The call must not be made either.
        let signaled = |is_error: bool| {
            let mut hooks = hooks_with_guard();
            request(&mut hooks, "1", "Bash");
            hooks.on_withdrawn("1");
            let meta = br#"{"id":"call-1","non_execution_kind":"user-rejected"}"#;
            hooks.on_result_metadata(&parse::<ResultMeta<'_>>(meta).expect("metadata"));
            hooks.on_tool_end("call-1", is_error);
            hooks.has_lapsed()
        };
        assert!(!signaled(true));
        assert!(signaled(false));
        // The agent never confirmed the hooks, so a failed call may have had an effect.
        assert!(lapses(|hooks| {
            hooks.registered = false;
            hooks.on_tool_end("call-1", true);
        }));
        // A rejected start confirms nothing and makes no calls.
        assert!(!lapses(|hooks| {
            hooks.registered = false;
            hooks.on_exchange_end();
        }));
        let mut unguarded = GuardHooks::default();
        unguarded.on_tool_end("call-1", false);
        request(&mut unguarded, "2", "Bash");
        unguarded.on_withdrawn("2");
        unguarded.on_exchange_end();
        assert!(!unguarded.has_lapsed());
    }
}

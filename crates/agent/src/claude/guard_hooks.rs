//! Guards as hook callbacks: before each tool call the agent asks on its output, and waits for the answer on
//! its input. One that nobody answers is not made (2.1.330).

use super::compaction::fingerprint;
use super::control::{INTERRUPT, hook_answer, initialize, permission_denial};
use super::finish_tool::FINISH;
use super::questions::{self, ASK};
use super::wire::{ControlResponse, HookInput, Note, Request};
use crate::snapshot::{BlockedCall, truncate_to_bytes};
use crate::{GivenAnswer, GuardedCall, Guards, Verdict};
use longhaul_core::Questions;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

// Calls that wait for an answer at once: one for each open tool.
const OPEN_MAX: usize = 1024;
// Who is asked again after a restart must find the agent where it was: it waits for a day.
const TIMEOUT_S: u32 = 86_400;
const CALLBACK: &str = "longhaul-guard";
/// Fields that say where a call leads, and how much of them is recorded.
const TARGET_FIELDS: [&str; 4] = ["url", "command", "query", "file_path"];
const TARGET_BYTES_MAX: usize = 500;
const NOBODY: &str =
    "This needs the permission of a person, and nobody is there to give it. Go on without it.";
const UNREADABLE: &str =
    "These questions could not be understood, and nobody is there to answer them. Decide yourself.";
// As much as an empty pipe takes in one piece. Of a longer line a supervisor that is killed may have written half,
// and an agent ends at half a line (2.1.330).
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// Registers the guards; must come before the first user line.
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

/// What the agent asked, and what it is answered.
#[derive(Debug, Default)]
pub(super) struct GuardHooks {
    guards: Guards,
    /// Whether our tool is offered: it does nothing, and the run may depend on it.
    offers_finish: bool,
    /// Whether the agent has said that it will ask.
    registered: bool,
    /// What it waits for, by the name of its question.
    open: BTreeMap<String, Open>,
    /// Calls that it asked about, and that have not ended.
    judged: BTreeSet<u64>,
    /// Calls whose question it took back, and did not say yet that we had interrupted it.
    taken_back: BTreeSet<u64>,
    /// Calls that were denied and have no result yet.
    refused: BTreeSet<u64>,
    /// The directory of the last call, and whether the agent asks no person.
    context: (String, bool),
    /// The last call, if it was denied because of a URL.
    pub(super) blocked: Option<BlockedCall>,
    /// How many calls were denied.
    pub(super) denied: u32,
    /// How many questions were answered.
    pub(super) questions: Questions,
    /// Whether a call was made, or refused, without a verdict.
    lapsed: bool,
}

#[derive(Debug)]
struct Open {
    call: u64,
    /// Whether it is a guard that is asked: the call must not be made without its verdict.
    is_guard: bool,
    /// Taken when it is said.
    answer: Option<Vec<u8>>,
}

impl GuardHooks {
    pub(super) fn new(guards: Guards, offers_finish: bool) -> GuardHooks {
        GuardHooks { guards, offers_finish, ..GuardHooks::default() }
    }

    /// Returns the guards' patterns that match none of these tools.
    pub(super) fn unmatched(&self, tools: &[&str]) -> Vec<String> {
        self.guards.unmatched(tools).map(str::to_owned).collect()
    }

    /// The agent asks. What it would have asked a person, and what that was answered.
    pub(super) fn asked(&mut self, id: &str, request: &Request<'_>) -> Vec<GivenAnswer> {
        let call = fingerprint(request.tool_use_id.as_str());
        let is_guard = request.subtype.is("hook_callback");
        let (answer, answered) = match request.subtype.as_str() {
            "hook_callback" if request.callback_id.is(CALLBACK) => {
                self.judged.insert(call);
                let guarded = asked_about(&request.input);
                self.context = (guarded.cwd.to_owned(), guarded.is_free);
                let denied = self.denied;
                let (line, answered) = self.judge(id, &guarded);
                if self.denied > denied && self.refused.len() < OPEN_MAX {
                    self.refused.insert(call);
                }
                self.blocked = (self.denied > denied).then(|| blocked(&self.guards, &guarded)).flatten();
                (Some(line), answered)
            }
            // Somebody else's hook, which its own host answers.
            "hook_callback" => (None, Vec::new()),
            // The guards had nothing against it, but the permission mode wants a person.
            "can_use_tool" => (Some(permission_denial(id, NOBODY)), Vec::new()),
            _ => return Vec::new(),
        };
        if self.open.len() < OPEN_MAX {
            self.open.insert(id.to_owned(), Open { call, is_guard, answer });
        }
        answered
    }

    /// What is said to a call, with what it asked a person.
    fn judge(&mut self, id: &str, call: &GuardedCall<'_>) -> (Vec<u8>, Vec<GivenAnswer>) {
        let (verdict, answered) = match (self.verdict(call), &self.guards.answers) {
            (Verdict::Allow, Some(answers)) if call.tool == ASK => {
                match call.input().and_then(|input| questions::answer(answers, input)) {
                    Some((input, answered)) => (Verdict::Modify(input), answered),
                    None => (Verdict::Deny(UNREADABLE.to_owned()), Vec::new()),
                }
            }
            (verdict, _) => (verdict, Vec::new()),
        };
        let (verdict, line) = said(id, verdict);
        if let Verdict::Deny(_) = verdict {
            self.denied += 1;
            return (line, Vec::new());
        }
        self.questions.record(answered.iter().map(|answered| answered.key.is_none()));
        (line, answered)
    }

    fn verdict(&self, call: &GuardedCall<'_>) -> Verdict {
        if self.offers_finish && call.tool == FINISH { Verdict::Allow } else { self.guards.verdict(call) }
    }

    /// The agent no longer waits for an answer.
    pub(super) fn on_withdrawn(&mut self, id: &str) {
        let asked = self.open.remove(id).filter(|open| open.is_guard);
        self.taken_back.extend(asked.map(|open| open.call));
    }

    /// Whether a call was made, or refused, without a verdict.
    pub(super) fn has_lapsed(&self) -> bool {
        self.lapsed || !self.taken_back.is_empty()
    }

    /// A call has a result, be it one of a sub-agent. A denied call that succeeds was made without our permission.
    pub(super) fn returned(&mut self, call: &str, is_error: bool) {
        self.lapsed |= self.refused.remove(&fingerprint(call)) && !is_error;
    }

    /// A hook of the project has answered. If it replaced the input of a call, the agent runs the replacement, which no
    /// guard was asked about: the verdict on it must be the same as on an allowed call (2.1.330).
    pub(super) fn hook_responded(&mut self, note: &Note<'_>) {
        let Some(tool) =
            note.hook_name.as_str().strip_prefix("PreToolUse:").filter(|_| !self.guards.is_empty())
        else {
            return;
        };
        let answer: Value = serde_json::from_str(note.stdout.as_str()).unwrap_or_default();
        let Some(input) = answer["hookSpecificOutput"].get("updatedInput") else { return };
        let input = input.to_string();
        let (cwd, is_free) = &self.context;
        let call = GuardedCall::new(tool, &input).in_dir(cwd).in_free_mode(*is_free);
        self.lapsed |= self.verdict(&call) != Verdict::Allow;
    }

    /// A call brought a result.
    pub(super) fn ended(&mut self, call: &str, is_error: bool) {
        let call = fingerprint(call);
        self.open.retain(|_, open| open.call != call);
        let judged = self.judged.remove(&call);
        self.lapsed |= self.taken_back.contains(&call);
        // Of an agent that does ask, one that failed was refused before anybody was asked.
        let refused = self.registered && is_error;
        self.lapsed |= !self.guards.is_empty() && !judged && !refused;
    }

    /// The turn is over. Nobody waits any more but sub-agents in the background: what was asked and has no answer
    /// yet may be theirs, and an answer that nobody waits for is passed over.
    pub(super) fn turn_ended(&mut self) {
        self.open.retain(|_, open| open.answer.is_some());
    }

    /// The agent answers to what we sent.
    pub(super) fn answered(&mut self, response: &ControlResponse<'_>) {
        self.registered |= response.response.response.hooks_applied.0;
        // What it took back just before was our doing. Such a call must fail: it has no verdict (2.1.330).
        if response.response.request_id.is(INTERRUPT) {
            for call in std::mem::take(&mut self.taken_back) {
                self.judged.remove(&call);
            }
        }
    }

    /// What is to be said to the agent: one line for each question that it still waits with.
    pub(super) fn take_answers(&mut self) -> Vec<Vec<u8>> {
        self.open.values_mut().filter_map(|open| open.answer.take()).collect()
    }
}

/// The call that a question is about.
fn asked_about<'a>(input: &'a HookInput<'_>) -> GuardedCall<'a> {
    let call = GuardedCall::new(input.tool_name.as_str(), input.tool_input.json()).in_dir(input.cwd.as_str());
    call.in_free_mode(input.permission_mode.is("bypassPermissions"))
}

/// What a denied call was about, if it names a blocked URL.
fn blocked(guards: &Guards, call: &GuardedCall<'_>) -> Option<BlockedCall> {
    let pattern = guards.blocked_url_of(call)?;
    let field = |name: &&str| call.input()?.get(*name)?.as_str();
    let target = TARGET_FIELDS.iter().find_map(field).unwrap_or_default();
    Some(BlockedCall {
        tool: truncate_to_bytes(call.tool, TARGET_BYTES_MAX).to_owned(),
        target: truncate_to_bytes(target, TARGET_BYTES_MAX).to_owned(),
        pattern,
    })
}

/// A verdict with the line that says it; a denial in place of one that is too long to be said.
fn said(id: &str, verdict: Verdict) -> (Verdict, Vec<u8>) {
    let answer = hook_answer(id, &response(&verdict));
    if answer.len() <= ANSWER_BYTES_MAX {
        return (verdict, answer);
    }
    let denial =
        Verdict::Deny("The input of this call is too long to be changed as this run wants it.".to_owned());
    let answer = hook_answer(id, &response(&denial));
    (denial, answer)
}

/// A verdict as the agent understands it.
fn response(verdict: &Verdict) -> Value {
    match verdict {
        Verdict::Allow => json!({}),
        Verdict::Deny(reason) => json!({ "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }}),
        // Another input comes with the permission to make the call.
        Verdict::Modify(input) => json!({ "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "allow",
            "updatedInput": input,
        }}),
    }
}

#[cfg(test)]
mod tests {
    use super::{ANSWER_BYTES_MAX, GuardHooks, register, said};
    use crate::claude::wire::{ControlResponse, Note, parse};
    use crate::{Answers, Guards, ToolPattern, Verdict};
    use expect_test::expect;
    use serde_json::json;

    const REGISTERED: &[u8] =
        br#"{"type":"control_response","response":{"response":{"hooks_applied":true}}}"#;

    const INTERRUPTED: &[u8] =
        br#"{"type":"control_response","response":{"request_id":"longhaul-interrupt","response":{}}}"#;

    fn guarded() -> GuardHooks {
        let tools: ToolPattern = "Web*".parse().expect("a pattern");
        let mut guarding = GuardHooks::new(Guards { deny_tools: vec![tools], ..Guards::default() }, false);
        guarding.answered(&parse::<ControlResponse<'_>>(REGISTERED).expect("an answer"));
        guarding
    }

    fn ask(guarding: &mut GuardHooks, id: &str, tool: &str) {
        let line = format!(
            r#"{{"type":"control_request","request_id":"{id}","request":{{"subtype":"hook_callback",
            "callback_id":"longhaul-guard","tool_use_id":"call-{id}","input":{{"tool_name":"{tool}"}}}}}}"#
        );
        let note: Note<'_> = parse(line.as_bytes()).expect("a question");
        guarding.asked(note.request_id.as_str(), &note.request);
    }

    const DATABASE: &str = r#"{"questions":[{"question":"Which database?","header":"Database","multiSelect":false,
        "options":[{"label":"Postgres","description":""},{"label":"SQLite","description":""}]}]}"#;

    /// An agent that may ask, and calls this tool with this input.
    fn asking(tool: &str, input: &str) -> GuardHooks {
        let answers = Answers::new([("features".to_owned(), "Logs".to_owned())]).expect("they agree");
        let deny = "Web*".parse().expect("a pattern");
        let mut guarding = GuardHooks::new(
            Guards { answers: Some(answers), deny_tools: vec![deny], ..Guards::default() },
            false,
        );
        let line = format!(
            r#"{{"type":"control_request","request_id":"1","request":{{"subtype":"hook_callback",
            "callback_id":"longhaul-guard","tool_use_id":"call-1","input":{{"tool_name":"{tool}","tool_input":{input}}}}}}}"#
        );
        let note: Note<'_> = parse(line.as_bytes()).expect("a question");
        guarding.asked(note.request_id.as_str(), &note.request);
        guarding
    }

    fn answers(guarding: &mut GuardHooks) -> String {
        String::from_utf8(guarding.take_answers().concat()).expect("JSON is UTF-8")
    }

    #[test]
    fn our_own_tool_is_called_whatever_is_allowed() {
        let check = |offered: bool, denied: u32| {
            let guards =
                Guards { allow_tools: vec!["Read".parse().expect("a pattern")], ..Guards::default() };
            let mut guarding = GuardHooks::new(guards, offered);
            ask(&mut guarding, "1", "mcp__longhaul__finish");
            assert_eq!(guarding.denied, denied, "offered: {offered}");
            ask(&mut guarding, "2", "mcp__longhaul__other");
            assert_eq!(guarding.denied, denied + 1);
        };
        check(true, 0);
        // Where it is not offered, one of that name is somebody else's.
        check(false, 1);
    }

    #[test]
    fn it_registers_for_every_tool_and_fails_closed() {
        expect![[r#"
            {"request":{"hooks":{"PreToolUse":[{"hookCallbackIds":["longhaul-guard"],"matcher":null,"onFailure":"block","timeout":86400}]},"subtype":"initialize"},"request_id":"longhaul-initialize","type":"control_request"}
        "#]].assert_eq(&String::from_utf8(register()).expect("JSON is UTF-8"));
    }

    #[test]
    fn each_question_is_answered_once() {
        let mut guarding = guarded();
        ask(&mut guarding, "1", "Bash");
        ask(&mut guarding, "2", "WebFetch");
        expect![[r#"
            {"response":{"request_id":"1","response":{},"subtype":"success"},"type":"control_response"}
            {"response":{"request_id":"2","response":{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"The tool WebFetch is not allowed in this run. Continue without it: no person is there to allow it."}},"subtype":"success"},"type":"control_response"}
        "#]].assert_eq(&answers(&mut guarding));
        assert_eq!(answers(&mut guarding), "");
        assert_eq!((guarding.denied, guarding.has_lapsed()), (1, false));
    }

    #[test]
    fn a_line_to_the_agent_is_written_at_once_or_not_at_all() {
        let mut guarding = guarded();
        ask(&mut guarding, "1", &format!("Web{}", "x".repeat(100_000)));
        // As much as a pipe takes in one piece: a half line would end the agent.
        assert!(answers(&mut guarding).len() <= 4096);
    }

    #[test]
    fn another_input_is_passed_on_whole_or_the_call_is_denied() {
        let (verdict, answer) = said("1", Verdict::Modify(json!({ "command": "ls" })));
        assert_eq!(verdict, Verdict::Modify(json!({ "command": "ls" })));
        expect![[r#"
            {"response":{"request_id":"1","response":{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"ls"}}},"subtype":"success"},"type":"control_response"}
        "#]].assert_eq(&String::from_utf8(answer).expect("JSON is UTF-8"));

        let long = Verdict::Modify(json!({ "command": "x".repeat(ANSWER_BYTES_MAX) }));
        let (verdict, answer) = said("1", long);
        assert!(matches!(verdict, Verdict::Deny(_)));
        expect![[r#"
            {"response":{"request_id":"1","response":{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"The input of this call is too long to be changed as this run wants it."}},"subtype":"success"},"type":"control_response"}
        "#]].assert_eq(&String::from_utf8(answer).expect("JSON is UTF-8"));
    }

    #[test]
    fn what_the_agent_asks_a_person_is_answered() {
        let mut guarding = asking("AskUserQuestion", DATABASE);
        expect![[r#"
            {"response":{"request_id":"1","response":{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"answers":{"Which database?":"Postgres"},"questions":[{"header":"Database","multiSelect":false,"options":[{"description":"","label":"Postgres"},{"description":"","label":"SQLite"}],"question":"Which database?"}]}}},"subtype":"success"},"type":"control_response"}
        "#]].assert_eq(&answers(&mut guarding));
        assert_eq!((guarding.questions.answered, guarding.questions.by_default, guarding.denied), (1, 1, 0));
        // Other calls are none of its business.
        assert!(answers(&mut asking("Bash", DATABASE)).contains(r#""response":{}"#));
        assert!(answers(&mut asking("WebFetch", DATABASE)).contains(r#""deny""#));
    }

    #[test]
    fn questions_that_cannot_be_answered_are_denied() {
        let long = format!(r#"{{"questions":[{{"question":"{}"}}]}}"#, "x".repeat(ANSWER_BYTES_MAX));
        for input in ["{}", r#"{"questions":[{"question":"\ud83d"}]}"#, &long] {
            let mut guarding = asking("AskUserQuestion", input);
            assert!(answers(&mut guarding).contains(r#""permissionDecision":"deny""#));
            assert_eq!((guarding.questions.answered, guarding.denied), (0, 1));
        }
    }

    #[test]
    fn what_a_person_would_have_to_allow_is_denied() {
        let mut guarding = guarded();
        let line = br#"{"type":"control_request","request_id":"1","request":{"subtype":"can_use_tool",
            "tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"call-1"}}"#;
        let note: Note<'_> = parse(line).expect("a question");
        guarding.asked(note.request_id.as_str(), &note.request);
        expect![[r#"
            {"response":{"request_id":"1","response":{"behavior":"deny","message":"This needs the permission of a person, and nobody is there to give it. Go on without it."},"subtype":"success"},"type":"control_response"}
        "#]].assert_eq(&answers(&mut guarding));
        // Our guards had nothing against it: what the permission mode does not allow is for a person to see.
        assert_eq!(guarding.denied, 0);
    }

    #[test]
    fn who_reads_it_again_answers_what_is_still_open() {
        let mut guarding = guarded();
        ask(&mut guarding, "1", "Bash");
        ask(&mut guarding, "2", "Bash");
        guarding.ended("call-1", false);
        assert!(answers(&mut guarding).contains(r#""request_id":"2""#));
        guarding.ended("call-2", false);
        assert!(!guarding.has_lapsed());
    }

    #[test]
    fn a_sub_agent_that_outlives_the_turn_has_its_answer() {
        let mut guarding = guarded();
        ask(&mut guarding, "1", "Bash");
        assert!(answers(&mut guarding).contains(r#""request_id":"1""#));
        ask(&mut guarding, "2", "Bash");
        // Both are read at once, or the supervisor that should have answered was killed.
        guarding.turn_ended();
        assert!(answers(&mut guarding).contains(r#""request_id":"2""#));
        guarding.turn_ended();
        guarding.on_withdrawn("2");
        assert!(!guarding.has_lapsed());
    }

    #[test]
    fn a_call_without_a_verdict_is_a_lapse() {
        let lapses = |then: fn(&mut GuardHooks)| {
            let mut guarding = guarded();
            then(&mut guarding);
            guarding.has_lapsed()
        };
        // It was made without a question.
        assert!(lapses(|guarding| guarding.ended("call-1", false)));
        // There is no such tool: nobody needed to be asked.
        assert!(!lapses(|guarding| guarding.ended("call-1", true)));
        // Nobody answered in time.
        assert!(lapses(|guarding| {
            ask(guarding, "1", "Bash");
            guarding.on_withdrawn("1");
        }));
        // What an interrupt of ours takes back is not made; if it is, nobody had judged it.
        let interrupted = |is_error: bool| {
            let mut guarding = guarded();
            ask(&mut guarding, "1", "Bash");
            guarding.on_withdrawn("1");
            guarding.answered(&parse::<ControlResponse<'_>>(INTERRUPTED).expect("an answer"));
            guarding.ended("call-1", is_error);
            guarding.has_lapsed()
        };
        assert!(!interrupted(true));
        assert!(interrupted(false));
        // The agent had given up waiting before.
        assert!(lapses(|guarding| {
            ask(guarding, "1", "Bash");
            guarding.on_withdrawn("1");
            guarding.ended("call-1", true);
            guarding.answered(&parse::<ControlResponse<'_>>(INTERRUPTED).expect("an answer"));
        }));
        // The agent never said that it would ask: what failed may have had its effect all the same.
        assert!(lapses(|guarding| {
            guarding.registered = false;
            guarding.ended("call-1", true);
        }));
        // A start that is refused answers to nothing, and calls nothing.
        assert!(!lapses(|guarding| {
            guarding.registered = false;
            guarding.turn_ended();
        }));
        let mut unguarded = GuardHooks::default();
        unguarded.ended("call-1", false);
        unguarded.turn_ended();
        assert!(!unguarded.has_lapsed());
    }
}

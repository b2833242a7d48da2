use super::AcpDecoder;
use crate::{BlockedPaths, Decoder, DoneSignals, Guards, SessionStart, Tables};
use longhaul_core::{
    AttemptPlan, Evidence, Exit, Fault, Notice, Preset, PromptKind, RunSpec, SessionId, SessionPlan, Usd,
    classify,
};
use serde_json::{Value, json};

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":"longhaul-initialize","result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true},"agentInfo":{"name":"a","version":"1"}}}"#;
const OPENED: &str = r#"{"jsonrpc":"2.0","id":"longhaul-session","result":{"sessionId":"s1","configOptions":[{"id":"model","name":"Model","category":"model","type":"select","currentValue":"claude-opus-5-5","options":[]}]}}"#;

fn spec() -> RunSpec {
    RunSpec::new("/bin/agent", "/work", "Fix it.", Preset::Default.policy())
}

fn decoder(guards: Guards) -> AcpDecoder {
    AcpDecoder::new(&Tables::default(), guards, DoneSignals::default())
}

fn begin(decoder: &mut AcpDecoder, spec: &RunSpec, session: SessionPlan, sent: &[&str]) {
    let plan = AttemptPlan::new(1, session, PromptKind::Task);
    let prompt = spec.prompt.clone();
    decoder.begin(SessionStart { spec, plan: &plan, prompt: &prompt });
    decoder.add_sent(sent.iter().map(ToString::to_string).collect());
}

fn feed(decoder: &mut AcpDecoder, lines: &[&str]) -> Vec<Notice> {
    let mut notices = Vec::new();
    lines.iter().for_each(|line| decoder.feed(format!("{line}\n").as_bytes(), &mut notices));
    notices
}

/// Returns the method of each due request, with its parameters.
fn due(decoder: &mut AcpDecoder) -> Vec<(String, Value)> {
    let requests = decoder.take_requests().into_iter().map(|request| {
        let line: Value = serde_json::from_slice(&request.line).expect("a request is JSON");
        assert_eq!(line["id"], request.id.as_str());
        (line["method"].as_str().unwrap_or_default().to_owned(), line["params"].clone())
    });
    requests.collect()
}

fn update(update: Value) -> String {
    json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": update}})
        .to_string()
}

fn text(text: &str) -> String {
    update(json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}))
}

fn call(id: &str, kind: &str, status: &str) -> String {
    update(
        json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": "t", "kind": kind, "status": status,
        "rawInput": {"command": "git push origin main"}}),
    )
}

fn answer(result: Value) -> String {
    json!({"jsonrpc": "2.0", "id": "longhaul-prompt-1", "result": result}).to_string()
}

fn evidence(lines: &[String]) -> Evidence {
    let mut decoder = decoder(Guards::default());
    let lines: Vec<&str> =
        [INITIALIZED, OPENED].into_iter().chain(lines.iter().map(String::as_str)).collect();
    feed(&mut decoder, &lines);
    decoder.evidence(Exit::Signal(15), "")
}

#[test]
fn each_request_follows_the_answer_to_the_one_before() {
    let mut decoder = decoder(Guards::default());
    let spec = spec().with(|spec| {
        spec.permission_mode = Some("yolo".to_owned());
        spec.model = Some("opus".to_owned());
    });
    begin(&mut decoder, &spec, SessionPlan::New(SessionId::from("unused")), &[]);
    assert_eq!(due(&mut decoder), []);
    feed(&mut decoder, &[INITIALIZED]);
    assert_eq!(due(&mut decoder), [("session/new".to_owned(), json!({"cwd": "/work", "mcpServers": []}))]);
    let notices = feed(&mut decoder, &[OPENED]);
    assert!(notices.contains(&Notice::SessionOpened(SessionId::from("s1"))));
    let mode = ("session/set_mode".to_owned(), json!({"sessionId": "s1", "modeId": "yolo"}));
    assert_eq!(due(&mut decoder), [mode]);
    feed(&mut decoder, &[r#"{"id":"longhaul-mode","result":{}}"#]);
    assert_eq!(due(&mut decoder)[0].0, "session/set_config_option");
    feed(&mut decoder, &[r#"{"id":"longhaul-model","result":{"configOptions":[]}}"#]);
    let prompt = json!({"sessionId": "s1", "prompt": [{"type": "text", "text": "Fix it."}]});
    assert_eq!(due(&mut decoder), [("session/prompt".to_owned(), prompt)]);
    assert_eq!(due(&mut decoder), []);
}

#[test]
fn takeover_sends_no_request_twice() {
    let check = |sent: &[&str], expected: usize| {
        let mut decoder = decoder(Guards::default());
        begin(&mut decoder, &spec(), SessionPlan::New(SessionId::from("unused")), sent);
        feed(&mut decoder, &[INITIALIZED, OPENED]);
        assert_eq!(due(&mut decoder).len(), expected, "{sent:?}");
    };
    check(&["longhaul-session"], 1);
    check(&["longhaul-session", "longhaul-prompt-1"], 0);
}

#[test]
fn sessions_are_resumed_or_else_loaded() {
    let check = |capabilities: &str, expected: Option<&str>| {
        let mut decoder = decoder(Guards::default());
        begin(&mut decoder, &spec(), SessionPlan::Resume(SessionId::from("s1")), &[]);
        feed(
            &mut decoder,
            &[&format!(
                r#"{{"id":"longhaul-initialize","result":{{"protocolVersion":1,"agentCapabilities":{capabilities}}}}}"#
            )],
        );
        let found = due(&mut decoder);
        assert_eq!(found.first().map(|(method, _)| method.as_str()), expected, "{capabilities}");
        if expected.is_none() {
            assert_eq!(classify(&decoder.evidence(Exit::Signal(15), "")), Some(Fault::SessionLost));
        }
    };
    check(r#"{"loadSession":true,"sessionCapabilities":{"resume":{}}}"#, Some("session/resume"));
    check(r#"{"loadSession":true}"#, Some("session/load"));
    check("{}", None);
}

#[test]
fn repeated_history_is_not_counted() {
    let mut decoder = decoder(Guards::default());
    begin(&mut decoder, &spec(), SessionPlan::Resume(SessionId::from("s1")), &[]);
    let cost = |amount: f64| {
        update(json!({"sessionUpdate": "usage_update", "used": 1, "size": 9,
            "cost": {"amount": amount, "currency": "USD"}}))
    };
    let loaded = r#"{"id":"longhaul-session","result":{}}"#;
    let lines = [text("old"), call("c1", "execute", "completed"), cost(2.0)];
    let lines: Vec<&str> = [INITIALIZED].into_iter().chain(lines.iter().map(String::as_str)).collect();
    let notices = feed(&mut decoder, &lines);
    assert!(notices.iter().all(|notice| *notice == Notice::Activity), "{notices:?}");
    let lines = [text("new"), cost(2.5), answer(json!({"stopReason": "end_turn"}))];
    feed(&mut decoder, &[loaded]);
    feed(&mut decoder, &lines.iter().map(String::as_str).collect::<Vec<_>>());
    let evidence = decoder.evidence(Exit::Signal(15), "");
    assert_eq!(evidence.usage.reported_cost, Usd::from_dollars(0.5).expect("an amount"));
    assert_eq!(decoder.side_effects().calls, 0);
    assert_eq!(decoder.snapshot().result.as_deref(), Some("new"));
    assert_eq!(classify(&evidence), None);
}

#[test]
fn stop_reasons_and_errors_are_classified() {
    let check = |end: Value, expected: Option<Fault>| {
        let evidence = evidence(&[text("Done."), answer(end.clone())]);
        assert_eq!(classify(&evidence), expected, "{end}");
    };
    check(json!({"stopReason": "end_turn"}), None);
    check(json!({"stopReason": "max_tokens"}), Some(Fault::OutputLimit));
    check(json!({"stopReason": "max_turn_requests"}), Some(Fault::TurnLimit));
    check(json!({"stopReason": "refusal"}), Some(Fault::Refused));
    check(json!({"stopReason": "cancelled"}), Some(Fault::Interrupted));
    check(json!({"stopReason": "of the future"}), Some(Fault::Unknown));
    let error =
        json!({"id": "longhaul-prompt-1", "error": {"code": 429, "message": "slow down"}}).to_string();
    assert_eq!(classify(&evidence(&[error])), Some(Fault::RateLimited));
    // An empty answer.
    assert_eq!(classify(&evidence(&[answer(json!({"stopReason": "end_turn"}))])), Some(Fault::Unfinished));
    let mark = update(json!({"sessionUpdate": "session_info_update",
        "_meta": {"codex": {"threadStatus": {"type": "systemError"}}}}));
    let end = answer(json!({"stopReason": "end_turn"}));
    assert_eq!(classify(&evidence(&[text("Oops."), mark, end])), Some(Fault::ServerError));
}

/// Returns the decoder of an agent that finished its work with the call `c1` and then sent these lines, with the
/// notices about them.
fn after_answer(guards: Guards, sent: &[&str], late: &[String]) -> (AcpDecoder, Vec<Notice>) {
    let mut decoder = decoder(guards);
    let sent: Vec<&str> = ["longhaul-session", "longhaul-prompt-1"].iter().chain(sent).copied().collect();
    begin(&mut decoder, &spec(), SessionPlan::New(SessionId::from("unused")), &sent);
    let end = answer(json!({"stopReason": "end_turn"}));
    feed(&mut decoder, &[INITIALIZED, OPENED, &call("c1", "execute", "completed"), &text("Done."), &end]);
    let notices = feed(&mut decoder, &late.iter().map(String::as_str).collect::<Vec<_>>());
    (decoder, notices)
}

#[test]
fn only_a_prompt_opens_an_exchange() {
    let check = |late: &[String], sent: &[&str], expected: Option<Fault>| {
        let (mut decoder, notices) = after_answer(Guards::default(), sent, late);
        let has_started =
            notices.contains(&Notice::ExchangeStarted) || notices.contains(&Notice::ToolStarted);
        assert_eq!(has_started, expected.is_some(), "{late:?} {notices:?}");
        assert_eq!(classify(&decoder.evidence(Exit::Signal(15), "")), expected, "{late:?}");
        assert_eq!(decoder.snapshot().results, 1);
        assert_eq!(decoder.snapshot().result.as_deref(), Some("Done."));
    };
    let thought =
        update(json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "x"}}));
    let late = [
        text("\n"),
        thought,
        call("c2", "execute", "completed"),
        answer(json!({"stopReason": "end_turn"})),
        text("More."),
    ];
    late.iter().for_each(|line| check(std::slice::from_ref(line), &[], None));
    check(&late, &[], None);
    check(&late, &["longhaul-prompt-2"], Some(Fault::Interrupted));
    // The agent sent this before it read the prompt.
    check(&late[3..4], &["longhaul-prompt-2"], None);
}

#[test]
fn prompt_of_an_open_session_is_counted_as_sent() {
    let (mut decoder, _) = after_answer(Guards::default(), &[], &[]);
    assert_eq!(decoder.add_prompt().as_deref(), Some("longhaul-prompt-2"));
    assert!(feed(&mut decoder, &[&text("Again.")]).contains(&Notice::ExchangeStarted));
    let end = answer(json!({"stopReason": "end_turn"})).replace("prompt-1", "prompt-2");
    feed(&mut decoder, &[&end, &text("Late.")]);
    assert_eq!(classify(&decoder.evidence(Exit::Signal(15), "")), None);
    assert_eq!(decoder.snapshot().result.as_deref(), Some("Again."));
}

/// An agent may work by itself after its answer.
#[test]
fn work_after_the_answer_is_recorded() {
    let late = [call("c2", "execute", "in_progress"), text("I push in the background.")];
    let (mut decoder, _) = after_answer(Guards::default(), &[], &late);
    assert_eq!(decoder.evidence(Exit::Signal(15), "").usage.truncated_messages, 3);
    let unresolved = |decoder: &AcpDecoder| decoder.side_effects().unresolved.iter().len();
    assert_eq!((decoder.side_effects().calls, unresolved(&decoder)), (2, 1));
    feed(&mut decoder, &[&call("c2", "execute", "completed")]);
    assert_eq!((decoder.side_effects().calls, unresolved(&decoder)), (2, 0));
}

#[test]
fn late_statement_about_a_call_ends_it_at_most_once() {
    let end = |status: &str| {
        update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": status, "content": []}),
        )
    };
    let calls = |lines: &[String]| {
        let mut decoder = decoder(Guards::default());
        feed(&mut decoder, &[INITIALIZED, OPENED]);
        feed(&mut decoder, &lines.iter().map(String::as_str).collect::<Vec<_>>());
        let effects = decoder.side_effects();
        (effects.calls, effects.ended.iter().len(), effects.unresolved.iter().len())
    };
    let done = answer(json!({"stopReason": "end_turn"}));
    let start = call("c1", "execute", "in_progress");
    assert_eq!(
        calls(&[start.clone(), end("completed"), end("completed"), done.clone(), end("completed")]),
        (1, 1, 0)
    );
    // The call was open when the exchange ended.
    assert_eq!(calls(&[start.clone(), done.clone(), end("in_progress")]), (1, 0, 1));
    assert_eq!(calls(&[start.clone(), done.clone(), end("completed"), end("completed")]), (1, 1, 0));
    // Another call with the same id.
    assert_eq!(calls(&[start.clone(), end("completed"), start, end("completed")]), (2, 2, 0));

    let lapses = |allowed: &str, late: &str| {
        let guards = Guards { allow_tools: vec![allowed.parse().expect("a pattern")], ..Guards::default() };
        let mut decoder = decoder(guards);
        feed(
            &mut decoder,
            &[INITIALIZED, OPENED, &call("c1", "execute", "in_progress"), &text("Done."), &done],
        );
        feed(&mut decoder, &[&end(late)]);
        decoder.evidence(Exit::Signal(15), "").guard_lapsed
    };
    assert!(!lapses("Bash", "completed"));
    assert!(lapses("Read", "completed"));
    assert!(!lapses("Read", "failed"));
}

#[test]
fn calls_are_side_effects_once() {
    let evidence_of = |status: &str| {
        let mut decoder = decoder(Guards::default());
        let lines = [call("c1", "execute", "pending"), call("c1", "execute", status)];
        let lines = [INITIALIZED, OPENED].into_iter().chain(lines.iter().map(String::as_str));
        let notices = feed(&mut decoder, &lines.collect::<Vec<_>>());
        decoder.evidence(Exit::Signal(9), "");
        (notices.iter().filter(|notice| **notice == Notice::ToolStarted).count(), decoder)
    };
    let (started, done) = evidence_of("completed");
    assert_eq!((started, done.side_effects().calls), (1, 1));
    assert_eq!(
        done.side_effects().completed.iter().next().map(|call| call.effect.as_str()),
        Some("Bash: git push origin main")
    );
    let (_, killed) = evidence_of("in_progress");
    assert!(killed.side_effects().unresolved.iter().next().is_some_and(|call| call.is_outside));
}

/// Returns the chosen option of a question, and the decoder after the call ended with this status.
fn ask(guards: Guards, kind: &str, options: &Value, status: &str) -> (Value, Evidence) {
    let mut decoder = decoder(guards);
    let call_fields = json!({"toolCallId": "c1", "kind": kind, "title": "t", "rawInput": {"command": "ls"}});
    let question = json!({"jsonrpc": "2.0", "id": 7, "method": "session/request_permission",
        "params": {"sessionId": "s1", "toolCall": call_fields, "options": options}});
    feed(&mut decoder, &[INITIALIZED, OPENED, &question.to_string()]);
    let replies = decoder.take_replies();
    assert_eq!((replies.len(), decoder.take_replies().len()), (1, 0));
    let reply: Value = serde_json::from_slice(&replies[0]).expect("a reply is JSON");
    assert_eq!(reply["id"], 7);
    feed(
        &mut decoder,
        &[&update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": status}))],
    );
    feed(&mut decoder, &[&text("Done."), &answer(json!({"stopReason": "end_turn"}))]);
    (reply["result"]["outcome"].clone(), decoder.evidence(Exit::Signal(15), ""))
}

#[test]
fn guards_answer_questions_and_fail_closed() {
    let option = |kind: &str| json!({"optionId": kind, "name": kind, "kind": kind});
    let all = json!([option("allow_always"), option("allow_once"), option("reject_once")]);
    let guards = |allow: &[&str], deny: &[&str]| {
        let tools = |texts: &[&str]| texts.iter().map(|text| text.parse().expect("a pattern")).collect();
        Guards { allow_tools: tools(allow), deny_tools: tools(deny), ..Guards::default() }
    };
    let check =
        |guards: Guards, kind: &str, options: &Value, chosen: &str, status: &str, fault: Option<Fault>| {
            let (outcome, evidence) = ask(guards, kind, options, status);
            let found = outcome["optionId"].as_str().or(outcome["outcome"].as_str());
            assert_eq!(found, Some(chosen), "{kind} {options}");
            assert_eq!(classify(&evidence), fault, "{kind} {chosen} {status}");
        };
    let unavailable = Some(Fault::Permission);
    check(guards(&["Bash"], &[]), "execute", &all, "allow_once", "completed", None);
    check(guards(&["Read"], &[]), "execute", &all, "reject_once", "failed", None);
    check(guards(&["*"], &["Bash"]), "execute", &all, "reject_once", "failed", None);
    check(guards(&[], &[]), "execute", &all, "reject_once", "failed", unavailable);
    check(guards(&[], &["Read"]), "execute", &all, "reject_once", "failed", unavailable);
    // It could be any tool.
    check(guards(&["*"], &["Read"]), "other", &all, "reject_once", "failed", None);
    check(guards(&["*"], &[]), "other", &all, "allow_once", "completed", None);
    // The agent would not ask about later calls.
    check(
        guards(&["*"], &[]),
        "execute",
        &json!([option("allow_always")]),
        "cancelled",
        "failed",
        unavailable,
    );
    // Options that cannot be read are skipped.
    let unknown = json!({"optionId": "a", "name": "A", "kind": "allow_forever"});
    let nameless = json!({"optionId": 7, "name": "B", "kind": "allow_once"});
    let mixed = json!([null, unknown, nameless, option("allow_once"), option("reject_once")]);
    check(guards(&["Bash"], &[]), "execute", &mixed, "allow_once", "completed", None);
    check(guards(&["Read"], &[]), "execute", &mixed, "reject_once", "failed", None);
    for unusable in [json!([unknown, nameless]), json!([null, {"kind": "allow_once"}]), Value::Null] {
        check(guards(&["Bash"], &[]), "execute", &unusable, "cancelled", "failed", unavailable);
        check(guards(&["Read"], &[]), "execute", &unusable, "cancelled", "failed", None);
    }
    // The agent ignored the answer.
    check(guards(&["Read"], &[]), "execute", &all, "reject_once", "completed", Some(Fault::GuardLapsed));
}

#[test]
fn each_question_is_answered() {
    let guards = Guards { allow_tools: vec!["*".parse().expect("a pattern")], ..Guards::default() };
    let mut decoder = decoder(guards);
    let question = |id: u32, call: Value| {
        let options = json!([{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]);
        json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission",
            "params": {"sessionId": "s1", "toolCall": call, "options": options}})
        .to_string()
    };
    let call = json!({"toolCallId": "c1", "kind": "execute", "title": "t", "rawInput": {"command": "ls"}});
    let questions = [question(1, call.clone()), question(2, call), question(3, json!({"kind": "execute"}))];
    feed(&mut decoder, &[INITIALIZED, OPENED]);
    feed(&mut decoder, &questions.each_ref().map(String::as_str));
    let replies = decoder.take_replies().into_iter().map(|reply| {
        let reply: Value = serde_json::from_slice(&reply).expect("a reply is JSON");
        let outcome = &reply["result"]["outcome"];
        format!(
            "{} {}",
            reply["id"],
            outcome["optionId"].as_str().unwrap_or(outcome["outcome"].as_str().unwrap_or("-"))
        )
    });
    // The last question names no call.
    assert_eq!(replies.collect::<Vec<_>>(), ["1 yes", "2 yes", "3 cancelled"]);
    feed(&mut decoder, &[&text("Done."), &answer(json!({"stopReason": "end_turn"}))]);
    assert_eq!(classify(&decoder.evidence(Exit::Signal(15), "")), Some(Fault::Permission));
}

#[test]
fn guards_know_the_input_of_a_call() {
    let call_update = |kind: &str, status: &str, input: &Value| {
        update(json!({"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "t", "kind": kind,
            "status": status, "rawInput": input}))
    };
    let check = |kind: &str, inputs: [Value; 3], chosen: &str, status: &str, lapses: bool| {
        let [stated, asked, last] = inputs;
        let guards = Guards {
            allow_tools: vec!["*".parse().expect("a pattern")],
            block_paths: BlockedPaths::new(&["secret".to_owned()], "/work", "").expect("a path"),
            ..Guards::default()
        };
        let mut decoder = decoder(guards);
        begin(&mut decoder, &spec(), SessionPlan::New(SessionId::from("unused")), &[]);
        let option = |kind: &str| json!({"optionId": kind, "name": kind, "kind": kind});
        let question = json!({"jsonrpc": "2.0", "id": 7, "method": "session/request_permission",
            "params": {"sessionId": "s1", "options": [option("allow_once"), option("reject_once")],
            "toolCall": {"toolCallId": "c1", "kind": kind, "title": "t", "rawInput": asked}}});
        let start = call_update(kind, "in_progress", &stated);
        feed(&mut decoder, &[INITIALIZED, OPENED, &start, &question.to_string()]);
        let reply: Value = serde_json::from_slice(&decoder.take_replies()[0]).expect("a reply is JSON");
        assert_eq!(reply["result"]["outcome"]["optionId"], chosen, "{stated} {asked}");
        feed(&mut decoder, &[&call_update(kind, status, &last)]);
        let lapsed = decoder.evidence(Exit::Signal(15), "").guard_lapsed;
        assert_eq!(lapsed, lapses, "{kind} {stated} {asked} {last}");
    };
    let (none, harmless) = (json!({}), json!({"command": "ls"}));
    let blocked = json!({"command": "cat secret"});
    // Some agents ask without repeating the input.
    let inputs = |stated: &Value, asked: &Value, last: &Value| [stated.clone(), asked.clone(), last.clone()];
    check("execute", inputs(&harmless, &none, &harmless), "allow_once", "completed", false);
    check("execute", inputs(&blocked, &none, &blocked), "reject_once", "failed", false);
    // An input that is not stated counts as denied.
    check("execute", inputs(&none, &none, &harmless), "reject_once", "failed", false);
    check("execute", inputs(&none, &none, &none), "reject_once", "completed", true);
    // The agent made another call than the one that it asked about.
    check("execute", inputs(&harmless, &none, &blocked), "allow_once", "completed", true);
    check("execute", inputs(&harmless, &none, &blocked), "allow_once", "failed", false);
}

#[test]
fn usage_is_counted_as_stated() {
    let chunk = |tokens: u64| {
        update(json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": ""},
            "_meta": {"usage": {"totalTokens": tokens, "inputTokens": tokens, "outputTokens": 0}}}))
    };
    let stated = json!({"totalTokens": 30, "inputTokens": 20, "outputTokens": 10});
    let usage = |lines: &[String]| {
        let usage = evidence(lines).usage;
        (usage.tokens.total(), usage.messages, usage.truncated_messages, usage.turns)
    };
    // Per request.
    let one = [text("a"), chunk(5), call("c1", "execute", "completed"), text("b"), chunk(7)];
    assert_eq!(usage(&one), (12, 2, 0, 2));
    // The result of the turn is exact.
    let turn = [
        text("a"),
        call("c1", "execute", "completed"),
        text("b"),
        answer(json!({"stopReason": "end_turn", "usage": stated})),
    ];
    assert_eq!(usage(&turn), (30, 2, 0, 2));
    // No statement: an estimate.
    let unstated = [text("abcdefgh"), answer(json!({"stopReason": "end_turn"}))];
    assert_eq!(usage(&unstated), (0, 0, 1, 1));
    assert_eq!(evidence(&unstated).usage.truncated_tokens.output, 2);
}

/// Returns the evidence of an agent with this name.
fn evidence_of(agent: &str, lines: &[String]) -> Evidence {
    let mut decoder = decoder(Guards::default());
    let initialized = INITIALIZED.replace(r#""name":"a""#, &format!(r#""name":"{agent}""#));
    feed(&mut decoder, &[&initialized, OPENED]);
    feed(&mut decoder, &lines.iter().map(String::as_str).collect::<Vec<_>>());
    decoder.evidence(Exit::Signal(15), "")
}

/// The texts of copilot 1.0.102 after injected failures.
#[test]
fn failures_of_copilot_follow_its_notices() {
    let warning = text("Warning: No token count multiplier is known for Anthropic model \"m1\".");
    let retry = text("Info: Request failed due to a transient API error. Retrying...");
    let check = |error: &str, usage: Value, expected: Option<Fault>| {
        let end = answer(json!({"stopReason": "end_turn", "usage": usage}));
        let evidence = evidence_of("Copilot", &[warning.clone(), retry.clone(), text(error), end]);
        assert_eq!(classify(&evidence), expected, "{error}");
    };
    let usage = json!({"inputTokens": 100, "outputTokens": 20, "totalTokens": 120});
    let failed = "Error: Failed to get response from the AI model; retried 5 times Last error: 500 injected";
    check(failed, Value::Null, Some(Fault::ServerError));
    // An earlier request of the turn was served.
    check(failed, usage.clone(), Some(Fault::ServerError));
    check(
        "Error: Authentication failed with provider at http://h (HTTP 401).",
        Value::Null,
        Some(Fault::Auth),
    );
    check("Error: 400 injected", Value::Null, Some(Fault::Unknown));
    // The model's own words.
    check("Error: 400", usage, None);
}

/// The results of opencode 1.18.33 and copilot 1.0.102: two turns with three requests of 120, 1007 and 1007 tokens.
#[test]
fn stated_usage_has_the_scope_of_the_agent() {
    let end = |number: u32, input: u64, output: u64| {
        let usage = json!({"inputTokens": input, "outputTokens": output, "totalTokens": input + output});
        json!({"jsonrpc": "2.0", "id": format!("longhaul-prompt-{number}"),
            "result": {"stopReason": "end_turn", "usage": usage}})
        .to_string()
    };
    let check = |agent: &str, results: [(u64, u64); 2], stated: u64, messages: [u32; 2]| {
        let [first, second] = results;
        let call = call("t1", "execute", "completed");
        let first_turn = [call, text("Done."), end(1, first.0, first.1)];
        let lines = [first_turn.as_slice(), &[text("Done."), end(2, second.0, second.1)]].concat();
        let usage = evidence_of(agent, &lines).usage;
        assert_eq!(usage.tokens.total(), stated, "{agent}");
        assert_eq!([usage.messages, usage.truncated_messages], messages, "{agent}");
        assert_eq!(usage.truncated_tokens.total() > 0, messages[1] > 0, "{agent}");
    };
    check("Copilot", [(1100, 27), (2100, 34)], 2134, [3, 0]);
    // The tokens of the call are stated nowhere.
    check("OpenCode", [(1000, 7), (1000, 7)], 2014, [2, 1]);
    check("codex-acp", [(1100, 27), (1000, 7)], 2134, [3, 0]);
}

/// The result of a turn of gemini-cli 0.61.
#[test]
fn usage_and_model_of_gemini_are_read() {
    let count = json!({"input_tokens": 10, "output_tokens": 3});
    let usage = json!([{"model": "gemini-3.1-pro-preview", "token_count": count}]);
    let quota = json!({"quota": {"token_count": count, "model_usage": usage}});
    let opened = r#"{"jsonrpc":"2.0","id":"longhaul-session","result":{"sessionId":"s1","modes":{"availableModes":[],"currentModeId":"default"}}}"#;
    let mut decoder = decoder(Guards::default());
    let result = answer(json!({"stopReason": "end_turn", "_meta": quota}));
    feed(&mut decoder, &[INITIALIZED, opened, &text("Hello there."), &result]);
    let usage = decoder.evidence(Exit::Signal(15), "").usage;
    assert_eq!((usage.tokens.input, usage.tokens.output, usage.messages), (10, 3, 1));
    assert_eq!(usage.truncated_tokens.total(), 0);
    assert_eq!(
        decoder.usage_by_model().first().map(|(model, _)| model.as_str()),
        Some("gemini-3.1-pro-preview")
    );
}

#[test]
fn setting_that_the_agent_does_not_offer_is_named() {
    let opened = r#"{"jsonrpc":"2.0","id":"longhaul-session","result":{"sessionId":"s1","modes":{"availableModes":[{"id":"default","name":"D"},{"id":"yolo","name":"Y"}],"currentModeId":"default"}}}"#;
    let unknown =
        r#"{"jsonrpc":"2.0","id":"longhaul-mode","error":{"code":-32602,"message":"Invalid params"}}"#;
    let check = |mode: Option<&str>, model: Option<&str>, answers: &[&str], fault: Fault, expected: &str| {
        let spec = spec().with(|spec| {
            spec.permission_mode = mode.map(str::to_owned);
            spec.model = model.map(str::to_owned);
        });
        let mut decoder = decoder(Guards::default());
        // The session to resume is not lost.
        begin(&mut decoder, &spec, SessionPlan::Resume(SessionId::from("s1")), &[]);
        feed(&mut decoder, &[INITIALIZED, opened]);
        feed(&mut decoder, answers);
        assert_eq!(classify(&decoder.evidence(Exit::Signal(15), "")), Some(fault), "{expected}");
        assert_eq!(decoder.snapshot().errors.last().map(String::as_str), Some(expected));
    };
    check(Some("plan"), None, &[unknown], Fault::AgentUnusable, "the agent's modes are default, yolo");
    let no_choice = "the agent offers no choice of models; name the model in its command";
    check(None, Some("opus"), &[], Fault::ModelUnknown, no_choice);
    let set = r#"{"jsonrpc":"2.0","id":"longhaul-mode","result":{}}"#;
    check(Some("yolo"), Some("opus"), &[set], Fault::ModelUnknown, no_choice);
}

#[test]
fn start_that_cannot_continue_is_explained() {
    let check = |answers: &[&str], expected: &[&str]| {
        let mut decoder = decoder(Guards::default());
        begin(&mut decoder, &spec(), SessionPlan::New(SessionId::from("unused")), &[]);
        let notices = feed(&mut decoder, answers);
        assert!(notices.contains(&Notice::Idle), "{answers:?}");
        assert!(due(&mut decoder).iter().all(|(method, _)| method == "session/new"), "{answers:?}");
        assert_eq!(classify(&decoder.evidence(Exit::Signal(15), "")), Some(Fault::AgentUnusable));
        assert_eq!(decoder.snapshot().errors, expected);
    };
    let version =
        r#"{"id":"longhaul-initialize","result":{"protocolVersion":2,"info":{"name":"a","version":"1"}}}"#;
    check(&[version], &["the agent speaks version 2 of the protocol; Longhaul needs 1"]);
    let unusable = ["the agent named no usable session"];
    check(&[INITIALIZED, r#"{"id":"longhaul-session","result":{}}"#], &unusable);
    check(&[INITIALIZED, r#"{"id":"longhaul-session","result":{"sessionId":"urn:uuid:1/2 x"}}"#], &unusable);
    check(&[INITIALIZED, r#"{"id":"longhaul-session","error":{"code":-32603,"message":"No."}}"#], &["No."]);
}

#[test]
fn program_that_exits_without_a_message_is_no_agent() {
    let check = |lines: &[&str], exit: Exit, expected: Fault| {
        let mut decoder = decoder(Guards::default());
        feed(&mut decoder, lines);
        assert_eq!(classify(&decoder.evidence(exit, "")), Some(expected), "{lines:?} {exit:?}");
    };
    for code in [0, 3] {
        check(&[], Exit::Code(code), Fault::AgentUnusable);
        check(&["Usage: agent"], Exit::Code(code), Fault::AgentUnusable);
    }
    check(&[INITIALIZED], Exit::Code(0), Fault::Interrupted);
    check(&[], Exit::Code(143), Fault::Interrupted);
    check(&[], Exit::Signal(15), Fault::Interrupted);
}

#[test]
fn stated_cost_lacks_only_messages_after_it() {
    let stated = |input: u64, output: u64| json!({"totalTokens": input + output, "inputTokens": 0, "cachedReadTokens": input, "outputTokens": output});
    let chunk = |id: &str, text: &str| {
        update(json!({"sessionUpdate": "agent_message_chunk", "messageId": id,
            "content": {"type": "text", "text": text}}))
    };
    let usage = |id: &str, input: u64, output: u64| {
        update(json!({"sessionUpdate": "agent_message_chunk", "messageId": id,
            "content": {"type": "text", "text": ""}, "_meta": {"usage": stated(input, output)}}))
    };
    let cost = |used: u64, amount: f64| {
        update(json!({"sessionUpdate": "usage_update", "used": used, "size": 9,
            "cost": {"amount": amount, "currency": "USD"}}))
    };
    let killed = [chunk("m1", "one"), usage("m1", 900, 100), cost(1000, 2.0), chunk("m2", "abcdefgh")];
    let found = evidence(&killed).usage;
    assert_eq!((found.messages, found.truncated_messages), (1, 1));
    assert_eq!((found.tokens.total(), found.truncated_tokens.total()), (1000, 1002));
    assert_eq!(found.reported_cost, Usd::from_dollars(2.0).expect("an amount"));
    // 900 tokens from the cache, 100 of input, 2 of output.
    assert_eq!(found.estimated_cost, Usd(180 + 400 + 40));
    // The agent sent a message again. The result and the cost contain both.
    let repeated = [
        chunk("m1", "one"),
        usage("m1", 900, 100),
        cost(1000, 2.0),
        chunk("m2", "abcd"),
        cost(1000, 2.5),
        chunk("m3", "abcdefgh"),
        usage("m3", 1000, 200),
        cost(1200, 3.0),
    ];
    let found = evidence(&repeated).usage;
    assert_eq!((found.messages, found.truncated_messages), (2, 1));
    assert_eq!((found.reported_cost, found.estimated_cost), (Usd(3_000_000), Usd::ZERO));
    let result = answer(json!({"stopReason": "end_turn", "usage": stated(2900, 310)}));
    let found = evidence(&[repeated.as_slice(), &[result]].concat()).usage;
    assert_eq!((found.messages, found.truncated_messages), (2, 1));
    assert_eq!((found.tokens.total(), found.truncated_tokens.total()), (2200, 1010));
    assert_eq!((found.reported_cost, found.estimated_cost), (Usd(3_000_000), Usd::ZERO));
}

#[test]
fn message_of_an_unpriced_model_is_marked_unless_a_stated_cost_covers_it() {
    let opened = OPENED.replace("claude-opus-5-5", "house-7b");
    let cost = update(json!({"sessionUpdate": "usage_update", "used": 1000, "size": 9,
        "cost": {"amount": 2.0, "currency": "USD"}}));
    let is_unpriced = |lines: &[&str]| {
        let mut decoder = decoder(Guards::default());
        feed(&mut decoder, &[INITIALIZED, &opened]);
        feed(&mut decoder, lines);
        decoder.evidence(Exit::Signal(15), "").usage.unpriced
    };
    let (message, end) = (text("abcdefgh"), answer(json!({"stopReason": "end_turn"})));
    assert!(is_unpriced(&[&message]));
    assert!(!is_unpriced(&[&message, &cost]));
    assert!(!is_unpriced(&[&message, &cost, &end]));
    assert!(is_unpriced(&[&message, &cost, &message]));
    assert!(is_unpriced(&[&message, &cost, &message, &end]));
}

#[test]
fn result_is_the_last_message() {
    let chunk = |id: &str, text: &str| {
        update(json!({"sessionUpdate": "agent_message_chunk", "messageId": id,
            "content": {"type": "text", "text": text}}))
    };
    let mut decoder = decoder(Guards::default());
    let lines = [
        chunk("m1", "It wor"),
        chunk("m2", "It works"),
        chunk("m2", "."),
        answer(json!({"stopReason": "end_turn"})),
    ];
    decoder.collect_messages(1);
    feed(&mut decoder, &[INITIALIZED, OPENED]);
    feed(&mut decoder, &lines.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(decoder.snapshot().result.as_deref(), Some("It works."));
    let texts: Vec<_> = decoder.take_messages().into_iter().filter_map(|message| message.content).collect();
    assert_eq!(texts, ["It wor", "It works."]);
}

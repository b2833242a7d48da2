use super::ClaudeDecoder;
use crate::{Decoder, DoneSignals, Guards, Tables};
use longhaul_core::{
    ApiError, Evidence, Exit, Fault, Notice, RateLimitStatus, ReviewVerdict, StartupError, TerminalReason,
    classify,
};

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"11111111-1111-4111-8111-111111111111","model":"claude-opus-5-5","permissionMode":"default","claude_code_version":"2.1.330"}"#;
const DONE: &str = r#"{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","stop_reason":"end_turn","result":"Done."}"#;

fn decoded(lines: &[&str]) -> (ClaudeDecoder, Vec<Notice>) {
    decoded_with(DoneSignals::default(), lines)
}

fn decoded_with(signals: DoneSignals, lines: &[&str]) -> (ClaudeDecoder, Vec<Notice>) {
    let mut decoder = ClaudeDecoder::new(&Tables::default(), Guards::default(), signals);
    let mut notices = Vec::new();
    for line in lines {
        decoder.feed(format!("{line}\n").as_bytes(), &mut notices);
    }
    (decoder, notices)
}

fn evidence(lines: &[&str], exit: Exit, stderr: &str) -> Evidence {
    decoded(lines).0.evidence(exit, stderr)
}

fn check(lines: &[&str], exit: Exit, fault: Option<Fault>) {
    let evidence = evidence(lines, exit, "");
    assert_eq!(classify(&evidence), fault, "{lines:#?}\n{evidence:#?}");
}

/// Returns a tool call of the main conversation or a sub-agent.
fn call(tool: &str, message: &str, thread: &str) -> String {
    format!(
        r#"{{"type":"assistant","parent_tool_use_id":{thread},"message":{{"id":"{message}","model":"claude-opus-5-5","content":[{{"type":"tool_use","id":"{tool}","name":"Bash","input":{{"command":"cargo test\necho"}}}}]}}}}"#
    )
}

/// Returns a tool's result with the agent program's metadata.
fn tool_result(tool: &str, thread: &str, meta: &str) -> String {
    format!(
        r#"{{"type":"user","parent_tool_use_id":{thread},"message":{{"content":[{{"type":"tool_result","tool_use_id":"{tool}","content":"x"}}]}},"tool_result_meta":[{{"id":"{tool}"{meta}}}]}}"#
    )
}

#[test]
fn exchange_after_result_reopens_stream() {
    let message = r#"{"type":"assistant","message":{"id":"m9","model":"claude-opus-5-5","content":[]}}"#;
    let running = r#"{"type":"system","subtype":"session_state_changed","state":"running"}"#;
    let idle = r#"{"type":"system","subtype":"session_state_changed","state":"idle"}"#;
    let killed = Exit::Signal(9);
    check(&[INIT, DONE], killed, None);
    check(&[INIT, DONE, idle], killed, None);
    for again in [INIT, message, running] {
        check(&[INIT, DONE, again], killed, Some(Fault::Crashed));
        check(&[INIT, DONE, again, DONE], killed, None);
    }
    // A background sub-agent does not start an exchange; neither does an unknown event.
    let background = message.replace("\"message\":", "\"parent_tool_use_id\":\"t1\",\"message\":");
    check(&[INIT, DONE, &background, "garbage", r#"{"type":"tomorrow"}"#], killed, None);
}

#[test]
fn agent_awaits_reply_only_if_no_tool_runs() {
    let request = |tool: &str| {
        format!(
            r#"{{"type":"control_request","request_id":"r-{tool}","request":{{"subtype":"hook_callback","callback_id":"longhaul-guard","tool_use_id":"{tool}","input":{{"tool_name":"Bash"}}}}}}"#
        )
    };
    let check = |lines: &[&str], replied_lines: usize, expected: bool| {
        let replied_bytes = lines[..replied_lines].iter().map(|line| line.len() as u64 + 1).sum();
        assert_eq!(decoded(lines).0.awaits_reply(replied_bytes), expected, "{replied_lines} of {lines:#?}");
    };
    let (one, two) = (call("t1", "m1", "null"), call("t2", "m1", "null"));
    let (one_asks, two_asks) = (request("t1"), request("t2"));
    let one_ends = tool_result("t1", "null", "");
    check(&[INIT, &one], 0, false);
    check(&[INIT, &one, &one_asks], 0, true);
    check(&[INIT, &one, &one_asks], 3, false);
    check(&[INIT, &one, &one_asks, &one_ends], 3, false);
    check(&[INIT, &one, &one_asks, &one_ends, &two, &two_asks], 3, true);
    // The first call is still running.
    check(&[INIT, &one, &one_asks, &two, &two_asks], 3, false);
}

#[test]
fn last_result_decides() {
    let failed =
        r#"{"type":"result","subtype":"error_max_turns","is_error":true,"terminal_reason":"max_turns"}"#;
    check(&[INIT, failed, INIT, DONE], Exit::Code(0), None);
    check(&[INIT, DONE, INIT, failed], Exit::Code(1), Some(Fault::TurnLimit));
    // Older versions report the limit only in the subtype, and no reason.
    let old = r#"{"type":"result","subtype":"error_max_turns","is_error":false}"#;
    check(&[INIT, old], Exit::Code(0), Some(Fault::TurnLimit));
    check(
        &[INIT, r#"{"type":"result","subtype":"success","is_error":false,"stop_reason":null,"result":"x"}"#],
        Exit::Code(0),
        None,
    );
    // An unknown reason is not a success.
    check(&[INIT, &DONE.replace("completed", "tomorrow")], Exit::Code(0), Some(Fault::Unknown));
}

#[test]
fn ignores_result_of_another_session() {
    let with_session = |id: &str| DONE.replacen('{', &format!("{{\"session_id\":\"{id}\","), 1);
    check(&[INIT, &with_session("11111111-1111-4111-8111-111111111111")], Exit::Code(0), None);
    let foreign = with_session("22222222-2222-4222-8222-222222222222");
    check(&[INIT, &foreign], Exit::Code(0), Some(Fault::Interrupted));
    assert_eq!(decoded(&[INIT, &foreign]).0.snapshot().invalid_lines, 1);
}

#[test]
fn number_out_of_range_does_not_fail_the_work() {
    let cost = DONE.replacen('{', r#"{"total_cost_usd":1e400,"usage":{"input_tokens":-5e999},"#, 1);
    check(&[INIT, &cost], Exit::Code(0), None);
}

#[test]
fn ignores_invalid_session_id() {
    let init = INIT.replace("11111111-1111-4111-8111-111111111111", "--dangerously-skip-permissions");
    assert_eq!(decoded(&[&init]).0.snapshot().session, None);
}

#[test]
fn counts_sub_agent_tools_during_exchange() {
    let lines = [
        INIT.to_owned(),
        call("t1", "m1", "null"),
        call("t2", "m2", "\"t1\""),
        tool_result("t2", "\"t1\"", ""),
        tool_result("t1", "null", ""),
        tool_result("t1", "null", ""),
        DONE.to_owned(),
        call("t3", "m3", "\"t1\""),
        tool_result("t3", "\"t1\"", ""),
    ];
    let (_, notices) = decoded(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    let count = |kind: &Notice| notices.iter().filter(|notice| *notice == kind).count();
    assert_eq!(
        (count(&Notice::ToolStarted), count(&Notice::ToolEnded), count(&Notice::ExchangeStarted)),
        (2, 2, 1)
    );
    assert_eq!(notices.last(), Some(&Notice::Activity));
}

#[test]
fn ping_is_not_activity() {
    let event =
        |kind: &str| format!(r#"{{"type":"stream_event","event":{{"type":"{kind}"}},"session_id":"s"}}"#);
    for (kind, is_activity) in [("ping", false), ("content_block_delta", true), ("some_new_event", true)] {
        let (_, notices) = decoded(&[INIT, &event(kind)]);
        assert_eq!(notices.last() == Some(&Notice::Activity), is_activity, "{kind}: {notices:?}");
    }
}

/// Another server answered in place of the API.
#[test]
fn redirect_without_target_is_fault_of_network() {
    let error = r#"{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":302,"result":"API Error: 302 Found"}"#;
    check(&[INIT, error], Exit::Code(1), Some(Fault::Network));
}

#[test]
fn counts_denials_of_rules() {
    let rejected = |source: &str| {
        format!(
            r#","non_execution_kind":"permission-rule","permission_decision":{{"decision":"reject","source":"{source}"}}"#
        )
    };
    let listed = DONE.replace("\"result\":", "\"permission_denials\":[{\"tool_use_id\":\"t1\"}],\"result\":");
    let check_denials = |meta: &str, result: &str, fault| {
        let lines = [INIT, &call("t1", "m1", "null"), &tool_result("t1", "null", meta), result];
        check(&lines, Exit::Code(0), fault);
    };
    check_denials(&rejected("hook"), &listed, None);
    check_denials(&rejected("config"), &listed, Some(Fault::Permission));
    check_denials(&rejected("config"), DONE, Some(Fault::Permission));
    check_denials("", &listed, Some(Fault::Permission));
    check_denials(r#","permission_decision":{"decision":"accept","source":"config"}"#, DONE, None);
    let denied = r#"{"type":"system","subtype":"permission_denied","tool_use_id":"t1","message":"no"}"#;
    check(&[INIT, denied, DONE], Exit::Code(0), Some(Fault::Permission));
    // Denied once, although three fields report it.
    let lines =
        [INIT, denied, &call("t1", "m1", "null"), &tool_result("t1", "null", &rejected("config")), &listed];
    let result = evidence(&lines, Exit::Code(0), "").result.expect("there is one");
    assert_eq!(result.denials, 1);
}

#[test]
fn detects_lapsed_guards() {
    let request = r#"{"type":"control_request","request_id":"r1","request":{"subtype":"hook_callback","callback_id":"hook_0"}}"#;
    let other = r#"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool"}}"#;
    let cancel = r#"{"type":"control_cancel_request","request_id":"r1"}"#;
    let tag =
        |tag: &str| format!(r#"{{"type":"system","subtype":"informational","tag":"{tag}","content":"x"}}"#);
    let cancelled = tool_result("t1", "null", r#","non_execution_kind":"cancelled""#);
    let lapsed = Some(Fault::GuardLapsed);
    check(&[INIT, request, cancel, DONE], Exit::Code(0), lapsed);
    check(&[INIT, request, DONE], Exit::Code(0), None);
    check(&[INIT, other, cancel, DONE], Exit::Code(0), None);
    check(&[INIT, cancel, DONE], Exit::Code(0), None);
    check(&[INIT, &tag("hook_no_verdict"), DONE], Exit::Code(0), lapsed);
    check(&[INIT, &tag("hook_callback_failed"), DONE], Exit::Code(0), lapsed);
    check(&[INIT, &tag("tomorrow"), DONE], Exit::Code(0), None);
    // The agent lost its host, cancelled its tool calls and reports success.
    check(&[INIT, &call("t1", "m1", "null"), &cancelled, DONE], Exit::Code(0), lapsed);
    // Without that report it was simply stopped.
    check(&[INIT, &call("t1", "m1", "null"), &cancelled], Exit::Code(143), Some(Fault::Interrupted));
}

#[test]
fn matches_sentences_only_on_synthetic_messages() {
    let failed = r#"{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","result":"Request timed out."}"#;
    let message_with = |model: &str, flag: &str, text: &str| {
        format!(
            r#"{{"type":"assistant","message":{{"id":"m1","model":"{model}","content":[{{"type":"text","text":"{text}"}}]}},"is_api_error_message":{flag},"error":"unknown"}}"#
        )
    };
    let message = |model: &str, flag: &str| message_with(model, flag, "Request timed out. Wait.");
    let error = |message: &str| {
        evidence(&[INIT, message, failed], Exit::Code(1), "").result.and_then(|result| result.api_error)
    };
    assert_eq!(error(&message("<synthetic>", "true")), Some(ApiError::TimedOut));
    assert_eq!(error(&message("<synthetic>", "false")), None);
    assert_eq!(error(&message("claude-opus-5-5", "true")), None);
    assert_eq!(error("garbage"), None);
    let truncated = message_with("<synthetic>", "true", "API Error: JSON Parse error: Expected '}'");
    assert_eq!(error(&truncated), Some(ApiError::Malformed));
}

#[test]
fn forgets_errors_after_recovery() {
    let api_error = r#"{"type":"assistant","message":{"id":"m1","model":"<synthetic>","content":[]},"error":"server_error","api_error":"connection_failed","is_api_error_message":true}"#;
    let message = r#"{"type":"assistant","message":{"id":"m2","model":"claude-opus-5-5","content":[]}}"#;
    let failed = r#"{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error"}"#;
    check(&[INIT, api_error, failed], Exit::Code(1), Some(Fault::Network));
    check(&[INIT, api_error, message, failed], Exit::Code(1), Some(Fault::Unknown));
    check(&[INIT, api_error, DONE, INIT, failed], Exit::Code(1), Some(Fault::Unknown));
}

#[test]
fn tracks_usage_windows() {
    let event = |status: &str, overage: bool| {
        format!(
            r#"{{"type":"rate_limit_event","rate_limit_info":{{"status":"{status}","resetsAt":1795311992,"isUsingOverage":{overage}}}}}"#
        )
    };
    let message = r#"{"type":"assistant","message":{"id":"m2","model":"claude-opus-5-5","content":[]}}"#;
    let status = |lines: &[&str]| evidence(lines, Exit::Code(0), "").rate_limit.map(|limit| limit.status);
    assert_eq!(status(&[INIT, &event("rejected", false)]), Some(RateLimitStatus::Rejected));
    assert_eq!(status(&[INIT, &event("rejected", true)]), Some(RateLimitStatus::Warning));
    assert_eq!(status(&[INIT, &event("rejected", false), message]), Some(RateLimitStatus::Warning));
    assert_eq!(status(&[INIT, &event("tomorrow", false)]), None);
}

#[test]
fn recognizes_failed_starts() {
    let in_use = "Error: Session ID 606d35e3 is already in use.\n";
    let startup = |lines: &[&str], exit, stderr: &str| evidence(lines, exit, stderr).startup;
    assert_eq!(startup(&[], Exit::Code(1), in_use), Some(StartupError::SessionInUse));
    assert_eq!(startup(&[], Exit::Unobserved, in_use), Some(StartupError::SessionInUse));
    // Once a session is open, stderr is not inspected, and a killed process did not fail to start.
    assert_eq!(startup(&[INIT], Exit::Code(1), in_use), None);
    assert_eq!(startup(&[], Exit::Signal(9), in_use), None);
    assert_eq!(startup(&[], Exit::Code(0), in_use), None);
    let refused = |fields: &str| {
        format!(r#"{{"type":"result","subtype":"error_during_execution","is_error":true,{fields}}}"#)
    };
    let reason = |reason: &str| refused(&format!(r#""startup_failure_reason":"{reason}""#));
    assert_eq!(
        startup(&[&reason("session_held_by_background")], Exit::Code(1), ""),
        Some(StartupError::SessionHeld)
    );
    assert_eq!(startup(&[&reason("proxy_invalid")], Exit::Code(1), ""), Some(StartupError::Unusable));
    let unknown = refused(r#""errors":["No conversation found with session ID: 5"],"session_id":"5""#);
    let evidence = evidence(&[&unknown], Exit::Code(1), "");
    assert_eq!((evidence.startup, evidence.session), (Some(StartupError::SessionUnknown), None));
    assert_eq!(startup(&[INIT, &unknown], Exit::Code(1), ""), None);
}

#[test]
fn snapshot_names_running_tool_until_result() {
    let tool = |lines: &[&str]| decoded(lines).0.snapshot().tool.clone();
    let (first, second) = (call("t1", "m1", "null"), call("t2", "m2", "null"));
    let result = |id: &str| tool_result(id, "null", "");
    assert_eq!(tool(&[INIT]), None);
    assert_eq!(tool(&[INIT, &first]).as_deref(), Some("Bash: cargo test"));
    // Of two parallel calls, the other one is still running.
    assert_eq!(tool(&[INIT, &first, &second, &result("t2")]).as_deref(), Some("Bash: cargo test"));
    assert_eq!(tool(&[INIT, &first, &second, &result("t2"), &result("t1")]), None);
    assert_eq!(tool(&[INIT, &first, DONE]), None);
}

#[test]
fn snapshot_shows_current_state() {
    let (decoder, _) = decoded(&[INIT, &call("t1", "m1", "null")]);
    let snapshot = decoder.snapshot();
    assert_eq!(snapshot.activity, "Bash: cargo test");
    assert_eq!(snapshot.permission_mode.as_deref(), Some("default"));
    assert_eq!(
        snapshot.session.as_ref().map(|session| session.as_str()),
        Some("11111111-1111-4111-8111-111111111111")
    );
    let retry = r#"{"type":"system","subtype":"api_retry","attempt":2,"max_retries":4,"retry_delay_ms":1500.5,"error_status":529,"error":"overloaded"}"#;
    let (decoder, notices) = decoded(&[INIT, retry]);
    assert_eq!(decoder.snapshot().activity, "repeating a request (529), 2 of 4");
    assert!(
        matches!(notices.last(), Some(Notice::Retrying { attempt: 2, status: Some(529), delay }) if delay.millis() == 1500)
    );
    let (decoder, _) = decoded(&[INIT, DONE]);
    assert_eq!(
        (decoder.snapshot().activity.as_str(), decoder.snapshot().result.as_deref()),
        ("", Some("Done."))
    );
    let denied = r#"{"type":"system","subtype":"permission_denied","tool_use_id":"t1","message":"not \u001b[31mgranted"}"#;
    let (decoder, _) = decoded(&[INIT, denied, denied]);
    assert_eq!(decoder.snapshot().errors.len(), 1);
}

#[test]
fn completed_tool_or_exchange_is_progress() {
    let progressed = |lines: &[&str]| evidence(lines, Exit::Signal(9), "").made_progress;
    assert!(!progressed(&[INIT]));
    assert!(!progressed(&[INIT, &call("t1", "m1", "null")]));
    assert!(progressed(&[INIT, &call("t1", "m1", "null"), &tool_result("t1", "null", "")]));
    assert!(progressed(&[INIT, DONE]));
    assert!(!progressed(&[INIT, &DONE.replace("Done.", "")]));
}

#[test]
fn maps_terminal_reasons() {
    let rows = [
        ("blocking_limit", TerminalReason::PromptTooLong),
        ("rapid_refill_breaker", TerminalReason::PromptTooLong),
        ("stop_hook_prevented", TerminalReason::HookStopped),
        ("image_error", TerminalReason::TooLarge),
        ("structured_output_retry_exhausted", TerminalReason::InvalidResult),
        ("tomorrow", TerminalReason::Other),
    ];
    for (reason, expected) in rows {
        let line = format!(r#"{{"type":"result","is_error":true,"terminal_reason":"{reason}"}}"#);
        assert_eq!(
            evidence(&[&line], Exit::Code(1), "").result.map(|result| result.terminal_reason),
            Some(expected)
        );
    }
}

#[test]
fn finish_tool_claims_done() {
    let by_tool = || DoneSignals { tool: true, line: None };
    let finish = |message: &str, thread: &str| {
        call("t1", message, thread).replace(r#""name":"Bash""#, r#""name":"mcp__longhaul-run__finish""#)
    };
    let ok_result = tool_result("t1", "null", "");
    let refused = ok_result.replace(r#""content":"x""#, r#""content":"x","is_error":true"#);
    let check = |signals: DoneSignals, lines: &[&str], claimed: bool, claim_count: usize| {
        let (mut decoder, notices) = decoded_with(signals, lines);
        let count = notices.iter().filter(|notice| **notice == Notice::ClaimedDone).count();
        let evidence = decoder.evidence(Exit::Code(0), "");
        assert_eq!((evidence.claimed_done, count), (claimed, claim_count), "{lines:#?}\n{notices:?}");
    };
    let finish_call = finish("m1", "null");
    check(by_tool(), &[INIT, &finish_call, &ok_result, DONE], true, 1);
    // Later output of the same exchange does not revoke the claim; another exchange does.
    check(by_tool(), &[INIT, &finish_call, &ok_result, &call("t2", "m2", "null"), DONE], true, 1);
    check(by_tool(), &[INIT, &finish_call, &ok_result, DONE, INIT, DONE], false, 1);
    check(
        by_tool(),
        &[INIT, &finish_call, &ok_result, DONE, INIT, &finish("m2", "null"), &ok_result],
        true,
        2,
    );
    // A call without a result, a rejected one, or a sub-agent's.
    check(by_tool(), &[INIT, &finish_call, DONE], false, 0);
    check(by_tool(), &[INIT, &finish_call, &refused, DONE], false, 0);
    check(by_tool(), &[INIT, &finish("m1", "\"t0\""), &tool_result("t1", "\"t0\"", ""), DONE], false, 0);
    // Another tool, and a tool of that name that is not ours.
    check(by_tool(), &[INIT, &call("t1", "m1", "null"), &ok_result, DONE], false, 0);
    check(DoneSignals::default(), &[INIT, &finish_call, &ok_result, DONE], false, 0);
}

#[test]
fn agreed_line_claims_done() {
    let check = |line: &str, tool_result: &str, claimed: bool| {
        let signals = DoneSignals { tool: false, line: Some(line.to_owned()) };
        let done = DONE.replace("Done.", tool_result);
        let (mut decoder, notices) = decoded_with(signals, &[INIT, &done]);
        assert_eq!(decoder.evidence(Exit::Code(0), "").claimed_done, claimed, "{line} {tool_result}");
        // The claim is emitted before the exchange ends.
        let last_two = &notices[notices.len() - 2..];
        assert_eq!(last_two[0] == Notice::ClaimedDone, claimed, "{last_two:?}");
    };
    check("ALL DONE", "ALL DONE", true);
    check(" ALL DONE ", r"It works.\n\n  ALL DONE \n\n", true);
    check("ALL DONE", r"ALL DONE\nbut for the docs", false);
    check("ALL DONE", "It is ALL DONE", false);
    check("ALL DONE", "all done", false);
    check("", "", false);
    // An error message of the agent program is not a claim.
    let failed = DONE.replace("false", "true").replace("Done.", "ALL DONE");
    let signals = DoneSignals { tool: false, line: Some("ALL DONE".to_owned()) };
    assert!(!decoded_with(signals, &[INIT, &failed]).0.evidence(Exit::Code(1), "").claimed_done);
}

#[test]
fn verdict_comes_from_structured_output_only() {
    let verdict = |lines: &[&str]| evidence(lines, Exit::Code(0), "").review;
    let answer = r#"{"complete":false,"missing":["a"]}"#;
    let text = DONE.replace("\"Done.\"", &format!("{answer:?}"));
    assert_eq!(verdict(&[INIT, &text]), None, "the text of a model is no verdict");
    let structured = text.replace("\"result\":", &format!("\"structured_output\":{answer},\"result\":"));
    assert_eq!(verdict(&[INIT, &structured]), Some(ReviewVerdict { complete: false, missing: 1 }));
    // The last result decides, and a failed one has no verdict.
    assert_eq!(verdict(&[INIT, &structured, INIT, DONE]), None);
    let failed = structured.replace("\"is_error\":false", "\"is_error\":true");
    assert_eq!(verdict(&[INIT, &failed]), None);
}

//! The notices of a few streams, as the core receives them.

use super::fixtures::find_fixture;
use expect_test::{Expect, expect};
use longhaul_core::{AgentResult, Notice};

fn check(name: &str, expected: Expect) {
    let fixture = find_fixture(name);
    let (notices, _) = fixture.decode([&fixture.bytes[..]]);
    let line = |notice: &Notice| match notice {
        Notice::ExchangeEnded(AgentResult::COMPLETED) => "ExchangeEnded(COMPLETED)".to_owned(),
        Notice::UsageUpdated(usage) => format!("Used({} messages, {})", usage.messages, usage.total_cost()),
        _ => format!("{notice:?}"),
    };
    let lines: Vec<String> = notices.iter().map(line).collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn emits_notices() {
    check(
        "success-session-state",
        expect![[r#"
            ExchangeStarted
            SessionOpened(SessionId("2692ea9c-dfaa-4752-96ba-8bc8fe35e9c1"))
            MessageEnded
            ToolStarted
            ToolEnded
            Activity
            Used(1 messages, $0.0060)
            MessageEnded
            MessageEnded
            ToolStarted
            ToolStarted
            ToolEnded
            ToolEnded
            Used(2 messages, $0.0123)
            MessageEnded
            Used(3 messages, $0.0203)
            ExchangeEnded(COMPLETED)
            Idle"#]],
    );
    check(
        "success-background-bash",
        expect![[r#"
            SessionOpened(SessionId("167d1327-eced-4e23-9b9c-37c21c0c42fc"))
            ExchangeStarted
            MessageEnded
            ToolStarted
            BackgroundChanged { tasks: 1, sub_agents: 0 }
            Activity
            ToolEnded
            Used(1 messages, $0.0060)
            MessageEnded
            Used(2 messages, $0.0132)
            ExchangeEnded(COMPLETED)
            Activity
            BackgroundChanged { tasks: 0, sub_agents: 0 }
            ExchangeStarted
            MessageEnded
            Used(3 messages, $0.0198)
            ExchangeEnded(COMPLETED)"#]],
    );
    check(
        "stream-cut-recovered",
        expect![[r#"
            SessionOpened(SessionId("0e9bdb0f-0ac1-426d-a6e3-2ba958d9e0e0"))
            ExchangeStarted
            Activity
            Used(0 messages, $0.0058)
            Retrying { attempt: 1, status: None, delay: Span(616) }
            Activity
            MessageEnded
            Activity
            Used(1 messages, $0.0124)
            Activity
            Used(1 messages, $0.0125)
            ExchangeEnded(COMPLETED)"#]],
    );
    check(
        "usage-limit-self-waiting",
        expect![[r#"
            SessionOpened(SessionId("4b5b6a8e-00de-404e-8dcd-026a73142c28"))
            ExchangeStarted
            RateLimitChanged(RateLimit { status: Rejected, resets_at: Some(Moment(1795305081000)) })
            Retrying { attempt: 1, status: Some(429), delay: Span(21109) }
            MessageEnded
            RateLimitChanged(RateLimit { status: Allowed, resets_at: None })
            Used(1 messages, $0.0033)
            ExchangeEnded(COMPLETED)"#]],
    );
    check(
        "killed-sigint-mid-tool",
        expect![[r#"
            SessionOpened(SessionId("9209e1b1-6cd8-483f-bcf4-9384b1cec7e6"))
            ExchangeStarted
            Activity
            MessageEnded
            Activity
            ToolStarted
            Activity
            Used(1 messages, $0.0066)
            Activity
            ToolEnded
            Activity
            MessageEnded
            Activity
            ToolStarted
            Activity
            Used(2 messages, $0.0132)
            Activity
            ToolEnded
            Activity
            Used(2 messages, $0.0132)
            ExchangeEnded(AgentResult { is_error: true, terminal_reason: Aborted, api_status: None, api_error: None, message_error: None, stop_reason: Other, empty: false, denials: 0, stop_hook_capped: false })"#]],
    );
    check(
        "startup-resume-unknown",
        expect![[r#"
            Used(0 messages, $0)
            ExchangeEnded(AgentResult { is_error: true, terminal_reason: NotReported, api_status: None, api_error: None, message_error: None, stop_reason: Other, empty: false, denials: 0, stop_hook_capped: false })"#]],
    );
}

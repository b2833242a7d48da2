use super::{from_file as from_session, is_session};
use crate::claude::Claude;
use crate::prompts::prompt;
use crate::prompts::tests::context;
use crate::transcript_message::{EventKind, MessageOrigin, TranscriptMessage};
use crate::{Conversation, Dialect, PriorAttempts, RecordedAttempt};
use expect_test::{Expect, expect};
use longhaul_core::{AttemptPlan, Fault, PromptKind, SessionId, SessionPlan};
use proptest::prelude::*;

macro_rules! session {
    ($name:literal) => {
        include_bytes!(concat!("../../../fixtures/claude/sessions/", $name, ".jsonl"))
    };
}

macro_rules! stream {
    ($name:literal) => {
        include_bytes!(concat!("../../../fixtures/claude/", $name, ".jsonl"))
    };
}

/// Returns why a message is work, or why it is not.
pub(crate) fn provenance(message: &TranscriptMessage) -> &'static str {
    match message.origin {
        MessageOrigin::Longhaul => "Longhaul",
        MessageOrigin::Agent if message.kind != EventKind::Summary => "Synthetic",
        _ if message.wrap_up => "WrapUp",
        _ => "Work",
    }
}

/// Renders one line per message of the conversation that a handoff prompt may use.
fn render(conversation: &Conversation) -> String {
    let line = |message: &TranscriptMessage| {
        let text = message.text();
        let line = match message.kind {
            EventKind::Prompt => format!("asked {text:?}"),
            EventKind::Text => format!("said {text:?}"),
            EventKind::Summary => format!("summarized {text:?}"),
            EventKind::Note => format!("note {text:?}"),
            EventKind::ToolCall => {
                format!("called {} {:?}", message.tool.as_deref().unwrap_or_default(), message.argument())
            }
            EventKind::ToolResult => format!("answered {:?} {text:?}", message.result_kind()),
            EventKind::Thinking | EventKind::Result => return None,
        };
        let line: String = line.chars().take(110).collect();
        assert_eq!(message.is_work(), matches!(provenance(message), "Work" | "WrapUp"), "{message:?}");
        Some(format!("{} {line}\n", provenance(message)))
    };
    conversation.messages.iter().filter_map(line).collect()
}

fn from_attempts(attempts: &[RecordedAttempt]) -> Conversation {
    Claude::default().conversation(attempts)
}

fn from_file(bytes: &[u8]) -> Option<Conversation> {
    Claude::default().conversation_from_file(bytes)
}

fn check(conversation: &Conversation, expected: Expect) {
    expected.assert_eq(&render(conversation));
}

#[test]
fn parses_session_of_many_turns() {
    check(
        &from_session(session!("many-turns")),
        expect![[r#"
            Work asked "  Do the task,\n please. "
            Work said "I will look first."
            Work called Bash Some(Command("echo one > a.txt; cat a.txt"))
            Work called Write Some(ChangedFile("/demo/b.txt"))
            Work answered Ok "one"
            Work answered Ok "File created successfully at: /demo/b.txt (file state is current in your context — no need to Rea
            Work said "Now slowly."
            Work called Bash Some(Command("sleep 3; false"))
            Work answered Error "Exit code 1"
            Work asked "Also look at c.txt"
            Work said "Done with 429 and 500."
            Synthetic note "Stop hook feedback:\nTests have not been run."
            Work said "After the hook."
            Work asked "/review src/main.rs --all"
            Synthetic note "Review the code in src/main.rs --all carefully.\n"
            Work said "Review done."
            Work asked "The work was interrupted: x. Continue with the task."
            Synthetic said "API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again in a moment. If it
            Work asked "The work was interrupted: y. Continue with the task."
            Work said "Continuing."
            Work called Bash Some(Command("sleep 30"))
            Work answered Error "<tool_use_error>Blocked: standalone sleep 30. To wait for a condition, use Monitor with an unt
            Work said "All done after the kill."
            Work asked "The work was interrupted: z. Continue with the task."
            Work said "More."
        "#]],
    );
}

#[test]
fn parses_resumed_session() {
    check(
        &from_session(session!("killed-in-parallel-tools-resumed")),
        expect![[r#"
            Work asked "Do three things."
            Work said "Three at once."
            Work called Bash Some(Command("echo quick > quick.txt"))
            Work called Write Some(ChangedFile("/demo/z.txt"))
            Work called Bash Some(Command("bash -c 'exec -a seedlong sleep 20'"))
            Work answered Ok "(Bash completed with no output)"
            Work answered Ok "File created successfully at: /demo/z.txt (file state is current in your context — no need to Rea
            Work answered Unknown "[Tool call interrupted: the session ended before this call's result was recorded, so its out
            Synthetic said "No response requested."
            Work asked "Continue please."
            Work said "Resumed and looked."
            Work called Agent Some(Other("Count"))
            Work answered Ok "Async agent launched successfully. (This tool result is internal metadata — never quote or paste 
            Work said "There are 3 files."
            Work note "<task-notification>\n<task-id>aef3f595e406c7345</task-id>\n<tool-use-id>toolu_001_1_589727</tool-use-id>
            Work said "All finished."
        "#]],
    );
}

fn attempt(prompt: Option<&str>, stream: &[u8], wrap_up_after_results: Option<u32>) -> RecordedAttempt {
    RecordedAttempt { user_prompt: prompt.map(str::to_owned), stream: stream.to_vec(), wrap_up_after_results }
}

#[test]
fn streams_and_session_agree() {
    let check = |session: &[u8], stream: &[u8]| {
        let attempts = [attempt(Some("Do the task."), stream, None)];
        assert_eq!(render(&from_attempts(&attempts)), render(&from_session(session)));
    };
    check(session!("killed-sigint-mid-tool"), stream!("killed-sigint-mid-tool"));
    check(session!("overloaded-exhausted-midrun"), stream!("overloaded-exhausted-midrun"));
    check(session!("auto-compacted"), stream!("success-auto-compacted"));
}

#[test]
fn detects_file_format() {
    let check = |file: &[u8], expected: Option<&Conversation>| {
        let found = from_file(file);
        assert_eq!(found.as_ref().map(render), expected.map(render));
    };
    let session = session!("killed-in-parallel-tools-resumed");
    check(session, Some(&from_session(session)));
    let stream = stream!("killed-sigkill-mid-tool");
    check(stream, Some(&from_attempts(&[attempt(None, stream, None)])));
    // A sub-agent's conversation has its own file.
    let side: &[u8] = br#"{"type":"assistant","uuid":"a","sessionId":"s","isSidechain":true,"message":{"content":"There are 3."}}"#;
    let found = from_file(side).expect("it is a session file");
    assert_eq!((render(&found).as_str(), is_session(side)), ("Work said \"There are 3.\"\n", Some(true)));
    // Other programs write rows without a session id.
    let without_session_id = br#"{"type":"user","message":{"role":"user","content":"Do it."}}"#;
    check(without_session_id, Some(&from_session(without_session_id)));
    check(b"garbage\n\n{\"type\":\"summary\"}\n", None);
    check(b"", None);
}

#[test]
fn separates_longhaul_prompts() {
    let session = |prompts: &[&str]| {
        let row = |text: &&str| {
            let text = serde_json::Value::from(*text);
            format!(
                r#"{{"type":"user","uuid":"a","sessionId":"s","turnOrigin":"sdk","promptSource":"sdk","message":{{"content":{text}}}}}"#
            )
        };
        let rows: Vec<String> = prompts.iter().map(row).collect();
        from_file(rows.join("\n").as_bytes()).expect("it is a session file")
    };
    let prior = PriorAttempts::default();
    let context = context(|spec| {
        "Do it.".clone_into(&mut spec.prompt);
        spec.handoff_tokens = 9_000;
    });
    let first_prompt = |kind, prior: &PriorAttempts| {
        let session = SessionPlan::New(SessionId::from("a"));
        prompt(&context, &AttemptPlan::new(2, session, kind), prior)
    };
    let continue_prompt = first_prompt(PromptKind::Continue(Fault::Crashed), &prior);
    let reminded = format!("{continue_prompt}\n\nOutcome unknown, check first:\n- Bash: git push");
    let user_prompt = format!("{continue_prompt} What does that mean?");
    let conversation = session(&["Do it.", &continue_prompt, &reminded, &user_prompt]);
    let provenances: Vec<_> = conversation.messages.iter().map(provenance).collect();
    assert_eq!(provenances, ["Work", "Longhaul", "Longhaul", "Work"]);

    let handoff = |prior: &PriorAttempts| first_prompt(PromptKind::TaskAfterLoss(Fault::SessionLost), prior);
    let with_record = PriorAttempts { conversation, ..PriorAttempts::default() };
    for (prompt_text, record) in
        [(handoff(&prior), "An earlier session"), (handoff(&with_record), "This continues")]
    {
        let conversation = session(&[&prompt_text]);
        assert_eq!(conversation.task(), Some("Do it."));
        let record = format!("Work summarized \"({record}");
        assert!(render(&conversation).contains(&record), "{}", render(&conversation));
    }
}

#[test]
fn parses_interrupted_and_compacted_sessions() {
    check(
        &from_session(session!("killed-sigint-mid-tool")),
        expect![[r#"
            Work asked "Do the task."
            Work said "First step."
            Work called Bash Some(Command("echo first >> side.txt"))
            Work answered Ok "(Bash completed with no output)"
            Work said "Running the long command."
            Work called Bash Some(Command("echo start >> side.txt; bash -c 'exec -a longtask sleep 8'; echo late >> side.txt"))
            Work answered Unknown "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it wa
            Synthetic note "[Request interrupted by user for tool use]"
        "#]],
    );
    check(
        &from_session(session!("auto-compacted")),
        expect![[r#"
            Work asked "Do the task."
            Work said "step"
            Work called Bash Some(Command("echo one"))
            Work answered Ok "one"
            Work summarized "This session is being continued from a previous conversation that ran out of context. The summary 
            Work said "All good."
        "#]],
    );
}

#[test]
fn parses_attempts_in_order() {
    let attempts = [
        attempt(Some("Do the task."), stream!("killed-sigkill-mid-tool"), None),
        attempt(Some("Continue."), stream!("killed-sigkill-mid-tool-resumed"), None),
    ];
    let conversation = from_attempts(&attempts);
    assert_eq!(conversation.task(), Some("Do the task."));
    let first = render(&from_attempts(&attempts[..1]));
    assert!(first.starts_with("Work asked \"Do the task.\"\nWork said \"First step.\"\n"), "{first}");
    let second = "Work asked \"Continue.\"\nWork said \"Resumed fine.\"\n";
    assert_eq!(render(&conversation), first + second);
}

#[test]
fn user_text_is_not_interruption_marker() {
    let row = |fields: &str, text: &str| {
        format!(r#"{{"type":"user","uuid":"a",{fields}"message":{{"content":"{text}"}}}}"#)
    };
    let provenance = |row: &str| from_session(row.as_bytes()).messages.first().map(provenance);
    let marker = "[Request interrupted by user]";
    assert_eq!(provenance(&row("", marker)), Some("Synthetic"));
    assert_eq!(provenance(&row(r#""turnOrigin":"sdk","promptSource":"sdk","#, marker)), Some("Work"));
    assert_eq!(provenance(&row("", &format!("What does {marker} mean?"))), Some("Work"));
    assert_eq!(provenance(&row(r#""isMeta":true,"#, "Caveat")), Some("Synthetic"));
}

#[test]
fn replaces_half_surrogates() {
    let row = r#"{"type":"user","uuid":"a","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"half \ud83d"}]}}"#;
    check(
        &from_session(row.as_bytes()),
        expect![[r#"
            Work answered Ok "half ���"
        "#]],
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn truncated_file_gives_prefix(cut in 0_usize..20_000, junk in any::<Vec<u8>>()) {
        let file = session!("killed-in-parallel-tools-resumed");
        let mut torn = file[..cut.min(file.len())].to_vec();
        torn.extend(junk);
        let whole = from_session(file);
        let found = from_session(&torn);
        prop_assert!(render(&whole).starts_with(&render(&found)));
        // Stream parsing must accept any bytes.
        from_attempts(&[attempt(None, &torn, None)]);
    }
}

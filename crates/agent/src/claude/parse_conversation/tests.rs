use super::{AttemptStream, of_attempts, of_file, of_session};
use crate::claude::invocation::tests::order;
use crate::claude::prompts::prompt;
use crate::conversation::{Conversation, EntryKind, Provenance, ToolResult};
use crate::{AgentSpec, PriorAttempts};
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

/// One line an entry.
fn told(transcript: &Conversation) -> String {
    let lines = transcript.entries.iter().map(|entry| {
        let what = match &entry.kind {
            EntryKind::Prompt(text) => format!("asked {text:?}"),
            EntryKind::ModelText(text) => format!("said {text:?}"),
            EntryKind::Compaction(text) => format!("summarised {text:?}"),
            EntryKind::AgentNote(text) => format!("told {text:?}"),
            EntryKind::ToolCall(call) => format!("called {} {:?}", call.name, call.argument),
            EntryKind::ToolResult(ToolResult { kind, text, .. }) => format!("answered {kind:?} {text:?}"),
        };
        let what: String = what.chars().take(110).collect();
        format!("{:?} {what}\n", entry.provenance)
    });
    lines.collect()
}

fn check(transcript: &Conversation, expected: Expect) {
    expected.assert_eq(&told(transcript));
}

#[test]
fn a_session_of_many_turns() {
    let ours = ["x", "y", "z"].map(|why| format!("The work was interrupted: {why}. Continue with the task."));
    check(
        &of_session(session!("many-turns"), &ours),
        expect![[r#"
        Work asked "  Do the task,\n please. "
        Work said "I will look first."
        Work called Bash Some(Command("echo one > a.txt; cat a.txt"))
        Work called Write Some(ChangedFile("/demo/b.txt"))
        Work answered Fine "one"
        Work answered Fine "File created successfully at: /demo/b.txt (file state is current in your context — no need to R
        Work said "Now slowly."
        Work called Bash Some(Command("sleep 3; false"))
        Work answered Error "Exit code 1"
        Work asked "Also look at c.txt"
        Work said "Done with 429 and 500."
        Synthetic told "Stop hook feedback:\nTests have not been run."
        Work said "After the hook."
        Work asked "/review src/main.rs --all"
        Synthetic told "Review the code in src/main.rs --all carefully.\n"
        Work said "Review done."
        Ours asked "The work was interrupted: x. Continue with the task."
        Synthetic said "API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again in a moment. If it
        Ours asked "The work was interrupted: y. Continue with the task."
        Work said "Continuing."
        Work called Bash Some(Command("sleep 30"))
        Work answered Error "<tool_use_error>Blocked: standalone sleep 30. To wait for a condition, use Monitor with an unt
        Work said "All done after the kill."
        Ours asked "The work was interrupted: z. Continue with the task."
        Work said "More."
    "#]],
    );
}

#[test]
fn a_killed_session_that_was_resumed() {
    let ours = ["Continue please.".to_owned()];
    check(
        &of_session(session!("killed-in-parallel-tools-resumed"), &ours),
        expect![[r#"
        Work asked "Do three things."
        Work said "Three at once."
        Work called Bash Some(Command("echo quick > quick.txt"))
        Work called Write Some(ChangedFile("/demo/z.txt"))
        Work called Bash Some(Command("bash -c 'exec -a seedlong sleep 20'"))
        Work answered Fine "(Bash completed with no output)"
        Work answered Fine "File created successfully at: /demo/z.txt (file state is current in your context — no need to R
        Work answered Unknown "[Tool call interrupted: the session ended before this call's result was recorded, so its out
        Synthetic said "No response requested."
        Ours asked "Continue please."
        Work said "Resumed and looked."
        Work called Agent Some(Other("Count"))
        Work answered Fine "Async agent launched successfully. (This tool result is internal metadata — never quote or past
        Work said "There are 3 files."
        Work told "<task-notification>\n<task-id>aef3f595e406c7345</task-id>\n<tool-use-id>toolu_001_1_589727</tool-use-id>
        Work said "All finished."
    "#]],
    );
}

#[test]
fn ours_is_what_was_sent_as_a_whole() {
    let provenance = |ours: &str| {
        let transcript = of_session(session!("killed-in-parallel-tools-resumed"), &[ours.to_owned()]);
        let asked = transcript.entries.iter().filter(|entry| matches!(entry.kind, EntryKind::Prompt(_)));
        asked.map(|entry| entry.provenance).collect::<Vec<_>>()
    };
    assert_eq!(provenance("Continue please."), [Provenance::Work, Provenance::Longhaul]);
    assert_eq!(provenance("Continue"), [Provenance::Work, Provenance::Work]);
    assert_eq!(provenance("Continue please. "), [Provenance::Work, Provenance::Work]);
}

#[test]
fn the_streams_tell_what_the_session_tells() {
    let check = |session: &[u8], stream: &[u8]| {
        let attempts = [AttemptStream { prompt: Some("Do the task."), stream, wraps_up_after: None }];
        assert_eq!(told(&of_attempts(&attempts, &[])), told(&of_session(session, &[])));
    };
    check(session!("killed-sigint-mid-tool"), stream!("killed-sigint-mid-tool"));
    check(session!("overloaded-exhausted-midrun"), stream!("overloaded-exhausted-midrun"));
    check(session!("auto-compacted"), stream!("success-auto-compacted"));
}

#[test]
fn a_file_says_what_it_is() {
    let check = |file: &[u8], expected: Option<&Conversation>| {
        let told = of_file(file);
        assert_eq!(told.as_ref().map(self::told), expected.map(self::told));
    };
    let session = session!("killed-in-parallel-tools-resumed");
    check(session, Some(&of_session(session, &[])));
    let stream = stream!("killed-sigkill-mid-tool");
    check(stream, Some(&of_attempts(&[AttemptStream { prompt: None, stream, wraps_up_after: None }], &[])));
    // The conversation of a sub-agent has a file of its own.
    let side: &[u8] = br#"{"type":"assistant","uuid":"a","sessionId":"s","isSidechain":true,"message":{"content":"There are 3."}}"#;
    let (told, beside) = (of_file(side).expect("it is a session's"), of_session(side, &[]));
    assert_eq!((self::told(&told).as_str(), beside.entries.len()), ("Work said \"There are 3.\"\n", 0));
    // As other programs write it.
    let unsigned = br#"{"type":"user","message":{"role":"user","content":"Do it."}}"#;
    check(unsigned, Some(&of_session(unsigned, &[])));
    check(b"garbage\n\n{\"type\":\"summary\"}\n", None);
    check(b"", None);
}

#[test]
fn what_a_run_sent_is_told_apart_in_its_session() {
    let session = |prompts: &[&str]| {
        let row = |text: &&str| {
            let text = serde_json::Value::from(*text);
            format!(
                r#"{{"type":"user","uuid":"a","sessionId":"s","turnOrigin":"sdk","promptSource":"sdk","message":{{"content":{text}}}}}"#
            )
        };
        let rows: Vec<String> = prompts.iter().map(row).collect();
        of_file(rows.join("\n").as_bytes()).expect("it is a session file")
    };
    let past = PriorAttempts::default();
    let order = AgentSpec { prompt: "Do it.".to_owned(), handoff_tokens: 9_000, ..order() };
    let said = |say, past: &PriorAttempts| {
        let session = SessionPlan::New(SessionId::from("a"));
        prompt(&order, &AttemptPlan::new(2, session, say), past)
    };
    let again = said(PromptKind::Continue(Fault::Crashed), &past);
    let reminded = format!("{again}\n\nOutcome unknown, check first:\n- Bash: git push");
    let persons = format!("{again} What does that mean?");
    let transcript = session(&["Do it.", &again, &reminded, &persons]);
    let provenance: Vec<_> = transcript.entries.iter().map(|entry| entry.provenance).collect();
    assert_eq!(provenance, [Provenance::Work, Provenance::Longhaul, Provenance::Longhaul, Provenance::Work]);

    let seeded = |past: &PriorAttempts| said(PromptKind::TaskAfterLoss(Fault::SessionLost), past);
    let with_record = PriorAttempts { conversation: transcript, ..PriorAttempts::default() };
    for (seed, account) in
        [(seeded(&past), "An earlier session"), (seeded(&with_record), "This goes on with")]
    {
        let transcript = session(&[&seed]);
        assert_eq!(transcript.task(), Some("Do it."));
        let account = format!("Work summarised \"({account}");
        assert!(told(&transcript).contains(&account), "{}", told(&transcript));
    }
}

#[test]
fn an_interrupted_and_a_compacted_session() {
    check(
        &of_session(session!("killed-sigint-mid-tool"), &[]),
        expect![[r#"
        Work asked "Do the task."
        Work said "First step."
        Work called Bash Some(Command("echo first >> side.txt"))
        Work answered Fine "(Bash completed with no output)"
        Work said "Running the long command."
        Work called Bash Some(Command("echo start >> side.txt; bash -c 'exec -a longtask sleep 8'; echo late >> side.txt"))
        Work answered Unknown "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it wa
        Synthetic told "[Request interrupted by user for tool use]"
    "#]],
    );
    check(
        &of_session(session!("auto-compacted"), &[]),
        expect![[r#"
        Work asked "Do the task."
        Work said "step"
        Work called Bash Some(Command("echo one"))
        Work answered Fine "one"
        Work summarised "This session is being continued from a previous conversation that ran out of context. The summary 
        Work said "All good."
    "#]],
    );
}

#[test]
fn attempts_in_their_order() {
    let ours = ["Continue.".to_owned()];
    let attempts = [
        AttemptStream {
            prompt: Some("Do the task."),
            stream: stream!("killed-sigkill-mid-tool"),
            wraps_up_after: None,
        },
        AttemptStream {
            prompt: Some("Continue."),
            stream: stream!("killed-sigkill-mid-tool-resumed"),
            wraps_up_after: None,
        },
    ];
    let transcript = of_attempts(&attempts, &ours);
    assert_eq!(transcript.task(), Some("Do the task."));
    check(
        &transcript,
        expect![[r#"
        Work asked "Do the task."
        Work said "First step."
        Work called Bash Some(Command("echo first >> side.txt"))
        Work answered Fine "(Bash completed with no output)"
        Work said "Running the long command."
        Work called Bash Some(Command("echo start >> side.txt; bash -c 'exec -a longtask sleep 8'; echo late >> side.txt"))
        Ours asked "Continue."
        Work said "Resumed fine."
    "#]],
    );
}

#[test]
fn what_a_person_typed_is_no_mark() {
    let row = |fields: &str, text: &str| {
        format!(r#"{{"type":"user","uuid":"a",{fields}"message":{{"content":"{text}"}}}}"#)
    };
    let provenance =
        |row: &str| of_session(row.as_bytes(), &[]).entries.first().map(|entry| entry.provenance);
    let marker = "[Request interrupted by user]";
    assert_eq!(provenance(&row("", marker)), Some(Provenance::Synthetic));
    assert_eq!(
        provenance(&row(r#""turnOrigin":"sdk","promptSource":"sdk","#, marker)),
        Some(Provenance::Work)
    );
    assert_eq!(provenance(&row("", &format!("What does {marker} mean?"))), Some(Provenance::Work));
    assert_eq!(provenance(&row(r#""isMeta":true,"#, "Caveat")), Some(Provenance::Synthetic));
}

#[test]
fn texts_that_were_cut_within_a_sign() {
    let row = r#"{"type":"user","uuid":"a","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"half \ud83d"}]}}"#;
    check(
        &of_session(row.as_bytes(), &[]),
        expect![[r#"
        Work answered Fine "half ���"
    "#]],
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_file_cut_anywhere_tells_the_beginning(cut in 0_usize..20_000, junk in any::<Vec<u8>>()) {
        let file = session!("killed-in-parallel-tools-resumed");
        let mut torn = file[..cut.min(file.len())].to_vec();
        torn.extend(junk);
        let whole = of_session(file, &[]);
        let told = of_session(&torn, &[]);
        prop_assert!(whole.entries.starts_with(&told.entries));
        // Streams are other bytes to read; nothing may stop the reading.
        of_attempts(&[AttemptStream { prompt: None, stream: &torn, wraps_up_after: None }], &[]);
    }
}

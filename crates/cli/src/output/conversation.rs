//! Formats a conversation for people: messages with their authors, tool calls, and the first lines of their
//! results.

use super::envelope_text::one_line;
use super::phrases;
use super::wrap::fits_terminal;
use longhaul_agent::transcript_message::{EventKind, MessageOrigin, TranscriptMessage};
use longhaul_core::shorten;

// Tool results are cut to their first lines; the transcript has the rest.
const RESULT_LINES_MAX: usize = 4;
// A screen and a half; a longer line is data.
const LINE_CHARS_MAX: usize = 200;
/// The most informative arguments of tool calls, best first.
const ARGUMENTS: [&str; 9] =
    ["command", "file_path", "notebook_path", "pattern", "url", "query", "skill", "description", "path"];

/// Formats a message as lines that each end with a newline. Returns an empty string if the message adds
/// nothing new.
pub fn render(message: &TranscriptMessage) -> String {
    let content = message.content.as_deref().unwrap_or_default();
    let body = match message.kind {
        EventKind::Prompt => {
            authored(author(message.origin), message.content.as_deref().unwrap_or("(not on record)"))
        }
        EventKind::Text => authored(author(message.origin), content),
        EventKind::Thinking => authored("thinking", &folded(content)),
        EventKind::ToolCall => authored(message.tool.as_deref().unwrap_or("tool"), &line(&argument(message))),
        EventKind::ToolResult => tool_result(message, content),
        // The agent's words do not tell whether a background task ended on its own.
        EventKind::Note if message.interrupted && message.tool_use_id.is_some() => {
            authored("note", &format!("{} (stopped)", folded(content)))
        }
        EventKind::Note => authored("note", &folded(content)),
        EventKind::Summary => authored("summary", &folded(content)),
        EventKind::Result => exchange_end(message),
    };
    // The actions of a sub-agent are indented further.
    let margin = if message.parent_tool_use_id.is_some() { "      | " } else { "  " };
    // Commands and their output are copied from here, so their lines are not wrapped.
    let is_prose = matches!(
        message.kind,
        EventKind::Prompt | EventKind::Text | EventKind::Thinking | EventKind::Summary
    );
    let lines = body.lines().map(|line| {
        let line = format!("{margin}{line}");
        let line = line.trim_end();
        if is_prose { fits_terminal(line, margin.len() + 2) } else { format!("{line}\n") }
    });
    lines.collect()
}

fn author(origin: MessageOrigin) -> &'static str {
    match origin {
        MessageOrigin::Person => "you",
        MessageOrigin::Longhaul => "longhaul",
        MessageOrigin::Model => "agent",
        MessageOrigin::Tool => "tool",
        MessageOrigin::Agent => "error",
    }
}

/// Formats a text with its author. All lines but the first are indented.
fn authored(author: &str, text: &str) -> String {
    format!("{author}: {}", one_line(text.trim()).replace('\n', "\n  "))
}

fn tool_result(message: &TranscriptMessage, content: &str) -> String {
    let status = match (message.denied, message.interrupted, message.is_error) {
        (true, _, _) => "denied: ",
        (_, true, _) => "interrupted: ",
        (_, _, Some(true)) => "failed: ",
        (false, false, Some(false) | None) => "",
    };
    let text = one_line(&format!("{status}{}", folded(content)));
    format!("    {}", text.replace('\n', "\n    "))
}

/// Formats the end of an exchange. Its answer was printed before, as the last message.
fn exchange_end(message: &TranscriptMessage) -> String {
    let Some(outcome) = &message.outcome else { return String::new() };
    // The cost is a difference of two totals, so zero may come out slightly off.
    let cost = outcome.cost_usd.filter(|cost| *cost >= 0.000_05);
    let cost = cost.map(|cost| format!(", {}", phrases::dollars(cost))).unwrap_or_default();
    let status = outcome.terminal_reason.as_deref().unwrap_or(&outcome.subtype);
    format!("exchange ended: {status}{cost}")
}

/// Returns the most informative argument of a call, or else all arguments.
pub fn argument(message: &TranscriptMessage) -> String {
    let Some(input) = message.input.as_ref().map(|input| input.get()) else { return String::new() };
    let parsed: Option<serde_json::Value> = serde_json::from_str(input).ok();
    let named = parsed.as_ref().and_then(|input| ARGUMENTS.iter().find_map(|name| input[*name].as_str()));
    named.unwrap_or(input).to_owned()
}

/// Returns the first lines of a text and the number of the others.
fn folded(text: &str) -> String {
    let mut lines: Vec<String> = text.trim().lines().take(RESULT_LINES_MAX).map(line).collect();
    let more = text.trim().lines().count().saturating_sub(RESULT_LINES_MAX);
    if more > 0 {
        lines.push(format!("… {more} more {}", if more == 1 { "line" } else { "lines" }));
    }
    lines.join("\n")
}

fn line(text: &str) -> String {
    shorten(&text.trim().lines().collect::<Vec<_>>().join(" "), LINE_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use super::render;
    use expect_test::expect;
    use longhaul_agent::transcript_message::{EventKind, MessageOrigin, ResultDetails, TranscriptMessage};
    use serde_json::value::RawValue;

    fn message(kind: EventKind, origin: MessageOrigin, content: &str) -> TranscriptMessage {
        TranscriptMessage { content: Some(content.to_owned()), ..TranscriptMessage::new(kind, origin, 1) }
    }

    fn call(tool: &str, input: &str) -> TranscriptMessage {
        let input = RawValue::from_string(input.to_owned()).expect("JSON");
        let call = TranscriptMessage::new(EventKind::ToolCall, MessageOrigin::Model, 1);
        TranscriptMessage { tool: Some(tool.to_owned()), input: Some(input), ..call }
    }

    #[test]
    fn renders_messages_and_tool_calls() {
        let result = |content: &str| message(EventKind::ToolResult, MessageOrigin::Tool, content);
        let outcome = ResultDetails {
            subtype: "success".to_owned(),
            terminal_reason: Some("completed".to_owned()),
            cost_usd: Some(0.02034),
            ..ResultDetails::default()
        };
        let first = "2026-11-22T05:30:54.299Z";
        let messages = [
            TranscriptMessage {
                timestamp: Some(first.to_owned()),
                ..message(EventKind::Prompt, MessageOrigin::Person, "Fix it.\n\nAll of it.")
            },
            message(EventKind::Thinking, MessageOrigin::Model, "Let me look."),
            message(EventKind::Text, MessageOrigin::Model, "I look."),
            call("Bash", r#"{"command":"ls\n-l","description":"List"}"#),
            result("one\ntwo\nthree\nfour\nfive\nsix"),
            call("Task", r#"{"prompt":"count","description":"Count files"}"#),
            TranscriptMessage {
                parent_tool_use_id: Some("t".to_owned()),
                ..call("Glob", r#"{"pattern":"*"}"#)
            },
            call("mcp__pager__page", r#"{"who":"me"}"#),
            TranscriptMessage { denied: true, is_error: Some(true), ..result("not allowed") },
            TranscriptMessage { interrupted: true, ..result("\u{1b}[31mred\u{7}") },
            TranscriptMessage { is_error: Some(true), ..result("no such file") },
            message(EventKind::Text, MessageOrigin::Agent, "API Error: 529"),
            TranscriptMessage {
                outcome: Some(outcome),
                ..TranscriptMessage::new(EventKind::Result, MessageOrigin::Agent, 1)
            },
            TranscriptMessage {
                attempt: 2,
                content: None,
                ..message(EventKind::Prompt, MessageOrigin::Longhaul, "")
            },
            TranscriptMessage {
                attempt: 2,
                ..message(EventKind::Summary, MessageOrigin::Agent, "The earlier work.")
            },
        ];
        // The first line is not indented, so that the indentation of the others is visible.
        let text = format!("sent:\n{}", messages.iter().map(render).collect::<String>());
        expect![[r#"
            sent:
              you: Fix it.

                All of it.
              thinking: Let me look.
              agent: I look.
              Bash: ls -l
                  one
                  two
                  three
                  four
                  … 2 more lines
              Task: Count files
                  | Glob: *
              mcp__pager__page: {"who":"me"}
                  denied: not allowed
                  interrupted: [31mred
                  failed: no such file
              error: API Error: 529
              exchange ended: completed, $0.0203
              longhaul: (not on record)
              summary: The earlier work.
        "#]]
        .assert_eq(&text);
    }

    #[test]
    fn shortens_long_lines() {
        let text = render(&call("Bash", &format!(r#"{{"command":"{}"}}"#, "é".repeat(300))));
        assert_eq!(text.matches('é').count(), 200);
    }
}

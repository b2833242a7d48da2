//! Restores the rows that a session file lacks. The agent writes rows up to two turns late, and a kill loses
//! the unwritten ones, but the stream contains the same messages with the same uuids. The restored rows
//! follow the agent's own structure: the parent of a result is its call, the parent of any other row is the
//! previous row (2.1.330).

use super::SessionDocument;
use super::session_row::RowKind;
use crate::claude::SYNTHETIC;
use crate::claude::wire::{Message, Raw, RowContext, UnwrittenEvent, parse};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the rows to append to the file, from the stream of the attempt that wrote it last.
pub(super) fn missing_rows(session: &SessionDocument, started: Option<usize>, stream: &[u8]) -> Vec<u8> {
    let Some(end) = FileEnd::new(session) else { return Vec::new() };
    let mut unwritten = Vec::new();
    let mut anchor = None;
    let mut matches = true;
    for event in stream.rsplit(|byte| *byte == b'\n').filter_map(parse::<UnwrittenEvent<'_>>) {
        if end.existing.contains(event.uuid.as_str()) {
            anchor = Some(event.uuid);
            break;
        }
        if event.kind.is("result") {
            // Later events respond to a prompt that the stream does not repeat.
            unwritten.clear();
        }
        if belongs_to_conversation(&event) {
            matches &= end.context.belongs_to(event.session_id.as_str());
            unwritten.push(event);
        }
    }
    matches &= match anchor {
        Some(anchor) => end.last_message.is_some_and(|(_, uuid)| anchor.is(uuid)),
        // Of this attempt, only the prompt was written.
        None => started.is_some_and(|started| end.ends_with_prompt_since(started)),
    };
    if matches { end.rows_for(unwritten.into_iter().rev()) } else { Vec::new() }
}

fn belongs_to_conversation(event: &UnwrittenEvent<'_>) -> bool {
    let is_conversation_kind = matches!(
        (event.kind.as_str(), event.subtype.as_str()),
        ("user" | "assistant", _) | ("system", "compact_boundary")
    );
    is_conversation_kind && event.parent_tool_use_id.non_empty().is_none()
}

struct FileEnd<'a> {
    existing: BTreeSet<&'a str>,
    /// The row of each call.
    calls: BTreeMap<String, String>,
    last: String,
    /// Offset of the last prompt.
    last_prompt: Option<usize>,
    /// Offset and uuid of the last message or result.
    last_message: Option<(usize, &'a str)>,
    /// Fields that every row of the session repeats.
    context: RowContext<'a>,
}

impl<'a> FileEnd<'a> {
    fn new(session: &'a SessionDocument) -> Option<FileEnd<'a>> {
        let (rows, last) = (&session.rows, session.rows.last()?);
        let is_prompt = |kind: &RowKind| *kind == RowKind::Prompt;
        let last_message = rows.iter().rfind(|row| !is_prompt(&row.kind) && row.kind != RowKind::Addition);
        Some(FileEnd {
            existing: rows.iter().map(|row| row.uuid.as_str()).collect(),
            calls: rows
                .iter()
                .flat_map(|row| row.calls.iter().map(|call| (call.clone(), row.uuid.clone())))
                .collect(),
            last: last.uuid.clone(),
            last_prompt: rows.iter().rfind(|row| is_prompt(&row.kind)).map(|row| row.start),
            last_message: last_message.map(|row| (row.start, row.uuid.as_str())),
            context: parse(session.line(last))?,
        })
    }

    /// Returns whether the file ends with a prompt at or after this offset that has no response.
    fn ends_with_prompt_since(&self, started: usize) -> bool {
        let message_offset = self.last_message.map(|(offset, _)| offset);
        self.last_prompt
            .is_some_and(|last_prompt| last_prompt >= started && message_offset < Some(last_prompt))
    }

    fn rows_for<'t>(mut self, events: impl Iterator<Item = UnwrittenEvent<'t>>) -> Vec<u8> {
        let mut rows = Vec::new();
        for event in events {
            let Some(parent) = self.parent(&event) else { break };
            let restored = RestoredRow {
                source_tool_assistant_uuid: event.kind.is("user").then_some(&parent),
                parent_uuid: &parent,
                is_sidechain: false,
                kind: event.kind.as_str(),
                message: event.message,
                uuid: event.uuid.as_str(),
                timestamp: event.timestamp.as_str(),
                tool_use_result: event.tool_use_result,
                context: &self.context,
            };
            let Ok(row) = serde_json::to_vec(&restored) else { break };
            rows.extend(row);
            rows.push(b'\n');
            self.last = event.uuid.as_str().to_owned();
        }
        rows
    }

    /// Returns the parent of an event's row, or `None` if the event cannot become a row.
    fn parent(&mut self, event: &UnwrittenEvent<'_>) -> Option<String> {
        let uuid = event.uuid.non_empty()?;
        let message: Message<'_> = parse(event.message.json().as_bytes())?;
        let blocks = &message.content.0;
        if event.kind.is("assistant") {
            let by_model = !message.model.is(SYNTHETIC) && !event.is_api_error_message.is_set();
            for call in blocks.iter().filter(|block| block.kind.is("tool_use")) {
                self.calls.insert(call.id.as_str().to_owned(), uuid.to_owned());
            }
            return by_model.then(|| self.last.clone());
        }
        // The agent program itself reports a call that did not run or did not finish.
        let ran = event.tool_result_meta.0.iter().all(|meta| meta.non_execution_kind.non_empty().is_none());
        let is_result =
            event.kind.is("user") && ran && blocks.iter().all(|block| block.kind.is("tool_result"));
        let call = blocks.first().filter(|_| is_result)?.tool_use_id.as_str();
        self.calls.get(call).cloned()
    }
}

/// A row as the agent writes it, without fields that only concern its requests.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RestoredRow<'a> {
    parent_uuid: &'a str,
    is_sidechain: bool,
    #[serde(rename = "type")]
    kind: &'a str,
    message: Raw<'a>,
    uuid: &'a str,
    timestamp: &'a str,
    #[serde(skip_serializing_if = "Raw::is_missing")]
    tool_use_result: Raw<'a>,
    #[serde(rename = "sourceToolAssistantUUID", skip_serializing_if = "Option::is_none")]
    source_tool_assistant_uuid: Option<&'a String>,
    #[serde(flatten)]
    context: &'a RowContext<'a>,
}

#[cfg(test)]
mod tests {
    use super::super::SessionDocument;
    use crate::claude::session_file::{lines, rows};
    use longhaul_core::Continuity;

    /// A session file as the agent left it, and the stream of the attempt that wrote it.
    type Pair = (&'static [u8], &'static [u8]);

    macro_rules! pair {
        ($session:literal, $stream:literal) => {
            (
                include_bytes!(concat!("../../../fixtures/claude/sessions/", $session, ".jsonl")),
                include_bytes!(concat!("../../../fixtures/claude/", $stream, ".jsonl")),
            )
        };
    }

    const TOOLS: Pair = pair!("success-tools", "success-tools");
    const PARALLEL: Pair = pair!("two-tools-done-one-killed", "two-tools-done-one-killed");
    const COMPACTED: Pair = pair!("auto-compacted", "success-auto-compacted");
    const OVERLOADED: Pair = pair!("overloaded-exhausted-midrun", "overloaded-exhausted-midrun");

    fn parse(file: &[u8]) -> SessionDocument {
        SessionDocument::parse(file.to_vec())
    }

    fn missing_rows(file: &[u8], started: Option<usize>, stream: &[u8]) -> Vec<u8> {
        parse(file).missing_rows(started, stream)
    }

    /// Returns every prefix of the file of at least `bytes_min` bytes that ends with a row.
    fn prefixes(file: &[u8], bytes_min: usize) -> impl Iterator<Item = &[u8]> {
        let ends = file.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(index, _)| index + 1);
        ends.filter(move |end| *end >= bytes_min).map(|end| &file[..end])
    }

    /// Returns the messages in the file, row by row. Parents are omitted, because the agent may have added
    /// its own rows in between.
    fn messages(file: &[u8]) -> Vec<String> {
        let is_message = |kind: &str| matches!(kind, "user" | "assistant");
        let messages = rows(file).filter(|row| is_message(row.kind.as_str()));
        messages.map(|row| format!("{} {:?}", row.uuid.as_str(), row.message.content)).collect()
    }

    /// Returns the length of the file up to and including the first prompt.
    fn first_prompt_end(file: &[u8]) -> usize {
        let prompt = |line: &[u8]| line.windows(13).any(|bytes| bytes == b"\"type\":\"user\"");
        let before: Vec<&[u8]> = lines(file).take_while(|line| !prompt(line)).collect();
        let line = lines(file).nth(before.len()).expect("a prompt");
        before.iter().map(|line| line.len() + 1).sum::<usize>() + line.len() + 1
    }

    #[test]
    fn restores_unwritten_rows() {
        for (file, stream) in [TOOLS, PARALLEL] {
            for cut in prefixes(file, first_prompt_end(file)) {
                let whole = [cut, &missing_rows(cut, Some(0), stream)].concat();
                assert_eq!(messages(&whole), messages(file));
                let restored = parse(&whole);
                assert_eq!(restored.answered_calls(None), parse(file).answered_calls(None));
                if messages(cut) != messages(file) {
                    let before = restored.history(cut.len() as u64).expect("a prefix");
                    assert_eq!(restored.continuity(&before), Continuity::Continued);
                }
            }
        }
    }

    #[test]
    fn restored_rows_match_session() {
        let (file, stream) = PARALLEL;
        let cut = &file[..first_prompt_end(file)];
        let restored = missing_rows(cut, Some(0), stream);
        let rows = |bytes: &[u8]| -> Vec<serde_json::Value> {
            let rows = lines(bytes).filter_map(|line| serde_json::from_slice(line).ok());
            rows.filter(|row: &serde_json::Value| {
                row["type"] == "assistant" || row["toolUseResult"].is_object()
            })
            .collect()
        };
        let (restored, written) = (rows(&restored), rows(file));
        assert_eq!(restored.len(), written.len());
        let same = [
            "uuid",
            "type",
            "isSidechain",
            "timestamp",
            "userType",
            "entrypoint",
            "cwd",
            "sessionId",
            "version",
            "gitBranch",
            "toolUseResult",
            "sourceToolAssistantUUID",
        ];
        for (restored, written) in restored.iter().zip(&written) {
            for key in same {
                assert_eq!(restored[key], written[key], "{key}");
            }
            assert_eq!(restored["message"]["content"], written["message"]["content"]);
        }
        // The parent of the first row differs here; the other parents are as the agent writes them.
        let parents = |rows: &[serde_json::Value]| -> Vec<_> {
            rows.iter().skip(1).map(|row| row["parentUuid"].clone()).collect()
        };
        assert_eq!(parents(&restored), parents(&written));
    }

    #[test]
    fn complete_file_lacks_no_rows() {
        for (file, stream) in [TOOLS, PARALLEL, COMPACTED, OVERLOADED] {
            assert!(missing_rows(file, Some(0), stream).is_empty());
        }
    }

    #[test]
    fn ignores_mismatched_file_and_stream() {
        let (file, stream) = TOOLS;
        let prompt = &file[..first_prompt_end(file)];
        // The prompt is not that of this attempt, or that is unknown.
        assert!(missing_rows(prompt, Some(prompt.len()), stream).is_empty());
        assert!(missing_rows(prompt, None, stream).is_empty());
        // Another session's stream.
        assert!(missing_rows(prompt, Some(0), PARALLEL.1).is_empty());
        assert!(missing_rows(file, Some(0), PARALLEL.1).is_empty());
        // Another process continued the file.
        let other = String::from_utf8_lossy(PARALLEL.0).into_owned();
        let half = prefixes(file, first_prompt_end(file)).nth(3).expect("a cut");
        assert!(missing_rows(&[half, other.as_bytes()].concat(), Some(0), stream).is_empty());
        for junk in [&b""[..], b"{}", b"\0\0", b"{\"type\":\"assistant\"}\n"] {
            assert!(missing_rows(junk, Some(0), stream).is_empty());
            assert!(missing_rows(file, Some(0), junk).is_empty());
        }
    }

    #[test]
    fn ignores_later_exchange() {
        let (file, stream) = TOOLS;
        let text = String::from_utf8_lossy(stream);
        let answer = text.lines().rfind(|line| line.contains(r#""type":"assistant""#)).expect("an answer");
        let further = answer.replace(r#""uuid":""#, r#""uuid":"further-"#);
        let stream = [stream, b"\n", further.as_bytes(), b"\n"].concat();
        for cut in prefixes(file, first_prompt_end(file)) {
            assert_eq!(messages(&[cut, &missing_rows(cut, Some(0), &stream)].concat()), messages(file));
        }
    }

    #[test]
    fn omits_messages_of_agent_program() {
        // Nothing is restored after the compaction, or from the program's message on.
        for (file, stream) in [COMPACTED, OVERLOADED] {
            for cut in prefixes(file, first_prompt_end(file)) {
                let restored = missing_rows(cut, Some(0), stream);
                let synthetic = ["isSynthetic", "<synthetic>", "ran out of context"];
                let text = String::from_utf8_lossy(&restored).into_owned();
                assert!(!synthetic.iter().any(|word| text.contains(word)), "{text}");
            }
        }
    }
}

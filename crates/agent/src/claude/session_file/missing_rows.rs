//! The rows that a session's file lacks. The agent writes them up to two turns late, and a kill loses what it
//! had not written; its stream has told the same messages, by the same uuids. Of these, rows are made as the
//! agent makes them: an answer hangs on its call, everything else on what came before (2.1.330).

use super::{is_conversation, lines, row_in};
use crate::claude::SYNTHETIC;
use crate::claude::wire::{Raw, Row, RowContext, RowMessage, Told, parse};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The rows that belong behind the last one of `file`, by the stream of the attempt that wrote it last; empty
/// if none is missing. `begun` is how long the file was when that attempt began, if it was this file.
///
/// Messages that the agent's own program wrote, and calls that did not run, are left out with everything
/// behind them; so is all of a further turn; and everything is, where file and stream do not fit together.
pub fn missing(file: &[u8], started: Option<usize>, stream: &[u8]) -> Vec<u8> {
    let Some(end) = FileEnd::of(file) else { return Vec::new() };
    let mut unwritten = Vec::new();
    let mut anchor = None;
    let mut fits = true;
    for told in stream.rsplit(|byte| *byte == b'\n').filter_map(parse::<Told<'_>>) {
        if end.known.contains(told.uuid.as_str()) {
            anchor = Some(told.uuid);
            break;
        }
        if told.kind.is("result") {
            // What follows answers to something that the stream does not repeat.
            unwritten.clear();
        }
        if is_of_conversation(&told) {
            fits &= end.setting.is_of(told.session_id.as_str());
            unwritten.push(told);
        }
    }
    fits &= match anchor {
        Some(anchor) => end.text.as_ref().is_some_and(|(_, said)| anchor.is(said)),
        // Of this attempt, nothing is written but what the agent was told.
        None => started.is_some_and(|started| end.is_prompted_since(started)),
    };
    if fits { end.followed_by(unwritten.into_iter().rev()) } else { Vec::new() }
}

/// Whether an event tells a part of the conversation that the file would hold.
fn is_of_conversation(told: &Told<'_>) -> bool {
    let speaks = matches!(
        (told.kind.as_str(), told.subtype.as_str()),
        ("user" | "assistant", _) | ("system", "compact_boundary")
    );
    speaks && told.parent_tool_use_id.stated().is_none()
}

/// Where a session's file ends.
struct FileEnd<'a> {
    /// Every row of the conversation.
    known: BTreeSet<String>,
    /// In which row each call stands.
    calls: BTreeMap<String, String>,
    /// The last row of the conversation.
    last: String,
    /// Where in the file the last prompt is.
    prompted: Option<usize>,
    /// The last message or answer, and where it is.
    text: Option<(usize, String)>,
    /// What every row repeats of its session.
    setting: RowContext<'a>,
}

impl<'a> FileEnd<'a> {
    fn of(file: &'a [u8]) -> Option<FileEnd<'a>> {
        let mut end = FileEnd {
            known: BTreeSet::new(),
            calls: BTreeMap::new(),
            last: String::new(),
            prompted: None,
            text: None,
            setting: RowContext::default(),
        };
        let mut last_line = None;
        let mut offset = 0;
        for line in lines(file) {
            let row = row_in(line).and_then(parse::<Row<'_>>).filter(is_conversation);
            if let Some(row) = row {
                end.take(&row, offset);
                last_line = row_in(line);
            }
            offset += line.len() + 1;
        }
        end.setting = parse(last_line?)?;
        Some(end)
    }

    fn take(&mut self, row: &Row<'_>, offset: usize) {
        let uuid = row.uuid.as_str().to_owned();
        let parts = row.message.content.parts();
        for call in parts.iter().filter(|part| part.kind.is("tool_use")) {
            self.calls.insert(call.id.as_str().to_owned(), uuid.clone());
        }
        let answers = parts.iter().any(|part| part.kind.is("tool_result"));
        match row.kind.as_str() {
            "user" if !answers => self.prompted = Some(offset),
            "user" | "assistant" => self.text = Some((offset, uuid.clone())),
            _ => {}
        }
        self.known.insert(uuid.clone());
        self.last = uuid;
    }

    /// Whether the file ends with a prompt from behind this place, that nobody has said anything to.
    fn is_prompted_since(&self, started: usize) -> bool {
        let said = self.text.as_ref().map(|(offset, _)| *offset);
        self.prompted.is_some_and(|prompted| prompted >= started && said < Some(prompted))
    }

    /// The rows of what was told behind the end, as far as they can be made.
    fn followed_by<'t>(mut self, told: impl Iterator<Item = Told<'t>>) -> Vec<u8> {
        let mut rows = Vec::new();
        for told in told {
            let Some(parent) = self.parent(&told) else { break };
            let added = AddedRow {
                source_tool_assistant_uuid: told.kind.is("user").then_some(&parent),
                parent_uuid: &parent,
                is_sidechain: false,
                kind: told.kind.as_str(),
                message: told.message,
                uuid: told.uuid.as_str(),
                timestamp: told.timestamp.as_str(),
                tool_use_result: told.tool_use_result,
                setting: &self.setting,
            };
            let Ok(row) = serde_json::to_vec(&added) else { break };
            rows.extend(row);
            rows.push(b'\n');
            self.last = told.uuid.as_str().to_owned();
        }
        rows
    }

    /// The row that this one hangs on; nothing if no row can be made of what was told.
    fn parent(&mut self, told: &Told<'_>) -> Option<String> {
        let uuid = told.uuid.stated()?;
        let message: RowMessage<'_> = parse(told.message.json().as_bytes())?;
        let parts = message.content.parts();
        if told.kind.is("assistant") {
            let by_model = !message.model.is(SYNTHETIC) && !told.is_api_error_message.0;
            for call in parts.iter().filter(|part| part.kind.is("tool_use")) {
                self.calls.insert(call.id.as_str().to_owned(), uuid.to_owned());
            }
            return by_model.then(|| self.last.clone());
        }
        // Of a call that did not run, or not to its end, the agent's program says so better.
        let ran = told.tool_result_meta.0.iter().all(|meta| meta.kind.stated().is_none());
        let is_answer = told.kind.is("user") && ran && parts.iter().all(|part| part.kind.is("tool_result"));
        let call = parts.first().filter(|_| is_answer)?.tool_use_id.as_str();
        self.calls.get(call).cloned()
    }
}

/// A row as the agent writes it, but for what only concerns its requests.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AddedRow<'a> {
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
    setting: &'a RowContext<'a>,
}

#[cfg(test)]
mod tests {
    use super::missing;
    use crate::claude::session_file::{continues, facts, lines, rows};
    use longhaul_core::Continuity;

    /// A session's file as the agent left it, and the stream of the attempt that wrote it.
    type Pair = (&'static [u8], &'static [u8]);

    const TOOLS: Pair = (
        include_bytes!("../../../fixtures/claude/sessions/success-tools.jsonl"),
        include_bytes!("../../../fixtures/claude/success-tools.jsonl"),
    );
    const PARALLEL: Pair = (
        include_bytes!("../../../fixtures/claude/sessions/two-tools-done-one-killed.jsonl"),
        include_bytes!("../../../fixtures/claude/two-tools-done-one-killed.jsonl"),
    );
    const COMPACTED: Pair = (
        include_bytes!("../../../fixtures/claude/sessions/auto-compacted.jsonl"),
        include_bytes!("../../../fixtures/claude/success-auto-compacted.jsonl"),
    );
    const OVERLOADED: Pair = (
        include_bytes!("../../../fixtures/claude/sessions/overloaded-exhausted-midrun.jsonl"),
        include_bytes!("../../../fixtures/claude/overloaded-exhausted-midrun.jsonl"),
    );

    /// Every beginning of the file that ends with a row, from `least` bytes on.
    fn cuts(file: &[u8], least: usize) -> impl Iterator<Item = &[u8]> {
        let ends = file.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
        ends.filter(move |end| *end >= least).map(|end| &file[..end])
    }

    /// What was said in the file, row by row: who hangs on whom is left out where the agent had added rows of
    /// its own in between.
    fn said(file: &[u8]) -> Vec<String> {
        let is_said = |kind: &str| matches!(kind, "user" | "assistant");
        let said = rows(file).filter(|row| is_said(row.kind.as_str()));
        said.map(|row| format!("{} {}", row.uuid.as_str(), row.message.content.json())).collect()
    }

    /// How many bytes the file has up to the first prompt, with it.
    fn prompted(file: &[u8]) -> usize {
        let prompt = |line: &[u8]| line.windows(13).any(|bytes| bytes == b"\"type\":\"user\"");
        let before: Vec<&[u8]> = lines(file).take_while(|line| !prompt(line)).collect();
        let line = lines(file).nth(before.len()).expect("a prompt");
        before.iter().map(|line| line.len() + 1).sum::<usize>() + line.len() + 1
    }

    #[test]
    fn whatever_the_agent_had_not_written_yet_is_made_of_its_stream() {
        for (file, stream) in [TOOLS, PARALLEL] {
            for cut in cuts(file, prompted(file)) {
                let whole = [cut, &missing(cut, Some(0), stream)].concat();
                assert_eq!(said(&whole), said(file));
                assert_eq!(facts(&whole).answered, facts(file).answered);
                assert_eq!(facts(&whole).unanswered, facts(file).unanswered);
                if said(cut) != said(file) {
                    assert_eq!(continues(&facts(cut), &whole), Continuity::Continued);
                }
            }
        }
    }

    #[test]
    fn a_row_has_what_the_rows_of_its_session_have() {
        let (file, stream) = PARALLEL;
        let cut = &file[..prompted(file)];
        let made = missing(cut, Some(0), stream);
        let rows = |bytes: &[u8]| -> Vec<serde_json::Value> {
            let rows = lines(bytes).filter_map(|line| serde_json::from_slice(line).ok());
            rows.filter(|row: &serde_json::Value| {
                row["type"] == "assistant" || row["toolUseResult"].is_object()
            })
            .collect()
        };
        let (made, written) = (rows(&made), rows(file));
        assert_eq!(made.len(), written.len());
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
        for (made, written) in made.iter().zip(&written) {
            for key in same {
                assert_eq!(made[key], written[key], "{key}");
            }
            assert_eq!(made["message"]["content"], written["message"]["content"]);
        }
        // The first hangs on what precedes it here; behind it all is tied as the agent ties it.
        let parents = |rows: &[serde_json::Value]| -> Vec<_> {
            rows.iter().skip(1).map(|row| row["parentUuid"].clone()).collect()
        };
        assert_eq!(parents(&made), parents(&written));
    }

    #[test]
    fn a_file_that_holds_everything_lacks_nothing() {
        for (file, stream) in [TOOLS, PARALLEL, COMPACTED, OVERLOADED] {
            assert!(missing(file, Some(0), stream).is_empty());
        }
    }

    #[test]
    fn what_does_not_fit_together_is_left_alone() {
        let (file, stream) = TOOLS;
        let prompt = &file[..prompted(file)];
        // The prompt is not that of this attempt, or nobody knows.
        assert!(missing(prompt, Some(prompt.len()), stream).is_empty());
        assert!(missing(prompt, None, stream).is_empty());
        // Another session's stream.
        assert!(missing(prompt, Some(0), PARALLEL.1).is_empty());
        assert!(missing(file, Some(0), PARALLEL.1).is_empty());
        // Somebody else went on in the file.
        let other = String::from_utf8_lossy(PARALLEL.0).into_owned();
        let half = cuts(file, prompted(file)).nth(3).expect("a cut");
        assert!(missing(&[half, other.as_bytes()].concat(), Some(0), stream).is_empty());
        for junk in [&b""[..], b"{}", b"\0\0", b"{\"type\":\"assistant\"}\n"] {
            assert!(missing(junk, Some(0), stream).is_empty());
            assert!(missing(file, Some(0), junk).is_empty());
        }
    }

    #[test]
    fn a_further_turn_is_not_made_of_its_answers_alone() {
        let (file, stream) = TOOLS;
        let text = String::from_utf8_lossy(stream);
        let answer = text.lines().rfind(|line| line.contains(r#""type":"assistant""#)).expect("an answer");
        let further = answer.replace(r#""uuid":""#, r#""uuid":"further-"#);
        let stream = [stream, b"\n", further.as_bytes(), b"\n"].concat();
        for cut in cuts(file, prompted(file)) {
            assert_eq!(said(&[cut, &missing(cut, Some(0), &stream)].concat()), said(file));
        }
    }

    #[test]
    fn what_the_agents_own_program_said_is_not_put_into_anybodys_mouth() {
        // Behind the compaction, and from the program's message on, nothing is added.
        for (file, stream) in [COMPACTED, OVERLOADED] {
            for cut in cuts(file, prompted(file)) {
                let made = missing(cut, Some(0), stream);
                let synthetic = ["isSynthetic", "<synthetic>", "ran out of context"];
                let text = String::from_utf8_lossy(&made).into_owned();
                assert!(!synthetic.iter().any(|word| text.contains(word)), "{text}");
            }
        }
    }
}

//! Lists the messages that the agent's streams announced in full. It does not use the supervisor's decoder,
//! because it serves to verify that decoder's count.

use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

#[derive(Deserialize)]
struct Line {
    r#type: String,
    #[serde(default)]
    event: Option<Event>,
    #[serde(default)]
    message: Option<Message>,
    #[serde(default)]
    parent_tool_use_id: Option<String>,
}

#[derive(Deserialize)]
struct Event {
    r#type: String,
    #[serde(default)]
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    id: Option<String>,
}

/// Returns the ids of all messages whose final usage is in the stream of some attempt of the run at `dir`.
pub fn announced_message_ids(dir: &Path) -> io::Result<BTreeSet<String>> {
    let mut ids = BTreeSet::new();
    for attempt in fs::read_dir(dir.join("attempts"))? {
        let stream = BufReader::new(fs::File::open(attempt?.path().join("stream.jsonl"))?);
        read(stream, &mut ids)?;
    }
    Ok(ids)
}

fn read(stream: impl BufRead, ids: &mut BTreeSet<String>) -> io::Result<()> {
    // Keyed by conversation thread: sub-agents stream between the lines of their parent.
    let mut open: BTreeMap<Option<String>, String> = BTreeMap::new();
    let mut streamed = BTreeSet::new();
    for line in stream.split(b'\n') {
        let line = line?;
        ids.extend(announced_by_update(&line));
        // A torn line announces no message; neither does a line without a message.
        let Ok(line) = serde_json::from_slice::<Line>(&line) else { continue };
        let thread = line.parent_tool_use_id;
        match (line.r#type.as_str(), line.event) {
            ("stream_event", Some(event)) => {
                match (event.r#type.as_str(), event.message.and_then(|message| message.id)) {
                    ("message_start", Some(id)) => {
                        streamed.insert(id.clone());
                        open.insert(thread, id);
                    }
                    ("message_delta", _) => ids.extend(open.remove(&thread)),
                    _ => {}
                }
            }
            // A message that was not streamed arrives complete.
            ("assistant", _) => {
                ids.extend(line.message.and_then(|message| message.id).filter(|id| !streamed.contains(id)));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns the message whose usage a session update of the Agent Client Protocol states.
fn announced_by_update(line: &[u8]) -> Option<String> {
    let line: Value = serde_json::from_slice(line).ok()?;
    let update = &line["params"]["update"];
    update["_meta"]["usage"].is_object().then(|| update["messageId"].as_str().map(str::to_owned))?
}

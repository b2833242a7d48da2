//! Lists the messages that the agent's streams announced in full. It does not use the supervisor's decoder,
//! because it serves to verify that decoder's count.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

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
    let mut open = BTreeMap::new();
    let mut streamed = BTreeSet::new();
    for line in stream.split(b'\n') {
        // A torn line announces no message; neither does a line without a message.
        let Ok(line) = serde_json::from_slice::<Value>(&line?) else { continue };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        // Over the Agent Client Protocol, an update states the usage of its message.
        let update = &line["params"]["update"];
        ids.extend(text(&update["messageId"]).filter(|_| update["_meta"]["usage"].is_object()));
        let (thread, event) = (text(&line["parent_tool_use_id"]), &line["event"]);
        match (line["type"].as_str(), event["type"].as_str()) {
            (Some("stream_event"), Some("message_start")) => {
                if let Some(id) = text(&event["message"]["id"]) {
                    streamed.insert(id.clone());
                    open.insert(thread, id);
                }
            }
            (Some("stream_event"), Some("message_delta")) => ids.extend(open.remove(&thread)),
            // A message that was not streamed arrives complete.
            (Some("assistant"), _) => {
                ids.extend(text(&line["message"]["id"]).filter(|id| !streamed.contains(id)));
            }
            _ => {}
        }
    }
    Ok(())
}

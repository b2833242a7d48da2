//! Reads the usage and cost of each turn of a run from its transcript.

use longhaul_agent::transcript_message::TranscriptMessage;
use longhaul_core::{Dollars, Usd};
use longhaul_store::{CostBreakdown, RunDir, SubagentCost, TurnCost, read_lines_from};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

// One message every four seconds for a day. Later messages of a longer run are omitted.
const TURNS_MAX: usize = 20_000;
// More sub-agents than a run starts.
const SUBAGENTS_MAX: usize = 10_000;

/// Reads the cost breakdown of a run from its transcript, incrementally. It skips lines that cannot be
/// parsed.
#[derive(Default)]
pub(crate) struct CostBreakdownReader {
    /// Offset of the first unread line.
    offset: u64,
    breakdown: CostBreakdown,
    /// Sub-agents by the tool call that started them.
    indices: BTreeMap<String, Subagent>,
}

struct Subagent {
    index: usize,
    message: Option<String>,
}

impl CostBreakdownReader {
    pub(crate) fn read(&mut self, dir: &RunDir) -> CostBreakdown {
        let start = self.offset;
        let offset = read_lines_from(&dir.transcript_path(), start, |line| {
            self.add_line(line);
            ControlFlow::Continue(())
        });
        match offset {
            Ok(offset) => self.offset = offset,
            // The transcript is derived data: read all of it again next time.
            Err(_) => *self = CostBreakdownReader::default(),
        }
        self.breakdown.clone()
    }

    pub(crate) fn breakdown(&self) -> &CostBreakdown {
        &self.breakdown
    }

    pub(crate) fn add_line(&mut self, line: &[u8]) {
        if TranscriptMessage::can_concern_cost(line)
            && let Ok(message) = serde_json::from_slice(line)
        {
            self.add(&message);
        }
    }

    pub(crate) fn add(&mut self, message: &TranscriptMessage) {
        if let Some(call) = message.tool_use_id.as_ref().filter(|_| message.subagent) {
            self.start_subagent(call, message);
        }
        match &message.parent_tool_use_id {
            Some(call) => self.subagent(call, message),
            None => self.turn(message),
        }
    }

    fn turn(&mut self, message: &TranscriptMessage) {
        let Some(usage) = message.usage.filter(|_| self.breakdown.turns.len() < TURNS_MAX) else { return };
        let cost = message.estimated_cost_usd.and_then(Usd::from_dollars);
        // `None` after a turn without a price.
        let before =
            self.breakdown.turns.last().map_or(Some(Dollars::default()), |last| last.cumulative_cost_usd);
        self.breakdown.turns.push(TurnCost {
            turn_number: self.breakdown.turns.len() as u64 + 1,
            timestamp: message.timestamp.clone(),
            attempt: message.attempt,
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cache_read_tokens: usage.cache_read_input_tokens,
            cache_write_tokens: usage.cache_creation_input_tokens,
            reasoning_tokens: None,
            cost_usd: cost.map(Dollars),
            cumulative_cost_usd: before.zip(cost).map(|(before, cost)| Dollars(before.0 + cost)),
            duration_ms: None,
            model: message.model.clone(),
        });
    }

    fn start_subagent(&mut self, call: &str, message: &TranscriptMessage) {
        if self.indices.contains_key(call) || self.indices.len() >= SUBAGENTS_MAX {
            return;
        }
        let index = self.breakdown.subagents.len();
        self.indices.insert(call.to_owned(), Subagent { index, message: None });
        self.breakdown.subagents.push(SubagentCost {
            tool_use_id: call.to_owned(),
            timestamp: message.timestamp.clone(),
            model: None,
            turns: 0,
            cost_usd: None,
        });
    }

    fn subagent(&mut self, call: &str, message: &TranscriptMessage) {
        // The sub-agent may have started in a session before this run.
        self.start_subagent(call, message);
        let Some(existing) = self.indices.get_mut(call) else { return };
        let is_next = message.id.is_some() && existing.message != message.id;
        if let Some(cost) = self.breakdown.subagents.get_mut(existing.index).filter(|_| is_next) {
            existing.message.clone_from(&message.id);
            cost.turns += 1;
            cost.model.clone_from(&message.model);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CostBreakdownReader;
    use longhaul_agent::transcript_message::{EventKind, MessageOrigin, MessageUsage, TranscriptMessage};
    use longhaul_core::{Dollars, Usd};
    use longhaul_store::RunDir;
    use std::fs;

    fn message_with_id(id: &str, cost: Option<f64>) -> TranscriptMessage {
        TranscriptMessage {
            id: Some(id.to_owned()),
            usage: Some(MessageUsage { output_tokens: 5, ..MessageUsage::default() }),
            estimated_cost_usd: cost,
            ..TranscriptMessage::new(EventKind::Text, MessageOrigin::Model, 1)
        }
    }

    #[test]
    fn reads_turns_and_subagents() {
        let home = tempfile::tempdir().expect("a directory");
        let dir = RunDir::from_path(home.path().join("bcdfgh")).expect("an absolute path");
        fs::create_dir_all(dir.logs_path()).expect("the directory can be created");
        assert!(CostBreakdownReader::default().read(&dir).turns.is_empty(), "there is no transcript");
        let call = TranscriptMessage {
            subagent: true,
            tool_use_id: Some("t".to_owned()),
            ..TranscriptMessage::new(EventKind::ToolCall, MessageOrigin::Model, 1)
        };
        let subagent_message = |id: &str| TranscriptMessage {
            parent_tool_use_id: Some("t".to_owned()),
            model: Some("haiku".to_owned()),
            usage: None,
            ..message_with_id(id, None)
        };
        let messages = [
            message_with_id("a", Some(0.25)),
            call,
            subagent_message("s1"),
            subagent_message("s1"),
            subagent_message("s2"),
            message_with_id("b", Some(0.5)),
            message_with_id("c", None),
            message_with_id("d", Some(0.5)),
        ];
        let lines = messages.iter().map(|message| serde_json::to_string(message).expect("JSON") + "\n");
        fs::write(dir.transcript_path(), lines.collect::<String>() + "no message\n").expect("written");
        let breakdown = CostBreakdownReader::default().read(&dir);
        let turns: Vec<_> = breakdown
            .turns
            .iter()
            .map(|turn| (turn.turn_number, turn.cost_usd, turn.cumulative_cost_usd))
            .collect();
        let usd = |micro: u64| Some(Dollars(Usd(micro)));
        assert_eq!(
            turns,
            [
                (1, usd(250_000), usd(250_000)),
                (2, usd(500_000), usd(750_000)),
                (3, None, None),
                (4, usd(500_000), None),
            ]
        );
        let subagents: Vec<_> = breakdown
            .subagents
            .iter()
            .map(|cost| (cost.tool_use_id.as_str(), cost.turns, cost.model.as_deref()))
            .collect();
        assert_eq!(subagents, [("t", 2, Some("haiku"))]);
    }
}

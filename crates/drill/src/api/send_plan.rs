//! Plans how a streamed response is sent under a fault. It is pure: [`send`](super::send) performs the steps.

use std::time::Duration;

use super::scripted_message::SseEvent;
use crate::scenario::{CutPoint, FaultKind, KillAt, Signal};

/// How long a response waits at a signal point for the agent to receive its signal, before it continues.
const KILL_WAIT: Duration = Duration::from_secs(5);

/// Time for an agent to read the data sent so far before it is killed or cut off. With 20 ms, most of three
/// real agents on two processors lost the start of a truncated message; with 400 ms, none of 16 did.
pub(super) const READ_GRACE: Duration = Duration::from_millis(400);

/// Duration of a wait without an end. No drill waits longer.
const UNLIMITED: Duration = Duration::from_secs(3600);

#[derive(Debug, Clone)]
pub(super) enum SendStep {
    Send(SseEvent),
    /// Wait this long, or until the client leaves.
    Wait(Duration),
    /// Send pings until the client leaves.
    Ping,
    Announce(Signal),
    /// Announce a signal point this long after the response was delivered.
    AnnounceLater(Signal, Duration),
    /// End the connection without the last chunk.
    Drop,
    /// End the connection with a reset.
    Reset,
}

pub(super) fn steps(events: Vec<SseEvent>, fault: Option<&FaultKind>) -> Vec<SendStep> {
    let all_events = |events: Vec<SseEvent>| events.into_iter().map(SendStep::Send).collect::<Vec<_>>();
    let events_until = |cut: CutPoint, end: Vec<SendStep>| {
        let count = sent_until(&events, cut);
        events.iter().take(count).cloned().map(SendStep::Send).chain(end).collect()
    };
    match fault {
        Some(FaultKind::Reset { after }) => events_until(*after, vec![SendStep::Reset]),
        Some(FaultKind::Cut { after }) => events_until(*after, vec![SendStep::Drop]),
        Some(FaultKind::Pings {}) => vec![SendStep::Ping],
        Some(FaultKind::Silence { after }) => {
            events_until(*after, vec![SendStep::Wait(UNLIMITED), SendStep::Drop])
        }
        Some(FaultKind::Kill { at: KillAt::BeforeFirstToken, signal, .. }) => {
            let mut steps = vec![SendStep::Announce(*signal), SendStep::Wait(wait_for_disconnect(*signal))];
            steps.extend(all_events(events));
            steps
        }
        Some(FaultKind::Kill { at: KillAt::MidStream, signal, .. }) => {
            let mut steps = all_events(events);
            let half = steps.len() / 2;
            let pause = [
                SendStep::Wait(READ_GRACE),
                SendStep::Announce(*signal),
                SendStep::Wait(wait_for_disconnect(*signal)),
            ];
            steps.splice(half..half, pause);
            steps
        }
        Some(FaultKind::Kill { at: KillAt::MidTool, after, signal }) => {
            let mut steps = all_events(events);
            steps.push(SendStep::AnnounceLater(*signal, *after.start()));
            steps
        }
        // These change the status, the message or the delay before it, not how it is sent.
        Some(
            FaultKind::Status(_)
            | FaultKind::UsageLimit { .. }
            | FaultKind::Refuse { .. }
            | FaultKind::Html {}
            | FaultKind::Refusal {}
            | FaultKind::Empty {}
            | FaultKind::PauseTurn {}
            | FaultKind::Hold { .. },
        )
        | None => all_events(events),
    }
}

fn wait_for_disconnect(signal: Signal) -> Duration {
    match signal {
        // A frozen agent reads nothing and disconnects only when it is killed.
        Signal::Stop => UNLIMITED,
        Signal::Kill | Signal::Int | Signal::Term => KILL_WAIT,
    }
}

/// Returns how many events are sent before the cut. A message without the requested cut point is cut after
/// its start.
fn sent_until(events: &[SseEvent], cut: CutPoint) -> usize {
    let first = |field: &str, matches: &dyn Fn(&SseEvent) -> bool| {
        let start = events.iter().position(|event| event.data["content_block"]["type"] == field)?;
        Some(start + events.get(start..)?.iter().position(matches)?)
    };
    let is_stop = |event: &SseEvent| event.name() == "content_block_stop";
    let middle = |field: &str| {
        let start = first(field, &|event| event.name() == "content_block_delta")?;
        let end = first(field, &is_stop)?;
        Some(start + (end - start).div_ceil(2).max(1))
    };
    let index = match cut {
        CutPoint::Start => Some(0),
        CutPoint::MidText => middle("text"),
        CutPoint::MidTool => middle("tool_use"),
        CutPoint::Tool => first("tool_use", &is_stop).map(|index| index + 1),
    };
    index.unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::scripted_message::ScriptedMessage;
    use super::*;
    use crate::rng::Rng;
    use longhaul_core::Tokens;

    fn check(fault: &str, expected: &str) {
        let fault: FaultKind = toml::from_str::<toml::Table>(fault)
            .ok()
            .and_then(|table| toml::Value::Table(table).try_into().ok())
            .unwrap_or(FaultKind::Html {});
        let content = vec![
            json!({"type": "text", "text": "abcdefgh"}),
            json!({"type": "tool_use", "id": "t", "name": "Bash", "input": {"a": 1}}),
        ];
        let answer = ScriptedMessage {
            id: "m".into(),
            model: "x".into(),
            content,
            stop_reason: "tool_use",
            tokens: Tokens::default(),
        };
        let steps = steps(answer.events(&mut Rng::new(7)), Some(&fault));
        let steps: Vec<_> = steps
            .iter()
            .map(|step| match step {
                SendStep::Send(event) => {
                    event.name().trim_start_matches("content_block_").trim_start_matches("message_")
                }
                SendStep::Wait(_) => "WAIT",
                SendStep::Ping => "PING",
                SendStep::Announce(..) | SendStep::AnnounceLater(..) => "KILL",
                SendStep::Drop => "DROP",
                SendStep::Reset => "RESET",
            })
            .collect();
        assert_eq!(steps.join(" "), expected, "{fault:?}");
    }

    #[test]
    fn each_fault_cuts_at_its_cut_point() {
        check("cut = { after = 'start' }", "DROP");
        check("cut = { after = 'mid-text' }", "start start ping delta DROP");
        check("reset = { after = 'mid-tool' }", "start start ping delta delta stop start delta RESET");
        check("cut = { after = 'tool' }", "start start ping delta delta stop start delta delta stop DROP");
        check("pings = {}", "PING");
        check("silence = { after = 'mid-text' }", "start start ping delta WAIT DROP");
        check(
            "kill = { at = 'before-first-token' }",
            "KILL WAIT start start ping delta delta stop start delta delta stop delta stop",
        );
        check(
            "kill = { at = 'mid-stream' }",
            "start start ping delta delta stop WAIT KILL WAIT start delta delta stop delta stop",
        );
        check(
            "kill = { at = 'mid-tool' }",
            "start start ping delta delta stop start delta delta stop delta stop KILL",
        );
    }
}

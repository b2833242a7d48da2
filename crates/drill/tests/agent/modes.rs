//! Tests the modes without an API.

use crate::host::{Drill, TestResult, event_kinds};

#[test]
fn replay_writes_the_recording_unchanged() -> TestResult {
    let drill = Drill::find("storm")?;
    let recording = drill.work().join("recorded.jsonl");
    std::fs::write(
        &recording,
        "{\"type\":\"system\",\"subtype\":\"init\"}\n{\"type\":\"result\",\"subtype\":\"x\"}\n",
    )?;
    let path = recording.display().to_string();
    let mut agent =
        drill.start(&[], &[("LONGHAUL_SCRIPTED_REPLAY", &path), ("LONGHAUL_SCRIPTED_EXIT", "7")])?;
    agent.send_prompt("go")?;
    let ended = drill.end(agent)?;
    assert_eq!(
        (ended.status.code(), event_kinds(&ended.events)),
        (Some(7), vec!["system/init".into(), "result/x".into()])
    );
    Ok(())
}

#[test]
fn flood_writes_requested_events_and_a_result() -> TestResult {
    let drill = Drill::find("storm")?;
    let mut agent = drill.start(&[], &[("LONGHAUL_SCRIPTED_FLOOD", "500:1200")])?;
    agent.send_prompt("go")?;
    let ended = drill.end(agent)?;
    let streamed: Vec<usize> = ended
        .events
        .iter()
        .filter(|event| event["type"] == "stream_event")
        .map(|event| event.to_string().len())
        .collect();
    assert_eq!(streamed.len(), 500);
    assert!(streamed.iter().all(|bytes| (1100..1300).contains(bytes)), "{:?}", streamed.first());
    assert_eq!(ended.last()?["terminal_reason"], "completed");
    Ok(())
}

#[test]
fn instant_end_sends_no_request() -> TestResult {
    let drill = Drill::find("storm")?;
    let mut agent = drill.start(&[], &[("LONGHAUL_SCRIPTED_INSTANT", "1")])?;
    agent.send_prompt("go")?;
    let ended = drill.end(agent)?;
    assert_eq!(event_kinds(&ended.events), ["system/init", "result/success", "system/session_state_changed"]);
    assert_eq!(drill.api.request_log().requests.len(), 0);
    Ok(())
}

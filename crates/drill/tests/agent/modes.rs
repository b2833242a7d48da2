//! The modes without an API.

use crate::host::{Checked, Stage, words};

#[test]
fn a_recording_is_written_as_it_is() -> Checked {
    let stage = Stage::of("storm")?;
    let recording = stage.work().join("recorded.jsonl");
    std::fs::write(
        &recording,
        "{\"type\":\"system\",\"subtype\":\"init\"}\n{\"type\":\"result\",\"subtype\":\"x\"}\n",
    )?;
    let path = recording.display().to_string();
    let mut agent =
        stage.start(&[], &[("LONGHAUL_SCRIPTED_REPLAY", &path), ("LONGHAUL_SCRIPTED_EXIT", "7")])?;
    agent.say("go")?;
    let ended = stage.end(agent)?;
    assert_eq!(
        (ended.status.code(), words(&ended.events)),
        (Some(7), vec!["system/init".into(), "result/x".into()])
    );
    Ok(())
}

#[test]
fn a_flood_has_the_events_asked_for_and_a_good_result() -> Checked {
    let stage = Stage::of("storm")?;
    let mut agent = stage.start(&[], &[("LONGHAUL_SCRIPTED_FLOOD", "500:1200")])?;
    agent.say("go")?;
    let ended = stage.end(agent)?;
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
fn an_instant_end_asks_nobody() -> Checked {
    let stage = Stage::of("storm")?;
    let mut agent = stage.start(&[], &[("LONGHAUL_SCRIPTED_INSTANT", "1")])?;
    agent.say("go")?;
    let ended = stage.end(agent)?;
    assert_eq!(words(&ended.events), ["system/init", "result/success", "system/session_state_changed"]);
    assert_eq!(stage.api.account().requests.len(), 0);
    Ok(())
}

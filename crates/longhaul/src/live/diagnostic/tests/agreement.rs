//! The notes of simulated runs agree with their histories.

use crate::live::diagnostic::notes::describe_record;
use longhaul_core::{HistoryEvent, HistoryEventKind, Run, RunHistory};
use longhaul_store::rfc3339;
use std::collections::BTreeSet;

const SEEDS: u64 = 200;

/// Returns the name of the note about an event, if it has one.
fn name_of(history: &RunHistory, event: &HistoryEvent) -> Option<String> {
    let name = match &event.kind {
        HistoryEventKind::PromptSent(_) => "prompt_sent".to_owned(),
        HistoryEventKind::AgentStopped { .. } => "stopped".to_owned(),
        HistoryEventKind::StopOrdered(stop) => format!("stop_{}", stop.cause),
        HistoryEventKind::StallDeferred(_) => "stall_deferred".to_owned(),
        HistoryEventKind::LimitReached { limit, .. } => format!("limit_{limit}"),
        HistoryEventKind::AttemptEnded => format!("fault_{}", history.attempt(event.attempt)?.fault()?),
        HistoryEventKind::CheckEnded { result, .. } => format!("check_{result}"),
        HistoryEventKind::ReviewEnded { result, .. } => format!("review_{}", <&str>::from(result)),
        HistoryEventKind::Downtime { .. } => "downtime".to_owned(),
        HistoryEventKind::CancelRequested(_) => "cancel".to_owned(),
        HistoryEventKind::SuspendOrdered(_) => "suspended".to_owned(),
        HistoryEventKind::Reopened { .. } => "reopened".to_owned(),
        HistoryEventKind::Finished { outcome, .. } => format!("outcome_{}", outcome.kind),
        HistoryEventKind::AttemptStarted
        | HistoryEventKind::AttemptSpawned
        | HistoryEventKind::SummaryEnded(_)
        | HistoryEventKind::Recovered { .. }
        | HistoryEventKind::Suspended { .. } => return None,
    };
    Some(name)
}

/// Returns whether a note has no event in the history.
fn is_detail(name: &str) -> bool {
    let names = ["swept", "wait", "check_stop_ordered", "guard_denied"];
    names.contains(&name) || name.starts_with("strategy_") || name.starts_with("summary_")
}

#[test]
fn notes_of_simulated_runs_agree_with_the_history() {
    let (mut events, mut waits) = (0, 0);
    for seed in 0..SEEDS {
        let records = longhaul_sim::journal(seed);
        let history = RunHistory::new(records.iter().map(|(at, record)| (*at, record)));
        let mut run = Run::new();
        let notes: Vec<_> = records
            .iter()
            .flat_map(|(at, record)| {
                run.apply(*at, record);
                describe_record(record, &run)
            })
            .collect();
        let names: Vec<&str> =
            notes.iter().map(|note| note.name.as_str()).filter(|name| !is_detail(name)).collect();
        let expected: Vec<String> =
            history.events().iter().filter_map(|event| name_of(&history, event)).collect();
        assert_eq!(names, expected, "seed {seed}");
        let ends: BTreeSet<String> = history.waits().map(|wait| rfc3339(wait.until)).collect();
        for wait in notes.iter().filter(|note| note.name == "wait") {
            let until = wait.lines.iter().find(|(name, _)| *name == "until").map(|(_, until)| until);
            assert!(until.is_some_and(|until| ends.contains(until)), "{wait:?} of seed {seed}");
            waits += 1;
        }
        events += names.len();
    }
    assert!(events > 1_000 && waits > 100, "the runs have {events} events and {waits} waits");
}

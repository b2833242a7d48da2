use super::{Subject, SwarmStats, rerun, swarm};
use crate::{parse_failed, trace};

// Enough to reach everything, and few enough for an unoptimized build.
const SEEDS: u64 = 6_000;

// The first thousand already reach everything.
const WORKFLOWS: u64 = 3_000;

fn check_failures(stats: &SwarmStats) {
    let failed: Vec<String> =
        stats.failures.iter().map(|failure| format!("{}: {}", failure.seed, failure.violation)).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn swarm_reaches_everything_without_violation() {
    let stats = swarm(Subject::Run, 0..SEEDS, 2);
    check_failures(&stats);
    let rare = ["recovery", "cancel", "outcome bug"];
    let missing: Vec<String> = stats
        .coverage
        .missing(Subject::Run)
        .into_iter()
        .filter(|name| !rare.iter().any(|rare| name.starts_with(rare)))
        .collect();
    assert!(missing.is_empty(), "not reached: {missing:?}");
    assert!(stats.steps >= 25 * stats.seeds, "{} steps per run", stats.steps / stats.seeds);
    assert!(stats.starts >= 2 * stats.seeds, "{} attempts", stats.starts);
}

#[test]
fn workflows_reach_everything_without_violation() {
    let stats = swarm(Subject::Workflow, 0..WORKFLOWS, 2);
    check_failures(&stats);
    let missing = stats.coverage.missing(Subject::Workflow);
    assert!(missing.is_empty(), "not reached: {missing:?}");
    assert!(stats.starts >= 4 * stats.seeds, "{} runs", stats.starts);
}

#[test]
fn failed_seeds_pass() {
    for (subject, text) in [
        (Subject::Run, include_str!("../../seeds/failed.txt")),
        (Subject::Workflow, include_str!("../../seeds/failed-workflows.txt")),
    ] {
        let stats = rerun(subject, &parse_failed(text));
        assert!(stats.seeds > 0);
        assert_eq!(stats.failures, []);
    }
}

#[test]
fn trace_is_deterministic() {
    for subject in [Subject::Run, Subject::Workflow] {
        assert_eq!(trace(subject, 11), trace(subject, 11));
        assert_ne!(trace(subject, 11), trace(subject, 12));
    }
}

use super::{rerun, swarm};
use crate::{parse_failed, trace};

// Enough to reach everything, and few enough for an unoptimized build.
const SEEDS: u64 = 6_000;

#[test]
fn swarm_reaches_everything_without_violation() {
    let stats = swarm(0..SEEDS, 2);
    let failed: Vec<String> =
        stats.failures.iter().map(|failure| format!("{}: {}", failure.seed, failure.violation)).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let rare = ["recovery", "cancel", "outcome bug"];
    let missing: Vec<String> = stats
        .coverage
        .missing()
        .into_iter()
        .filter(|name| !rare.iter().any(|rare| name.starts_with(rare)))
        .collect();
    assert!(missing.is_empty(), "not reached: {missing:?}");
    assert!(stats.steps >= 25 * stats.runs, "{} steps per run", stats.steps / stats.runs);
    assert!(stats.attempts >= 2 * stats.runs, "{} attempts", stats.attempts);
}

#[test]
fn failed_seeds_pass() {
    let stats = rerun(&parse_failed(include_str!("../../seeds/failed.txt")));
    assert!(stats.runs > 0);
    assert_eq!(stats.failures, []);
}

#[test]
fn trace_is_deterministic() {
    assert_eq!(trace(11), trace(11));
    assert_ne!(trace(11), trace(12));
}

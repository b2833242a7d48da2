use super::{rerun, swarm};
use crate::{parse_failed, trace};

// Enough to reach everything, and few enough for an unoptimised build.
const SEEDS: u64 = 6_000;

#[test]
fn no_oracle_objects_and_everything_is_reached() {
    let figures = swarm(0..SEEDS, 2);
    let failed: Vec<String> =
        figures.failures.iter().map(|failure| format!("{}: {}", failure.seed, failure.objection)).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let rare = ["found", "cancel", "outcome bug"];
    let missing: Vec<String> = figures
        .coverage
        .missing()
        .into_iter()
        .filter(|name| !rare.iter().any(|rare| name.starts_with(rare)))
        .collect();
    assert!(missing.is_empty(), "not reached: {missing:?}");
    assert!(figures.steps >= 25 * figures.runs, "{} steps a run", figures.steps / figures.runs);
    assert!(figures.attempts >= 2 * figures.runs, "{} attempts", figures.attempts);
}

#[test]
fn seeds_that_once_failed_pass() {
    let figures = rerun(&parse_failed(include_str!("../../seeds/failed.txt")));
    assert!(figures.runs > 0);
    assert_eq!(figures.failures, []);
}

#[test]
fn a_seed_flies_the_same_way_every_time() {
    assert_eq!(trace(11), trace(11));
    assert_ne!(trace(11), trace(12));
}

//! What it costs that an agent with limits asks before each call of a tool: the time from one request to the next, with
//! limits that are never reached and without any, told by the API's own clock.

use super::case::scenario;
use super::play::{CaseRun, TestRig};
use crate::bench::section::Row;
use longhaul_drill::api::RequestKind;
use std::io;

const CALLS: usize = 40;
// Each pair one after the other, so that a machine that is busy for a while is busy for both.
const PAIRS: usize = 3;
// The agent starts up in the first ones.
const LEFT_OUT: usize = 2;

/// The rows of the bars.
pub fn rows(rig: &TestRig) -> io::Result<Vec<Row>> {
    let work = scenario(&[":"; CALLS]);
    let (mut alone, mut attended) = (Vec::new(), Vec::new());
    for pair in 1..=PAIRS {
        eprintln!("▶ {CALLS} calls without limits and with them, {pair} of {PAIRS}");
        alone.extend(gaps(&rig.play(&work, &[])?));
        attended.extend(gaps(&rig.play(&work, &["--max-turns", "1000"])?));
    }
    let (alone, attended) = (median(alone), median(attended));
    Ok(vec![
        Row::render("from one request to the next, without limits, median", "ms", alone),
        Row::render("the same of an agent that asks before each call", "ms", attended)
            .against(attended / alone, "without limits"),
    ])
}

/// Milliseconds between requests of the conversation.
fn gaps(played: &CaseRun) -> Vec<u64> {
    let requests = played.account.requests.iter().filter(|request| request.kind == RequestKind::Model);
    let at_ms: Vec<u64> = requests.map(|request| request.at_ms).skip(LEFT_OUT).collect();
    at_ms.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Nothing measured is no figure.
fn median(mut figures: Vec<u64>) -> f64 {
    figures.sort_unstable();
    figures.get(figures.len() / 2).map_or(f64::NAN, |figure| *figure as f64)
}

//! Measures how much longer a tool call takes while Longhaul enforces limits: the time from one request to
//! the next by the API's own clock, with limits that are never reached and without limits.

use super::case::scenario;
use super::play::{LimitRig, LimitRun};
use crate::bench::section::ResultRow;
use longhaul_drill::api::RequestKind;
use std::io;

const CALLS: usize = 40;
// The members of a pair run one after the other, so that a busy machine slows both.
const PAIRS: usize = 3;
// The agent is still starting during the first requests.
const SKIPPED_REQUESTS: usize = 2;

/// Measures and returns the rows of the table.
pub fn rows(rig: &LimitRig) -> io::Result<Vec<ResultRow>> {
    let work = scenario(&[":"; CALLS]);
    let (mut alone, mut limited) = (Vec::new(), Vec::new());
    for pair in 1..=PAIRS {
        eprintln!("▶ {CALLS} calls without limits and with them, {pair} of {PAIRS}");
        alone.extend(gaps(&rig.play(&work, &[])?));
        limited.extend(gaps(&rig.play(&work, &["--max-turns", "1000"])?));
    }
    let (alone, limited) = (median(alone), median(limited));
    Ok(vec![
        ResultRow::without_bar("from one request to the next, without limits, median", "ms", alone),
        ResultRow::without_bar("the same with limits: the agent asks before each call", "ms", limited)
            .with_ratio(limited / alone, "without limits"),
    ])
}

/// Returns the milliseconds between requests of the conversation.
fn gaps(case_run: &LimitRun) -> Vec<u64> {
    let requests = case_run.request_log.requests.iter().filter(|request| request.kind == RequestKind::Model);
    let at_ms: Vec<u64> = requests.map(|request| request.at_ms).skip(SKIPPED_REQUESTS).collect();
    at_ms.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Returns the median, or NaN without figures.
fn median(mut figures: Vec<u64>) -> f64 {
    figures.sort_unstable();
    figures.get(figures.len() / 2).map_or(f64::NAN, |figure| *figure as f64)
}

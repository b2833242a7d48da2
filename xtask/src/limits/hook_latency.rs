//! Measures how much longer a tool call takes while Longhaul enforces limits: the time from one request to
//! the next by the API's own clock, with limits that are never reached and without limits.

use super::case::scenario;
use super::play::{LimitRun, play};
use crate::programs::Programs;
use crate::results::ResultSection;
use crate::sample::median;
use longhaul_drill::api::RequestKind;
use std::io;

const CALLS: usize = 40;
// The members of a pair run one after the other, so that a busy machine slows both.
const PAIRS: usize = 3;
// The agent is still starting during the first requests.
const SKIPPED_REQUESTS: usize = 2;

pub fn add_rows(section: &mut ResultSection, programs: &Programs) -> io::Result<()> {
    let work = scenario(&[":"; CALLS])?;
    let (mut alone, mut limited) = (Vec::new(), Vec::new());
    for pair in 1..=PAIRS {
        eprintln!("▶ {CALLS} calls without limits and with them, {pair} of {PAIRS}");
        alone.extend(gaps_ms(&play(programs, &work, &[])?));
        limited.extend(gaps_ms(&play(programs, &work, &["--max-turns", "1000"])?));
    }
    let (alone, limited) = (median(&alone), median(&limited));
    section.figure("from one request to the next, without limits, median", None, "ms", alone);
    section
        .figure("the same with limits: the agent asks before each call", None, "ms", limited)
        .ratio(limited / alone, "without limits");
    Ok(())
}

fn gaps_ms(case_run: &LimitRun) -> Vec<f64> {
    let requests = case_run.request_log.requests.iter().filter(|request| request.kind == RequestKind::Model);
    let at_ms: Vec<u64> = requests.map(|request| request.at_ms).skip(SKIPPED_REQUESTS).collect();
    at_ms.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect()
}

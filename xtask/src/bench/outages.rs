//! Measures how soon a run continues after an overload, and how many failed requests it sends until then. Thirty
//! outages with status 529 are simulated, of 10 to 120 s, under the default policy. `cargo xtask faults` plays two
//! with the real agent.

use super::Bench;
use crate::results::{ResultSection, table_row};
use crate::sample::{median, percentile};
use longhaul_core::{Preset, Span};
use longhaul_sim::{OutageRun, simulate_outages};
use std::io;

const SEEDS: std::ops::Range<u64> = 1..31;
const OUTAGE_MIN: Span = Span::from_secs(10);
const OUTAGE_MAX: Span = Span::from_secs(120);
const LATENESS_BAR_S: f64 = 10.0;
// For long outages, the bar is proportional to the length of the outage.
const LATENESS_BAR_SHARE: f64 = 0.3;
const REFUSED_BAR: f64 = 30.0;
const HEAD: &str = "| seed | outage | lateness | failed requests |\n|---|---|---|---|\n";

pub fn bench(_: &Bench) -> io::Result<ResultSection> {
    let runs = simulate_outages(&Preset::Default.policy(), SEEDS, OUTAGE_MIN, OUTAGE_MAX);
    let runs = runs.map_err(|violation| io::Error::other(format!("a simulated outage: {violation}")))?;
    let lateness: Vec<f64> = runs.iter().map(lateness_s).collect();
    let refused: Vec<f64> = runs.iter().map(|run| run.failed_requests as f64).collect();
    let allowed = |run: &OutageRun| LATENESS_BAR_S.max(LATENESS_BAR_SHARE * seconds(run.outage));
    let shares: Vec<f64> = runs.iter().map(|run| lateness_s(run) / allowed(run)).collect();
    let done = runs.iter().filter(|run| run.is_done).count();

    let mut section = ResultSection::new(
        "Simulated: the API answers 529 from the first request until the outage ends, and then at once. Default \
         preset; lengths are drawn by seed. A run that is never served is infinitely late.",
    );
    section.figure("lateness, median", LATENESS_BAR_S, "s", median(&lateness));
    section
        .figure("lateness as a share of its bar, 90th percentile", 1.0, "", percentile(&shares, 90.0))
        .origin("10 s, or 30 % of the outage");
    section.figure("lateness, 90th percentile", None, "s", percentile(&lateness, 90.0));
    section.figure("failed requests, median", REFUSED_BAR, "", median(&refused));
    section.every("runs that finished as done", done, runs.len());
    section.figure("failed requests, maximum", None, "", percentile(&refused, 100.0));
    section.appendix = HEAD.to_owned();
    for run in &runs {
        section.appendix += &table_row(&[
            run.seed.to_string(),
            format!("{:.1} s", seconds(run.outage)),
            format!("{:.1} s", lateness_s(run)),
            run.failed_requests.to_string(),
        ]);
    }
    Ok(section)
}

fn seconds(span: Span) -> f64 {
    span.to_std().as_secs_f64()
}

/// Returns the time from the end of the outage to the first request that was answered.
fn lateness_s(run: &OutageRun) -> f64 {
    run.lateness.map_or(f64::INFINITY, seconds)
}

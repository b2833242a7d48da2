//! Measures how soon a run continues after an overload, and how many failed requests it sends until then. The
//! outages have status 529 and last 10 to 120 s, under the default policy. Thirty are simulated. The real
//! agent runs through five of them in real time, all at once.

use super::Bench;
use crate::api::Loopback;
use crate::process::KillOnDrop;
use crate::results::{ResultSection, table_row};
use crate::sample::{median, percentile};
use crate::sandbox::Sandbox;
use longhaul_core::{Preset, Span};
use longhaul_sim::{OutageRun, simulate_outages};
use std::io;
use std::time::Duration;

const SEEDS: std::ops::Range<u64> = 1..31;
// The real outages have the lengths of the first simulated ones.
const REAL: usize = 5;
const OUTAGE_MIN: Span = Span::from_secs(10);
const OUTAGE_MAX: Span = Span::from_secs(120);
const LATENESS_BAR_S: f64 = 10.0;
// For long outages, the bar is proportional to the length of the outage.
const LATENESS_BAR_SHARE: f64 = 0.3;
const REFUSED_BAR: f64 = 30.0;
// Twice what any run should take. A run that takes longer is killed, and its figures are missing.
const TIMEOUT: Duration = Duration::from_secs(400);
const HEAD: &str = "| seed | | outage | lateness | failed requests |\n|---|---|---|---|---|\n";

struct OutageResult {
    seed: u64,
    outage_s: f64,
    /// Time from the outage's end to the first request that was answered.
    lateness_s: f64,
    refused: f64,
    /// Whether the run finished as done. For a simulated run the oracles require it.
    done: bool,
}

pub fn bench(bench: &Bench) -> io::Result<ResultSection> {
    let mut section = ResultSection::new(
        "The API answers 529 from the first request until the outage ends, and then at once. Default preset; \
         lengths are drawn by seed. In real outages, `longhaul run` supervises the real Claude Code.",
    );
    section.appendix = HEAD.to_owned();
    let simulated = simulate()?;
    add_rows(&mut section, "simulated", &simulated);
    if !bench.quick {
        add_rows(&mut section, "real", &run_real_agent(bench, &simulated)?);
    }
    Ok(section)
}

fn add_rows(section: &mut ResultSection, kind: &str, outages: &[OutageResult]) {
    let lateness: Vec<f64> = outages.iter().map(|outage| outage.lateness_s).collect();
    let refused: Vec<f64> = outages.iter().map(|outage| outage.refused).collect();
    let allowed = |outage: &OutageResult| LATENESS_BAR_S.max(LATENESS_BAR_SHARE * outage.outage_s);
    let shares: Vec<f64> = outages.iter().map(|outage| outage.lateness_s / allowed(outage)).collect();
    let (count, done) = (outages.len(), outages.iter().filter(|outage| outage.done).count());
    let label = format!("{kind}, {count} outages: lateness, median");
    section.figure(label, LATENESS_BAR_S, "s", median(&lateness));
    let label = format!("{kind}: lateness as a share of its bar, 90th percentile");
    section.figure(label, 1.0, "", percentile(&shares, 90.0)).origin("10 s, or 30 % of the outage");
    let label = format!("{kind}: lateness, 90th percentile");
    section.figure(label, None, "s", percentile(&lateness, 90.0));
    section.figure(format!("{kind}: failed requests, median"), REFUSED_BAR, "", median(&refused));
    section.equal(format!("{kind}: runs that finished as done"), count, done);
    section.figure(format!("{kind}: failed requests, maximum"), None, "", percentile(&refused, 100.0));
    for outage in outages {
        section.appendix += &table_row(&[
            outage.seed.to_string(),
            kind.to_owned(),
            format!("{:.1} s", outage.outage_s),
            format!("{:.1} s", outage.lateness_s),
            format!("{:.0}", outage.refused),
        ]);
    }
}

fn simulate() -> io::Result<Vec<OutageResult>> {
    let found = simulate_outages(&Preset::Default.policy(), SEEDS, OUTAGE_MIN, OUTAGE_MAX);
    let found = found.map_err(|violation| io::Error::other(format!("a simulated outage: {violation}")))?;
    let result = |run: OutageRun| OutageResult {
        seed: run.seed,
        outage_s: run.outage.to_std().as_secs_f64(),
        lateness_s: run.lateness.to_std().as_secs_f64(),
        refused: run.failed_requests as f64,
        done: true,
    };
    Ok(found.into_iter().map(result).collect())
}

fn run_real_agent(bench: &Bench, simulated: &[OutageResult]) -> io::Result<Vec<OutageResult>> {
    let mut running = Vec::new();
    for outage in simulated.iter().take(REAL) {
        let (sandbox, loopback) =
            (Sandbox::new()?, Loopback::with_outage(Duration::from_secs_f64(outage.outage_s))?);
        let run = sandbox.run(&bench.programs, &loopback, "Say that you are done.").spawn()?;
        running.push((outage, sandbox, loopback, KillOnDrop(run)));
    }
    let mut results = Vec::new();
    for (outage, _sandbox, loopback, mut run) in running {
        let done = run.wait(TIMEOUT, |_| {})?.success();
        let log = loopback.api.request_log();
        let end = |first| first + Duration::from_secs_f64(outage.outage_s);
        let answered = loopback.first_request().zip(loopback.first_answered());
        let lateness = answered.map(|(first, answered)| answered.saturating_duration_since(end(first)));
        results.push(OutageResult {
            // A run that was never answered misses every bar.
            lateness_s: lateness.map_or(f64::INFINITY, |lateness| lateness.as_secs_f64()),
            refused: log.injected.len() as f64,
            done,
            ..*outage
        });
    }
    Ok(results)
}

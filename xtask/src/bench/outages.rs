//! Measures how soon a run continues after an overload, and how many failed requests it sends until then. The
//! outages have status 529 and last 10 to 120 s, under the default policy. Thirty are simulated. The real
//! agent runs through five of them in real time, all at once.

use super::Bench;
use super::api::{BenchApi, RequestStats};
use super::process::KillOnDrop;
use super::sample::{median, percentile};
use super::sandbox::Sandbox;
use super::section::{ResultRow, ResultSection};
use longhaul_core::{Preset, Span};
use longhaul_sim::simulate_outages;
use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

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

/// One outage and the result of its run.
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
    let mut rows = Vec::new();
    let mut appendix = "| seed | | outage | lateness | failed requests |\n|---|---|---|---|---|\n".to_owned();
    let simulated = simulate()?;
    add_rows("simulated", &simulated, &mut rows, &mut appendix);
    if !bench.quick {
        add_rows("real", &run_real_agent(bench, &simulated)?, &mut rows, &mut appendix);
    }
    Ok(ResultSection {
        about: "The API answers 529 from the first request until the outage ends, and then at once. Default preset; \
                lengths are drawn by seed. In real outages, `longhaul run` supervises the real Claude Code.",
        rows,
        appendix,
    })
}

fn add_rows(kind: &str, outages: &[OutageResult], rows: &mut Vec<ResultRow>, appendix: &mut String) {
    let lateness: Vec<f64> = outages.iter().map(|outage| outage.lateness_s).collect();
    let refused: Vec<f64> = outages.iter().map(|outage| outage.refused).collect();
    let allowed = |outage: &OutageResult| LATENESS_BAR_S.max(LATENESS_BAR_SHARE * outage.outage_s);
    let shares: Vec<f64> = outages.iter().map(|outage| outage.lateness_s / allowed(outage)).collect();
    let (count, done) = (outages.len(), outages.iter().filter(|outage| outage.done).count());
    rows.extend([
        ResultRow::at_most(
            format!("{kind}, {count} outages: lateness, median"),
            LATENESS_BAR_S,
            "s",
            median(&lateness),
        ),
        ResultRow::at_most(
            format!("{kind}: lateness as a share of its bar, 90th percentile"),
            1.0,
            "",
            percentile(&shares, 90.0),
        )
        .with_origin("10 s, or 30 % of the outage"),
        ResultRow::without_bar(
            format!("{kind}: lateness, 90th percentile"),
            "s",
            percentile(&lateness, 90.0),
        ),
        ResultRow::at_most(format!("{kind}: failed requests, median"), REFUSED_BAR, "", median(&refused)),
        ResultRow::condition(
            format!("{kind}: runs that finished as done"),
            count.to_string(),
            done.to_string(),
            done == count,
        ),
        ResultRow::without_bar(format!("{kind}: failed requests, maximum"), "", percentile(&refused, 100.0)),
    ]);
    for outage in outages {
        let OutageResult { seed, outage_s, lateness_s, refused, done: _ } = outage;
        *appendix += &format!("| {seed} | {kind} | {outage_s:.1} s | {lateness_s:.1} s | {refused:.0} |\n");
    }
}

fn simulate() -> io::Result<Vec<OutageResult>> {
    let found = simulate_outages(&Preset::Default.policy(), SEEDS, OUTAGE_MIN, OUTAGE_MAX);
    let found = found.map_err(|violation| io::Error::other(format!("a simulated outage: {violation}")))?;
    let seconds = |span: Span| span.to_std().as_secs_f64();
    let result = |run: longhaul_sim::OutageRun| OutageResult {
        seed: run.seed,
        outage_s: seconds(run.outage),
        lateness_s: seconds(run.lateness),
        refused: run.failed_requests as f64,
        done: true,
    };
    Ok(found.into_iter().map(result).collect())
}

/// Runs the real agent through outages, all at once.
fn run_real_agent(bench: &Bench, simulated: &[OutageResult]) -> io::Result<Vec<OutageResult>> {
    let mut running = Vec::new();
    for OutageResult { seed, outage_s, .. } in simulated.iter().take(REAL) {
        let (seed, outage) = (*seed, Duration::from_secs_f64(*outage_s));
        let (sandbox, api) = (Sandbox::new()?, BenchApi::start(outage)?);
        let mut command = sandbox.agent_command(&bench.longhaul, &api);
        command.args(["run", "Say that you are done.", "--permission-mode", "bypassPermissions"]);
        command.args(["--output-format", "json", "--agent-path"]).arg(&bench.claude);
        let run = KillOnDrop(command.spawn()?);
        running.push((seed, outage, sandbox, api, run));
    }
    let started = Instant::now();
    let mut results = Vec::new();
    for (seed, outage, _sandbox, api, run) in &mut running {
        while run.0.try_wait()?.is_none() && started.elapsed() < TIMEOUT {
            sleep(Duration::from_millis(100));
        }
        let done = run.0.try_wait()?.is_some_and(|status| status.success());
        results.push(outage_result(*seed, *outage, &api.stats(), done));
    }
    Ok(results)
}

fn outage_result(seed: u64, outage: Duration, stats: &RequestStats, done: bool) -> OutageResult {
    let lateness = stats
        .first
        .zip(stats.answered)
        .map(|(first, answered)| answered.saturating_duration_since(first + outage));
    OutageResult {
        seed,
        outage_s: outage.as_secs_f64(),
        // A run that was never answered misses every bar.
        lateness_s: lateness.map_or(f64::INFINITY, |lateness| lateness.as_secs_f64()),
        refused: f64::from(stats.refused),
        done,
    }
}

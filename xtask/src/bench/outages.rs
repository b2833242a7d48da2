//! How soon a run goes on once an overload is over, and how many requests it spent in vain until
//! then: walls of 529 of 10 to 120 s, under the default policy. Thirty are simulated; five are gone
//! through by the real agent in real time, all at once.

use super::Bench;
use super::api::{Api, RequestStats};
use super::process::KillOnDrop;
use super::sample::{median, percentile};
use super::sandbox::Sandbox;
use super::section::{Row, Section};
use longhaul_core::{Preset, Span};
use longhaul_sim::simulate_outages;
use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

const SEEDS: std::ops::Range<u64> = 1..31;
// The first ones, of the same lengths as simulated.
const REAL: usize = 5;
const WALL_LEAST: Span = Span::from_secs(10);
const WALL_MOST: Span = Span::from_secs(120);
const LATENESS_BAR_S: f64 = 10.0;
// Lateness is late by what one has waited already.
const LATENESS_BAR_SHARE: f64 = 0.3;
const REFUSED_BAR: f64 = 30.0;
// No run should take half as long; one that does is ended, and its figures are missing.
const PATIENCE: Duration = Duration::from_secs(400);

/// One wall and what became of the run behind it.
struct OutageResult {
    seed: u64,
    outage_s: f64,
    /// From the wall's end to the first request that was answered.
    lateness_s: f64,
    refused: f64,
    /// Whether the run ended as done. A simulated one is held to it by its oracles.
    done: bool,
}

pub fn bench(bench: &Bench) -> io::Result<Section> {
    let mut rows = Vec::new();
    let mut appendix = "| seed | | wall | lateness | failed requests |\n|---|---|---|---|---|\n".to_owned();
    let simulated = simulated()?;
    tell("simulated", &simulated, &mut rows, &mut appendix);
    if !bench.quick {
        tell("real", &real(bench, &simulated)?, &mut rows, &mut appendix);
    }
    Ok(Section {
        about: "The API answers 529 from the first request on until the wall is over, then at once. Default preset; \
                lengths are drawn by seed. Real walls are stood by `longhaul run` of the real Claude Code.",
        rows,
        appendix,
    })
}

fn tell(kind: &str, walls: &[OutageResult], rows: &mut Vec<Row>, appendix: &mut String) {
    let late: Vec<f64> = walls.iter().map(|wall| wall.lateness_s).collect();
    let refused: Vec<f64> = walls.iter().map(|wall| wall.refused).collect();
    let allowed = |wall: &OutageResult| LATENESS_BAR_S.max(LATENESS_BAR_SHARE * wall.outage_s);
    let shares: Vec<f64> = walls.iter().map(|wall| wall.lateness_s / allowed(wall)).collect();
    let (count, done) = (walls.len(), walls.iter().filter(|wall| wall.done).count());
    rows.extend([
        Row::at_most(format!("{kind}, {count} walls: lateness, median"), LATENESS_BAR_S, "s", median(&late)),
        Row::at_most(
            format!("{kind}: lateness as a share of what its wall allows, 90th percentile"),
            1.0,
            "",
            percentile(&shares, 90.0),
        )
        .because("10 s, or 30 % of the wall"),
        Row::render(format!("{kind}: lateness, 90th percentile"), "s", percentile(&late, 90.0)),
        Row::at_most(format!("{kind}: failed requests, median"), REFUSED_BAR, "", median(&refused)),
        Row::must(
            format!("{kind}: runs that ended as done"),
            count.to_string(),
            done.to_string(),
            done == count,
        ),
        Row::render(format!("{kind}: failed requests, most"), "", percentile(&refused, 100.0)),
    ]);
    for wall in walls {
        let OutageResult { seed, outage_s: wall_s, lateness_s, refused, done: _ } = wall;
        *appendix += &format!("| {seed} | {kind} | {wall_s:.1} s | {lateness_s:.1} s | {refused:.0} |\n");
    }
}

fn simulated() -> io::Result<Vec<OutageResult>> {
    let found = simulate_outages(&Preset::Default.policy(), SEEDS, WALL_LEAST, WALL_MOST);
    let found = found.map_err(|objection| io::Error::other(format!("a simulated wall: {objection}")))?;
    let seconds = |span: Span| span.to_std().as_secs_f64();
    let wall = |run: longhaul_sim::OutageRun| OutageResult {
        seed: run.seed,
        outage_s: seconds(run.outage),
        lateness_s: seconds(run.lateness),
        refused: run.failed_requests as f64,
        done: true,
    };
    Ok(found.runs.into_iter().map(wall).collect())
}

/// Walls stood by the real agent, all at once.
fn real(bench: &Bench, simulated: &[OutageResult]) -> io::Result<Vec<OutageResult>> {
    let mut health = Vec::new();
    for OutageResult { seed, outage_s: wall_s, .. } in simulated.iter().take(REAL) {
        let (seed, wall) = (*seed, Duration::from_secs_f64(*wall_s));
        let (place, api) = (Sandbox::new()?, Api::start(wall)?);
        let mut command = place.agent_command(&bench.longhaul, &api);
        command.args(["run", "Say that you are done.", "--permission-mode", "bypassPermissions"]);
        command.args(["--output-format", "json", "--agent-path"]).arg(&bench.claude);
        let run = KillOnDrop(command.spawn()?);
        health.push((seed, wall, place, api, run));
    }
    let started = Instant::now();
    let mut walls = Vec::new();
    for (seed, wall, _place, api, run) in &mut health {
        while run.0.try_wait()?.is_none() && started.elapsed() < PATIENCE {
            sleep(Duration::from_millis(100));
        }
        let done = run.0.try_wait()?.is_some_and(|status| status.success());
        walls.push(stood(*seed, *wall, &api.asked(), done));
    }
    Ok(walls)
}

fn stood(seed: u64, wall: Duration, asked: &RequestStats, done: bool) -> OutageResult {
    let late = asked
        .first
        .zip(asked.answered)
        .map(|(first, answered)| answered.saturating_duration_since(first + wall));
    OutageResult {
        seed,
        outage_s: wall.as_secs_f64(),
        // Never answered: late beyond any bar.
        lateness_s: late.map_or(f64::INFINITY, |late| late.as_secs_f64()),
        refused: f64::from(asked.refused),
        done,
    }
}

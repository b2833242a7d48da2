//! Fault injection at every point of a run: kills, signals, frozen processes and full disks.
//!
//! After each fault the work must be finished. No completed step may be repeated, and no process may remain.
//!
//! Plain tests take a sample of the points with the scripted agent. `LONGHAUL_SWEEP=scripted`, `acp` or `claude`
//! takes all points, or a sample of `LONGHAUL_SWEEP_POINTS` points drawn with `LONGHAUL_SWEEP_SEED`. Each
//! point appends a line of JSON to `LONGHAUL_SWEEP_REPORT`, and a failed point is only reported there. `cargo
//! xtask sweep` sets these variables.

mod calls;
mod play;
mod strike;
mod thaw;
mod work;

use crate::harness::{Stage, claude_code};
use crate::server::Server;
use longhaul_core::draw;
use play::{Figures, play, run};
use serde_json::json;
use std::any::Any;
use std::env;
use std::fs::{self, File};
use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use strike::Strike;
use work::Work;
pub use work::{DONE, STEPS, WORK};

#[test]
fn work_of_acp_agent_is_done_once_after_any_kill() {
    let options = options();
    // Other sweeps choose their agent.
    if options.is_plain {
        let strikes = [Strike::KillSupervisor, Strike::KillAgent, Strike::KillBothGuarded, Strike::TermAll];
        sweep_with(&SweepOptions { agent: SweepAgent::Acp, ..options }, &strikes);
    }
}

#[test]
fn workflow_is_done_once_after_any_kill_or_sigterm() {
    let options = options();
    if !matches!(options.agent, SweepAgent::Scripted) {
        return;
    }
    let strikes = [
        Strike::KillSupervisor,
        Strike::KillAgent,
        Strike::KillBoth,
        Strike::TermSupervisor,
        Strike::TermAll,
    ];
    sweep_with(&SweepOptions { agent: SweepAgent::Workflow, ..options }, &strikes);
}

#[test]
fn work_is_done_once_after_any_kill() {
    sweep(&[Strike::KillSupervisor, Strike::KillAgent, Strike::KillBoth]);
}

#[test]
fn work_of_guarded_agent_is_done_once_after_any_kill() {
    sweep(&[Strike::KillSupervisorGuarded, Strike::KillBothGuarded]);
}

#[test]
fn work_is_done_once_after_any_sigterm() {
    sweep(&[Strike::TermSupervisor, Strike::TermAll, Strike::TermAgent]);
}

#[test]
fn work_is_done_once_after_any_freeze() {
    sweep(&[Strike::StopSupervisor, Strike::StopAgent]);
}

#[test]
fn work_is_finished_after_any_full_disk() {
    sweep(&[Strike::FullDisk, Strike::ShortWrite]);
}

/// The agent of a sweep.
pub enum SweepAgent {
    Scripted,
    /// The scripted agent, over the Agent Client Protocol.
    Acp,
    Claude(PathBuf),
    /// The scripted agent in the runs of a workflow.
    Workflow,
}

/// Options of a sweep.
struct SweepOptions {
    agent: SweepAgent,
    /// Number of points per strike. By default each strike has its own sample.
    points: Option<u64>,
    seed: u64,
    report: Option<PathBuf>,
    /// Whether this is the sample of a plain test.
    is_plain: bool,
}

fn options() -> SweepOptions {
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let agent = env::var("LONGHAUL_SWEEP").ok();
    let is_plain = agent.is_none();
    let agent = match agent.as_deref() {
        Some("claude") => SweepAgent::Claude(claude_code("the sweep").expect("the real agent is requested")),
        Some("acp") => SweepAgent::Acp,
        Some(_) | None => SweepAgent::Scripted,
    };
    SweepOptions {
        agent,
        points: number("LONGHAUL_SWEEP_POINTS"),
        seed: number("LONGHAUL_SWEEP_SEED").unwrap_or(1),
        report: env::var_os("LONGHAUL_SWEEP_REPORT").map(PathBuf::from),
        is_plain,
    }
}

fn sweep(strikes: &[Strike]) {
    sweep_with(&options(), strikes);
}

fn sweep_with(options: &SweepOptions, strikes: &[Strike]) {
    let agent = &options.agent;
    for strike in strikes {
        let points = count_points(*strike, agent);
        let sample = options.points.or(options.is_plain.then_some(strike.sample()));
        for number in draw_points(points, sample, draw(options.seed, *strike as u64, u64::MAX)) {
            let result = panic::catch_unwind(AssertUnwindSafe(|| play(*strike, number, agent)));
            let result = result.map_err(|cause| panic_message(cause.as_ref()));
            report_point(options, *strike, number, points, &result);
            if options.is_plain {
                let mut figures = result.expect("the point was played to its end");
                // On a busy machine, a signal to the agent can arrive when another response is already in
                // flight. The bounds of such strikes get a second try; problems never do.
                let wasted_max = strike.wasted_max() * Work::of(agent).live_runs;
                let is_timed = wasted_max > 0;
                if is_timed && figures.problems.is_empty() && !figures.missed_bounds(wasted_max).is_empty() {
                    figures = play(*strike, number, agent);
                }
                let problems = [figures.problems.clone(), figures.missed_bounds(wasted_max)].concat();
                assert!(
                    problems.is_empty(),
                    "{}: {problems:?}\n{}",
                    strike.order(number).1,
                    figures.envelope
                );
            }
        }
    }
}

/// Returns how many points of an undisturbed run this strike can hit.
fn count_points(strike: Strike, agent: &SweepAgent) -> u64 {
    let work = Work::of(agent);
    let (stage, server) = (Stage::new(), Server::start(work.script));
    let log = stage.folder().join("points");
    let output = run(&stage, agent, &server, strike, &[(strike.log(), log.to_string_lossy().into_owned())]);
    let output = output.expect("nothing killed the supervisor");
    assert!(output.code == 0 && work.is_done(&work.envelope(&output, 0)), "{output:?}");
    assert_eq!(server.api.request_log().model_requests() as u64, work.requests);
    fs::read_to_string(log).expect("the log of points exists").lines().count() as u64
}

/// Returns a sample of this size, spread over all points, or all points.
fn draw_points(points: u64, sample: Option<u64>, roll: u64) -> Vec<u64> {
    let Some(sample) = sample.filter(|sample| *sample < points) else { return (1..=points).collect() };
    (0..sample)
        .map(|index| {
            let (start, end) = (index * points / sample, (index + 1) * points / sample);
            start + 1 + draw(roll, index, end - start - 1)
        })
        .collect()
}

/// Returns the message of a failed assertion.
fn panic_message(cause: &(dyn Any + Send)) -> String {
    let text = cause.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| cause.downcast_ref::<&str>().copied())
        .unwrap_or("the test panicked without a message")
        .to_owned()
}

fn report_point(
    options: &SweepOptions,
    strike: Strike,
    number: u64,
    points: u64,
    result: &Result<Figures, String>,
) {
    let Some(report) = &options.report else { return };
    let failed = match result {
        Ok(figures) => figures.problems.clone(),
        Err(message) => vec![message.clone()],
    };
    let agent = match options.agent {
        SweepAgent::Scripted => "scripted",
        SweepAgent::Acp => "acp",
        SweepAgent::Claude(_) => "claude",
        SweepAgent::Workflow => "scripted, in a workflow",
    };
    let line = json!({
        "agent": agent, "seed": options.seed, "victim": strike.label(), "point": number, "points": points,
        "failed": failed, "figures": result.as_ref().ok(),
    });
    let mut file = File::options().append(true).create(true).open(report).expect("the report is writable");
    // One write, because several tests append at the same time.
    file.write_all(format!("{line}\n").as_bytes()).expect("the report is writable");
    let verdict = if failed.is_empty() { "passed".to_owned() } else { failed.join("; ") };
    // Bypasses the capture of the test harness, because a sweep takes a long time.
    let _ = writeln!(io::stderr(), "{} at point {number} of {points}: {verdict}", strike.label());
}

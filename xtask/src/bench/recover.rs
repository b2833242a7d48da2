//! Measures how soon an agent sends its next request after both it and its supervisor were killed.

use super::Bench;
use super::api::BenchApi;
use super::process::{KillOnDrop, time_command};
use super::sample::{median, ms};
use super::sandbox::Sandbox;
use super::section::{ResultRow, ResultSection};
use crate::faults::{journal, processes};
use rustix::process::Signal;
use std::io;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

const BAR_MS: f64 = 1000.0;
const PROMPT: &str = "Say that you are done.";
const PERMISSION: [&str; 2] = ["--permission-mode", "bypassPermissions"];
// The agent is killed during this outage, after it has started a session. Its own retries last longer.
const OUTAGE: Duration = Duration::from_millis(2500);
// The agent writes its session file with some delay.
const SESSION_WRITE_DELAY: Duration = Duration::from_secs(1);
const PROBE_INTERVAL: Duration = Duration::from_millis(5);
// Many times as long as the agent needs for its first request.
const TIMEOUT: Duration = Duration::from_secs(30);

pub fn bench(bench: &Bench) -> io::Result<ResultSection> {
    let (mut recovered, mut bare) = (Vec::new(), Vec::new());
    let sandbox = Sandbox::new()?;
    // The first start writes the agent's configuration and fills the page cache.
    time_to_first_request(&sandbox, bench, None)?;
    for _ in 0..bench.count(10, 2) {
        let (session, duration) = recover(&sandbox, bench)?;
        recovered.push(ms(duration));
        bare.push(ms(time_to_first_request(&sandbox, bench, Some(&session))?));
    }
    let (recovered, bare) = (median(&recovered), median(&bare));
    Ok(ResultSection {
        about: "The real Claude Code and its supervisor are killed while the agent waits for its API. The time from the start of \
                `longhaul recover` to the first request of the resumed agent is compared with the same time from the start \
                of `claude -p --resume` on the same session, in turn.",
        rows: vec![
            ResultRow::at_most(
                "`longhaul recover` to the first request, over bare",
                BAR_MS,
                "ms",
                recovered - bare,
            )
            .with_ratio(recovered / bare, "bare"),
            ResultRow::without_bar("`longhaul recover` to the first request", "ms", recovered),
            ResultRow::without_bar("bare `claude -p --resume` to its first request", "ms", bare),
        ],
        appendix: String::new(),
    })
}

/// Kills a run in its first request and recovers it. Returns its session and the time to the next request.
fn recover(sandbox: &Sandbox, bench: &Bench) -> io::Result<(String, Duration)> {
    let api = BenchApi::start(OUTAGE)?;
    let mut run = sandbox.agent_command(&bench.longhaul, &api);
    run.args(["run", PROMPT, "--output-format", "json", "--agent-path"]).arg(&bench.claude).args(PERMISSION);
    let run = KillOnDrop(run.spawn()?);
    let first = wait_until("the first request", || api.stats().first)?;
    let agent = wait_until("the agent is known", || journal::agent(sandbox))?;
    sleep(SESSION_WRITE_DELAY);
    // Kills longhaul and waits for its end.
    drop(run);
    processes::signal(agent, Signal::KILL, sandbox);
    wait_until("the agent has exited", || processes::matching(sandbox).is_empty().then_some(()))?;
    sleep(OUTAGE.saturating_sub(first.elapsed()) + PROBE_INTERVAL);

    let started = Instant::now();
    time_command(sandbox.agent_command(&bench.longhaul, &api).args(["recover", "@"]))?;
    let answered =
        api.stats().answered.ok_or_else(|| io::Error::other("the resumed agent sent no request"))?;
    let records = journal::records(sandbox);
    let session = records.iter().rev().find_map(|record| record["plan"]["session"]["resume"].as_str());
    let session = session.ok_or_else(|| io::Error::other("no session was resumed"))?;
    Ok((session.to_owned(), answered - started))
}

/// Returns the time that the agent alone takes to its first request, on this session or a new one.
fn time_to_first_request(sandbox: &Sandbox, bench: &Bench, session: Option<&str>) -> io::Result<Duration> {
    let api = BenchApi::start(Duration::ZERO)?;
    let mut bare: Command = sandbox.agent_command(&bench.claude, &api);
    bare.args(["-p", "Continue.", "--output-format", "stream-json", "--verbose"]).args(PERMISSION);
    bare.args(session.into_iter().flat_map(|session| ["--resume", session]));
    let started = Instant::now();
    time_command(&mut bare)?;
    let answered = api.stats().answered;
    answered.map(|answered| answered - started).ok_or_else(|| io::Error::other("the agent sent no request"))
}

fn wait_until<T>(description: &str, mut probe: impl FnMut() -> Option<T>) -> io::Result<T> {
    let started = Instant::now();
    while started.elapsed() < TIMEOUT {
        if let Some(found) = probe() {
            return Ok(found);
        }
        sleep(PROBE_INTERVAL);
    }
    Err(io::Error::other(format!("timed out after {TIMEOUT:?} waiting until {description}")))
}

//! Measures how soon an agent sends its next request after both it and its supervisor were killed.

use super::Bench;
use crate::api::Loopback;
use crate::process::{KillOnDrop, time_command, wait_until};
use crate::results::ResultSection;
use crate::sandbox::{PERMISSION, Sandbox};
use crate::{journal, processes};
use rustix::process::Signal;
use std::cell::RefCell;
use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

const BAR_MS: f64 = 1000.0;
// The agent is killed during this outage, after it has started a session. Its own retries last longer.
const OUTAGE: Duration = Duration::from_millis(2500);
// The agent writes its session file with some delay.
const SESSION_WRITE_DELAY: Duration = Duration::from_secs(1);
// Many times as long as the agent needs for its first request.
const TIMEOUT: Duration = Duration::from_secs(30);

pub fn bench(bench: &Bench) -> io::Result<ResultSection> {
    let sandbox = Sandbox::new()?;
    // The first start writes the agent's configuration and fills the page cache.
    time_to_first_request(&sandbox, bench, &[])?;
    let session = RefCell::new(String::new());
    let [recovered, bare] = bench.medians(
        10,
        2,
        [&mut || recover(&sandbox, bench, &mut session.borrow_mut()), &mut || {
            time_to_first_request(&sandbox, bench, &["--resume", &session.borrow()])
        }],
    )?;
    let mut section = ResultSection::new(
        "The real Claude Code and its supervisor are killed while the agent waits for its API. The time from the start of \
         `longhaul recover` to the first request of the resumed agent is compared with the same time from the start \
         of `claude -p --resume` on the same session, in turn. `--retry-base 1ms` removes the drawn wait.",
    );
    section
        .figure("`longhaul recover` to the first request, over bare", BAR_MS, "ms", recovered - bare)
        .ratio(recovered / bare, "bare");
    section.figure("`longhaul recover` to the first request", None, "ms", recovered);
    section.figure("bare `claude -p --resume` to its first request", None, "ms", bare);
    Ok(section)
}

/// Kills a run in its first request and recovers it. Returns the time to the next request, and its session.
fn recover(sandbox: &Sandbox, bench: &Bench, session: &mut String) -> io::Result<Duration> {
    let loopback = Loopback::with_outage(OUTAGE)?;
    let mut run = sandbox.run(&bench.programs, &loopback, "Say that you are done.");
    // The wait before an attempt is drawn at random. This measures the work of the recovery.
    let run = KillOnDrop(run.args(["--retry-base", "1ms"]).spawn()?);
    let first = wait_until("the first request", TIMEOUT, || loopback.first_request())?;
    let agent = wait_until("the start of the agent", TIMEOUT, || journal::agent(sandbox))?;
    sleep(SESSION_WRITE_DELAY);
    // Kills longhaul and waits for its end.
    drop(run);
    processes::signal(agent, Signal::KILL, sandbox);
    wait_until("the end of the agent", TIMEOUT, || processes::matching(sandbox).is_empty().then_some(()))?;
    sleep(OUTAGE.saturating_sub(first.elapsed()) + Duration::from_millis(5));

    let started = Instant::now();
    time_command(sandbox.agent_command(&bench.programs.longhaul, &loopback).args(["recover", "@"]))?;
    let records = journal::records(sandbox);
    let resumed = records.iter().rev().find_map(|record| record["plan"]["session"]["resume"].as_str());
    resumed.ok_or_else(|| io::Error::other("no session was resumed"))?.clone_into(session);
    duration_to_answered(&loopback, started)
}

fn time_to_first_request(sandbox: &Sandbox, bench: &Bench, args: &[&str]) -> io::Result<Duration> {
    let loopback = Loopback::with_outage(Duration::ZERO)?;
    let mut bare = sandbox.agent_command(&bench.programs.claude, &loopback);
    bare.args(["-p", "Continue.", "--output-format", "stream-json", "--verbose"]).args(PERMISSION).args(args);
    let started = Instant::now();
    time_command(&mut bare)?;
    duration_to_answered(&loopback, started)
}

fn duration_to_answered(loopback: &Loopback, started: Instant) -> io::Result<Duration> {
    let answered = loopback.first_answered();
    answered.map(|answered| answered - started).ok_or_else(|| io::Error::other("the agent sent no request"))
}

//! Strikes at every point of a run: whatever dies, is ended or stands still, and wherever the disk is full, the work is
//! finished, no step that is known to be done is repeated, and nothing is left.
//!
//! Plain tests take a sample of the points with the scripted agent. `LONGHAUL_SWEEP=scripted` or `claude` takes all of
//! them, or as many as `LONGHAUL_SWEEP_POINTS` says, drawn by `LONGHAUL_SWEEP_SEED`; a line of JSON for each is appended
//! to `LONGHAUL_SWEEP_REPORT`, and a point that fails is told there and fails nothing else. `cargo xtask sweep` does that.

mod calls;
mod play;
mod strike;
mod thaw;

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
use std::path::{Path, PathBuf};
use strike::Strike;

/// Four steps in three turns. Each is noted where nobody looks, and looks first whether it was taken already, as the prompt
/// of a resumed session asks for.
pub const WORK: &str = r#"
name = "work"
summary = "four steps in three turns"
prompt = "p"
[expect]
outcome = "done"
exit = 0
[[turn]]
text = "I take the first step."
[[turn.tools]]
bash = { command = "echo one >> ../calls; grep -qs one steps || echo one >> steps" }
[[turn]]
text = "The next two belong together, and the first of them takes a while."
[[turn.tools]]
bash = { command = "echo two >> ../calls; grep -qs two steps || { sleep 0.3; echo two >> steps; }" }
[[turn.tools]]
bash = { command = "echo three >> ../calls; grep -qs three steps || echo three >> steps" }
[[turn]]
text = "Now the last."
[[turn.tools]]
bash = { command = "echo four >> ../calls; grep -qs four steps || echo four >> steps" }
[[turn]]
text = "All four steps are taken."
"#;

pub const DONE: &str = "All four steps are taken.";
/// What the work leaves in the file `steps`.
pub const STEPS: &str = "one\ntwo\nthree\nfour\n";
const IDEAL_REQUESTS: u64 = 4;

#[test]
fn whatever_is_killed_the_work_is_done_once() {
    sweep(&[Strike::KillSupervisor, Strike::KillAgent, Strike::KillBoth]);
}

#[test]
fn whatever_is_killed_a_guarded_agent_does_the_work_once() {
    sweep(&[Strike::KillSupervisorGuarded, Strike::KillBothGuarded]);
}

#[test]
fn whatever_gets_sigterm_the_work_is_done_once() {
    sweep(&[Strike::TermSupervisor, Strike::TermAll, Strike::TermAgent]);
}

#[test]
fn whatever_stands_still_the_work_is_done_once() {
    sweep(&[Strike::StopSupervisor, Strike::StopAgent]);
}

#[test]
fn wherever_there_is_no_room_the_work_is_finished_when_there_is() {
    sweep(&[Strike::FullDisk, Strike::ShortWrite]);
}

/// What is swept, and how.
struct Asked {
    agent: String,
    claude: Option<PathBuf>,
    /// How many points a strike; each its own sample if nobody says.
    points: Option<u64>,
    seed: u64,
    report: Option<PathBuf>,
    /// Whether this is the sample that every test run takes.
    plain: bool,
}

fn asked() -> Asked {
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let agent = env::var("LONGHAUL_SWEEP").ok();
    let plain = agent.is_none();
    let agent = agent.unwrap_or_else(|| "scripted".to_owned());
    let claude = (agent == "claude").then(|| claude_code("the sweep").expect("the real agent is asked for"));
    Asked {
        agent,
        claude,
        points: number("LONGHAUL_SWEEP_POINTS"),
        seed: number("LONGHAUL_SWEEP_SEED").unwrap_or(1),
        report: env::var_os("LONGHAUL_SWEEP_REPORT").map(PathBuf::from),
        plain,
    }
}

fn sweep(strikes: &[Strike]) {
    let asked = asked();
    let claude = asked.claude.as_deref();
    for strike in strikes {
        let points = passed(*strike, claude);
        let sample = asked.points.or(asked.plain.then_some(strike.sample()));
        for number in drawn(points, sample, draw(asked.seed, *strike as u64, u64::MAX)) {
            let played = panic::catch_unwind(AssertUnwindSafe(|| play(*strike, number, claude)));
            let played = played.map_err(|cause| words(cause.as_ref()));
            tell(&asked, *strike, (number, points), &played);
            if asked.plain {
                let figures = played.expect("the point is played to its end");
                let amiss = [figures.amiss.clone(), figures.missed(*strike)].concat();
                assert!(amiss.is_empty(), "{}: {amiss:?}\n{}", strike.order(number).1, figures.told);
            }
        }
    }
}

/// How many points an undisturbed run passes at which this can strike.
fn passed(strike: Strike, claude: Option<&Path>) -> u64 {
    let (stage, server) = (Stage::new(), Server::plays(WORK));
    let log = stage.folder().join("points");
    let ended = run(&stage, claude, &server, strike, &[(strike.log(), log.to_string_lossy().into_owned())]);
    assert_eq!(ended.expect("nobody killed it").envelope(0)["result"], DONE);
    assert_eq!(server.api.account().model_requests() as u64, IDEAL_REQUESTS);
    fs::read_to_string(log).expect("points are passed").lines().count() as u64
}

/// So many of the points, spread over all of them, or all.
fn drawn(points: u64, sample: Option<u64>, roll: u64) -> Vec<u64> {
    let Some(sample) = sample.filter(|sample| *sample < points) else { return (1..=points).collect() };
    (0..sample)
        .map(|place| {
            let (from, to) = (place * points / sample, (place + 1) * points / sample);
            from + 1 + draw(roll, place, to - from - 1)
        })
        .collect()
}

/// What a failed assertion says.
fn words(cause: &(dyn Any + Send)) -> String {
    let text = cause.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("it broke off").to_owned()
}

fn tell(asked: &Asked, strike: Strike, (number, points): (u64, u64), played: &Result<Figures, String>) {
    let Some(report) = &asked.report else { return };
    let failed = match played {
        Ok(figures) => figures.amiss.clone(),
        Err(broken) => vec![broken.clone()],
    };
    let line = json!({
        "agent": asked.agent, "seed": asked.seed, "victim": strike.words(), "point": number, "points": points,
        "failed": failed, "figures": played.as_ref().ok(),
    });
    let mut file = File::options().append(true).create(true).open(report).expect("the report can be written");
    // One write, for several tests tell at once.
    file.write_all(format!("{line}\n").as_bytes()).expect("the report can be written");
    let verdict = if failed.is_empty() { "held".to_owned() } else { failed.join("; ") };
    // Past the test harness's capture: a sweep takes its time.
    let _ = writeln!(io::stderr(), "{} at point {number} of {points}: {verdict}", strike.words());
}

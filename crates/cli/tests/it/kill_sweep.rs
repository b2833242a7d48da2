//! Kills at every point of a run: the supervisor, the agent, and both. Whatever dies, the work is finished by the same
//! run, no step is taken twice, and nothing is left.
//!
//! A plain test takes a sample of the points with the scripted agent. `LONGHAUL_SWEEP=scripted` or `claude` takes all
//! of them, or as many as `LONGHAUL_SWEEP_POINTS` says, drawn by `LONGHAUL_SWEEP_SEED`; a line of JSON for each is
//! appended to `LONGHAUL_SWEEP_REPORT`.

use crate::call::Ended;
use crate::server::Server;
use crate::stage::{Stage, claude_code};
use crate::tidy;
use longhaul_core::draw;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Four steps in three turns. Each looks first whether it was taken already, as the prompt of a resumed session asks for.
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
bash = { command = "grep -qs one steps || echo one >> steps" }
[[turn]]
text = "The next two belong together, and the first of them takes a while."
[[turn.tools]]
bash = { command = "grep -qs two steps || { sleep 0.3; echo two >> steps; }" }
[[turn.tools]]
bash = { command = "grep -qs three steps || echo three >> steps" }
[[turn]]
text = "Now the last."
[[turn.tools]]
bash = { command = "grep -qs four steps || echo four >> steps" }
[[turn]]
text = "All four steps are taken."
"#;

const IDEAL_REQUESTS: usize = 4;
pub const DONE: &str = "All four steps are taken.";
const VICTIMS: [&str; 3] = ["supervisor", "agent", "both"];
// Of the points, in a plain test.
const SAMPLE: u64 = 6;

/// What came of one kill.
struct Point {
    victim: &'static str,
    number: u64,
    attempts: u64,
    requests: usize,
    reported: u64,
    billed: u64,
}

#[test]
fn whatever_dies_the_work_is_done_once() {
    let asked = env::var("LONGHAUL_SWEEP").ok();
    let agent_name = asked.as_deref().unwrap_or("scripted");
    let claude =
        (agent_name == "claude").then(|| claude_code("the sweep").expect("the real agent is asked for"));
    let points = passed(claude.as_deref());
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let sample = number("LONGHAUL_SWEEP_POINTS").or(asked.is_none().then_some(SAMPLE));
    let seed = number("LONGHAUL_SWEEP_SEED").unwrap_or(1);
    for (place, victim) in VICTIMS.into_iter().enumerate() {
        for number in drawn(points, sample, draw(seed, place as u64, u64::MAX)) {
            let point = kill(victim, number, claude.as_deref());
            tell(agent_name, seed, points, &point);
        }
    }
}

/// How many points an undisturbed run passes.
fn passed(claude: Option<&Path>) -> u64 {
    let (stage, server) = (Stage::new(), Server::plays(WORK));
    let log = stage.folder().join("points");
    let ended = run(&stage, claude, &server, &[("LONGHAUL_CRASH_LOG", &log.to_string_lossy())]);
    assert_eq!(ended.expect("nobody killed it").envelope(0)["result"], DONE);
    assert_eq!(server.api.account().model_requests(), IDEAL_REQUESTS);
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

/// Lets one die at one point, recovers, and asserts what must hold.
fn kill(victim: &'static str, number: u64, claude: Option<&Path>) -> Point {
    let (stage, server) = (Stage::new(), Server::plays(WORK));
    let order = format!("{victim}@{number}");
    let ended = match run(&stage, claude, &server, &[("LONGHAUL_CRASH", &order)]) {
        Some(ended) => ended,
        None => stage.longhaul(["recover"]).against(&server).end(),
    };
    let envelope = match stage.runs().as_slice() {
        // It was over before it died, or had nothing left to do but say so.
        _ if ended.stdout.is_empty() => stage.longhaul(["attach", "@"]).end().envelope(0),
        _ => ended.envelope(0),
    };
    let context = format!("{order}: {envelope}");
    assert_eq!(envelope["result"], DONE, "{context}");
    let steps = fs::read_to_string(stage.work().join("steps")).expect("there are steps");
    assert_eq!(steps, "one\ntwo\nthree\nfour\n", "{context}");
    tidy::replayed(&stage.only_run());
    tidy::check(&stage);
    one_branch(&stage, &context);
    let account = server.api.account();
    let requests = account.model_requests();
    // A turn may be asked for again where its agent died, and nowhere else. The real agent writes its session file some
    // time after the fact, so that a second turn may be missing from it.
    let wasted_max = match (victim, claude) {
        ("supervisor", _) => 0,
        (_, None) => 1,
        (_, Some(_)) => 2,
    };
    let turns: Vec<_> = account.messages.iter().map(|message| (message.turn, message.complete)).collect();
    assert!(requests <= IDEAL_REQUESTS + wasted_max, "{requests} requests for {turns:?}; {context}");
    let usage = |name: &str| envelope["usage"][name].as_u64().unwrap_or_default();
    let whole = ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
    let (reported, cut) = (whole.map(usage).iter().sum::<u64>() + usage("cut_tokens"), usage("cut_tokens"));
    let billed = account.tokens().total();
    // Exact unless the agent died: an answer that was on its way to it is billed, and was heard by nobody.
    let one_answer = account.billed().map(|billed| billed.tokens.total()).max().unwrap_or_default();
    let off_max = if victim == "supervisor" { 0 } else { one_answer };
    assert!(reported.abs_diff(billed) <= off_max, "{reported} tokens of {billed} ({cut} cut); {context}");
    Point {
        victim,
        number,
        attempts: envelope["run"]["attempts"].as_u64().unwrap_or_default(),
        requests,
        reported,
        billed,
    }
}

/// Runs the work to its end; nothing if the supervisor was killed.
fn run(stage: &Stage, claude: Option<&Path>, server: &Server, env: &[(&str, &str)]) -> Option<Ended> {
    let agent = claude.map_or_else(|| stage.agent(), Path::to_owned);
    let args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
    let mut call = stage.run(&agent, &args).against(server);
    for (name, value) in env {
        call = call.env(name, value);
    }
    call.start().end_or_killed()
}

/// Two processes that resume a session at once make its file a tree: two messages of the model follow the same row. (The
/// rows of one message and the results of its calls branch in any session.)
fn one_branch(stage: &Stage, context: &str) {
    let is_session = |path: &&PathBuf| path.extension().is_some_and(|end| end == "jsonl");
    for file in tidy::everything(&stage.user_home()).iter().filter(is_session) {
        let text = fs::read_to_string(file).expect("a session is text");
        let mut followed_by: BTreeMap<String, String> = BTreeMap::new();
        for row in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            if let (Some(parent), Some(message)) = (row["parentUuid"].as_str(), row["message"]["id"].as_str())
            {
                let first = followed_by.entry(parent.to_owned()).or_insert_with(|| message.to_owned());
                assert_eq!(first, message, "two branches in {}; {context}", file.display());
            }
        }
    }
}

fn tell(agent: &str, seed: u64, points: u64, point: &Point) {
    let Ok(report) = env::var("LONGHAUL_SWEEP_REPORT") else { return };
    let Point { victim, number, attempts, requests, reported, billed } = point;
    let line = json!({
        "agent": agent, "seed": seed, "points": points, "victim": victim, "point": number, "attempts": attempts,
        "requests": requests, "ideal": IDEAL_REQUESTS, "reported": reported, "billed": billed,
    });
    let mut file = File::options().append(true).create(true).open(report).expect("the report can be written");
    writeln!(file, "{line}").expect("the report can be written");
}

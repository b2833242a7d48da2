//! Measures how long a run needs to start an agent on a long session: the inspection of the session's file and
//! all other preparation of the attempt.

use super::Bench;
use crate::journal;
use crate::process::time_command;
use crate::results::ResultSection;
use crate::sandbox::Sandbox;
use longhaul_agent::default_dialect;
use longhaul_core::SessionId;
use longhaul_drill::scripted::FLOOD;
use std::fmt::Write;
use std::time::Duration;
use std::{fs, io};

// The largest session observed so far.
const SESSION_MB: usize = 40;
// A fifth of a second is not noticed next to the agent's own start on such a session.
const BAR_MS: f64 = 200.0;
const SESSION: &str = "2692ea9c-dfaa-4752-96ba-8bc8fe35e9c1";
const TEXT_BYTES: usize = 1_500;

pub fn bench(bench: &Bench) -> io::Result<ResultSection> {
    let [long, short] = bench.medians(
        7,
        3,
        [&mut || time_to_spawn(bench, SESSION_MB << 20), &mut || time_to_spawn(bench, 1)],
    )?;
    let mut section = ResultSection::new(
        "A run resumes a session with the scripted agent. The time from the first record of the run to the \
         start of the agent, as the run's journal states them.",
    );
    let label = format!("session of {SESSION_MB} MB: start of the run to the start of the agent");
    section.figure(label, BAR_MS, "ms", long);
    section.figure("session of one exchange: the same", None, "ms", short);
    Ok(section)
}

/// Resumes a session of at least this many bytes, and returns the time until its agent was started.
fn time_to_spawn(bench: &Bench, bytes_min: usize) -> io::Result<Duration> {
    let sandbox = Sandbox::new()?;
    let dialect = default_dialect();
    let layout = dialect.sessions().ok_or_else(|| io::Error::other("the agent stores no sessions"))?;
    let cwd = sandbox.work().canonicalize()?;
    let file = sandbox.home().join(".claude").join(layout.file(&cwd, &SessionId::from(SESSION)));
    fs::create_dir_all(file.parent().ok_or(io::ErrorKind::NotFound)?)?;
    fs::write(&file, session(bytes_min))?;
    let mut command = sandbox.scripted_run(&bench.programs.longhaul, "json")?;
    // One event, because only the start matters.
    command.env(FLOOD, format!("1:{TEXT_BYTES}")).args(["--resume", SESSION]);
    time_command(&mut command)?;
    let records = journal::records(&sandbox);
    let at = |name: &str| records.iter().find(|record| record["record"] == name)?["at"].as_u64();
    let times = at("run_started").zip(at("attempt_spawned"));
    let duration = times.map(|(started, spawned)| Duration::from_millis(spawned - started));
    duration.ok_or_else(|| io::Error::other("no agent was started"))
}

fn session(bytes_min: usize) -> String {
    let text = "x".repeat(TEXT_BYTES);
    let mut rows = String::with_capacity(bytes_min + (4 << 10));
    let mut row = |uuid: &str, parent: &str, kind: &str, message: &str| {
        writeln!(
            rows,
            r#"{{"parentUuid":{parent},"isSidechain":false,"type":"{kind}","message":{message},"uuid":"{uuid}","timestamp":"2026-11-24T10:00:00.000Z","userType":"external","entrypoint":"sdk-cli","cwd":"/work","sessionId":"{SESSION}","version":"2.1.330","gitBranch":""}}"#
        )
        .expect("writing to a string cannot fail");
        rows.len()
    };
    row("prompt", "null", "user", r#"{"role":"user","content":"Measure."}"#);
    let mut parent = "\"prompt\"".to_owned();
    for index in 0.. {
        let (call, result) = (format!("call-{index:08}"), format!("result-{index:08}"));
        let message = format!(
            r#"{{"id":"msg_{index:08}","role":"assistant","model":"claude-sonnet-4-5","content":[{{"type":"tool_use","id":"toolu_{index:08}","name":"Bash","input":{{"command":"{text}"}}}}],"stop_reason":"tool_use","usage":{{"input_tokens":100,"output_tokens":50}}}}"#
        );
        row(&call, &parent, "assistant", &message);
        let message = format!(
            r#"{{"role":"user","content":[{{"tool_use_id":"toolu_{index:08}","type":"tool_result","content":"{text}","is_error":false}}]}}"#
        );
        let bytes = row(&result, &format!("\"{call}\""), "user", &message);
        parent = format!("\"{result}\"");
        if bytes >= bytes_min {
            break;
        }
    }
    rows
}

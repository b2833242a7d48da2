//! Runs modes without an API, for tests and benchmarks: a recorded stream, a flood of events, an instant
//! result. In these modes the agent ignores its prompt.

use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs::File, thread};

use serde_json::{Value, json};

use super::environment::Environment;
use super::flags::Flags;
use super::stdout::EventWriter;
use super::{emit, init};
use crate::rng::Rng;
use longhaul_core::Tokens;

/// Path of a recorded stream to write unchanged after the first user line.
pub const REPLAY: &str = "LONGHAUL_SCRIPTED_REPLAY";
/// The exit code after a replay; 0 if unset.
pub const REPLAY_EXIT: &str = "LONGHAUL_SCRIPTED_EXIT";
/// `<n>:<bytes>[:<lines>]`: writes `init`, `n` partial-message events of about `bytes` bytes, and a
/// successful result. With a third number, writes that many lines per second and flushes each one.
pub const FLOOD: &str = "LONGHAUL_SCRIPTED_FLOOD";
/// `1`: writes `init` and a successful result immediately, without any request.
pub const INSTANT: &str = "LONGHAUL_SCRIPTED_INSTANT";

/// Runs the mode that the environment selects and returns the exit code, or `None` if it selects none.
pub(super) fn run(flags: &Flags, environment: &Environment) -> Option<u8> {
    let value = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let is_set = |name: &str| value(name).is_some();
    if !is_set(REPLAY) && !is_set(FLOOD) && !is_set(INSTANT) {
        return None;
    }
    if flags.input_lines && !wait_for_user_line() {
        return Some(0);
    }
    let result = if let Some(file) = value(REPLAY) {
        let code = value(REPLAY_EXIT).and_then(|code| code.parse().ok()).unwrap_or(0);
        copy(Path::new(&file)).map(|()| code)
    } else {
        flood(flags, environment, value(FLOOD).as_deref().unwrap_or("0")).map(|()| 0)
    };
    // A closed stdout is not a failure; an unreadable recording is.
    Some(result.unwrap_or(1))
}

/// Reads lines up to the first one of the user. Returns whether there was one. Answers `initialize`.
fn wait_for_user_line() -> bool {
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        if message["type"] == "user" {
            return true;
        }
        if message["type"] == "control_request" {
            let response = json!({"subtype": "success", "request_id": message["request_id"],
                "response": init::answer("default")});
            super::stdout::write(&json!({"type": "control_response", "response": response}).to_string());
        }
    }
    false
}

fn copy(file: &Path) -> io::Result<()> {
    let mut reader = BufReader::new(File::open(file)?);
    let mut stdout = BufWriter::new(io::stdout().lock());
    io::copy(&mut reader, &mut stdout)?;
    stdout.flush()
}

/// Writes the events of [`FLOOD`].
fn flood(flags: &Flags, environment: &Environment, size: &str) -> io::Result<()> {
    let mut numbers = size.split(':').map(str::parse::<u32>);
    let mut next = || numbers.next().and_then(Result::ok);
    let (count, bytes) = (next().unwrap_or(0), next().unwrap_or(1200));
    let lines_per_second = next().filter(|rate| *rate > 0);
    let mut rng = Rng::new(environment.seed);
    let session_id = flags.session_id.clone().or_else(|| flags.resume.clone()).unwrap_or_else(|| rng.uuid());
    let model = flags.model.as_deref().unwrap_or("claude-sonnet-4-5");
    let mode = flags.permission_mode.as_deref().unwrap_or("default");
    let mut out = EventWriter::new(false, session_id, rng);
    out.system("init", init::event(&environment.cwd, &init::tools(flags), model, mode));
    // The fields around the text are about 300 bytes.
    let text = "x".repeat(bytes.saturating_sub(300) as usize);
    let started = Instant::now();
    let mut stdout = BufWriter::with_capacity(1 << 16, io::stdout());
    for index in 0..count {
        if let Some(rate) = lines_per_second {
            stdout.flush()?;
            // Due times are absolute, so that the lines after a late one catch up.
            let due = Duration::from_secs(1) * index / rate;
            thread::sleep(due.saturating_sub(started.elapsed()));
        }
        let (uuid, session_id) = (out.rng.uuid(), &out.session_id);
        writeln!(
            stdout,
            "{{\"type\":\"stream_event\",\"event\":{{\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\
             \"{text}\"}},\"type\":\"content_block_delta\"}},\"session_id\":\"{session_id}\",\
             \"parent_tool_use_id\":null,\"uuid\":\"{uuid}\",\"api_message_id\":\"msg_drill_flood\"}}"
        )?;
    }
    stdout.flush()?;
    out.result(json!({
        "subtype": "success", "is_error": false, "terminal_reason": "completed", "stop_reason": "end_turn",
        "api_error_status": null, "result": "Done.", "num_turns": 1, "duration_ms": 1, "duration_api_ms": 0,
        "total_cost_usd": 0, "usage": emit::usage(&Tokens::default()), "modelUsage": {},
        "model_usage_since_last_result": {}, "permission_denials": [],
    }));
    if environment.session_state {
        out.system("session_state_changed", json!({"state": "idle", "sdk_host_only": true}));
    }
    Ok(())
}

//! Measures how long an agent waits for its hooks: from launch to exit, with a playbook of 200 points and a
//! queue in use.

use super::Bench;
use super::disk::Disk;
use crate::results::ResultSection;
use crate::sandbox::Sandbox;
use serde_json::{Value, json};
use std::cell::Cell;
use std::fs;
use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PROMPT_BAR_MS: f64 = 20.0;
const QUEUE_BAR_MS: f64 = 8.0;
const POINTS: usize = 200;
const PROMPT: &str = "UserPromptSubmit";
const END: &str = "SessionEnd";
const BEST_POINTS: [&str; 2] = ["--max-tokens", "2000"];

pub fn bench(bench: &Bench) -> io::Result<ResultSection> {
    let sandbox = Sandbox::new()?;
    write_playbook(&sandbox)?;
    let transcript = sandbox.path().join("session.jsonl");
    fs::write(&transcript, "{}\n")?;
    let mut disk = Disk::new(sandbox.path())?;
    let end_event = json!({"session_id": "s", "transcript_path": transcript, "cwd": sandbox.work(), "reason": "other",
        "hook_event_name": END});
    let prompt_event = |session: usize| {
        json!({"session_id": format!("s{session}"), "transcript_path": transcript, "cwd": sandbox.work(),
            "hook_event_name": PROMPT, "prompt": "Why does the release build of point 117 fail?"})
    };
    // The worker that a hook starts finds no API key and exits.
    let hook = |event: &str| {
        let mut command = sandbox.command(&bench.programs.longhaul);
        command.env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9").args(["hook", event]);
        command
    };
    let sessions = Cell::new(0);
    let new_session = || {
        sessions.set(sessions.get() + 1);
        prompt_event(sessions.get())
    };
    // The first call creates the database and the first pages of its log.
    for _ in 0..3 {
        time_hook(&mut hook(END), &end_event)?;
        time_hook(hook(PROMPT).args(BEST_POINTS), &new_session())?;
    }
    let [most_points, repeated, best_points, queued, sync] = bench.medians(
        20,
        5,
        [
            &mut || time_hook(&mut hook(PROMPT), &new_session()),
            &mut || time_hook(&mut hook(PROMPT), &prompt_event(sessions.get())),
            &mut || time_hook(hook(PROMPT).args(BEST_POINTS), &new_session()),
            &mut || time_hook(&mut hook(END), &end_event),
            &mut || disk.append(),
        ],
    )?;
    let mut section = ResultSection::new(
        "The time that an agent waits for its hooks: the whole process of `longhaul hook`, from launch to exit. Medians of \
         20 calls, one after the other, with the disk measured in between. The hook does not wait for the worker that \
         it starts.",
    );
    section.figure("a session receives the best of 200 points", PROMPT_BAR_MS, "ms", most_points);
    section.figure("a session receives the best points in 2000 tokens", PROMPT_BAR_MS, "ms", best_points);
    section.figure("a prompt of a session with injected points", None, "ms", repeated);
    section
        .figure("a session is queued", QUEUE_BAR_MS + sync, "ms", queued)
        .origin("8 ms and one sync")
        .ratio(queued / sync, "the append");
    section.figure("append and fdatasync of 4 KiB", None, "ms", sync);
    if let Some(count) = flushes(&hook(END), &end_event, &sandbox)? {
        section.equal("flushes to disk per queued session", 1, count);
    }
    Ok(section)
}

fn time_hook(command: &mut Command, input: &Value) -> io::Result<Duration> {
    let started = Instant::now();
    let mut child = command.stdin(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.to_string().as_bytes())?;
    }
    let status = child.wait()?;
    let duration = started.elapsed();
    if status.success() { Ok(duration) } else { Err(io::Error::other(format!("{command:?}: {status}"))) }
}

/// Returns how often the hook flushes to disk, as counted by strace. `None` without strace.
fn flushes(hook: &Command, input: &Value, sandbox: &Sandbox) -> io::Result<Option<usize>> {
    let trace = sandbox.path().join("strace");
    let mut strace = sandbox.command("strace");
    strace.args(["-e", "trace=fsync,fdatasync,sync_file_range,msync", "-o"]).arg(&trace);
    strace.arg(hook.get_program()).args(hook.get_args());
    match time_hook(&mut strace, input) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let text = fs::read_to_string(trace)?;
    Ok(Some(text.lines().filter(|line| line.contains("sync(")).count()))
}

fn write_playbook(sandbox: &Sandbox) -> io::Result<()> {
    let text =
        "is built with `make release` after `make check`; it takes some minutes and needs the network once";
    let point = |number: usize| {
        json!({"name": format!("pat-{number:03}"), "text": format!("Point {number} {text}."), "helpful": number % 7,
            "harmful": number % 3})
    };
    let points: Vec<Value> = (1..=POINTS).map(point).collect();
    let playbook =
        json!({"version": "1.0", "last_updated": null, "sections": {"PATTERNS & APPROACHES": points}});
    let dir = sandbox.work().join(".claude");
    fs::create_dir(&dir)?;
    fs::write(dir.join("playbook.json"), playbook.to_string())
}

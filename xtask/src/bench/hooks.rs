//! Measures how long an agent waits for its hooks: from launch to exit, with a playbook of 200 points and a
//! queue in use.

use super::Bench;
use super::disk::Disk;
use super::sample::{median, ms};
use super::sandbox::Sandbox;
use super::section::{ResultRow, ResultSection};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, iter};

const PROMPT_BAR_MS: f64 = 20.0;
const QUEUE_BAR_MS: f64 = 8.0;
const POINTS: usize = 200;

pub fn bench(bench: &Bench) -> io::Result<ResultSection> {
    let sandbox = Sandbox::new()?;
    write_playbook(&sandbox)?;
    let transcript = sandbox.path().join("session.jsonl");
    fs::write(&transcript, "{}\n")?;
    let mut disk = Disk::new(sandbox.path())?;
    let end_event = json!({"session_id": "s", "transcript_path": transcript, "cwd": sandbox.work(), "reason": "other",
        "hook_event_name": "SessionEnd"});
    let prompt_event = |number: usize| {
        json!({"session_id": format!("s{number}"), "transcript_path": transcript, "cwd": sandbox.work(),
            "hook_event_name": "UserPromptSubmit", "prompt": "Why does the release build of point 117 fail?"})
    };
    // The worker that a hook starts finds no API key and exits.
    let hook = |event: &str| {
        let mut command = sandbox.command(&bench.longhaul);
        command.env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9").args(["hook", event]);
        command
    };
    // The first call creates the database and the first pages of its log.
    let warm = 3;
    for number in 0..warm {
        time_hook(&mut hook("SessionEnd"), &end_event)?;
        time_hook(hook("UserPromptSubmit").args(["--max-tokens", "2000"]), &prompt_event(number))?;
    }
    let (mut all_points, mut best_points, mut repeated, mut queued, mut syncs) =
        (vec![], vec![], vec![], vec![], vec![]);
    for number in warm..warm + bench.count(20, 5) {
        all_points.push(ms(time_hook(&mut hook("UserPromptSubmit"), &prompt_event(number * 2))?));
        best_points.push(ms(time_hook(
            hook("UserPromptSubmit").args(["--max-tokens", "2000"]),
            &prompt_event(number * 2 + 1),
        )?));
        repeated.push(ms(time_hook(&mut hook("UserPromptSubmit"), &prompt_event(number * 2))?));
        queued.push(ms(time_hook(&mut hook("SessionEnd"), &end_event)?));
        syncs.push(ms(disk.append()?));
    }
    let sync = median(&syncs);
    let mut rows = vec![
        ResultRow::at_most("a session receives all of 200 points", PROMPT_BAR_MS, "ms", median(&all_points)),
        ResultRow::at_most(
            "a session receives the best points in 2000 tokens",
            PROMPT_BAR_MS,
            "ms",
            median(&best_points),
        ),
        ResultRow::without_bar("a prompt of a session with injected points", "ms", median(&repeated)),
        ResultRow::at_most("a session is queued", QUEUE_BAR_MS + sync, "ms", median(&queued))
            .with_origin("8 ms and one sync")
            .with_ratio(median(&queued) / sync, "the append"),
        ResultRow::without_bar("append and fdatasync of 4 KiB", "ms", sync),
    ];
    if let Some(count) = flushes(&hook("SessionEnd"), &end_event, &sandbox)? {
        rows.push(ResultRow::condition(
            "flushes to disk per queued session",
            "1",
            count.to_string(),
            count == 1,
        ));
    }
    Ok(ResultSection {
        about: "The time that an agent waits for its hooks: the whole process of `longhaul hook`, from launch to exit. Medians of \
                20 calls, one after the other, with the disk measured in between. The hook does not wait for the worker that \
                it starts.",
        rows,
        appendix: String::new(),
    })
}

/// Runs a hook with this input and returns its duration.
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
    let points: Vec<Value> =
        iter::successors(Some(1), |last| Some(last + 1)).map(point).take(POINTS).collect();
    let playbook =
        json!({"version": "1.0", "last_updated": null, "sections": {"PATTERNS & APPROACHES": points}});
    let dir: &Path = &sandbox.work().join(".claude");
    fs::create_dir(dir)?;
    fs::write(dir.join("playbook.json"), playbook.to_string())
}

//! Measures a line of 64 MB: agents write whole files and images into one line.

use super::Bench;
use super::process::measure_command;
use super::sample::ms;
use super::sandbox::Sandbox;
use super::section::{ResultRow, ResultSection};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

const PEAK_BAR_MB: f64 = 200.0;

pub fn bench(bench: &Bench) -> io::Result<ResultSection> {
    // One line is just short enough for an event. The other is too long.
    let sizes: &[(&str, usize)] = if bench.quick {
        &[("4 MB", 4_000_000)]
    } else {
        &[("64 MB", 64_000_000), ("70 MB, over the limit", 70_000_000)]
    };
    let mut rows = Vec::new();
    for (name, bytes) in sizes {
        let sandbox = Sandbox::new()?;
        let recording = sandbox.path().join("recording.jsonl");
        record(&bench.root, &recording, *bytes)?;
        let mut command = sandbox.scripted_run(&bench.longhaul, "json")?;
        let run = measure_command(command.env("LONGHAUL_SCRIPTED_REPLAY", &recording))?;
        rows.push(ResultRow::condition(
            format!("{name}: exit code"),
            "0",
            run.status.to_string(),
            run.status.success(),
        ));
        let peak = run.peak_kib as f64 / 1024.0;
        let times = peak * 1024.0 * 1024.0 / *bytes as f64;
        rows.push(
            ResultRow::at_most(format!("{name}: peak memory"), PEAK_BAR_MB, "MB", peak)
                .with_ratio(times, "the line"),
        );
        rows.push(ResultRow::without_bar(format!("{name}: CPU of the supervisor"), "ms", ms(run.cpu)));
    }
    Ok(ResultSection {
        about: "A run whose stream has one very long line, a tool's result, before the answer.",
        rows,
        appendix: String::new(),
    })
}

/// Writes a recorded success with one long line before its answer.
fn record(root: &Path, file: &Path, bytes: usize) -> io::Result<()> {
    let recorded = fs::read_to_string(root.join("crates/agent/fixtures/claude/success-session-state.jsonl"))?;
    let mut out = BufWriter::new(File::create(file)?);
    let mut is_written = false;
    for line in recorded.lines() {
        if !is_written && line.contains("\"type\":\"assistant\"") {
            is_written = true;
            let session = serde_json::from_str::<Value>(line)?["session_id"].clone();
            let block =
                json!({"type": "tool_result", "tool_use_id": "toolu_long", "content": "x".repeat(bytes)});
            let message = json!({"role": "user", "content": [block]});
            writeln!(out, "{}", json!({"type": "user", "message": message, "session_id": session}))?;
        }
        writeln!(out, "{line}")?;
    }
    out.flush()
}

//! Measures a line of 64 MB: agents write whole files and images into one line.

use super::Bench;
use super::recording;
use crate::process::measure_command;
use crate::results::ResultSection;
use crate::sample::ms;
use crate::sandbox::Sandbox;
use longhaul_drill::scripted::REPLAY;
use serde_json::{Value, json};
use std::io;

const PEAK_BAR_MB: f64 = 200.0;

pub fn bench(bench: &Bench) -> io::Result<ResultSection> {
    // One line is just short enough for an event. The other is too long.
    let sizes: &[(&str, usize)] = if bench.quick {
        &[("4 MB", 4_000_000)]
    } else {
        &[("64 MB", 64_000_000), ("70 MB, over the limit", 70_000_000)]
    };
    let mut section = ResultSection::new(
        "A run whose stream has one very long line, a tool's result, before the answer. A run that does not \
         finish as done is an error.",
    );
    for (name, bytes) in sizes {
        let sandbox = Sandbox::new()?;
        let recording = sandbox.path().join("recording.jsonl");
        recording::write(&bench.root, &recording, 1, |_, session| long_line(*bytes, session))?;
        let mut command = sandbox.scripted_run(&bench.programs.longhaul, "json")?;
        let run = measure_command(command.env(REPLAY, &recording))?;
        let times = run.peak_mib() * 1024.0 * 1024.0 / *bytes as f64;
        section
            .figure(format!("{name}: peak memory"), PEAK_BAR_MB, "MB", run.peak_mib())
            .ratio(times, "the line");
        section.figure(format!("{name}: CPU of the supervisor"), None, "ms", ms(run.cpu));
    }
    Ok(section)
}

fn long_line(bytes: usize, session: &Value) -> String {
    let block = json!({"type": "tool_result", "tool_use_id": "toolu_long", "content": "x".repeat(bytes)});
    let message = json!({"role": "user", "content": [block]});
    json!({"type": "user", "message": message, "session_id": session}).to_string()
}

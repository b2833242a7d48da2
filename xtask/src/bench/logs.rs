//! Measures `longhaul logs` of a run with long output: the time to the first byte, and the peak memory.

use super::Bench;
use super::runs::{self, AttemptFixture, RunFixture};
use crate::process::{KillOnDrop, measure_command, time_command};
use crate::results::ResultSection;
use crate::sandbox::Sandbox;
use longhaul_core::Outcome;
use serde_json::json;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const FIRST_BAR_MS: f64 = 100.0;
const MEMORY_BAR_MIB: f64 = 32.0;

pub fn bench(bench: &Bench) -> io::Result<ResultSection> {
    let sandbox = Sandbox::new()?;
    let bytes = bench.count(100_000_000, 2_000_000) as u64;
    // Two attempts, each with half of the output.
    let half = AttemptFixture { work_seconds: 40_000, fault: None, wait_seconds: 1 };
    let fixture = RunFixture {
        number: 1,
        start_ms: 1_767_225_600_000,
        task: "Say much.".to_owned(),
        attempts: vec![half; 2],
        outcome: Outcome::DONE,
        calls: 0,
    };
    let dir = runs::write(&sandbox.longhaul_home(), &fixture)?;
    write_output(&dir, bytes, fixture.start_ms)?;
    let run = runs::id(fixture.number);
    let command = |form: &[&str]| {
        let mut command: Command = sandbox.command(&bench.programs.longhaul);
        command.args(["logs", &run]).args(form);
        command
    };

    let mut section = ResultSection::new(
        "A run whose agent wrote 100 MB in two attempts, and whose transcript has the same size. Timed from launch to \
         the first byte on a pipe, medians; the page cache is warm.",
    );
    let forms: [(&str, &[&str], Option<f64>); 4] = [
        ("`logs RUN`", &[], Some(FIRST_BAR_MS)),
        // The records before the requested part must be read first.
        ("`logs RUN --attempt 2`: half of the output is skipped", &["--attempt", "2"], None),
        ("`logs RUN --raw`", &["--raw"], Some(FIRST_BAR_MS)),
        ("`logs RUN --output-format stream-json`", &["--output-format", "stream-json"], Some(FIRST_BAR_MS)),
    ];
    let mut peak_mib: f64 = 0.0;
    for (label, form, bar) in forms {
        let [value] = bench.medians(20, 3, [&mut || first_byte(&mut command(form))])?;
        section.figure(format!("{label}: to the first byte"), bar, "ms", value);
        peak_mib = peak_mib.max(measure_command(&mut command(form))?.peak_mib());
    }
    let whole = time_command(&mut command(&[]))?;
    section.figure("`logs RUN`: the whole output", None, "s", whole.as_secs_f64());
    let label = "peak memory of any command that reads the whole output";
    section.figure(label, MEMORY_BAR_MIB, "MiB", peak_mib);
    Ok(section)
}

/// Writes a transcript of `bytes` bytes, and streams of the same length.
fn write_output(dir: &Path, bytes: u64, start_ms: u64) -> io::Result<()> {
    let mut transcript = runs::transcript(dir)?;
    for attempt in 1..=2 {
        let mut stream =
            BufWriter::new(File::create(dir.join(format!("attempts/{attempt:03}/stream.jsonl")))?);
        let (mut written, mut call, mut text) = (0, 0, Vec::new());
        while written < bytes / 2 {
            text.clear();
            runs::transcript_line(&mut text, attempt, call, start_ms + call * 1_000)?;
            transcript.write_all(&text)?;
            let event = json!({ "type": "user", "message": { "role": "user", "content": String::from_utf8_lossy(&text) } });
            let line = format!("{event}\n");
            stream.write_all(line.as_bytes())?;
            written += text.len() as u64;
            call += 1;
        }
        stream.flush()?;
    }
    transcript.flush()
}

/// Returns the time until the command prints its first byte. The rest is not read.
fn first_byte(command: &mut Command) -> io::Result<Duration> {
    let started = Instant::now();
    let mut child = KillOnDrop(command.stdout(Stdio::piped()).spawn()?);
    let stdout = child.0.stdout.as_mut().ok_or_else(|| io::Error::other("stdout is piped"))?;
    let mut first = [0];
    stdout.read_exact(&mut first)?;
    Ok(started.elapsed())
}

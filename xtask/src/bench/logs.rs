//! Measures `longhaul logs` of a run with long output: the time to the first byte, and the peak memory.

use super::Bench;
use super::process::{KillOnDrop, measure_command, time_command};
use super::runs::{self, AttemptFixture, RunFixture};
use super::sample::{median, ms};
use super::sandbox::Sandbox;
use super::section::{ResultRow, ResultSection};
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
        name: None,
        task: "Say much.".to_owned(),
        attempts: vec![half; 2],
        outcome: Some(Outcome::DONE),
        calls: 0,
    };
    let dir = runs::write(&sandbox.longhaul_home(), &fixture)?;
    write_output(&dir, bytes, fixture.start_ms)?;
    let run = runs::id(fixture.number);

    let forms: [(&str, &[&str]); 4] = [
        ("`logs RUN`", &[]),
        ("`logs RUN --attempt 2`: half of the output is skipped", &["--attempt", "2"]),
        ("`logs RUN --raw`", &["--raw"]),
        ("`logs RUN --output-format stream-json`", &["--output-format", "stream-json"]),
    ];
    let (mut rows, mut peak_kib) = (Vec::new(), 0);
    for (number, (label, form)) in forms.into_iter().enumerate() {
        let command = || {
            let mut command: Command = sandbox.command(&bench.longhaul);
            command.args(["logs", &run]).args(form);
            command
        };
        let mut samples = Vec::new();
        for _ in 0..bench.count(20, 3) {
            samples.push(ms(first_byte(&mut command())?));
        }
        let (label, value) = (format!("{label}: to the first byte"), median(&samples));
        // The records before the requested part must be read first.
        rows.push(if number == 1 {
            ResultRow::without_bar(label, "ms", value)
        } else {
            ResultRow::at_most(label, FIRST_BAR_MS, "ms", value)
        });
        peak_kib = peak_kib.max(measure_command(&mut command())?.peak_kib);
    }
    let mut whole: Command = sandbox.command(&bench.longhaul);
    let whole = time_command(whole.args(["logs", &run]))?;
    rows.push(ResultRow::without_bar("`logs RUN`: the whole output", "s", whole.as_secs_f64()));
    rows.push(ResultRow::at_most(
        "peak memory of any command that reads the whole output",
        MEMORY_BAR_MIB,
        "MiB",
        peak_kib as f64 / 1024.0,
    ));
    Ok(ResultSection {
        about: "A run whose agent wrote 100 MB in two attempts, and whose transcript has the same size. Timed from launch to \
                the first byte on a pipe, medians; the page cache is warm.",
        rows,
        appendix: String::new(),
    })
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

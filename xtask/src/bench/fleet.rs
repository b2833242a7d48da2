//! Measures a hundred live runs in one process of the library. That process is an example of the library.

use super::sandbox::Sandbox;
use super::section::{Row, Section};
use super::{Bench, build};
use serde_json::Value;
use std::io;
use std::process::Stdio;

const CORE_BAR_PERCENT: f64 = 8.0;
const MEMORY_BAR_MB: f64 = 40.0;
const LINES_PER_SECOND: usize = 20;

pub fn bench(bench: &Bench) -> io::Result<Section> {
    let example = build(&bench.root, &["--package", "longhaul", "--example", "fleet"], "examples/fleet")?;
    let sandbox = Sandbox::new()?;
    let (runs, seconds) = (bench.count(100, 10), bench.count(25, 3));
    let mut command = sandbox.command(&example);
    command.arg(&bench.longhaul).args([runs, LINES_PER_SECOND, seconds].map(|number| number.to_string()));
    let output = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!("fleet: {}", output.status)));
    }
    let found: Value = serde_json::from_slice(&output.stdout)?;
    let number = |name: &str| found[name].as_f64().unwrap_or(f64::NAN);
    let done = number("done") as usize;
    let (percent, lines) = (number("cpu_percent"), number("lines_a_second"));
    Ok(Section {
        about: "The library's example `fleet`: live runs in one process and on one thread, each agent writing lines of \
                about 1.2 kB. The median of five windows in which all of them run and none starts or ends.",
        rows: vec![
            Row::at_most(
                format!("CPU of the process, {runs} runs"),
                CORE_BAR_PERCENT,
                "% of a core",
                percent,
            ),
            Row::render("CPU a line", "µs", percent * 1e4 / lines),
            Row::at_most(format!("peak memory, {runs} runs"), MEMORY_BAR_MB, "MB", number("peak_mb")),
            Row::must(
                "no run began or ended in the window",
                "true",
                found["steady"].to_string(),
                found["steady"] == true,
            ),
            Row::render("lines read", "a second", lines),
            Row::must("runs that ended as done", runs.to_string(), done.to_string(), done == runs),
        ],
        appendix: String::new(),
    })
}

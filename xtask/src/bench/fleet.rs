//! Measures a hundred live runs in one process of the library. That process is an example of the library.

use super::sandbox::Sandbox;
use super::section::{ResultRow, ResultSection};
use super::{Bench, build};
use serde_json::Value;
use std::io;
use std::process::Stdio;

const CORE_BAR_PERCENT: f64 = 8.0;
const MEMORY_BAR_MB: f64 = 40.0;
const LINES_PER_SECOND: usize = 20;

pub fn bench(bench: &Bench) -> io::Result<ResultSection> {
    let example = build(&bench.root, &["--package", "longhaul", "--example", "fleet"], "examples/fleet")?;
    let sandbox = Sandbox::new()?;
    let (runs, seconds) = (bench.count(100, 10), bench.count(25, 3));
    let mut command = sandbox.command(&example);
    command.arg(&bench.longhaul).args([runs, LINES_PER_SECOND, seconds].map(|number| number.to_string()));
    let output = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!("fleet: {}", output.status)));
    }
    let figures: Value = serde_json::from_slice(&output.stdout)?;
    let number = |name: &str| figures[name].as_f64().unwrap_or(f64::NAN);
    let done = number("done") as usize;
    let (percent, lines) = (number("cpu_percent"), number("lines_a_second"));
    Ok(ResultSection {
        about: "The library's example `fleet`: live runs in one process and on one thread, each agent writing lines of \
                about 1.2 kB. The median of five windows in which every run is active and none starts or finishes.",
        rows: vec![
            ResultRow::at_most(
                format!("CPU of the process, {runs} runs"),
                CORE_BAR_PERCENT,
                "% of a core",
                percent,
            ),
            ResultRow::without_bar("CPU per line", "µs", percent * 1e4 / lines),
            ResultRow::at_most(format!("peak memory, {runs} runs"), MEMORY_BAR_MB, "MB", number("peak_mb")),
            ResultRow::condition(
                "no run started or finished in the window",
                "true",
                figures["steady"].to_string(),
                figures["steady"] == true,
            ),
            ResultRow::without_bar("lines read", "per second", lines),
            ResultRow::condition(
                "runs that finished as done",
                runs.to_string(),
                done.to_string(),
                done == runs,
            ),
        ],
        appendix: String::new(),
    })
}

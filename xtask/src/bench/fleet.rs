//! Measures a hundred live runs in one process of the library. That process is an example of the library.

use super::Bench;
use crate::programs::{release_build, stdout_of};
use crate::results::ResultSection;
use crate::sandbox::Sandbox;
use serde_json::Value;
use std::io;

const CORE_BAR_PERCENT: f64 = 8.0;
const MEMORY_BAR_MB: f64 = 40.0;
const LINES_PER_SECOND: usize = 20;

pub fn bench(bench: &Bench) -> io::Result<ResultSection> {
    let example =
        release_build(&bench.root, &["--package", "longhaul", "--example", "fleet"], "examples/fleet")?;
    let sandbox = Sandbox::new()?;
    let (runs, seconds) = (bench.count(100, 10), bench.count(25, 3));
    let mut command = sandbox.command(&example);
    command
        .arg(&bench.programs.longhaul)
        .args([runs, LINES_PER_SECOND, seconds].map(|number| number.to_string()));
    let figures: Value = serde_json::from_str(&stdout_of(&mut command)?)?;
    let number = |name: &str| figures[name].as_f64().unwrap_or(f64::NAN);
    let (percent, lines) = (number("cpu_percent"), number("lines_a_second"));
    let mut section = ResultSection::new(
        "The library's example `fleet`: live runs in one process and on one thread, each agent writing lines of \
         about 1.2 kB. The median of five windows in which every run is active and none starts or finishes.",
    );
    section.figure(format!("CPU of the process, {runs} runs"), CORE_BAR_PERCENT, "% of a core", percent);
    section.figure("CPU per line", None, "µs", percent * 1e4 / lines);
    section.figure(format!("peak memory, {runs} runs"), MEMORY_BAR_MB, "MB", number("peak_mb"));
    section.equal("no run started or finished in the window", true, figures["steady"] == true);
    section.figure("lines read", None, "per second", lines);
    section.equal("runs that finished as done", runs, number("done") as usize);
    Ok(section)
}

//! Measures the start of the program.

use super::Bench;
use crate::process::time_command;
use crate::results::ResultSection;
use crate::sandbox::Sandbox;
use std::io;

const BAR_MS: f64 = 5.0;

pub fn bench(bench: &Bench) -> io::Result<ResultSection> {
    let sandbox = Sandbox::new()?;
    let [longhaul, bare] = bench.medians(
        30,
        10,
        [&mut || time_command(sandbox.command(&bench.programs.longhaul).arg("--version")), &mut || {
            time_command(&mut sandbox.command("/bin/true"))
        }],
    )?;
    let mut section = ResultSection::new(
        "`longhaul --version` from launch to exit, median, taken in turn with `/bin/true`.",
    );
    section.figure("`longhaul --version`", BAR_MS, "ms", longhaul).ratio(longhaul / bare, "`/bin/true`");
    section.figure("`/bin/true`", None, "ms", bare);
    Ok(section)
}

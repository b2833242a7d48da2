//! Measures the start of the program.

use super::Bench;
use super::process::time_command;
use super::sample::{median, ms};
use super::sandbox::Sandbox;
use super::section::{ResultRow, ResultSection};
use std::io;

const BAR_MS: f64 = 5.0;

pub fn bench(bench: &Bench) -> io::Result<ResultSection> {
    let sandbox = Sandbox::new()?;
    let (mut longhaul, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..bench.count(30, 10) {
        longhaul.push(ms(time_command(sandbox.command(&bench.longhaul).arg("--version"))?));
        bare.push(ms(time_command(&mut sandbox.command("/bin/true"))?));
    }
    let (longhaul, bare) = (median(&longhaul), median(&bare));
    Ok(ResultSection {
        about: "`longhaul --version` from launch to exit, median, taken in turn with `/bin/true`.",
        rows: vec![
            ResultRow::at_most("`longhaul --version`", BAR_MS, "ms", longhaul)
                .with_ratio(longhaul / bare, "`/bin/true`"),
            ResultRow::without_bar("`/bin/true`", "ms", bare),
        ],
        appendix: String::new(),
    })
}

//! Measures the start of the program.

use super::Bench;
use super::process::time_command;
use super::sample::{median, ms};
use super::sandbox::Sandbox;
use super::section::{Row, Section};
use std::io;

const BAR_MS: f64 = 5.0;

pub fn bench(bench: &Bench) -> io::Result<Section> {
    let sandbox = Sandbox::new()?;
    let (mut longhaul, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..bench.count(30, 10) {
        longhaul.push(ms(time_command(sandbox.command(&bench.longhaul).arg("--version"))?));
        bare.push(ms(time_command(&mut sandbox.command("/bin/true"))?));
    }
    let (longhaul, bare) = (median(&longhaul), median(&bare));
    Ok(Section {
        about: "`longhaul --version` from launch to exit, median, taken in turn with `/bin/true`.",
        rows: vec![
            Row::at_most("`longhaul --version`", BAR_MS, "ms", longhaul)
                .with_ratio(longhaul / bare, "`/bin/true`"),
            Row::without_bar("`/bin/true`", "ms", bare),
        ],
        appendix: String::new(),
    })
}

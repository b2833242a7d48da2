//! What it costs to start the program at all.

use super::Bench;
use super::process::timed;
use super::sample::{median, ms};
use super::sandbox::Sandbox;
use super::section::{Row, Section};
use std::io;

const BAR_MS: f64 = 5.0;

pub fn bench(bench: &Bench) -> io::Result<Section> {
    let place = Sandbox::new()?;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..bench.count(30, 10) {
        ours.push(ms(timed(place.command(&bench.longhaul).arg("--version"))?));
        bare.push(ms(timed(&mut place.command("/bin/true"))?));
    }
    let (ours, bare) = (median(&ours), median(&bare));
    Ok(Section {
        about: "`longhaul --version` from launch to exit, median, taken in turn with `/bin/true`.",
        rows: vec![
            Row::at_most("`longhaul --version`", BAR_MS, "ms", ours).against(ours / bare, "`/bin/true`"),
            Row::render("`/bin/true`", "ms", bare),
        ],
        appendix: String::new(),
    })
}

//! Measures a whole run whose agent takes no time: directory, journal, process, sweep, report.

use super::Bench;
use super::disk::Disk;
use super::process::timed;
use super::sample::{median, ms};
use super::sandbox::Sandbox;
use super::section::{Row, Section};
use std::io;
use std::time::Duration;

const BAR_MS: f64 = 25.0;
const BAR_SYNCS: f64 = 6.0;

pub fn bench(bench: &Bench) -> io::Result<Section> {
    let sandbox = Sandbox::new()?;
    let mut disk = Disk::at(sandbox.path())?;
    let run = || -> io::Result<Duration> {
        timed(sandbox.scripted_run(&bench.longhaul, "json")?.env("LONGHAUL_SCRIPTED_INSTANT", "1"))
    };
    run()?;
    let (mut runs, mut agents, mut syncs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bench.count(20, 5) {
        runs.push(ms(run()?));
        let mut agent = sandbox.command(sandbox.path().join("scripted-agent"));
        agents.push(ms(timed(agent.args(["-p", "measure"]).env("LONGHAUL_SCRIPTED_INSTANT", "1"))?));
        for _ in 0..4 {
            syncs.push(ms(disk.append()?));
        }
    }
    let (run, agent, sync) = (median(&runs), median(&agents), median(&syncs));
    Ok(Section {
        about: "`longhaul run` of the scripted agent, which ends at once; the disk is measured in between, in the \
                same directory.",
        rows: vec![
            Row::at_most("a whole run", BAR_MS + BAR_SYNCS * sync, "ms", run)
                .because("25 ms and six syncs")
                .against(run / agent, "the agent alone"),
            Row::render("the agent alone", "ms", agent),
            Row::render("append and fdatasync of 4 KiB", "ms", sync),
        ],
        appendix: String::new(),
    })
}

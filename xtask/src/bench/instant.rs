//! Measures a whole run whose agent takes no time: directory, journal, process, sweep, report.

use super::Bench;
use super::disk::Disk;
use super::process::time_command;
use super::sample::{median, ms};
use super::sandbox::Sandbox;
use super::section::{ResultRow, ResultSection};
use std::io;
use std::time::Duration;

const BAR_MS: f64 = 25.0;
const BAR_SYNCS: f64 = 6.0;

pub fn bench(bench: &Bench) -> io::Result<ResultSection> {
    let sandbox = Sandbox::new()?;
    let mut disk = Disk::new(sandbox.path())?;
    let run = || -> io::Result<Duration> {
        time_command(sandbox.scripted_run(&bench.longhaul, "json")?.env("LONGHAUL_SCRIPTED_INSTANT", "1"))
    };
    run()?;
    let (mut runs, mut agents, mut syncs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bench.count(20, 5) {
        runs.push(ms(run()?));
        let mut agent = sandbox.command(sandbox.path().join("scripted-agent"));
        agents.push(ms(time_command(agent.args(["-p", "measure"]).env("LONGHAUL_SCRIPTED_INSTANT", "1"))?));
        for _ in 0..4 {
            syncs.push(ms(disk.append()?));
        }
    }
    let (run, agent, sync) = (median(&runs), median(&agents), median(&syncs));
    Ok(ResultSection {
        about: "`longhaul run` of the scripted agent, which exits at once. The disk is measured in between, in the \
                same directory.",
        rows: vec![
            ResultRow::at_most("a whole run", BAR_MS + BAR_SYNCS * sync, "ms", run)
                .with_origin("25 ms and six syncs")
                .with_ratio(run / agent, "the agent alone"),
            ResultRow::without_bar("the agent alone", "ms", agent),
            ResultRow::without_bar("append and fdatasync of 4 KiB", "ms", sync),
        ],
        appendix: String::new(),
    })
}

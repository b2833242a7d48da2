//! Measures a whole run whose agent takes no time: directory, journal, process, sweep, report.

use super::Bench;
use super::disk::Disk;
use crate::process::time_command;
use crate::results::ResultSection;
use crate::sandbox::Sandbox;
use longhaul_drill::scripted::INSTANT;
use std::io;
use std::time::Duration;

const BAR_MS: f64 = 25.0;
const BAR_SYNCS: f64 = 6.0;

pub fn bench(bench: &Bench) -> io::Result<ResultSection> {
    let sandbox = Sandbox::new()?;
    let mut disk = Disk::new(sandbox.path())?;
    let longhaul = &bench.programs.longhaul;
    let run = || -> io::Result<Duration> {
        time_command(sandbox.scripted_run(longhaul, "json")?.env(INSTANT, "1"))
    };
    run()?;
    let agent = sandbox.scripted_agent(longhaul)?;
    let [run, agent, sync] = bench.medians(
        20,
        5,
        [
            &mut || run(),
            &mut || time_command(sandbox.command(&agent).args(["-p", "measure"]).env(INSTANT, "1")),
            &mut || disk.append(),
        ],
    )?;
    let mut section = ResultSection::new(
        "`longhaul run` of the scripted agent, which exits at once. The disk is measured in between, in the \
         same directory.",
    );
    section
        .figure("a whole run", BAR_MS + BAR_SYNCS * sync, "ms", run)
        .origin("25 ms and six syncs")
        .ratio(run / agent, "the agent alone");
    section.figure("the agent alone", None, "ms", agent);
    section.figure("append and fdatasync of 4 KiB", None, "ms", sync);
    Ok(section)
}

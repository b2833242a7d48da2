//! Measures the commands that read the ledger, in a large home: a hundred thousand runs of ten attempts
//! each.

use super::Bench;
use super::runs;
use crate::process::{measure_command, time_command};
use crate::results::ResultSection;
use crate::sample::ms;
use crate::sandbox::Sandbox;
use std::io;
use std::process::{Command, Stdio};
use std::time::Instant;

const ATTEMPTS: u32 = 10;
const LIST_BAR_MS: f64 = 50.0;
const COST_BAR_MS: f64 = 300.0;
const SHOW_BAR_MS: f64 = 30.0;
const REBUILD_BAR: f64 = 2_000.0;
const MEMORY_BAR_MIB: f64 = 100.0;

pub fn bench(bench: &Bench) -> io::Result<ResultSection> {
    let sandbox = Sandbox::new()?;
    let count = bench.count(100_000, 1_000);
    let started = Instant::now();
    let some_run = runs::write_many(&sandbox.longhaul_home(), count, ATTEMPTS)?;
    let creation_time = started.elapsed();

    let command = |args: &[&str]| {
        let mut command: Command = sandbox.command(&bench.programs.longhaul);
        command.args(args).args(["--output-format", "text"]).stdout(Stdio::null());
        command
    };
    let started = Instant::now();
    let mut peak_mib = measure_command(&mut command(&["ledger", "rebuild"]))?.peak_mib();
    let rate = count as f64 / started.elapsed().as_secs_f64();
    // This also waits for twice a tick of the file system's clock, after which unchanged days are no longer
    // listed.
    time_command(&mut command(&["runs"]))?;
    let verified = time_command(&mut command(&["ledger", "verify"]))?;

    let mut section = ResultSection::new(
        "A home of 100,000 runs in 365 days, 10 attempts each, each with its journal and its usage by model. \
         Commands are timed from launch to exit, medians; the page cache is warm.",
    );
    section.condition(
        "`ledger rebuild`, runs per second",
        format!("≥ {REBUILD_BAR}"),
        format!("{rate:.0}"),
        rate >= REBUILD_BAR,
    );
    let list: [(&str, &[&str], Option<f64>); 7] = [
        ("`runs --limit 30`, as on a terminal", &["runs", "--limit", "30"], Some(LIST_BAR_MS)),
        (
            "`runs --state failed --limit 30`",
            &["runs", "--state", "failed", "--limit", "30"],
            Some(LIST_BAR_MS),
        ),
        ("`runs WORDS` without a match: every task is read", &["runs", "zebra"], None),
        ("`status`", &["status"], Some(LIST_BAR_MS)),
        ("`cost --by day`, of all time", &["cost", "--by", "day", "--all"], Some(COST_BAR_MS)),
        ("`cost --by model`, of all time", &["cost", "--by", "model", "--all"], None),
        ("`show RUN`", &["show", &some_run], Some(SHOW_BAR_MS)),
    ];
    let baseline = ms(time_command(&mut command(&["--version"]))?);
    for (label, args, bar) in list {
        let [value] = bench.medians(20, 3, [&mut || time_command(&mut command(args))])?;
        peak_mib = peak_mib.max(measure_command(&mut command(args))?.peak_mib());
        section.figure(label, bar, "ms", value).ratio(value / baseline, "`--version`");
    }
    section.figure("peak memory of any command", MEMORY_BAR_MIB, "MiB", peak_mib);
    section.figure("`ledger verify`", None, "s", verified.as_secs_f64());
    section.figure("creating the runs, by this bench", None, "s", creation_time.as_secs_f64());
    Ok(section)
}

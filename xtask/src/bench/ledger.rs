//! Measures the commands that read the ledger, in a large home: a hundred thousand runs of ten attempts
//! each.

use super::Bench;
use super::process::{measure_command, time_command};
use super::runs;
use super::sample::{median, ms};
use super::sandbox::Sandbox;
use super::section::{ResultRow, ResultSection};
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
        let mut command: Command = sandbox.command(&bench.longhaul);
        command.args(args).args(["--output-format", "text"]).stdout(Stdio::null());
        command
    };
    let started = Instant::now();
    let rebuilt = measure_command(&mut command(&["ledger", "rebuild"]))?;
    let rate = count as f64 / started.elapsed().as_secs_f64();
    if !rebuilt.status.success() {
        return Err(io::Error::other("the ledger cannot be rebuilt"));
    }
    // This also waits for twice a tick of the file system's clock, after which unchanged days are no longer
    // listed.
    time_command(&mut command(&["runs"]))?;
    let verified = time_command(&mut command(&["ledger", "verify"]))?;

    let mut peak_mib = rebuilt.peak_kib as f64 / 1024.0;
    let mut median_ms = |args: &[&str]| -> io::Result<f64> {
        let mut samples = Vec::new();
        for _ in 0..bench.count(20, 3) {
            samples.push(ms(time_command(&mut command(args))?));
        }
        peak_mib = peak_mib.max(measure_command(&mut command(args))?.peak_kib as f64 / 1024.0);
        Ok(median(&samples))
    };
    let baseline = ms(time_command(&mut command(&["--version"]))?);
    let mut rows = vec![ResultRow::condition(
        "`ledger rebuild`, runs per second",
        format!("≥ {REBUILD_BAR}"),
        format!("{rate:.0}"),
        rate >= REBUILD_BAR,
    )];
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
    for (label, args, bar) in list {
        let value = median_ms(args)?;
        let row = match bar {
            Some(bar) => ResultRow::at_most(label, bar, "ms", value),
            None => ResultRow::without_bar(label, "ms", value),
        };
        rows.push(row.with_ratio(value / baseline, "`--version`"));
    }
    rows.push(ResultRow::at_most("peak memory of any command", MEMORY_BAR_MIB, "MiB", peak_mib));
    rows.push(ResultRow::without_bar("`ledger verify`", "s", verified.as_secs_f64()));
    rows.push(ResultRow::without_bar("creating the runs, by this bench", "s", creation_time.as_secs_f64()));
    Ok(ResultSection {
        about: "A home of 100,000 runs in 365 days, 10 attempts each, each with its journal and its usage by model. \
                Commands are timed from launch to exit, medians; the page cache is warm.",
        rows,
        appendix: String::new(),
    })
}

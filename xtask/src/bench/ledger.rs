//! Measures the commands that read the ledger, in a home as after years: a hundred thousand runs of ten
//! attempts each.

use super::Bench;
use super::process::{metered, timed};
use super::runs;
use super::sample::{median, ms};
use super::sandbox::Sandbox;
use super::section::{Row, Section};
use std::io;
use std::process::{Command, Stdio};
use std::time::Instant;

const ATTEMPTS: u32 = 10;
const LIST_BAR_MS: f64 = 50.0;
const COST_BAR_MS: f64 = 300.0;
const SHOW_BAR_MS: f64 = 30.0;
const REBUILD_BAR: f64 = 2_000.0;
const MEMORY_BAR_MIB: f64 = 100.0;

pub fn bench(bench: &Bench) -> io::Result<Section> {
    let sandbox = Sandbox::new()?;
    let count = bench.count(100_000, 1_000);
    let started = Instant::now();
    let some_run = runs::make(&sandbox.longhaul_home(), count, ATTEMPTS)?;
    let creation_time = started.elapsed();

    let command = |args: &[&str]| {
        let mut command: Command = sandbox.command(&bench.longhaul);
        command.args(args).args(["--output-format", "text"]).stdout(Stdio::null());
        command
    };
    let started = Instant::now();
    let rebuilt = metered(&mut command(&["ledger", "rebuild"]))?;
    let rate = count as f64 / started.elapsed().as_secs_f64();
    if !rebuilt.status.success() {
        return Err(io::Error::other("the ledger cannot be made"));
    }
    // This also waits for twice a tick of the file system's clock, after which unchanged days are no longer
    // listed.
    timed(&mut command(&["runs"]))?;
    let verified = timed(&mut command(&["ledger", "verify"]))?;

    let mut peak_mib = rebuilt.peak_kib as f64 / 1024.0;
    let mut median_ms = |args: &[&str]| -> io::Result<f64> {
        let mut samples = Vec::new();
        for _ in 0..bench.count(20, 3) {
            samples.push(ms(timed(&mut command(args))?));
        }
        peak_mib = peak_mib.max(metered(&mut command(args))?.peak_kib as f64 / 1024.0);
        Ok(median(&samples))
    };
    let bare = ms(timed(&mut command(&["--version"]))?);
    let mut rows = vec![Row::must(
        "`ledger rebuild`, runs a second",
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
        ("`runs WORDS`, found nowhere: every task is read", &["runs", "zebra"], None),
        ("`status`", &["status"], Some(LIST_BAR_MS)),
        ("`cost --by day`, of all time", &["cost", "--by", "day", "--all"], Some(COST_BAR_MS)),
        ("`cost --by model`, of all time", &["cost", "--by", "model", "--all"], None),
        ("`show RUN`", &["show", &some_run], Some(SHOW_BAR_MS)),
    ];
    for (label, args, bar) in list {
        let value = median_ms(args)?;
        let row = match bar {
            Some(bar) => Row::at_most(label, bar, "ms", value),
            None => Row::render(label, "ms", value),
        };
        rows.push(row.against(value / bare, "`--version`"));
    }
    rows.push(Row::at_most("the most memory of any of them", MEMORY_BAR_MIB, "MiB", peak_mib));
    rows.push(Row::render("`ledger verify`", "s", verified.as_secs_f64()));
    rows.push(Row::render("making the runs, by this bench", "s", creation_time.as_secs_f64()));
    Ok(Section {
        about: "A home of 100,000 runs in 365 days, 10 attempts each, every one with its journal and what it spent by model. \
                Commands are timed from launch to exit, medians; the page cache is warm.",
        rows,
        appendix: String::new(),
    })
}

//! Measures `longhaul report` of a busy week: 500 runs with their waits, failures and tool calls, on one
//! page.

use super::Bench;
use super::runs::{self, AttemptFixture, RunFixture};
use crate::process::{measure_command, time_command};
use crate::programs::stdout_of;
use crate::results::ResultSection;
use crate::sandbox::Sandbox;
use longhaul_core::{Fault, Outcome};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fs, io};

const PAGE_BAR_S: f64 = 3.0;
const SIZE_BAR_MB: f64 = 5.0;
const WEEK_MS: u64 = 7 * 86_400_000;
// The longest run takes less than this, so that no run ends in the future.
const LONGEST_MS: u64 = 8 * 3_600_000;
const FAULTS: [Fault; 5] =
    [Fault::Overloaded, Fault::RateLimited, Fault::Stalled, Fault::Network, Fault::UsageLimit];

pub fn bench(bench: &Bench) -> io::Result<ResultSection> {
    let sandbox = Sandbox::new()?;
    let count = bench.count(500, 24) as u64;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(io::Error::other)?.as_millis();
    let first = now as u64 - WEEK_MS + 60_000;
    for number in 0..count {
        let start_ms = first + (WEEK_MS - LONGEST_MS) / count * number;
        runs::write(&sandbox.longhaul_home(), &run_fixture(number, start_ms))?;
    }

    let command = |form: &[&str]| {
        let mut command: Command = sandbox.command(&bench.programs.longhaul);
        command.args(["report", "--since", "7d"]).args(form).stdout(Stdio::null());
        command
    };
    // The command runs in the working directory.
    let form = ["--output", "report.html"];
    // The ledger does not have the runs yet.
    let first = time_command(&mut command(&form))?.as_secs_f64();
    let [html, text, json] = bench
        .medians(
            9,
            3,
            [
                &mut || time_command(&mut command(&form)),
                &mut || time_command(&mut command(&["--format", "text"])),
                &mut || time_command(&mut command(&["--output-format", "json"])),
            ],
        )?
        .map(|ms| ms / 1e3);
    let peak_mib = measure_command(&mut command(&form))?.peak_mib();
    let megabytes = fs::metadata(sandbox.work().join("report.html"))?.len() as f64 / 1e6;
    let runs = report_runs(&mut command(&["--output-format", "json"]), count)?;
    let items = |list: &dyn Fn(&Value) -> &Value| {
        runs.iter().filter_map(|run| Some(list(run).as_array()?.len())).sum::<usize>() as f64
    };
    let mut section = ResultSection::new(
        "A home of 500 runs in the last seven days, of 1 to 41 attempts each, with their waits, failures, models and \
         tool calls. `longhaul report --since 7d` is timed from launch to exit, medians; the page cache is warm.",
    );
    section.figure("the page", PAGE_BAR_S, "s", html);
    section.figure("the page, with runs that are not in the ledger yet", PAGE_BAR_S, "s", first);
    section.figure("the page: its size", SIZE_BAR_MB, "MB", megabytes);
    section.figure("as text", None, "s", text);
    section.figure("as JSON", None, "s", json);
    section.figure("the page: peak memory", None, "MiB", peak_mib);
    section.figure("reported attempts", None, "", items(&|run| &run["attempts"]));
    section.figure("reported tool calls", None, "", items(&|run| &run["calls"]["last"]));
    Ok(section)
}

/// Creates the fixture of run `number`, started at `start_ms`, in milliseconds since 1970. Most runs fail a few
/// times, some very often, before they finish as done.
fn run_fixture(number: u64, start_ms: u64) -> RunFixture {
    let failures = if number.is_multiple_of(12) { 40 } else { number % 7 };
    let failure = |index: u64| AttemptFixture {
        work_seconds: 300,
        fault: Some(FAULTS[((number + index) % 5) as usize]),
        wait_seconds: 90,
    };
    let success = AttemptFixture { work_seconds: 1_800, fault: None, wait_seconds: 0 };
    RunFixture {
        number,
        start_ms,
        task: format!("Reproduce table {number} of the paper with three seeds, and note every difference."),
        attempts: (0..failures).map(failure).chain([success]).collect(),
        outcome: Outcome::DONE,
        calls: 20 + number as u32 % 30,
    }
}

/// Reads the report as JSON and checks that it contains the runs: timing an empty report would prove nothing.
fn report_runs(command: &mut Command, count: u64) -> io::Result<Vec<Value>> {
    let report: Value = serde_json::from_str(&stdout_of(command)?)?;
    let runs = report["runs"].as_array().cloned().unwrap_or_default();
    let is_empty = |run: &Value| run["calls"]["last"][0]["tool"].is_null() || run["attempts"][0].is_null();
    if runs.len() as u64 != count || runs.iter().any(is_empty) {
        return Err(io::Error::other(format!(
            "the report has {} of {count} runs, or no attempts or tool calls",
            runs.len()
        )));
    }
    Ok(runs)
}

//! Measures `longhaul report` of a busy week: 500 runs with their waits, failures and tool calls, on one
//! page.

mod run_fixtures;

use super::Bench;
use super::process::{measure_command, time_command};
use super::runs;
use super::sample::median;
use super::sandbox::Sandbox;
use super::section::{ResultRow, ResultSection};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fs, io};

const PAGE_BAR_S: f64 = 3.0;
const SIZE_BAR_MB: f64 = 5.0;
const WEEK_MS: u64 = 7 * 86_400_000;
// The longest run takes less than this, so that no run ends in the future.
const LONGEST_MS: u64 = 8 * 3_600_000;

pub fn bench(bench: &Bench) -> io::Result<ResultSection> {
    let sandbox = Sandbox::new()?;
    let count = bench.count(500, 24) as u64;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(io::Error::other)?.as_millis();
    let first = now as u64 - WEEK_MS + 60_000;
    for number in 0..count {
        let start_ms = first + (WEEK_MS - LONGEST_MS) / count * number;
        runs::write(&sandbox.longhaul_home(), &run_fixtures::run_fixture(number, start_ms))?;
    }

    let command = |form: &[&str]| {
        let mut command: Command = sandbox.command(&bench.longhaul);
        command.args(["report", "--since", "7d"]).args(form).stdout(Stdio::null());
        command
    };
    let page = sandbox.work().join("report.html");
    let form = ["--output", page.to_str().ok_or_else(|| io::Error::other("no plain name"))?];
    // The ledger does not have the runs yet.
    let first = time_command(&mut command(&form))?.as_secs_f64();
    let median_s = |form: &[&str]| -> io::Result<f64> {
        let mut samples = Vec::new();
        for _ in 0..bench.count(9, 3) {
            samples.push(time_command(&mut command(form))?.as_secs_f64());
        }
        Ok(median(&samples))
    };
    let (html, text, json) =
        (median_s(&form)?, median_s(&["--format", "text"])?, median_s(&["--output-format", "json"])?);
    let peak = measure_command(&mut command(&form))?.peak_kib as f64 / 1024.0;
    let counts = report_counts(&mut command(&["--output-format", "json"]), count)?;
    let megabytes = fs::metadata(&page)?.len() as f64 / 1e6;
    Ok(ResultSection {
        about: "A home of 500 runs in the last seven days, of 1 to 41 attempts each, with their waits, failures, models and \
                tool calls. `longhaul report --since 7d` is timed from launch to exit, medians; the page cache is warm.",
        rows: vec![
            ResultRow::at_most("the page", PAGE_BAR_S, "s", html),
            ResultRow::at_most("the page, with runs that are not in the ledger yet", PAGE_BAR_S, "s", first),
            ResultRow::at_most("the page: its size", SIZE_BAR_MB, "MB", megabytes),
            ResultRow::without_bar("as text", "s", text),
            ResultRow::without_bar("as JSON", "s", json),
            ResultRow::without_bar("the page: peak memory", "MiB", peak),
            ResultRow::without_bar("reported attempts", "", counts.attempts),
            ResultRow::without_bar("reported tool calls", "", counts.calls),
        ],
        appendix: String::new(),
    })
}

/// The numbers of items in a report.
struct ReportCounts {
    attempts: f64,
    calls: f64,
}

/// Reads the report as JSON and checks that it contains the runs: timing an empty report would prove nothing.
fn report_counts(command: &mut Command, count: u64) -> io::Result<ReportCounts> {
    let report: Value = serde_json::from_slice(&command.stdout(Stdio::piped()).output()?.stdout)?;
    let runs = report["runs"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_empty = |run: &Value| run["calls"]["last"][0]["tool"].is_null() || run["attempts"][0].is_null();
    if runs.len() as u64 != count || runs.iter().any(is_empty) {
        return Err(io::Error::other(format!(
            "the report has {} of {count} runs, or no attempts or tool calls",
            runs.len()
        )));
    }
    let sum =
        |count_of: &dyn Fn(&Value) -> Option<usize>| runs.iter().filter_map(count_of).sum::<usize>() as f64;
    Ok(ReportCounts {
        attempts: sum(&|run| run["attempts"].as_array().map(Vec::len)),
        calls: sum(&|run| run["calls"]["last"].as_array().map(Vec::len)),
    })
}

//! Measures how soon a hopeless run ends, and how soon a hang is detected.

use super::Bench;
use super::drills::drill;
use super::sandbox::{Sandbox, newest};
use super::section::{ResultRow, ResultSection};
use serde_json::Value;
use std::path::Path;
use std::{fs, io};

const AUTH_BAR_S: f64 = 5.0;
const OVER_STALL_BAR_S: f64 = 8.0;
const HOPELESS: &str = "auth-401";
const HANG: &str = "silent-pings";

pub fn bench(bench: &Bench) -> io::Result<ResultSection> {
    let scenario = fs::read_to_string(bench.root.join(format!("crates/drill/scenarios/{HANG}.toml")))?;
    let stall_s =
        scenario.lines().find_map(|line| line.strip_prefix("stall_timeout_s = ")?.parse::<f64>().ok());
    let stall_s =
        stall_s.ok_or_else(|| io::Error::other(format!("scenario {HANG} sets no stall timeout")))?;
    let mut rows = Vec::new();
    for agent in ["scripted", "claude"] {
        let duration_s = seconds(&drill(bench, &Sandbox::new()?, agent, &[HOPELESS])?);
        rows.push(ResultRow::at_most(format!("a permanent 401, {agent}"), AUTH_BAR_S, "s", duration_s));
        let sandbox = Sandbox::new()?;
        let duration_s = seconds(&drill(bench, &sandbox, agent, &[HANG, "--keep"])?);
        let hung = hung_s(&newest(&newest(&sandbox.temporary(), 1)?.join("longhaul/runs"), 2)?)?;
        rows.push(
            ResultRow::at_most(format!("a hang, {agent}"), stall_s + OVER_STALL_BAR_S, "s", hung)
                .with_origin(&format!("stall timeout {stall_s} s + 8 s")),
        );
        rows.push(ResultRow::without_bar(format!("the whole run with the hang, {agent}"), "s", duration_s));
    }
    Ok(ResultSection {
        about: "The whole drill `auth-401`; and of the drill `silent-pings` the time from the last progress before the hang \
                to the end of the attempt.",
        rows,
        appendix: String::new(),
    })
}

fn seconds(cards: &[Value]) -> f64 {
    cards.first().and_then(|card| card["wall_ms"].as_f64()).unwrap_or(f64::NAN) / 1e3
}

/// Returns the time from the last progress of the first attempt to its end, from the run's journal.
fn hung_s(run: &Path) -> io::Result<f64> {
    let journal = fs::read_to_string(run.join("journal.jsonl"))?;
    let mut last_progress = None;
    for line in journal.lines() {
        let entry: Value = serde_json::from_str(line)?;
        for record in entry["records"].as_array().into_iter().flatten() {
            match (record["record"].as_str(), last_progress) {
                (Some("progress_made"), _) => last_progress = record["at"].as_f64(),
                (Some("attempt_ended"), Some(last_progress)) => {
                    return Ok((record["at"].as_f64().unwrap_or(f64::NAN) - last_progress) / 1e3);
                }
                _ => {}
            }
        }
    }
    Err(io::Error::other(format!("the journal of {} has no hang", run.display())))
}

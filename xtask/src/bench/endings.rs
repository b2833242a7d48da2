//! How soon a run ends that has no hope, and one that hangs.

use super::Bench;
use super::drills::drill;
use super::section::{Row, Section};
use std::{fs, io};

const AUTH_BAR_S: f64 = 5.0;
const OVER_STALL_BAR_S: f64 = 8.0;
const HANG: &str = "silent-pings";

pub fn bench(bench: &Bench) -> io::Result<Section> {
    let scenario = fs::read_to_string(bench.root.join(format!("crates/drill/scenarios/{HANG}.toml")))?;
    let stall_s =
        scenario.lines().find_map(|line| line.strip_prefix("stall_timeout_s = ")?.parse::<f64>().ok());
    let stall_s =
        stall_s.ok_or_else(|| io::Error::other(format!("scenario {HANG} names no stall timeout")))?;
    let mut rows = Vec::new();
    for agent in ["scripted", "claude"] {
        for card in drill(bench, agent, &["auth-401", HANG])? {
            let seconds = card["wall_ms"].as_f64().unwrap_or(f64::NAN) / 1e3;
            rows.push(if card["scenario"] == HANG {
                Row::at_most(
                    format!("a hang, and the work after it, {agent}"),
                    stall_s + OVER_STALL_BAR_S,
                    "s",
                    seconds,
                )
                .because(&format!("stall timeout {stall_s} s + 8 s"))
            } else {
                Row::at_most(format!("a permanent 401, {agent}"), AUTH_BAR_S, "s", seconds)
            });
        }
    }
    Ok(Section {
        about: "The drills `auth-401` and `silent-pings`, whole runs. A hang's figure has in it what comes before and \
                after the hang, and so is above what the bar speaks of.",
        rows,
        appendix: String::new(),
    })
}

//! Measures how soon a hopeless run ends, and how soon a hang is detected.

use super::Bench;
use super::drills::drill;
use crate::journal;
use crate::results::ResultSection;
use crate::sandbox::{Sandbox, newest};
use longhaul_drill::scenario;
use serde_json::Value;
use std::io;

const AUTH_BAR_S: f64 = 5.0;
const OVER_STALL_BAR_S: f64 = 8.0;
const HOPELESS: &str = "auth-401";
const HANG: &str = "silent-pings";

pub fn bench(bench: &Bench) -> io::Result<ResultSection> {
    let stall = scenario::find(HANG).map_err(io::Error::other)?.run.stall_timeout;
    let stall_s =
        stall.ok_or_else(|| io::Error::other(format!("{HANG} sets no stall timeout")))?.as_secs_f64();
    let mut section = ResultSection::new(
        "The whole drill `auth-401`; and of the drill `silent-pings` the time from the last progress before the hang \
         to the end of the attempt.",
    );
    for agent in ["scripted", "claude"] {
        let duration_s = seconds(&drill(bench, &Sandbox::new()?, agent, &[HOPELESS])?);
        section.figure(format!("a permanent 401, {agent}"), AUTH_BAR_S, "s", duration_s);
        let sandbox = Sandbox::new()?;
        let duration_s = seconds(&drill(bench, &sandbox, agent, &[HANG, "--keep"])?);
        let home = newest(&sandbox.temporary(), 1)?.join("longhaul");
        let hung =
            hung_s(&journal::records_in(&home)).ok_or_else(|| io::Error::other("a run had no hang"))?;
        section
            .figure(format!("a hang, {agent}"), stall_s + OVER_STALL_BAR_S, "s", hung)
            .origin(&format!("stall timeout {stall_s} s + 8 s"));
        section.figure(format!("the whole run with the hang, {agent}"), None, "s", duration_s);
    }
    Ok(section)
}

fn seconds(cards: &[Value]) -> f64 {
    cards.first().and_then(|card| card["wall_ms"].as_f64()).unwrap_or(f64::NAN) / 1e3
}

/// Returns the time from the last progress of the first attempt to its end.
fn hung_s(records: &[Value]) -> Option<f64> {
    let end = records.iter().position(|record| record["record"] == "attempt_ended")?;
    let progress = records[..end].iter().rev().find(|record| record["record"] == "progress_made")?;
    Some((records[end]["at"].as_f64()? - progress["at"].as_f64()?) / 1e3)
}

//! Runs every scenario with both agents and compares the expected with the actual results.

use super::Bench;
use crate::results::{ResultSection, table_row};
use crate::sandbox::Sandbox;
use serde_json::Value;
use std::io;
use std::process::Stdio;

/// The drill of rejected credentials, which no retry helps.
const HOPELESS: &str = "auth-401";
const AUTH_BAR_S: f64 = 5.0;
const HEAD: &str = "| scenario | agent | outcome | fault | exit code | survived | attempts | requests | tokens off | \
    cost off | seconds | leftover processes | passed |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";

pub fn bench(bench: &Bench) -> io::Result<ResultSection> {
    let mut section = ResultSection::new(
        "`longhaul drill all` with the scripted agent and with the real Claude Code. A cell with an arrow shows \
         the expected and the actual value: expected → actual.",
    );
    section.appendix = HEAD.to_owned();
    let (agents, scenarios): (&[&str], &[&str]) = if bench.quick {
        (&["scripted"], &[HOPELESS, "overload"])
    } else {
        (&["scripted", "claude"], &["all"])
    };
    for agent in agents {
        let cards = drill(bench, agent, scenarios)?;
        section.appendix.extend(cards.iter().map(line));
        let passed = cards.iter().filter(|card| card["passed"] == true).count();
        section.every(format!("passed scenarios, {agent}"), passed, cards.len());
        let leftover: u64 = cards.iter().filter_map(|card| card["processes_left"].as_u64()).sum();
        section.equal(format!("leftover processes, {agent}"), 0, leftover);
        let hopeless = cards.iter().filter(|card| card["scenario"] == HOPELESS).map(seconds);
        section.figure(format!("a permanent 401, {agent}"), AUTH_BAR_S, "s", hopeless.sum());
    }
    Ok(section)
}

/// Runs drills and returns their scorecards.
fn drill(bench: &Bench, agent: &str, scenarios: &[&str]) -> io::Result<Vec<Value>> {
    let sandbox = Sandbox::new()?;
    let mut command = sandbox.command(&bench.programs.longhaul);
    command.arg("drill").args(scenarios).args(["--output-format", "json", "--quiet", "--agent", agent]);
    command.arg("--agent-path").arg(&bench.programs.claude);
    let output = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).output()?;
    // A failed drill exits with a failure, but still prints its scorecard.
    serde_json::from_slice(&output.stdout)
        .map_err(|error| io::Error::other(format!("drill with {agent}: {}: {error}", output.status)))
}

fn seconds(card: &Value) -> f64 {
    card["wall_ms"].as_f64().unwrap_or(f64::NAN) / 1e3
}

fn line(card: &Value) -> String {
    let survived = card["faults_survived"].as_array().into_iter().flatten();
    let survived: Vec<&str> = survived.filter_map(|survived| survived["fault"].as_str()).collect();
    table_row(&[
        render_value(&card["scenario"]),
        render_value(&card["agent"]),
        render_pair(&card["outcome"]),
        render_pair(&card["fault"]),
        render_pair(&card["exit_code"]),
        if survived.is_empty() { "–".to_owned() } else { survived.join(", ") },
        render_value(&card["attempts"]),
        render_value(&card["requests"]),
        percent_off(&card["tokens"]["all"]),
        percent_off(&card["cost_micro_usd"]),
        format!("{:.1}", seconds(card)),
        render_value(&card["processes_left"]),
        if card["passed"] == true { "yes".to_owned() } else { "**no**".to_owned() },
    ])
}

/// Returns the difference between the counted and the billed total, in percent of the billed total.
fn percent_off(totals: &Value) -> String {
    let (counted, billed) = (totals["counted"].as_f64(), totals["billed"].as_f64());
    let percent = counted.zip(billed).map(|(counted, billed)| (counted - billed) / billed.max(1.0) * 100.0);
    percent.map_or_else(|| "–".to_owned(), |percent| format!("{percent:.2} %"))
}

fn render_pair(pair: &Value) -> String {
    let (expected, actual) = (render_value(&pair["expected"]), render_value(&pair["actual"]));
    if expected == actual { actual } else { format!("{expected} → {actual}") }
}

fn render_value(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

//! Runs every scenario with both agents and compares the expected with the actual results.

use super::Bench;
use super::sandbox::Sandbox;
use super::section::{Row, Section};
use serde_json::Value;
use std::fmt::Write as _;
use std::io;
use std::process::Stdio;

pub fn bench(bench: &Bench) -> io::Result<Section> {
    let mut rows = Vec::new();
    let mut table =
        "| scenario | agent | outcome | fault | exit code | survived | attempts | requests | tokens off | cost off | \
                     seconds | left behind | agrees |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n"
            .to_owned();
    let (agents, scenarios): (&[&str], &[&str]) = if bench.quick {
        (&["scripted"], &["auth-401", "overload"])
    } else {
        (&["scripted", "claude"], &["all"])
    };
    for agent in agents {
        let cards = drill(bench, &Sandbox::new()?, agent, scenarios)?;
        for card in &cards {
            let _ = writeln!(table, "{}", line(card));
        }
        let agreeing = cards.iter().filter(|card| card["agrees"] == true).count();
        let total = cards.len();
        let label = format!("scenarios that agree throughout, {agent}");
        rows.push(Row::must(
            label,
            format!("all {total}"),
            agreeing.to_string(),
            agreeing == total && total > 0,
        ));
        let leftover: u64 = cards.iter().filter_map(|card| card["processes_left"].as_u64()).sum();
        rows.push(Row::must(
            format!("processes left behind, {agent}"),
            "0",
            leftover.to_string(),
            leftover == 0,
        ));
    }
    Ok(Section {
        about: "`longhaul drill all` with the scripted agent and with the real Claude Code. A cell with an arrow reads: \
                expected → actual.",
        rows,
        appendix: table,
    })
}

/// Runs drills and returns their scorecards. Their directories stay in the sandbox if `args` says to keep them.
pub fn drill(bench: &Bench, sandbox: &Sandbox, agent: &str, args: &[&str]) -> io::Result<Vec<Value>> {
    let mut command = sandbox.command(&bench.longhaul);
    command.arg("drill").args(args).args(["--output-format", "json", "--quiet", "--agent", agent]);
    command.arg("--agent-path").arg(&bench.claude);
    let output = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).output()?;
    // A drill that disagrees exits with a failure, but still prints its card.
    serde_json::from_slice(&output.stdout)
        .map_err(|error| io::Error::other(format!("drill with {agent}: {}: {error}", output.status)))
}

fn line(card: &Value) -> String {
    let survived: Vec<&str> = card["faults_survived"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|one| one["fault"].as_str())
        .collect();
    let cells = [
        scenario_word(&card["scenario"]),
        scenario_word(&card["agent"]),
        render_pair(&card["outcome"]),
        render_pair(&card["fault"]),
        render_pair(&card["exit_code"]),
        if survived.is_empty() { "–".to_owned() } else { survived.join(", ") },
        scenario_word(&card["attempts"]),
        scenario_word(&card["requests"]),
        percent_off(&card["tokens"]["all"]),
        percent_off(&card["cost_micro_usd"]),
        format!("{:.1}", card["wall_ms"].as_f64().unwrap_or(f64::NAN) / 1e3),
        scenario_word(&card["processes_left"]),
        if card["agrees"] == true { "yes".to_owned() } else { "**no**".to_owned() },
    ];
    format!("| {} |", cells.join(" | "))
}

/// Returns how much Longhaul's total differs from the API's, in percent.
fn percent_off(totals: &Value) -> String {
    let (by_us, by_api) = (totals["by_us"].as_f64(), totals["by_api"].as_f64());
    let percent = by_us.zip(by_api).map(|(us, api)| (us - api) / api.max(1.0) * 100.0);
    percent.map_or_else(|| "–".to_owned(), |percent| format!("{percent:.2} %"))
}

fn render_pair(pair: &Value) -> String {
    if pair["expected"] == pair["actual"] {
        scenario_word(&pair["actual"])
    } else {
        format!("{} → {}", scenario_word(&pair["expected"]), scenario_word(&pair["actual"]))
    }
}

fn scenario_word(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

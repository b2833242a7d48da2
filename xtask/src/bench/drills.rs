//! Every scenario with both agents: what each must end as, and what it did end as.

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
        let of = cards.len();
        let what = format!("scenarios that agree throughout, {agent}");
        rows.push(Row::must(what, format!("all {of}"), agreeing.to_string(), agreeing == of && of > 0));
        let left: u64 = cards.iter().filter_map(|card| card["processes_left"].as_u64()).sum();
        rows.push(Row::must(format!("processes left behind, {agent}"), "0", left.to_string(), left == 0));
    }
    Ok(Section {
        about: "`longhaul drill all` with the scripted agent and with the real Claude Code. A cell with an arrow reads: \
                expected → actual.",
        rows,
        appendix: table,
    })
}

/// The scorecards of some drills; their directories are in the place, if `args` says to keep them.
pub fn drill(bench: &Bench, place: &Sandbox, agent: &str, args: &[&str]) -> io::Result<Vec<Value>> {
    let mut command = place.command(&bench.longhaul);
    command.arg("drill").args(args).args(["--output-format", "json", "--quiet", "--agent", agent]);
    command.arg("--agent-path").arg(&bench.claude);
    let output = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).output()?;
    // A drill that disagrees exits with a failure and prints its card all the same.
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
        compared(&card["outcome"]),
        compared(&card["fault"]),
        compared(&card["exit_code"]),
        if survived.is_empty() { "–".to_owned() } else { survived.join(", ") },
        scenario_word(&card["attempts"]),
        scenario_word(&card["requests"]),
        off(&card["tokens"]["all"]),
        off(&card["cost_micro_usd"]),
        format!("{:.1}", card["wall_ms"].as_f64().unwrap_or(f64::NAN) / 1e3),
        scenario_word(&card["processes_left"]),
        if card["agrees"] == true { "yes".to_owned() } else { "**no**".to_owned() },
    ];
    format!("| {} |", cells.join(" | "))
}

/// By how much our account differs from the API's.
fn off(totals: &Value) -> String {
    let (by_us, by_api) = (totals["by_us"].as_f64(), totals["by_api"].as_f64());
    let off = by_us.zip(by_api).map(|(us, api)| (us - api) / api.max(1.0) * 100.0);
    off.map_or_else(|| "–".to_owned(), |off| format!("{off:.2} %"))
}

fn compared(pair: &Value) -> String {
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

//! Renders scorecards for people.

use super::play::SurvivedFault;
use super::scorecard::{CountedAndBilled, Scorecard};
use crate::output::color::{Colors, Style};
use crate::output::envelope_text::grouped;
use crate::output::phrases;
use crate::output::wrap::wrap;
use longhaul_core::{Span, Usd};
use longhaul_drill::Scenario;
use std::collections::BTreeMap;

/// Lists the scenarios, one on each line. For people, long lines are wrapped.
pub fn list(scenarios: &[Scenario], for_people: bool) -> String {
    let width = scenarios.iter().map(|scenario| scenario.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for scenario in scenarios {
        let mut line = format!("{:width$}  ", scenario.name);
        if for_people {
            wrap(&mut line, &scenario.summary, width + 2);
        } else {
            line += &format!("{}\n", scenario.summary);
        }
        out += &line;
    }
    out
}

pub fn card(card: &Scorecard, colors: Colors) -> String {
    let mut out = String::new();
    let mut line = |name: &str, value: String| out += &format!("  {name:<20}{value}\n");
    line(
        "scenario",
        format!("{} · agent {} · seed {} · run {}", card.scenario, card.agent, card.seed, card.run),
    );
    line("faults injected", counted(&card.faults_injected));
    line("faults survived", survived(&card.faults_survived));
    line(
        "attempts",
        format!(
            "{} · {}, {} in all · {} · {} from start to end",
            card.attempts,
            phrases::counted(card.waits.into(), "wait"),
            Span(card.waited_ms),
            phrases::counted(card.requests as u64, "request"),
            Span(card.wall_ms)
        ),
    );
    line(
        "completed messages",
        format!(
            "{} counted, {} billed · {} tokens counted, {} billed{}",
            card.messages.completed_counted,
            card.messages.completed_billed,
            grouped(card.tokens.completed_counted),
            grouped(card.tokens.completed_billed),
            if card.completed_match() { " · equal" } else { " · DIFFERENT" }
        ),
    );
    let estimated =
        format!("including {}", phrases::counted(card.messages.estimated.into(), "estimated message"));
    line("all tokens", format!("{estimated}: {}", totals(&card.tokens.all, grouped)));
    line("cost", format!("{estimated}: {}", totals(&card.cost_micro_usd, |micro| Usd(micro).to_string())));
    line("wasted tokens", grouped(card.wasted_tokens));
    if let Some(workspace) = &card.workspace {
        let verdict = if workspace.matches() { "as expected" } else { "NOT AS EXPECTED" };
        line("workspace", format!("sha256 {}… {verdict}", &workspace.actual[..16]));
    }
    line("processes left", card.processes_left.to_string());
    line("outcome", format!("{} · exit code {}", card.outcome.actual, card.exit_code.actual));
    if card.passed {
        line("verdict", colors.styled("pass", Some(Style::Good)));
    } else {
        let failed = colors.styled("FAIL", Some(Style::Bad));
        line("verdict", format!("{failed}: {}", card.failures().join("; ")));
    }
    out
}

/// Compares the expected and actual outcomes of several scenarios.
pub fn summary(cards: &[Scorecard]) -> String {
    let width = cards.iter().map(|card| card.scenario.len()).max().unwrap_or(0);
    let describe =
        |outcome: &str, fault: Option<&str>, exit: u8| format!("{outcome} {} {exit}", fault.unwrap_or("-"));
    let mut out = format!("\n{:width$}  {:<32}  {:<32}  took\n", "scenario", "expected", "actual");
    for card in cards {
        let expected =
            describe(&card.outcome.expected, card.fault.expected.as_deref(), card.exit_code.expected);
        let actual = describe(&card.outcome.actual, card.fault.actual.as_deref(), card.exit_code.actual);
        let verdict = if card.passed { "" } else { "  FAIL" };
        let duration = Span(card.wall_ms);
        out += &format!("{:width$}  {expected:<32}  {actual:<32}  {duration}{verdict}\n", card.scenario);
    }
    let passed = cards.iter().filter(|card| card.passed).count();
    out + &format!("{passed} of {} passed\n", cards.len())
}

fn counted(faults: &BTreeMap<String, u32>) -> String {
    let names: Vec<String> = faults
        .iter()
        .map(|(name, count)| if *count == 1 { name.clone() } else { format!("{count} × {name}") })
        .collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn survived(faults: &[SurvivedFault]) -> String {
    let names: Vec<String> = faults.iter().map(|survived| survived.fault.to_string()).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn totals(totals: &CountedAndBilled, format_amount: impl Fn(u64) -> String) -> String {
    format!(
        "{} counted, {} billed ({:.2}% off)",
        format_amount(totals.counted),
        format_amount(totals.billed),
        totals.error() * 100.0
    )
}

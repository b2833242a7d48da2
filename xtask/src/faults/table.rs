//! The table of all scenarios in Markdown, with remarks on single rows.

use super::figures::CaseMetrics;
use std::fmt::Write as _;

const HEAD: &str = "| scenario | seed | fault | outcome | completed | clean | honest | attempts | \
                    seconds (ideal) | tokens / ideal | cost reported / billed | ledger equal | late or hung |\n\
                    |---|---|---|---|---|---|---|---|---|---|---|---|---|\n";

/// Renders the rows, followed by remarks on problems.
pub fn table(parts: &[&[CaseMetrics]], ideal: &dyn Fn(&CaseMetrics) -> Option<(u64, f64)>) -> String {
    let mut out = HEAD.to_owned();
    let rows = || parts.iter().copied().flatten();
    for row in rows() {
        let _ = writeln!(out, "{}", line(row, ideal(row)));
    }
    let remarks: String = rows().filter_map(remark).collect();
    if remarks.is_empty() { out } else { format!("{out}\n{remarks}") }
}

/// Renders one row.
pub fn line(row: &CaseMetrics, ideal: Option<(u64, f64)>) -> String {
    let figure = |value: Option<f64>, digits: usize| match value {
        Some(value) => format!("{value:.digits$}"),
        None => "–".to_owned(),
    };
    let faults =
        if row.survived.is_empty() { String::new() } else { format!(" ({})", row.survived.join(", ")) };
    let cells = [
        row.case.name.clone(),
        row.seed.to_string(),
        row.case.description.clone(),
        row.outcome.as_ref().map_or("**none**".to_owned(), |outcome| format!("`{outcome}`")) + &faults,
        yes(row.is_completed()),
        yes(row.is_clean()),
        yes(row.is_honest()),
        row.attempts.to_string(),
        format!("{:.1} ({})", row.seconds, figure(ideal.map(|(_, seconds)| seconds), 1)),
        figure(ideal.map(|(tokens, _)| row.tokens as f64 / tokens as f64), 3),
        figure(row.cost, 3),
        row.ledger.map_or("–".to_owned(), yes),
        figure(row.late_s.or(row.hung_s), 1),
    ];
    format!("| {} |", cells.join(" | "))
}

fn yes(holds: bool) -> String {
    if holds { "yes" } else { "**no**" }.to_owned()
}

fn remark(row: &CaseMetrics) -> Option<String> {
    let mut problems = Vec::new();
    if !row.struck {
        problems.push("the fault was not injected".to_owned());
    }
    if !row.is_completed() {
        problems.push(format!("not complete: {}", row.missing.join("; ")));
    }
    if !row.is_clean() {
        problems.push(format!("not clean: {}", row.unclean.join("; ")));
    }
    let CaseMetrics { case, seed, .. } = row;
    (!problems.is_empty()).then(|| format!("- {} (seed {seed}): {}\n", case.name, problems.join(". ")))
}

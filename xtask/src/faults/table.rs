//! The table of all scenarios in Markdown, with remarks on single rows.

use super::play::CaseRun;
use crate::journal;
use crate::results::table_row;

const HEAD: &str = "| scenario | seed | fault | outcome | completed | clean | honest | attempts | \
                    seconds (ideal) | tokens / ideal | cost reported / billed | ledger equal | late or hung |\n\
                    |---|---|---|---|---|---|---|---|---|---|---|---|---|\n";

pub fn table(rows: &[CaseRun]) -> String {
    let lines: String = rows.iter().map(line).collect();
    let remarks: String = rows.iter().filter_map(remark).collect();
    if remarks.is_empty() { format!("{HEAD}{lines}") } else { format!("{HEAD}{lines}\n{remarks}") }
}

pub fn line(row: &CaseRun) -> String {
    let figure = |value: Option<f64>, digits: usize| match value {
        Some(value) => format!("{value:.digits$}"),
        None => "–".to_owned(),
    };
    let survived = journal::survived(&row.records);
    let faults = if survived.is_empty() { String::new() } else { format!(" ({})", survived.join(", ")) };
    let outcome = row.field("/run/outcome").as_str();
    table_row(&[
        row.case.name.clone(),
        row.seed.to_string(),
        row.case.description.clone(),
        outcome.map_or("**none**".to_owned(), |outcome| format!("`{outcome}`")) + &faults,
        yes(row.is_completed()),
        yes(row.unclean().is_empty()),
        yes(row.is_honest()),
        row.field("/run/attempts").as_u64().unwrap_or(0).to_string(),
        format!("{:.1} ({})", row.wall.as_secs_f64(), figure(row.ideal.map(|(_, seconds)| seconds), 1)),
        figure(row.tokens_by_ideal(), 3),
        figure(row.cost(), 3),
        row.is_ledger_equal().map_or("–".to_owned(), yes),
        figure(row.late_s().or(row.hung_s()), 1),
    ])
}

fn yes(holds: bool) -> String {
    if holds { "yes" } else { "**no**" }.to_owned()
}

fn remark(row: &CaseRun) -> Option<String> {
    let mut problems = Vec::new();
    if !row.is_struck() {
        problems.push("the fault was not injected".to_owned());
    }
    if !row.is_completed() {
        problems.push(format!("not complete: {}", row.differences.join("; ")));
    }
    if !row.unclean().is_empty() {
        problems.push(format!("not clean: {}", row.unclean().join("; ")));
    }
    let CaseRun { case, seed, .. } = row;
    (!problems.is_empty()).then(|| format!("- {} (seed {seed}): {}\n", case.name, problems.join(". ")))
}

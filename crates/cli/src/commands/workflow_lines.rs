//! The lines of a workflow for people: its state, its phases and their runs. It reads no file.

use crate::commands::runs::table::status_style;
use crate::output::color::Colors;
use crate::output::phrases::{counted, one_line};
use crate::output::time::future_time;
use longhaul_core::WorkflowDeadlineKind;
use longhaul_store::{ItemReport, PhaseReport, WorkflowStatus};
use std::collections::BTreeMap;

/// `workflow kxhfgg: running, iteration 2 of 10, $3.45 of $20.00`.
pub fn headline(label: &str, status: &WorkflowStatus) -> String {
    let waits_for_memory = status.deadline.as_deref() == Some(WorkflowDeadlineKind::Memory.as_str());
    let until = match status.deadline_at.filter(|_| status.status == "waiting") {
        _ if waits_for_memory => ", the next run waits for memory".to_owned(),
        Some(until) => format!(" until {}", future_time(until.0)),
        None => String::new(),
    };
    let budget = status.budget_usd.map_or_else(String::new, |budget| format!(" of {}", budget.0));
    format!(
        "{label}: {}{until}, iteration {} of {}, {}{budget}",
        status.status, status.iteration, status.iterations_max, status.total_cost_usd.0
    )
}

/// Returns the lines of all phases and warnings. With the activities of live runs by their ids, perhaps none, each run
/// has a line, too.
pub fn phases_lines(
    status: &WorkflowStatus,
    activities: Option<&BTreeMap<String, String>>,
    colors: Colors,
) -> String {
    let phases = status.phases.iter().map(|phase| phase_lines(phase, &[], activities, colors));
    phases.chain(status.warnings.iter().map(|warning| warning_line(warning))).collect()
}

pub fn warning_line(warning: &str) -> String {
    format!("  warning: {}\n", one_line(warning))
}

/// Returns the line of a phase, its problems and its runs. `replaced` are runs that a newer run of the same item replaced.
pub fn phase_lines(
    phase: &PhaseReport,
    replaced: &[ItemReport],
    activities: Option<&BTreeMap<String, String>>,
    colors: Colors,
) -> String {
    let runs = || replaced.iter().chain(&phase.items).filter(|item| item.run.is_some());
    let word = colors.styled(&phase.status, status_style(&phase.status));
    let cost = phase.total_cost_usd.0.to_string();
    let totals = match runs().count() as u64 {
        0 => String::new(),
        1 => format!(", {cost}"),
        count => format!(", {}, {cost}", counted(count, "run")),
    };
    let mut text = format!("  {:<16} {word}{totals}\n", phase.name);
    let deferred = (phase.deferred > 0).then(|| format!("{} more items are deferred", phase.deferred));
    for note in phase.problem.iter().map(|problem| one_line(problem)).chain(deferred) {
        text += &format!("    {note}\n");
    }
    if let Some(activities) = activities {
        text.extend(runs().map(|item| run_line(item, activities, colors)));
    }
    text
}

fn run_line(item: &ItemReport, activities: &BTreeMap<String, String>, colors: Colors) -> String {
    let run = item.run.as_ref().map_or("", |run| run.as_str());
    let word = colors.styled(&item.status, status_style(&item.status));
    let until = item.until.map_or_else(String::new, |until| format!(" until {}", future_time(until.0)));
    let note = |text: Option<&String>| text.map_or_else(String::new, |text| format!(": {}", one_line(text)));
    let activity = note(activities.get(run).filter(|_| item.status == "running"));
    let (cost, problem) = (item.total_cost_usd.0.to_string(), note(item.problem.as_ref()));
    let name = item.item.as_ref().map_or_else(String::new, |name| format!("  {}", one_line(name)));
    format!("    {run}  {word}{until}{activity}, {cost}{name}{problem}\n")
}

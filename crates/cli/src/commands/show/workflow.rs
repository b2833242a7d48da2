//! `longhaul show` for a workflow: its settings, and the tree of its iterations, phases and runs.

use super::text::{line, lines, next_lines, outcome_line};
use crate::args::GlobalArgs;
use crate::commands::workflow_lines::{phase_lines, warning_line};
use crate::failure::Failure;
use crate::output::color::Colors;
use crate::output::pager::page_output;
use crate::output::phrases::{counted, one_line};
use crate::output::time::TimeFormat;
use crate::run_history::NextStep;
use crate::workflow_history::{WorkflowHistory, WorkflowIteration, WorkflowPhase};
use longhaul_core::{Dollars, OutcomeKind, Rfc3339, Span};
use longhaul_store::{Home, WorkflowDir};
use serde::Serialize;
use std::collections::BTreeMap;

/// A workflow, as printed. JSON keys are only added, never removed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ShowWorkflowOutput<'a> {
    /// Id of the workflow.
    workflow: String,
    /// Name given by the user.
    name: Option<&'a str>,
    /// Outcome. `None` if the workflow is not finished.
    outcome: Option<OutcomeKind>,
    /// Errors of a finished workflow, for people: first the reason for the outcome.
    errors: &'a [String],
    /// Path of the workflow file, or the name of a built-in workflow.
    file: String,
    /// Directory that the workflow works on.
    cwd: String,
    /// Parameters of the command line.
    parameters: BTreeMap<&'a str, &'a str>,
    /// Text that prompts can quote as `focus`.
    focus: Option<&'a str>,
    /// Settings of the phases, in the order of the file.
    settings: Vec<PhaseSettings<'a>>,
    /// Maximum number of live runs.
    parallel_max: u32,
    /// Maximum number of iterations.
    iterations_max: u32,
    started_at: Rfc3339,
    ended_at: Option<Rfc3339>,
    /// Time from start to finish, or until now.
    wall_ms: Span,
    /// Time in which at least one run worked.
    active_ms: Span,
    /// Limit on the working time.
    time_limit_ms: Option<Span>,
    /// Cost of all runs, including live ones so far.
    total_cost_usd: Dollars,
    /// Limit on the cost.
    budget_usd: Option<Dollars>,
    /// Iterations, oldest first.
    iterations: &'a [WorkflowIteration],
    /// Directory of the workflow.
    dir: String,
    /// Whether a supervisor is attached.
    supervised: bool,
    /// What happens next.
    next: NextStep,
}

/// Settings of a phase.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PhaseSettings<'a> {
    /// Name of the phase.
    name: &'a str,
    /// Phases that must be complete before.
    needs: Vec<&'a str>,
    /// Requested model.
    model: Option<&'a str>,
    /// Maximum cost of one run.
    budget_usd: Option<Dollars>,
    /// Maximum working time of one run.
    time_limit_ms: Option<Span>,
    /// Maximum number of live runs of the phase.
    parallel_max: u32,
    /// Maximum number of items. `None` for a phase without items.
    items_max: Option<u32>,
}

pub fn show(global: &GlobalArgs, home: &Home, dir: WorkflowDir, clock: &TimeFormat) -> Result<u8, Failure> {
    let history = WorkflowHistory::read(home, dir, clock)?;
    let output = ShowWorkflowOutput::new(&history, clock);
    page_output(global, &output, || text(&output, &history, clock, Colors::stdout()));
    Ok(0)
}

impl<'a> ShowWorkflowOutput<'a> {
    fn new(history: &'a WorkflowHistory, clock: &TimeFormat) -> ShowWorkflowOutput<'a> {
        let WorkflowHistory { dir, plan, status, .. } = history;
        let policy = &plan.policy;
        let settings = policy.phases.iter().zip(&plan.runs).map(|(phase, run)| PhaseSettings {
            name: &phase.name,
            needs: phase.needs.iter().map(|index| policy.phases[*index].name.as_str()).collect(),
            model: run.model.as_deref(),
            budget_usd: phase.budget.map(Into::into),
            time_limit_ms: phase.time,
            parallel_max: phase.parallel_max,
            items_max: phase.has_items.then_some(phase.items_max),
        });
        let outcome = history.outcome();
        ShowWorkflowOutput {
            workflow: dir.id().to_string(),
            name: plan.name.as_deref(),
            outcome,
            errors: &history.errors,
            file: plan.file.path.as_path().display().to_string(),
            cwd: plan.project_dir.as_path().display().to_string(),
            parameters: plan.parameters.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect(),
            focus: plan.focus.as_deref(),
            settings: settings.collect(),
            parallel_max: policy.parallel_max,
            iterations_max: status.iterations_max,
            started_at: plan.started_at,
            ended_at: outcome.map(|_| history.as_of.into()),
            wall_ms: history.as_of.since(plan.started_at.0),
            active_ms: status.active_ms,
            time_limit_ms: status.time_limit_ms,
            total_cost_usd: status.total_cost_usd,
            budget_usd: status.budget_usd,
            iterations: &history.iterations,
            dir: dir.path().display().to_string(),
            supervised: history.is_supervised,
            next: history.next_step(clock),
        }
    }
}

fn text(
    output: &ShowWorkflowOutput<'_>,
    history: &WorkflowHistory,
    clock: &TimeFormat,
    colors: Colors,
) -> String {
    let mut out = format!("{}\n", output.workflow);
    outcome_line(&mut out, &history.state_text(clock), output.outcome, colors);
    for error in output.errors.iter().skip(1) {
        line(&mut out, "", &one_line(error));
    }
    if let Some(name) = output.name {
        line(&mut out, "name", name);
    }
    line(&mut out, "workflow", &output.file);
    line(&mut out, "directory", &output.cwd);
    let parameters = output.parameters.iter().map(|(key, value)| format!("{key}: {}", one_line(value)));
    lines(&mut out, "parameters", parameters);
    if let Some(focus) = output.focus {
        line(&mut out, "focus", &one_line(focus));
    }
    line(&mut out, "started", &clock.whole(output.started_at.0));
    if output.outcome.is_some() {
        line(&mut out, "finished", &clock.whole(history.as_of));
    }
    line(&mut out, "time", &format!("{}: {} active", output.wall_ms, output.active_ms));
    line(&mut out, "cost", &output.total_cost_usd.0.to_string());
    line(&mut out, "limits", &limits(output));
    lines(&mut out, "phases", output.settings.iter().map(settings));
    for iteration in output.iterations {
        out.push('\n');
        let number = format!("iteration {} of {}", iteration.iteration, output.iterations_max);
        let until = match (iteration.until_holds, &iteration.until_problem) {
            (Some(true), _) => "; the condition holds".to_owned(),
            (Some(false), _) => "; the condition does not hold".to_owned(),
            (None, Some(problem)) => {
                format!("; the condition could not be evaluated: {}", one_line(problem))
            }
            (None, None) => String::new(),
        };
        out += &format!("  {number}, {}{until}\n", clock.whole(iteration.started_at.0));
        let phases = iteration.phases.iter();
        let phases = phases.map(|WorkflowPhase { report, replaced }| {
            phase_lines(report, replaced, Some(&BTreeMap::new()), colors)
        });
        let lines: String =
            phases.chain(iteration.warnings.iter().map(|warning| warning_line(warning))).collect();
        lines.lines().for_each(|line| out += &format!("  {line}\n"));
    }
    out.push('\n');
    line(&mut out, "files", &output.dir);
    next_lines(&mut out, &output.next);
    out
}

fn limits(output: &ShowWorkflowOutput<'_>) -> String {
    let budget = output.budget_usd.map_or_else(|| "none".to_owned(), |budget| budget.0.to_string());
    let time = output.time_limit_ms.map_or_else(|| "none".to_owned(), |time| time.to_string());
    let iterations = counted(output.iterations_max.into(), "iteration");
    let runs = output.parallel_max;
    format!("budget {budget}, time {time}, {iterations}, {runs} at the same time")
}

fn settings(phase: &PhaseSettings<'_>) -> String {
    let parts = [
        (!phase.needs.is_empty()).then(|| format!("after {}", phase.needs.join(", "))),
        phase.model.map(|model| format!("model {model}")),
        phase.budget_usd.map(|budget| format!("budget {} a run", budget.0)),
        phase.time_limit_ms.map(|time| format!("time {time} a run")),
        phase.items_max.map(|max| {
            format!("up to {}, {} at the same time", counted(max.into(), "item"), phase.parallel_max)
        }),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { phase.name.to_owned() } else { format!("{}: {}", phase.name, parts.join(", ")) }
}

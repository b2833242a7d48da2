//! The JSON output of `longhaul loop`, and its text: the outcome, what failed, and what to type next.

use crate::args::{GlobalArgs, OutputFormat};
use crate::commands::runs::table::outcome_style;
use crate::commands::supervise::print_outcome;
use crate::commands::workflow_lines::phases_lines;
use crate::output;
use crate::output::color::Colors;
use crate::workflow_next_commands::next_commands;
use longhaul::workflow::WorkflowReport;
use longhaul_core::{Dollars, OutcomeKind, Span};
use longhaul_store::PhaseReport;
use serde::Serialize;
use std::collections::BTreeMap;

/// The JSON output of `longhaul loop`. Keys are only ever added.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WorkflowEnvelope {
    /// Whether the work is done. False for every outcome but `done`.
    pub success: bool,
    /// Errors, for people: first the reason for the outcome. Empty only if the work is done.
    pub errors: Vec<String>,
    /// Cost of all runs.
    pub usage: WorkflowUsage,
    /// Time from start to finish, waits included.
    pub duration_ms: Span,
    /// The workflow and its outcome.
    pub workflow: WorkflowInfo,
}

/// Cost of all runs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WorkflowUsage {
    /// Reported cost plus estimated cost.
    pub total_cost_usd: Dollars,
}

/// The workflow and its outcome.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WorkflowInfo {
    /// Id of the workflow.
    pub id: String,
    /// Outcome of the workflow.
    pub outcome: OutcomeKind,
    /// The outcome as the exit code of the command that supervised the workflow.
    pub exit_code: u8,
    /// Last iteration.
    pub iteration: u32,
    /// Maximum number of iterations.
    pub iterations_max: u32,
    /// Phases of the last iteration with their runs.
    pub phases: Vec<PhaseReport>,
    /// Whether the condition of `until` held. `None` if it was not evaluated.
    pub until_holds: Option<bool>,
    /// Time in which at least one run worked.
    pub active_ms: Span,
    /// Directory of the workflow.
    pub dir: String,
    /// Command that continues the work, if that makes sense.
    pub resume: Option<String>,
    /// All commands that continue the work or explain the outcome, the most likely first. Each works as printed.
    pub next: Vec<String>,
}

impl WorkflowEnvelope {
    pub fn new(report: &WorkflowReport) -> WorkflowEnvelope {
        let (outcome, status) = (report.outcome, report.status.clone());
        let next = next_commands(&status, outcome);
        WorkflowEnvelope {
            success: outcome.kind == OutcomeKind::Done,
            errors: report.errors.clone(),
            usage: WorkflowUsage { total_cost_usd: status.total_cost_usd },
            duration_ms: report.wall,
            workflow: WorkflowInfo {
                id: report.workflow.to_string(),
                outcome: outcome.kind,
                exit_code: outcome.exit_code(),
                iteration: status.iteration,
                iterations_max: status.iterations_max,
                phases: status.phases,
                until_holds: status.until_holds,
                active_ms: report.active,
                dir: report.dir.display().to_string(),
                resume: next.iter().find(|command| !command.contains(" why ")).cloned(),
                next,
            },
        }
    }
}

/// Prints how a workflow finished: an object for programs, text for people.
pub fn print_end(global: &GlobalArgs, report: &WorkflowReport) {
    let format = output::format(global);
    let envelope = WorkflowEnvelope::new(report);
    match format {
        OutputFormat::Text => output::print_text(&text(report)),
        format => output::print_json(format, &envelope),
    }
    let (kind, subject) = (report.outcome.kind, format!("workflow {}", report.workflow));
    let reason = report.errors.first().map_or_else(String::new, |reason| format!(": {reason}"));
    let next = envelope.workflow.next.iter().map(|command| format!("`{command}`"));
    print_outcome(global, &subject, kind, &format!("{kind}{reason}"), || {
        next.collect::<Vec<_>>().join(if report.status.own_limit_run.is_some() { ", then " } else { " or " })
    });
}

fn text(report: &WorkflowReport) -> String {
    let status = &report.status;
    let colors = Colors::stdout();
    let word = colors.styled(report.outcome.kind.as_str(), outcome_style(report.outcome.kind));
    let mut text = format!(
        "workflow {}: {word} after {} ({} of {} iterations, {})\n",
        report.workflow, report.wall, status.iteration, status.iterations_max, status.total_cost_usd.0
    );
    text += &phases_lines(status, Some(&BTreeMap::new()), colors);
    text
}

//! `longhaul why` for a workflow: its decisions and their reasons, oldest first, and what to type next.

use crate::args::GlobalArgs;
use crate::commands::runs::table::outcome_style;
use crate::failure::Failure;
use crate::output::color::Colors;
use crate::output::pager::page_output;
use crate::output::time::TimeFormat;
use crate::run_history::NextStep;
use crate::run_history::timeline_text::{next_text, timeline_lines};
use crate::workflow_history::{WorkflowEntry, WorkflowHistory};
use longhaul_core::OutcomeKind;
use longhaul_store::{Home, WorkflowDir};
use serde::Serialize;

/// Timeline of a workflow. JSON keys are only added, never removed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WhyWorkflowOutput<'a> {
    /// Id of the workflow.
    workflow: String,
    /// Outcome. `None` if the workflow is not finished.
    outcome: Option<OutcomeKind>,
    /// Decisions, oldest first.
    entries: &'a [WorkflowEntry],
    /// What happens next.
    next: NextStep,
}

pub fn why(global: &GlobalArgs, home: &Home, dir: WorkflowDir) -> Result<u8, Failure> {
    let clock = TimeFormat::here();
    let history = WorkflowHistory::read(home, dir, &clock)?;
    let output = WhyWorkflowOutput {
        workflow: history.dir.id().to_string(),
        outcome: history.outcome(),
        entries: &history.entries,
        next: history.next_step(&clock),
    };
    page_output(global, &output, || {
        let style = output.outcome.and_then(outcome_style);
        let state = Colors::stdout().styled(&history.state_text(&clock), style);
        let entries = history.entries.iter().filter(|entry| entry.is_noteworthy);
        let entries = entries.map(|entry| (entry.at.0, entry.elapsed_ms, entry.text.clone()));
        let timeline = timeline_lines(entries, &clock);
        format!("workflow {}: {state}\n\n{timeline}\n{}", output.workflow, next_text(&output.next))
    });
    Ok(0)
}

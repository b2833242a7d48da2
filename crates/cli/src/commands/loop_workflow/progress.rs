//! Shows the progress of a workflow: one line for each decision and, on a terminal, the live view below them. With
//! `stream-json`, it also prints each step on stdout. Never affects the workflow.

use super::board::{Board, colored_lines};
use crate::args::{GlobalArgs, OutputFormat};
use crate::output::phrases::notify_failure;
use crate::output::region::Region;
use crate::output::time::{TimeFormat, future_time};
use crate::output::workflow_text::{WorkflowContext, sentence};
use crate::workflow_history::TimedRecord;
use crate::{open_home, output};
use longhaul::NotifyFailure;
use longhaul::workflow::{WorkflowObserver, WorkflowView};
use longhaul_core::{Fault, Moment, OutcomeKind, RunId, RunKey, Workflow, WorkflowPolicy, WorkflowRecord};
use longhaul_store::{WorkflowDir, WorkflowPlan};
use serde::Serialize;

/// Prints lines on stderr and, in `--output-format stream-json`, steps on stdout.
pub struct WorkflowProgress {
    prints_steps: bool,
    workflow: RunId,
    /// State after the last record. `None` before the first step.
    state: Option<Workflow>,
    clock: TimeFormat,
    /// Whether a shortage of memory was reported and no run has started since.
    has_reported_memory: bool,
    /// Whether there is no live view.
    has_lines_only: bool,
    region: Option<Region<Board>>,
    /// Problem of the run whose end comes next.
    problem: Option<String>,
}

impl WorkflowProgress {
    pub fn new(global: &GlobalArgs) -> WorkflowProgress {
        WorkflowProgress {
            prints_steps: output::format(global) == OutputFormat::StreamJson,
            workflow: RunId::from(""),
            state: None,
            clock: TimeFormat::here(),
            has_reported_memory: false,
            has_lines_only: global.quiet,
            region: None,
            problem: None,
        }
    }

    pub fn lines_only(global: &GlobalArgs) -> WorkflowProgress {
        WorkflowProgress { prints_steps: false, has_lines_only: true, ..WorkflowProgress::new(global) }
    }

    pub fn close(&mut self) {
        self.region = None;
    }

    fn open_view(&mut self, dir: &WorkflowDir, plan: &WorkflowPlan) {
        let Ok(home) = open_home::locate() else { return };
        let board = Board::new(home, dir.id(), plan.name.as_deref(), plan.started_at.0);
        self.region =
            Region::open(board, |board, width, height| colored_lines(board, output::now(), width, height));
    }

    fn above(&self, print: impl FnOnce()) {
        match &self.region {
            Some(region) => region.print_above(print),
            None => print(),
        }
    }

    fn line(&self, at: Moment, text: &str) {
        self.above(|| output::print_status(&format!("{} {text}", self.clock.time(at))));
    }

    fn record(&mut self, view: WorkflowView<'_>, record: &WorkflowRecord) {
        if matches!(record, WorkflowRecord::RunPlanned { .. }) {
            self.has_reported_memory = false;
        }
        let is_end = matches!(record, WorkflowRecord::RunEnded { .. });
        let problem = if is_end { self.problem.take() } else { None };
        // The command itself reports the start and the end.
        let is_bound = matches!(
            record,
            WorkflowRecord::WorkflowStarted
                | WorkflowRecord::WorkflowSuspended { .. }
                | WorkflowRecord::WorkflowFinished { .. }
        );
        let context = WorkflowContext {
            id: &self.workflow,
            policy: view.policy,
            state: self.state.as_ref().unwrap_or(view.workflow).state(),
            at: view.at,
            clock: &self.clock,
            problem: problem.as_deref(),
        };
        match (warning(view.policy, record), sentence(record, context)) {
            (Some(warning), _) => self.above(|| output::print_warning(&warning, None)),
            (None, Some(text)) if !is_bound => self.line(view.at, &text),
            (None, Some(_) | None) => {}
        }
    }
}

/// Returns the warning about a phase that is done although something is unusual: it had no items.
fn warning(policy: &WorkflowPolicy, record: &WorkflowRecord) -> Option<String> {
    let WorkflowRecord::PhaseEnded { phase, outcome, problem: Some(problem), .. } = record else {
        return None;
    };
    let is_done = outcome.kind == OutcomeKind::Done;
    is_done.then(|| format!("phase `{}`: {problem}", policy.phases[*phase].name))
}

impl WorkflowObserver for WorkflowProgress {
    fn on_start(&mut self, dir: &WorkflowDir, plan: &WorkflowPlan) {
        self.workflow = dir.id().clone();
        output::print_status(&format!("workflow {} in {}", dir.id(), plan.project_dir.as_path().display()));
        if !self.has_lines_only {
            self.open_view(dir, plan);
        }
    }

    fn on_step(&mut self, view: WorkflowView<'_>, records: &[WorkflowRecord]) {
        if let Some(region) = &self.region {
            region.update(|board| board.update(view));
        }
        if self.prints_steps {
            let workflow = self.workflow.as_str();
            let records = records.iter().map(|record| TimedRecord { record: record.clone(), at: view.at });
            let records = records.collect();
            let line = WorkflowLine { r#type: "longhaul_workflow", workflow, at: view.at, records };
            output::print_text(&output::line(&line));
        }
        for record in records {
            // The view is the state after the whole step, which may have started the next iteration.
            if let Some(state) = &mut self.state {
                state.apply(view.at, record);
            }
            self.record(view, record);
        }
        self.state.get_or_insert_with(|| view.workflow.clone());
        if let Some(region) = &self.region {
            region.redraw();
        }
    }

    fn on_run_wait(&mut self, run: &RunId, _key: RunKey, wait: Option<(Option<Fault>, Moment)>) {
        let text = match wait {
            // A takeover finds waits that are over.
            Some((_, until)) if until <= output::now() => return,
            Some((fault, until)) => {
                let cause = fault.map_or("no fault", Fault::describe);
                format!("{run}: {cause}; waiting until {}", future_time(until))
            }
            None => format!("{run}: its wait is over"),
        };
        self.line(output::now(), &text);
    }

    fn on_run_problem(&mut self, _run: &RunId, problem: &str) {
        self.problem = Some(problem.to_owned());
    }

    fn on_warning(&mut self, text: &str) {
        self.above(|| output::print_warning(text, None));
    }

    fn on_memory_short(&mut self, available: u64) {
        if let Some(region) = &self.region {
            region.update(Board::delay_for_memory);
        }
        if !self.has_reported_memory {
            self.has_reported_memory = true;
            let text =
                format!("the next run waits: only {} MB of memory are available", available / 1_000_000);
            self.line(output::now(), &text);
        }
    }

    fn on_notify_failure(&mut self, failure: &NotifyFailure) {
        self.above(|| output::print_status(&notify_failure(failure)));
    }
}

/// One step of a workflow, in `--output-format stream-json`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WorkflowLine<'a> {
    /// Always `longhaul_workflow`.
    r#type: &'static str,
    /// Id of the workflow.
    workflow: &'a str,
    /// When the step was decided, in milliseconds since 1970.
    at: Moment,
    /// Records of the step.
    records: Vec<TimedRecord>,
}

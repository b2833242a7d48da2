//! Shows the progress of a workflow: one line for each decision. Never affects the workflow.

use crate::args::GlobalArgs;
use crate::output;
use crate::output::time::{TimeFormat, future_time};
use longhaul::workflow::{WorkflowObserver, WorkflowView};
use longhaul_core::{AfterRun, Fault, Moment, OutcomeKind, RunId, RunKey, WorkflowPolicy, WorkflowRecord};
use longhaul_store::{WorkflowDir, WorkflowPlan};
use serde::Serialize;

/// Prints lines on stderr.
pub struct WorkflowProgress {
    quiet: bool,
    workflow: RunId,
    clock: TimeFormat,
    /// Whether a shortage of memory was reported and no run has started since.
    has_reported_memory: bool,
}

impl WorkflowProgress {
    pub fn new(global: &GlobalArgs) -> WorkflowProgress {
        let (quiet, clock) = (global.quiet, TimeFormat::here());
        WorkflowProgress { quiet, workflow: RunId::from(""), clock, has_reported_memory: false }
    }

    /// Creates the progress of a workflow that is being stopped: no line for each decision.
    pub fn following(global: &GlobalArgs) -> WorkflowProgress {
        WorkflowProgress { quiet: true, ..WorkflowProgress::new(global) }
    }

    fn line(&self, at: Moment, text: &str) {
        if !self.quiet {
            output::print_status(&format!("{} {text}", self.clock.time(at)));
        }
    }

    fn record(&mut self, view: WorkflowView<'_>, record: &WorkflowRecord) {
        let at = view.at;
        let phase = |index: &usize| view.policy.phases[*index].name.as_str();
        match record {
            WorkflowRecord::IterationStarted { iteration, .. } => {
                let max = view.workflow.state().iterations_max(view.policy);
                if max > 1 {
                    self.line(at, &format!("iteration {iteration} of {max}"));
                }
            }
            WorkflowRecord::PhaseStarted { phase: index, has_items: true, .. } => {
                self.line(at, &format!("{}: listing items", phase(index)));
            }
            WorkflowRecord::ItemsListed { phase: index, items, deferred, .. } => {
                let deferred =
                    if *deferred > 0 { format!(", {deferred} more are deferred") } else { String::new() };
                self.line(at, &format!("{}: {} items{deferred}", phase(index), items.len()));
            }
            WorkflowRecord::RunPlanned { key, resumed, .. } => {
                self.has_reported_memory = false;
                let verb = if *resumed { "resumed" } else { "started" };
                self.line(at, &format!("{}: {verb}{}", self.run(view.policy, *key), item(view, *key)));
            }
            WorkflowRecord::RunEnded { key, end, next, parked_until, .. } => {
                let cost = end.cost.as_dollars();
                let next = describe_next(*next, *parked_until);
                let text = format!("{}: {}, ${cost:.2}{next}", self.run(view.policy, *key), end.outcome.kind);
                self.line(at, &text);
            }
            WorkflowRecord::PhaseEnded { phase: index, outcome, problem, .. } => {
                let name = phase(index);
                match problem {
                    Some(problem) if outcome.kind == OutcomeKind::Done => {
                        output::print_warning(&format!("phase `{name}`: {problem}"), None);
                    }
                    Some(problem) => self.line(at, &format!("{name}: {}: {problem}", outcome.kind)),
                    None => self.line(at, &format!("{name}: {}", outcome.kind)),
                }
            }
            WorkflowRecord::UntilEnded { holds, .. } => {
                let text = match holds {
                    Some(true) => "the condition holds",
                    Some(false) => "the condition does not hold yet",
                    None => "the condition could not be evaluated",
                };
                self.line(at, text);
            }
            WorkflowRecord::TimeExhausted { .. } => self.line(at, "the time limit is exhausted"),
            WorkflowRecord::TakenOver { .. } => {
                self.line(at, &format!("workflow {} recovered", self.workflow));
            }
            WorkflowRecord::WorkflowReopened { .. } => {
                self.line(at, &format!("workflow {} resumed", self.workflow));
            }
            WorkflowRecord::CancelOrdered { .. } => self.line(at, "stopping all runs"),
            WorkflowRecord::WorkflowSuspendOrdered { source, .. } => {
                self.line(at, &format!("{}: suspending all runs", source.signal()));
            }
            WorkflowRecord::ShareRefused { key, .. } => {
                let run = self.run(view.policy, *key);
                self.line(at, &format!("{run}: too little of the budget is left to continue it"));
            }
            WorkflowRecord::WorkflowStarted { .. }
            | WorkflowRecord::PhaseStarted { .. }
            | WorkflowRecord::MergeStarted { .. }
            | WorkflowRecord::UntilStarted { .. }
            | WorkflowRecord::ClockStopped { .. }
            | WorkflowRecord::ClockStarted { .. }
            | WorkflowRecord::WorkflowDowntime { .. }
            | WorkflowRecord::WorkflowSuspended { .. }
            | WorkflowRecord::WorkflowFinished { .. } => {}
        }
    }

    fn run(&self, policy: &WorkflowPolicy, key: RunKey) -> RunId {
        key.run_id(&self.workflow, &policy.phases[key.phase].name)
    }
}

fn item(view: WorkflowView<'_>, key: RunKey) -> String {
    let phase = &view.policy.phases[key.phase];
    let name = view.workflow.state().items(key.phase).nth(key.item as usize).map(|(_, item)| &item.name);
    name.filter(|_| phase.has_items).map_or_else(String::new, |name| format!(" ({name})"))
}

fn describe_next(next: AfterRun, parked_until: Option<Moment>) -> String {
    match next {
        AfterRun::Complete | AfterRun::Suspend => String::new(),
        AfterRun::Continue => "; continuing without it".to_owned(),
        AfterRun::Retry => "; running it again".to_owned(),
        AfterRun::Park => {
            let until = parked_until.map_or_else(String::new, |at| format!(" until {}", future_time(at)));
            format!("; waiting{until}")
        }
        AfterRun::Raise => "; waiting for a larger share of the budget".to_owned(),
        AfterRun::Stop => "; no further run starts".to_owned(),
    }
}

impl WorkflowObserver for WorkflowProgress {
    fn on_start(&mut self, dir: &WorkflowDir, plan: &WorkflowPlan) {
        self.workflow = dir.id().clone();
        if !self.quiet {
            output::print_status(&format!(
                "workflow {} in {}",
                dir.id(),
                plan.project_dir.as_path().display()
            ));
        }
    }

    fn on_step(&mut self, view: WorkflowView<'_>, records: &[WorkflowRecord]) {
        records.iter().for_each(|record| self.record(view, record));
    }

    fn on_run_wait(&mut self, run: &RunId, _key: RunKey, wait: Option<(Option<Fault>, Moment)>) {
        let text = match wait {
            Some((fault, until)) => {
                let cause = fault.map_or("no fault", Fault::describe);
                format!("{run}: {cause}; waiting until {}", future_time(until))
            }
            None => format!("{run}: works again"),
        };
        self.line(output::now(), &text);
    }

    fn on_run_problem(&mut self, run: &RunId, problem: &str) {
        self.line(output::now(), &format!("{run}: {problem}"));
    }

    fn on_warning(&mut self, text: &str) {
        if !self.quiet {
            output::print_warning(text, None);
        }
    }

    fn on_memory_short(&mut self, available: u64) {
        if !self.has_reported_memory {
            self.has_reported_memory = true;
            let text = format!("waiting: only {} MB of memory are available", available / 1_000_000);
            self.line(output::now(), &text);
        }
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
    records: &'a [WorkflowRecord],
}

/// Prints each step on stdout and forwards everything to `inner`.
pub struct WorkflowStream<'a> {
    inner: &'a mut WorkflowProgress,
}

impl<'a> WorkflowStream<'a> {
    pub fn new(inner: &'a mut WorkflowProgress) -> WorkflowStream<'a> {
        WorkflowStream { inner }
    }
}

impl WorkflowObserver for WorkflowStream<'_> {
    fn on_start(&mut self, dir: &WorkflowDir, plan: &WorkflowPlan) {
        self.inner.on_start(dir, plan);
    }

    fn on_step(&mut self, view: WorkflowView<'_>, records: &[WorkflowRecord]) {
        let workflow = self.inner.workflow.clone();
        let line =
            WorkflowLine { r#type: "longhaul_workflow", workflow: workflow.as_str(), at: view.at, records };
        output::print_text(&output::line(&line));
        self.inner.on_step(view, records);
    }

    fn on_run_wait(&mut self, run: &RunId, key: RunKey, wait: Option<(Option<Fault>, Moment)>) {
        self.inner.on_run_wait(run, key, wait);
    }

    fn on_run_problem(&mut self, run: &RunId, problem: &str) {
        self.inner.on_run_problem(run, problem);
    }

    fn on_warning(&mut self, text: &str) {
        self.inner.on_warning(text);
    }

    fn on_memory_short(&mut self, available: u64) {
        self.inner.on_memory_short(available);
    }
}

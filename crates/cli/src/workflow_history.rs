//! Folds the records of a workflow into its iterations, with all runs, and into a timeline. It only reads the
//! workflow's files and the status of its live runs.

use crate::failure::Failure;
use crate::output;
use crate::output::time::TimeFormat;
use crate::output::workflow_text::{WorkflowContext, sentence};
use crate::run_history::NextStep;
use crate::workflow_next_commands::{commands_to_drop_worktrees, next_commands};
use longhaul::workflow::{WorkflowReport, problem_of, workflow_status};
use longhaul_core::{
    AfterRun, Fault, Moment, Outcome, OutcomeKind, Rfc3339, RunCost, RunEnd, RunId, RunKey, Span, Usd,
    Workflow, WorkflowDeadlineKind, WorkflowRecord, WorkflowStage,
};
use longhaul_store::{
    Home, ItemReport, Journal, PhaseReport, Status, WorkflowDir, WorkflowPlan, WorkflowStatus,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

pub struct WorkflowHistory {
    pub dir: WorkflowDir,
    pub plan: WorkflowPlan,
    pub workflow: Workflow,
    /// State of the workflow. Costs include those of live runs so far, and of runs that a user resumed on their own.
    pub status: WorkflowStatus,
    pub iterations: Vec<WorkflowIteration>,
    pub entries: Vec<WorkflowEntry>,
    pub is_supervised: bool,
    /// Why its live runs wait, if all of them do.
    pub wait_reason: Option<&'static str>,
    /// Errors of a finished or suspended workflow, for people.
    pub errors: Vec<String>,
    /// When it finished, or the time as of which it is described: now, or the last decision of a dead supervisor.
    pub as_of: Moment,
}

/// An iteration of a workflow.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WorkflowIteration {
    /// Number of the iteration, starting at 1.
    pub iteration: u32,
    pub started_at: Rfc3339,
    /// Phases in the order of the file.
    pub phases: Vec<WorkflowPhase>,
    /// Warnings: parts that were left out, and files that could not be written.
    pub warnings: Vec<String>,
    /// Whether the condition of `until` held. `None` if it was not evaluated.
    pub until_holds: Option<bool>,
    /// Why the condition could not be evaluated.
    pub until_problem: Option<String>,
}

/// A phase of an iteration.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WorkflowPhase {
    #[serde(flatten)]
    pub report: PhaseReport,
    /// Runs that a newer run of the same item replaced, in order.
    pub replaced: Vec<ItemReport>,
}

/// A decision of a workflow.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WorkflowEntry {
    /// Time of the decision.
    pub at: Rfc3339,
    /// Time since the start of the workflow.
    pub elapsed_ms: Span,
    /// Run that the decision is about.
    pub run: Option<RunId>,
    /// Decision, as in the journal: lengths of time in milliseconds, money in millionths of a dollar.
    pub decision: TimedRecord,
    /// Sentence for people.
    pub text: String,
    /// Whether the decision belongs to a short timeline: it is not one of the many starts and ends of runs that
    /// finished as `done`.
    #[serde(skip)]
    pub is_noteworthy: bool,
}

/// A decision in the journal of a workflow, with its time.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "WorkflowRecord"))]
pub struct TimedRecord {
    #[serde(flatten)]
    pub record: WorkflowRecord,
    /// Time of the record.
    pub at: Moment,
}

/// The iteration that is being folded.
#[derive(Default)]
struct OpenIteration {
    number: u32,
    started_at: Moment,
    /// Ends of its runs, with the name of the item.
    ends: BTreeMap<RunKey, (RunEnd, Option<String>)>,
}

impl WorkflowHistory {
    pub fn read(home: &Home, dir: WorkflowDir, clock: &TimeFormat) -> Result<WorkflowHistory, Failure> {
        let plan = dir.plan()?;
        // Checked first: a workflow that finishes meanwhile is then only shown as unfinished.
        let is_supervised = Journal::is_locked(&dir.journal_path())?;
        let journal = Journal::<WorkflowRecord>::load(&dir.journal_path())?;
        let last_step_at = journal.entries.last().map_or(plan.started_at.0, |entry| entry.at);
        let (mut workflow, mut open) = (Workflow::new(), OpenIteration::default());
        let (mut iterations, mut entries) = (Vec::new(), Vec::new());
        let mut ends_left: BTreeMap<RunKey, u32> = BTreeMap::new();
        for (_, record) in journal.records() {
            if let WorkflowRecord::RunEnded { key, .. } = record {
                *ends_left.entry(*key).or_default() += 1;
            }
        }
        for entry in journal.entries {
            for record in entry.records {
                if let WorkflowRecord::IterationStarted { iteration } = record {
                    let next =
                        OpenIteration { number: iteration, started_at: entry.at, ..OpenIteration::default() };
                    let ended = std::mem::replace(&mut open, next);
                    iterations.extend(ended.close(&dir, &plan, &workflow, entry.at));
                }
                workflow.apply(entry.at, &record);
                let (policy, state) = (&plan.policy, workflow.state());
                if let WorkflowRecord::RunEnded { key, end, .. } = &record {
                    let item =
                        state.items(key.phase).nth(key.item as usize).map(|(_, item)| item.name.clone());
                    let item = item.filter(|_| policy.phases[key.phase].has_items);
                    open.ends.insert(*key, (*end, item));
                    ends_left.entry(*key).and_modify(|ends| *ends -= 1);
                }
                if let WorkflowRecord::WorkflowReopened { costs, .. } = &record {
                    for RunCost { run, cost } in costs {
                        open.ends.entry(*run).and_modify(|(end, _)| end.cost = *cost);
                    }
                }
                // The stored problem is that of the last end of a run.
                let is_last_end =
                    matches!(&record, WorkflowRecord::RunEnded { key, .. } if ends_left.get(key) == Some(&0));
                let problem =
                    record.key().filter(|_| is_last_end).and_then(|key| problem_of(&dir, &plan, key));
                let problem = problem.as_deref();
                let context = WorkflowContext { id: dir.id(), policy, state, at: entry.at, clock, problem };
                if let Some(text) = sentence(&record, context) {
                    entries.push(WorkflowEntry {
                        at: entry.at.into(),
                        elapsed_ms: entry.at.since(plan.started_at.0),
                        run: record.key().map(|key| context.run(key)),
                        is_noteworthy: is_noteworthy(&record),
                        decision: TimedRecord { record, at: entry.at },
                        text,
                    });
                }
            }
        }
        let (as_of, outcome) = match workflow.state().stage {
            WorkflowStage::Finished { at, outcome } => (at, Some(outcome)),
            WorkflowStage::Suspended { since, source } if !is_supervised => {
                (since, Some(Outcome::suspended(source)))
            }
            WorkflowStage::New | WorkflowStage::Running | WorkflowStage::Suspended { .. } => {
                (if is_supervised { output::now() } else { last_step_at }, None)
            }
        };
        iterations.extend(open.close(&dir, &plan, &workflow, as_of));
        let mut status = workflow_status(&dir, &plan, &workflow, as_of);
        for phase in iterations.iter_mut().flat_map(|iteration| &mut iteration.phases) {
            let items = phase.report.items.iter_mut().chain(&mut phase.replaced);
            let added: Usd = items.map(|item| add_newer_cost(home, item)).sum();
            phase.report.total_cost_usd.0 += added;
            status.total_cost_usd.0 += added;
        }
        if let Some(last) = iterations.last() {
            status.phases = last.phases.iter().map(|phase| phase.report.clone()).collect();
        }
        let wait_reason = if is_supervised { add_live_wait(home, &mut status) } else { None };
        let report = outcome.map(|outcome| WorkflowReport::new(&dir, &plan, &workflow, outcome, as_of));
        let errors = report.map(|report| report.errors).unwrap_or_default();
        Ok(WorkflowHistory {
            dir,
            plan,
            workflow,
            status,
            iterations,
            entries,
            is_supervised,
            wait_reason,
            errors,
            as_of,
        })
    }

    pub fn outcome(&self) -> Option<OutcomeKind> {
        self.workflow.state().outcome().map(|outcome| outcome.kind)
    }

    /// Returns the state as a sentence: the outcome with its reason, or what the workflow does.
    pub fn state_text(&self, clock: &TimeFormat) -> String {
        let status = &self.status;
        match self.workflow.state().stage {
            WorkflowStage::Finished { outcome, .. } => match self.errors.first() {
                Some(reason) => format!("{} ({reason})", outcome.kind),
                None => outcome.kind.to_string(),
            },
            WorkflowStage::Suspended { source, .. } => format!("suspended by {}", source.signal()),
            WorkflowStage::New | WorkflowStage::Running if !self.is_supervised => {
                "unfinished, without a supervisor".to_owned()
            }
            WorkflowStage::New | WorkflowStage::Running => match (status.status.as_str(), status.deadline_at)
            {
                ("waiting", Some(until)) => {
                    let reason = self.wait_reason.map_or_else(String::new, |reason| format!(": {reason}"));
                    format!("waiting until {}{reason}", clock.near(until.0, self.as_of))
                }
                _ => "running".to_owned(),
            },
        }
    }

    /// Returns whether a worktree contains the result of a done run, which a resume merges after a person acted.
    fn is_unmerged(&self, path: &Path) -> bool {
        let is_result = |item: &ItemReport| {
            let run = item.run.as_ref().filter(|_| item.status == OutcomeKind::Done.as_str());
            run.is_some_and(|run| path.file_name().is_some_and(|name| name == run.as_str()))
        };
        self.outcome() == Some(OutcomeKind::NeedsPerson)
            && self.status.phases.iter().flat_map(|phase| &phase.items).any(is_result)
    }

    pub fn next_step(&self, clock: &TimeFormat) -> NextStep {
        let id = self.dir.id();
        let recover = vec![format!("longhaul recover {id}"), format!("longhaul cancel {id}")];
        match self.workflow.state().stage {
            WorkflowStage::Finished { outcome, .. }
                if self.is_supervised || self.dir.is_outcome_published() =>
            {
                // Only the user can do what the problem of a phase says.
                let problem = self.status.phases.iter().find_map(|phase| phase.problem.as_ref());
                let mut commands = next_commands(&self.status, outcome);
                let mut text = match self.errors.first() {
                    None => "nothing to do".to_owned(),
                    Some(reason) if outcome.kind == OutcomeKind::NeedsPerson => {
                        problem.unwrap_or(reason).trim_end_matches('.').to_owned()
                    }
                    Some(_) => match &self.status.own_limit_run {
                        Some(run) if commands.len() > 1 => {
                            format!("raise the limit of run {run}, then resume the workflow")
                        }
                        Some(_) | None => "resume the workflow to continue".to_owned(),
                    },
                };
                let project = self.plan.project_dir.as_path();
                // A result that could not be merged is not dropped: it is done work.
                let mut worktrees = self.dir.worktrees();
                worktrees.retain(|(path, _)| !self.is_unmerged(path));
                if !worktrees.is_empty() {
                    text += "; git worktrees of its runs are left, and the last commands drop them with their work";
                    commands.extend(commands_to_drop_worktrees(project, &worktrees));
                }
                NextStep { text, commands }
            }
            WorkflowStage::Finished { .. } => NextStep {
                text: "recover the workflow to report its outcome: its supervisor died before it did"
                    .to_owned(),
                commands: vec![format!("longhaul recover {id}")],
            },
            WorkflowStage::New | WorkflowStage::Running if self.is_supervised => {
                NextStep { text: self.activity(clock), commands: vec![format!("longhaul attach {id}")] }
            }
            WorkflowStage::Suspended { source, .. } => {
                NextStep { text: format!("{} suspended the workflow", source.signal()), commands: recover }
            }
            WorkflowStage::New | WorkflowStage::Running => {
                NextStep { text: "the workflow has no supervisor".to_owned(), commands: recover }
            }
        }
    }

    fn activity(&self, clock: &TimeFormat) -> String {
        let items = self.status.phases.iter().flat_map(|phase| &phase.items);
        let live = items.filter(|item| item.status == "running").count() as u64;
        let live = (live > 0).then(|| format!("{} live", output::phrases::counted(live, "run")));
        let waits = self.status.deadline_at.filter(|_| self.status.status == "waiting");
        let waits = waits.map(|until| {
            let reason = self.wait_reason.unwrap_or(match self.status.deadline.as_deref() {
                Some("memory") => "too little memory is available",
                Some(_) | None => "a parked run is resumed then",
            });
            format!("waiting until {}: {reason}", clock.near(until.0, self.as_of))
        });
        let parts: Vec<String> = live.into_iter().chain(waits).collect();
        if parts.is_empty() { "the workflow is running".to_owned() } else { parts.join("; ") }
    }
}

impl OpenIteration {
    /// Returns the iteration as `workflow` has it. `None` before the first one.
    fn close(
        self,
        dir: &WorkflowDir,
        plan: &WorkflowPlan,
        workflow: &Workflow,
        at: Moment,
    ) -> Option<WorkflowIteration> {
        if self.number == 0 {
            return None;
        }
        let status = workflow_status(dir, plan, workflow, at);
        let phases = status.phases.into_iter().enumerate().map(|(index, report)| {
            let is_replaced = |key: &RunKey| {
                let current = workflow.state().items(index).nth(key.item as usize);
                key.phase == index && current.is_none_or(|(current, _)| current.retry > key.retry)
            };
            let replaced =
                self.ends.iter().filter(|(key, _)| is_replaced(key)).map(|(key, (end, item))| ItemReport {
                    item: item.clone(),
                    run: Some(key.run_id(dir.id(), &report.name)),
                    status: end.outcome.kind.as_str().to_owned(),
                    until: None,
                    total_cost_usd: end.cost.into(),
                    retries: key.retry,
                    problem: None,
                });
            WorkflowPhase { replaced: replaced.collect(), report }
        });
        Some(WorkflowIteration {
            iteration: self.number,
            started_at: self.started_at.into(),
            phases: phases.collect(),
            warnings: status.warnings,
            until_holds: status.until_holds,
            until_problem: status.until_problem,
        })
    }
}

/// Adds the cost that the journal of the workflow does not have: of a live run so far, or of a run that a user resumed on
/// their own. Returns it.
pub fn add_newer_cost(home: &Home, item: &mut ItemReport) -> Usd {
    let dir = item.run.as_ref().and_then(|run| home.run_with_id(run).ok().flatten());
    let Some(status) = dir.and_then(|dir| dir.status().ok()) else { return Usd::ZERO };
    let added = status.total_cost_usd.0.saturating_sub(item.total_cost_usd.0);
    item.total_cost_usd.0 += added;
    added
}

/// Shows a running workflow as waiting if all its live runs wait, which the journal of the workflow does not have.
/// Returns the reason of the first wait that ends.
pub fn add_live_wait(home: &Home, status: &mut WorkflowStatus) -> Option<&'static str> {
    let starts_a_run =
        status.deadline.as_deref().is_some_and(|kind| kind != WorkflowDeadlineKind::Time.as_str());
    if status.status != "running" || starts_a_run {
        return None;
    }
    let items = status.phases.iter().flat_map(|phase| &phase.items);
    let live = items.filter(|item| item.status == "running").filter_map(|item| item.run.as_ref());
    let read = |run: &RunId| home.run_with_id(run).ok().flatten()?.status().ok();
    let (until, fault) = first_wait(&live.map(read).collect::<Option<Vec<_>>>()?)?;
    (status.status, status.deadline_at, status.deadline) = ("waiting".to_owned(), Some(until), None);
    Some(fault.map_or("the next attempt is scheduled", Fault::describe))
}

/// Returns the wait that ends first, with its fault. `None` if a run works, or there is no run.
fn first_wait(live: &[Status]) -> Option<(Rfc3339, Option<Fault>)> {
    let wait = |run: &Status| run.deadline_at.filter(|_| run.status == "waiting").map(|at| (at, run.fault));
    let waits: Vec<_> = live.iter().map(wait).collect::<Option<_>>()?;
    waits.into_iter().min_by_key(|(until, _)| until.0)
}

/// Returns whether a timeline shows the record: a first start and an end as `done` are summarized by the end of the
/// phase.
fn is_noteworthy(record: &WorkflowRecord) -> bool {
    if let WorkflowRecord::RunPlanned { key, resumed, .. } = record {
        return *resumed || key.retry > 0;
    }
    !matches!(record, WorkflowRecord::RunEnded { next: AfterRun::Complete, .. })
}

#[cfg(test)]
mod tests;

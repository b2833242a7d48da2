//! The loop between a workflow and the world: step, append, perform, wait. It makes no decisions.

use super::archon_files::{ArchonFiles, archive};
use super::commands::Commands;
use super::notifier::WorkflowNotifier;
use super::report::{reported_problem, status_with};
use super::results::{Results, result_of_run};
use super::run_spans::RunSpans;
use super::run_task::{EndedRun, RunSource, RunTask, RunWait, StartError, still_works};
use super::worktrees::{DoneRun, Worktrees};
use super::{WorkflowError, WorkflowObserver, WorkflowReport, WorkflowView};
use crate::clock::LiveClock;
use crate::failpoints::{self, Failpoint};
use crate::live::available_bytes;
use crate::{Canceller, Environment, RunError, RunReport, SuperviseError};
use longhaul_agent::EditPaths;
use longhaul_core::{
    CancelSource, ItemState, Moment, Outcome, OutcomeKind, RunEnd, RunId, RunKey, RunShare, Workflow,
    WorkflowAction, WorkflowDeadlineKind, WorkflowEvent, WorkflowRecord,
};
use longhaul_store::{Home, Journal, WorkflowDir, WorkflowPlan, WorkflowResult};
use longhaul_workflow::archon::{Objective, assignment};
use longhaul_workflow::{
    Condition, ItemSource, WorkflowFile, item_text, items_from_lines, items_from_pointer,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};

// Requests of other processes are looked for this often.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
const UNPRICED: &str = "some usage of a run is lost or has no known price: it does not count, so the budget may be \
     exceeded. Give the runs the price of their model: `prices_file` in `[phase.run]`";
pub(super) const NO_WORKTREES: &str = "the workflow was cancelled before its worktrees could be used";

pub(super) struct Driver<'a> {
    pub(super) home: Home,
    pub(super) environment: Environment,
    pub(super) dir: WorkflowDir,
    pub(super) plan: WorkflowPlan,
    pub(super) file: WorkflowFile,
    pub(super) workflow: Workflow,
    pub(super) journal: Journal<WorkflowRecord>,
    pub(super) commands: Rc<Commands>,
    pub(super) worktrees: Option<Arc<Worktrees>>,
    pub(super) results: Results,
    pub(super) spans: RunSpans,
    pub(super) notifier: WorkflowNotifier,
    pub(super) archon: Option<ArchonFiles>,
    pub(super) observer: &'a mut dyn WorkflowObserver,
    pub(super) cancels: mpsc::Receiver<CancelSource>,
    /// Work that the driver itself starts and collects.
    pub(super) live: Live,
}

/// The live parts of a driver: its clock, its runs and commands, and what they send.
pub(super) struct Live {
    pub(super) clock: LiveClock,
    /// Live runs, as tasks of this thread.
    runs: JoinSet<(RunKey, Result<EndedRun, StartError>)>,
    pub(super) cancellers: BTreeMap<RunKey, Canceller>,
    /// Edit paths of runs of this iteration and the last one, as far as they were needed.
    pub(super) edit_paths: BTreeMap<RunKey, EditPaths>,
    /// Own commands, each of which ends with an event and perhaps with warnings.
    tasks: JoinSet<(WorkflowEvent, Vec<String>)>,
    /// Warnings that were shown, with their iterations.
    shown_warnings: BTreeSet<(u32, String)>,
    waits: (mpsc::UnboundedSender<RunWait>, mpsc::UnboundedReceiver<RunWait>),
    pub(super) events: VecDeque<WorkflowEvent>,
    /// Available memory when it last did not suffice for another run, in bytes.
    short_memory: u64,
}

impl Live {
    /// `last_step_at` is when the last supervisor made its last step.
    pub(super) fn new(last_step_at: Option<Moment>) -> Live {
        let mut clock = LiveClock::new();
        last_step_at.into_iter().for_each(|at| clock.advance_to(at));
        Live {
            clock,
            runs: JoinSet::new(),
            cancellers: BTreeMap::new(),
            edit_paths: BTreeMap::new(),
            tasks: JoinSet::new(),
            shown_warnings: BTreeSet::new(),
            waits: mpsc::unbounded_channel(),
            events: VecDeque::new(),
            short_memory: 0,
        }
    }
}

impl Driver<'_> {
    pub(super) async fn drive(mut self, first: WorkflowEvent) -> Result<WorkflowReport, WorkflowError> {
        let result = self.drive_to_outcome(first).await;
        self.live.tasks.shutdown().await;
        self.commands.stop_all().await;
        match result {
            Ok(outcome) => Ok(self.finish(outcome).await),
            Err(source) => {
                // The runs keep their work, and the next supervisor continues them.
                self.live.cancellers.values().for_each(|run| run.cancel_by(CancelSource::Sigterm));
                while self.live.runs.join_next().await.is_some() {}
                Err(WorkflowError::Aborted { workflow: self.dir.id().clone(), source })
            }
        }
    }

    async fn drive_to_outcome(&mut self, mut event: WorkflowEvent) -> Result<Outcome, SuperviseError> {
        loop {
            failpoints::hit(Failpoint::EventTaken);
            let now = self.live.clock.now();
            let is_memory_short = matches!(event, WorkflowEvent::MemoryMeasured { is_enough: false });
            let step = self.workflow.step(&self.plan.policy, now, event);
            if !step.records.is_empty() {
                failpoints::hit(Failpoint::Stepped);
                self.journal.append(now.at, &step.records)?;
                self.journal.sync()?;
                failpoints::hit(Failpoint::Appended);
                for record in &step.records {
                    self.results.apply(&self.dir, &self.plan.policy, record)?;
                    self.spans.apply(record);
                }
                self.write_archon_files(now.at, &step.records);
                self.publish(now.at, &step.records);
            }
            if is_memory_short {
                self.report_delay(now.at);
            }
            for action in step.actions {
                if let WorkflowAction::Finish(outcome) = action {
                    return Ok(outcome);
                }
                self.perform(action)?;
                failpoints::hit(Failpoint::Performed);
            }
            event = self.next().await?;
        }
    }

    fn write_archon_files(&mut self, at: Moment, records: &[WorkflowRecord]) {
        self.with_archon_files(|archon| {
            records.iter().for_each(|record| archon.apply(at, record));
            archon.write(records, at)
        });
    }

    /// Changes Archon's files, if the workflow keeps them. An error is only a warning.
    fn with_archon_files(&mut self, change: impl FnOnce(&mut ArchonFiles) -> Result<(), String>) {
        if let Some(Err(problem)) = self.archon.as_mut().map(change) {
            self.warn(&problem);
        }
    }

    /// Shows a warning once in an iteration, and stores it for the status.
    fn warn(&mut self, warning: &str) {
        let iteration = self.workflow.state().iteration;
        if self.live.shown_warnings.insert((iteration, warning.to_owned())) {
            self.observer.on_warning(warning);
            // It was shown.
            let _ = self.dir.add_warning(iteration, warning);
        }
    }

    /// Warns once in the workflow that its budget does not limit all usage.
    fn warn_of_prices(&mut self, report: &RunReport) {
        let has_budget = self.workflow.state().limits(&self.plan.policy).budget.is_some();
        let is_shown = self.live.shown_warnings.iter().any(|(_, warning)| warning == UNPRICED);
        if report.usage.unpriced && has_budget && !is_shown {
            self.warn(UNPRICED);
        }
    }

    /// Warns of hints that no phase can receive any more: a workflow that is done cannot be resumed.
    fn warn_of_pending_hints(&mut self, outcome: Outcome) {
        if outcome != Outcome::DONE {
            return;
        }
        for hint in self.dir.pending_hints().unwrap_or_default() {
            let line = hint.text.lines().next().unwrap_or_default();
            self.warn(&format!("no phase received the hint: {line}"));
        }
    }

    fn publish(&mut self, at: Moment, records: &[WorkflowRecord]) {
        if self.workflow.state().outcome().is_none() {
            self.write_status(at);
        }
        let view = WorkflowView { workflow: &self.workflow, policy: &self.plan.policy, at };
        self.observer.on_step(view, records);
        self.notifier.on_step(&self.dir, &self.plan, &self.workflow, records, at);
    }

    fn write_status(&self, at: Moment) {
        let problem = |_: RunKey, run: &RunId| self.results.problem(run).cloned();
        let status = status_with(&self.dir, &self.plan, &self.workflow, at, problem);
        // The status can be derived again.
        let _ = self.dir.write_status(&status);
    }

    /// Reports that the next run waits for memory, if it does: no record says so.
    fn report_delay(&mut self, at: Moment) {
        let deadline = self.workflow.deadline(&self.plan.policy);
        if deadline.is_some_and(|deadline| deadline.kind == WorkflowDeadlineKind::Memory) {
            self.write_status(at);
            self.observer.on_memory_short(self.live.short_memory);
        }
    }

    async fn finish(&mut self, outcome: Outcome) -> WorkflowReport {
        self.warn_of_pending_hints(outcome);
        let report =
            WorkflowReport::new(&self.dir, &self.plan, &self.workflow, outcome, self.live.clock.at());
        let (status, at) = (&report.status, report.finished_at);
        // Claimed before the outcome is published: a supervisor that finds it unpublished notifies, no other one.
        let claimed = self.notifier.claim_outcome(&self.dir, &self.plan, status, outcome, at);
        // Comes last, because readers that wait for the outcome then expect all other files.
        let _ = self.dir.write_status(status);
        self.notifier.finish(claimed, self.observer, &mut self.cancels).await;
        report
    }

    fn perform(&mut self, action: WorkflowAction) -> Result<(), SuperviseError> {
        match action {
            WorkflowAction::ListItems(phase) => self.list_items(phase),
            WorkflowAction::MeasureMemory => self.measure_memory(),
            WorkflowAction::StartRun { key, share, resumes } => self.start_run(key, share, resumes)?,
            WorkflowAction::StopRun { key, source } => {
                if let Some(run) = self.live.cancellers.get(&key) {
                    run.cancel_by(source);
                }
            }
            WorkflowAction::Merge(phase) => self.merge(phase),
            WorkflowAction::CheckUntil => self.check_until(),
            // The caller returns with the outcome.
            WorkflowAction::Finish(_) => {}
        }
        Ok(())
    }

    fn list_items(&mut self, phase: usize) {
        let Some(source) = &self.file.phases()[phase].fan_out else { return };
        let texts = |items: Vec<serde_json::Value>| items.iter().map(item_text).collect::<Vec<String>>();
        let items = match source {
            ItemSource::List(items) => Ok(texts(items.clone())),
            ItemSource::Pointer { phase: source, pointer } => {
                let policy = &self.plan.policy.phases[*source];
                let (name, outcome) = (&policy.name, self.workflow.state().phases[*source].outcome);
                let has_failed = outcome.is_some_and(|outcome| outcome.kind != OutcomeKind::Done);
                match self.results.by_phase().get(name) {
                    // The workflow continues without the result. That of an earlier iteration would repeat its items.
                    _ if has_failed && !policy.has_items => Ok(Vec::new()),
                    Some(result) => items_from_pointer(result, pointer).map(texts),
                    None => Err(format!("phase `{name}` has no result")),
                }
            }
            ItemSource::Lines(command) => {
                let (commands, command) = (Rc::clone(&self.commands), command.clone());
                self.live.tasks.spawn_local(async move {
                    let items = commands.output(&command).await;
                    let items = items.map(|output| texts(items_from_lines(&output)));
                    (WorkflowEvent::ItemsListed { phase, items }, Vec::new())
                });
                return;
            }
            ItemSource::Objectives(path) => {
                let (path, project) = (path.clone(), self.plan.project_dir.as_path().to_owned());
                // A list that is repeated for deferred items keeps the reports of this iteration.
                let has_run = self
                    .workflow
                    .state()
                    .items(phase)
                    .any(|(_, item)| item.share.is_some() || item.retry > 0);
                let dirs = self.archon.as_ref().filter(|_| !has_run).and_then(ArchonFiles::archive_dirs);
                self.live.tasks.spawn_blocking(move || {
                    let archived = dirs.as_ref().map_or(Ok(()), archive);
                    let assignment = archived.and_then(|()| assignment(&project, &path));
                    let unresolved = assignment.iter().flat_map(|assignment| &assignment.unresolved);
                    let warning = |Objective { name, line }: &Objective| {
                        let path = path.display();
                        format!("{path}, line {line}: there is no file `{name}`; no prover works on it")
                    };
                    let warnings = unresolved.map(warning).collect();
                    let items = assignment.map(|assignment| assignment.files);
                    (WorkflowEvent::ItemsListed { phase, items }, warnings)
                });
                return;
            }
            ItemSource::Glob(pattern) => {
                let (pattern, project) = (pattern.clone(), self.plan.project_dir.as_path().to_owned());
                self.live.tasks.spawn_blocking(move || {
                    let items = pattern.items(&project).map(texts);
                    (WorkflowEvent::ItemsListed { phase, items }, Vec::new())
                });
                return;
            }
        };
        self.live.events.push_back(WorkflowEvent::ItemsListed { phase, items });
    }

    fn measure_memory(&mut self) {
        let available = available_bytes();
        let is_enough = available.is_none_or(|bytes| bytes >= self.plan.memory_reserve);
        if let Some(bytes) = available.filter(|_| !is_enough) {
            self.live.short_memory = bytes;
        }
        self.live.events.push_back(WorkflowEvent::MemoryMeasured { is_enough });
    }

    fn merge(&mut self, phase: usize) {
        let Some(worktrees) = self.worktrees.clone() else {
            let problem = Some(NO_WORKTREES.to_owned());
            return self.live.events.push_back(WorkflowEvent::Merged { phase, problem });
        };
        let name = &self.plan.policy.phases[phase].name;
        let is_done = |(_, item): &(RunKey, &ItemState)| item.outcome() == Some(Outcome::DONE);
        let done = self.workflow.state().items(phase).filter(is_done).map(|(key, item)| DoneRun {
            run: self.run_id(key),
            title: if item.name.is_empty() { name.clone() } else { format!("{name}: {}", item.name) },
        });
        let done: Vec<DoneRun> = done.collect();
        if let Some(DoneRun { run, .. }) =
            done.iter().find(|done| still_works(&self.home, &done.run).unwrap_or(true))
        {
            let problem = format!(
                "run {run} still works in its worktree: resume the workflow when the run has finished"
            );
            return self.live.events.push_back(WorkflowEvent::Merged { phase, problem: Some(problem) });
        }
        let retries = self
            .workflow
            .state()
            .items(phase)
            .flat_map(|(key, _)| (0..key.retry).map(move |retry| RunKey { retry, ..key }));
        let replaced: Vec<RunId> = retries.map(|key| self.run_id(key)).collect();
        self.live.tasks.spawn_blocking(move || {
            let problem = worktrees.merge(&done).err();
            let leftovers = if problem.is_none() { worktrees.leftovers(&done) } else { Vec::new() };
            let merged = leftovers.iter().map(|dir| {
                format!(
                    "{} is merged, but cannot be removed: it is locked, or has submodules or new files",
                    dir.display()
                )
            });
            let kept = worktrees.existing(&replaced);
            let kept = kept.map(|dir| format!("{} keeps the work of a replaced run", dir.display()));
            (WorkflowEvent::Merged { phase, problem }, merged.chain(kept).collect())
        });
    }

    fn check_until(&mut self) {
        let Some(until) = self.file.until() else { return };
        let holds = match &until.condition {
            Condition::Command(command) => {
                let (commands, command) = (Rc::clone(&self.commands), command.clone());
                self.live.tasks.spawn_local(async move {
                    (WorkflowEvent::UntilEnded { holds: commands.succeeds(&command).await }, Vec::new())
                });
                return;
            }
            Condition::Stage(condition) => condition.holds(self.plan.project_dir.as_path()),
            Condition::FileMatches(file) => file.holds(self.plan.project_dir.as_path()),
            Condition::Result(result) => Ok(result.holds(self.results.by_phase())),
        };
        self.live.events.push_back(WorkflowEvent::UntilEnded { holds });
    }

    fn start_run(&mut self, key: RunKey, share: RunShare, resumes: u32) -> Result<(), SuperviseError> {
        let id = self.run_id(key);
        let source = match self.home.run_with_id(&id)? {
            Some(dir) => RunSource::Existing(dir),
            None => match self.request(key, &id, share)? {
                Ok(request) => RunSource::New(Box::new(request)),
                Err(problem) => {
                    let event = self.end_unstarted(key, problem)?;
                    self.live.events.push_back(event);
                    return Ok(());
                }
            },
        };
        self.with_archon_files(|archon| archon.start_log(key, id.clone()));
        let worktrees = self.worktrees.clone().filter(|_| self.plan.policy.phases[key.phase].has_worktrees);
        let (canceller, cancels) = Canceller::new();
        self.live.cancellers.insert(key, canceller);
        let task = RunTask {
            key,
            share,
            resumes,
            has_worktree: worktrees.is_some(),
            home: self.home.clone(),
            environment: self.environment.clone(),
            waits: self.live.waits.0.clone(),
        };
        self.live.runs.spawn_local(async move {
            let result = match task.prepare(&source, &id, worktrees).await {
                Ok(()) => task.drive_to_end(source, cancels).await.map_err(StartError::Run),
                Err(error) => Err(error),
            };
            (key, result)
        });
        Ok(())
    }

    pub(super) fn run_id(&self, key: RunKey) -> RunId {
        key.run_id(self.dir.id(), &self.plan.policy.phases[key.phase].name)
    }

    fn end_unstarted(&mut self, key: RunKey, problem: String) -> Result<WorkflowEvent, SuperviseError> {
        let outcome = Outcome { kind: OutcomeKind::NotStarted, ..Outcome::DONE };
        let result = WorkflowResult { run: self.run_id(key), value: None, problem: Some(problem) };
        self.end_with(key, self.end_of(key, outcome), &result)
    }

    /// Returns the end of a run with the usage of its earlier ends.
    fn end_of(&self, key: RunKey, outcome: Outcome) -> RunEnd {
        let item = self.workflow.state().items(key.phase).find(|(other, _)| *other == key);
        let (cost, active) = item.map(|(_, item)| (item.cost, item.active)).unwrap_or_default();
        RunEnd { outcome, cost, active }
    }

    /// Stores the result of a run, and returns the event of its end.
    fn end_with(
        &mut self,
        key: RunKey,
        end: RunEnd,
        result: &WorkflowResult,
    ) -> Result<WorkflowEvent, SuperviseError> {
        if let Some(problem) = &result.problem {
            self.observer.on_run_problem(&result.run, problem);
        }
        let phase = &self.plan.policy.phases[key.phase].name;
        self.dir.write_result(key.iteration, phase, key.item, result)?;
        Ok(WorkflowEvent::RunEnded { key, end })
    }

    /// Returns whether a later supervisor can continue a run that could not start because of this error. A user may have
    /// removed its worktree on purpose.
    fn is_continuable(&self, key: RunKey, error: &SuperviseError) -> Result<bool, SuperviseError> {
        let is_removed = matches!(error, SuperviseError::Workspace { .. })
            && self.plan.policy.phases[key.phase].has_worktrees;
        let is_cancelled = self.workflow.state().cancelled_by.is_some();
        Ok(!is_removed && !is_cancelled && self.home.run_with_id(&self.run_id(key))?.is_some())
    }

    fn run_ended(
        &mut self,
        joined: Result<(RunKey, Result<EndedRun, StartError>), JoinError>,
    ) -> Result<WorkflowEvent, SuperviseError> {
        let (key, result) = joined.map_err(std::io::Error::from)?;
        self.live.cancellers.remove(&key);
        let EndedRun { report, changed_files } = match result {
            Ok(ended) => ended,
            Err(StartError::Run(RunError::Aborted { source, .. })) => return Err(source),
            // The run keeps its work. The next supervisor continues it.
            Err(StartError::Run(RunError::NotStarted(
                source @ (SuperviseError::MissingVariables { .. }
                | SuperviseError::Workspace { .. }
                | SuperviseError::RunningElsewhere { .. }),
            ))) if self.is_continuable(key, &source)? => return Err(source),
            Err(error) => {
                let suspended_by = self.workflow.state().suspended_by.filter(|_| error.is_interrupted());
                return match suspended_by {
                    // The shutdown also ended git. The next supervisor starts the run.
                    Some(source) => {
                        let end = self.end_of(key, Outcome::suspended(source));
                        Ok(WorkflowEvent::RunEnded { key, end })
                    }
                    None => self.end_unstarted(key, error.to_string()),
                };
            }
        };
        self.with_archon_files(|archon| archon.end_log(key, &report));
        self.warn_of_prices(&report);
        let (cost, active) = (report.usage.total_cost(), report.clocks.active(report.finished_at));
        let mut end = RunEnd { outcome: report.outcome, cost, active };
        let strays = self.stray_changes(key, &changed_files);
        if end.outcome.kind != OutcomeKind::Done {
            let problem = joined_problems(reported_problem(&report), strays);
            // Also without a problem: it replaces that of an earlier end of the run.
            let result = WorkflowResult { run: report.run, value: None, problem };
            return self.end_with(key, end, &result);
        }
        let schema = self.file.phases()[key.phase].schema.as_ref();
        let answer = report.result.as_deref();
        let mut result = result_of_run(report.run, answer, schema);
        if result.problem.is_some() {
            end.outcome = Outcome { kind: OutcomeKind::CheckFailed, ..Outcome::DONE };
        }
        result.problem = joined_problems(result.problem, strays);
        self.end_with(key, end, &result)
    }

    async fn next(&mut self) -> Result<WorkflowEvent, SuperviseError> {
        loop {
            if let Some(event) = self.live.events.pop_front() {
                return Ok(event);
            }
            if let Some(slept) = self.live.clock.sleep_since_last_call() {
                return Ok(WorkflowEvent::Downtime(slept));
            }
            if let Some(source) = self.dir.requests().take() {
                return Ok(stop_event(source));
            }
            let deadline = self.workflow.deadline(&self.plan.policy).map(|deadline| deadline.at);
            let remaining = deadline.map(|at| at.since(self.live.clock.at()).to_std());
            if remaining == Some(Duration::ZERO) {
                return Ok(WorkflowEvent::Tick);
            }
            tokio::select! {
                // If there is no task or run, `select!` disables its branch.
                Some(joined) = self.live.runs.join_next() => return self.run_ended(joined),
                Some(ended) = self.live.tasks.join_next() => {
                    let (event, warnings) = ended.map_err(std::io::Error::from)?;
                    // Shown before the workflow acts on the result.
                    warnings.iter().for_each(|warning| self.warn(warning));
                    return Ok(event);
                }
                Some(RunWait { key, wait }) = self.live.waits.1.recv() => {
                    self.observer.on_run_wait(&self.run_id(key), key, wait);
                    self.notifier.on_run_wait(key, wait);
                    return Ok(WorkflowEvent::RunWaits { key, waits: wait.is_some() });
                }
                Some(source) = self.cancels.recv() => return Ok(stop_event(source)),
                () = tokio::time::sleep(remaining.map_or(POLL_INTERVAL, |left| left.min(POLL_INTERVAL))) => {
                    self.with_archon_files(ArchonFiles::update_logs);
                }
            }
        }
    }
}

fn joined_problems(problem: Option<String>, strays: Option<String>) -> Option<String> {
    problem.into_iter().chain(strays).reduce(|first, second| format!("{first}; {second}"))
}

pub(super) fn stop_event(source: CancelSource) -> WorkflowEvent {
    match source {
        CancelSource::Person | CancelSource::PersonNow => WorkflowEvent::CancelRequested(source),
        CancelSource::Sigterm | CancelSource::Sighup => WorkflowEvent::SuspendRequested(source),
    }
}

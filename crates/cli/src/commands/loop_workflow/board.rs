//! The live view of a workflow: its phases and its live runs in at most twelve lines, as a pure function of the
//! board, the time and the size of the terminal. A run's own files say what it does.

use crate::commands::runs::working;
use crate::output::color::{Colors, Style};
use crate::output::envelope_text::fit;
use crate::output::{phrases, time};
use longhaul::workflow::WorkflowView;
use longhaul_core::{
    ItemState, ItemStatus, Moment, OutcomeKind, PhaseStatus, RunId, RunKey, Span, Usd, WorkflowDeadlineKind,
    WorkflowStage,
};
use longhaul_store::{Home, RunDir, Status};
use std::collections::BTreeMap;

// A frame of half a usual terminal, so that the lines above it stay readable.
const LINES_MAX: usize = 12;
/// Follows the state of a workflow.
pub const NEXT_WAITS_FOR_MEMORY: &str = ", the next run waits for memory";
// Reading the files of a run takes a moment, and its tool calls take seconds.
const READ_EVERY: Span = Span::from_secs(2);

/// A workflow as of its last step. It is a copy, because a thread draws it between the steps.
pub struct Board {
    home: Home,
    /// `kxhfgg`, or `nightly (kxhfgg)`.
    label: String,
    state: &'static str,
    /// Whether the next run waits until more memory is available.
    waits_for_memory: bool,
    iteration: u32,
    iterations_max: u32,
    started_at: Moment,
    cost: Usd,
    budget: Option<Usd>,
    /// `plan done`, `prove 3 of 12 done`.
    phases: Vec<String>,
    rows: Vec<BoardRow>,
    /// Runs whose files were read, as of a time.
    read: BTreeMap<RunId, (Moment, RunView)>,
}

/// A run that is neither pending nor ended.
struct BoardRow {
    run: RunId,
    item: String,
    status: ItemStatus,
    cost: Usd,
}

/// State of a live run, as its files describe it.
#[derive(Clone, Default)]
struct RunView {
    activity: String,
    waits_until: Option<Moment>,
    cost: Usd,
}

impl Board {
    pub fn new(home: Home, workflow: &RunId, name: Option<&str>, started_at: Moment) -> Board {
        let label = name.map(|name| format!("{} ({workflow})", phrases::one_line(name)));
        Board {
            home,
            label: label.unwrap_or_else(|| workflow.to_string()),
            state: "starting",
            waits_for_memory: false,
            iteration: 0,
            iterations_max: 0,
            started_at,
            cost: Usd::ZERO,
            budget: None,
            phases: Vec::new(),
            rows: Vec::new(),
            read: BTreeMap::new(),
        }
    }

    /// Applies the changes of a step.
    pub fn update(&mut self, workflow: &RunId, view: WorkflowView<'_>) {
        let (state, policy) = (view.workflow.state(), view.policy);
        self.iteration = state.iteration;
        self.iterations_max = state.iterations_max(policy);
        self.cost = state.cost;
        self.budget = state.limits(policy).budget;
        self.phases = (0..policy.phases.len()).map(|phase| phase_text(view, phase)).collect();
        let active = state.all_items().filter(|(_, item)| is_active(item.status));
        let row = |(key, item): (RunKey, &ItemState)| BoardRow {
            run: key.run_id(workflow, &policy.phases[key.phase].name),
            item: if policy.phases[key.phase].has_items { item.name.clone() } else { String::new() },
            status: item.status,
            cost: item.cost,
        };
        self.rows = active.map(row).collect();
        self.read.retain(|run, _| self.rows.iter().any(|row| row.run == *run));
        let deadline = view.workflow.deadline(policy);
        self.waits_for_memory =
            deadline.is_some_and(|deadline| deadline.kind == WorkflowDeadlineKind::Memory);
        self.state = match state.stage {
            WorkflowStage::New | WorkflowStage::Running if state.stop.is_some() => "stopping",
            WorkflowStage::New | WorkflowStage::Running if state.live().next().is_some() => "working",
            WorkflowStage::New | WorkflowStage::Running if self.rows.is_empty() => "between runs",
            WorkflowStage::New | WorkflowStage::Running => "waiting",
            WorkflowStage::Suspended { .. } => "suspended",
            WorkflowStage::Finished { .. } => "finished",
        };
    }

    /// Shows that the next run waits for memory, until a step changes that.
    pub fn delay_for_memory(&mut self) {
        self.waits_for_memory = true;
    }

    /// Returns the lines for a terminal of this size. Each fits. The files of the runs on the screen are read again
    /// if they were read a while ago.
    pub fn lines(&mut self, now: Moment, width: usize, height: usize) -> Vec<String> {
        let height = height.min(LINES_MAX);
        let shown = self.rows.len().min(height.saturating_sub(2));
        // The last line counts the runs that do not fit.
        let shown = if shown < self.rows.len() { shown.saturating_sub(1) } else { shown };
        for row in &self.rows[..shown] {
            let is_old = self.read.get(&row.run).is_none_or(|(at, _)| now.since(*at) >= READ_EVERY);
            if is_old && row.status == ItemStatus::Live {
                self.read.insert(row.run.clone(), (now, run_view(&self.home, &row.run)));
            }
        }
        let view = |run: &RunId| self.read.get(run).map(|(_, view)| view);
        let rows = self.rows[..shown].iter().map(|row| row_text(row, view(&row.run), now));
        let more = self.rows.len() - shown;
        let more = (more > 0).then(|| format!("and {more} more"));
        let details = [self.phases.join(", ")].into_iter().chain(rows).chain(more);
        let details = details.map(|line| format!("  {line}"));
        let lines = [self.headline(now)].into_iter().chain(details);
        lines.take(height).map(|line| fit(&line, width)).collect()
    }

    /// `nightly (kxhfgg): working, iteration 2 of 10, 42m 10s, $3.45 of $20.00`.
    fn headline(&self, now: Moment) -> String {
        let iteration = match self.iterations_max {
            0 | 1 => String::new(),
            max => format!(", iteration {} of {max}", self.iteration),
        };
        let of_budget = self.budget.map_or_else(String::new, |usd| format!(" of {}", phrases::money(usd)));
        let wall = Span::from_secs(now.since(self.started_at).millis() / 1000);
        let cost = phrases::money(self.cost + self.live_cost());
        let delay = if self.waits_for_memory { NEXT_WAITS_FOR_MEMORY } else { "" };
        format!("{}: {}{delay}{iteration}, {wall}, {cost}{of_budget}", self.label, self.state)
    }

    /// Returns what the runs on the screen used since their last end.
    fn live_cost(&self) -> Usd {
        let live = self.rows.iter().filter_map(|row| Some((row, self.read.get(&row.run)?)));
        live.map(|(row, (_, view))| view.cost.saturating_sub(row.cost)).sum()
    }
}

/// Returns the lines for stderr, the first one in the color of a hint.
pub fn colored_lines(board: &mut Board, now: Moment, width: usize, height: usize) -> Vec<String> {
    let mut lines = board.lines(now, width, height);
    if let Some(first) = lines.first_mut() {
        *first = Colors::stderr().styled(first, Some(Style::Hint));
    }
    lines
}

fn is_active(status: ItemStatus) -> bool {
    match status {
        ItemStatus::Live | ItemStatus::Parked { .. } | ItemStatus::Limited { .. } => true,
        ItemStatus::Pending
        | ItemStatus::Resuming { .. }
        | ItemStatus::Suspended
        | ItemStatus::Ended { .. } => false,
    }
}

fn phase_text(view: WorkflowView<'_>, phase: usize) -> String {
    let (state, policy) = (view.workflow.state(), view.policy);
    let name = &policy.phases[phase].name;
    let items: Vec<&ItemState> = state.items(phase).map(|(_, item)| item).collect();
    let word = match state.phase_status(policy, phase) {
        PhaseStatus::Pending => "pending",
        PhaseStatus::Skipped => "skipped",
        PhaseStatus::Running if items.is_empty() => "listing items",
        PhaseStatus::Running if policy.phases[phase].has_items => {
            let ended = |done: bool| {
                let is_counted = |status| match status {
                    ItemStatus::Ended { outcome } => (outcome.kind == OutcomeKind::Done) == done,
                    ItemStatus::Pending
                    | ItemStatus::Resuming { .. }
                    | ItemStatus::Live
                    | ItemStatus::Parked { .. }
                    | ItemStatus::Limited { .. }
                    | ItemStatus::Suspended => false,
                };
                items.iter().filter(|item| is_counted(item.status)).count()
            };
            let failed = match ended(false) {
                0 => String::new(),
                failed => format!(", {failed} not"),
            };
            return format!("{name} {} of {} done{failed}", ended(true), items.len());
        }
        PhaseStatus::Running => "running",
        PhaseStatus::Ended => {
            let outcome = state.phases.get(phase).and_then(|state| state.outcome);
            outcome.map_or("done", |outcome| outcome.kind.as_str())
        }
    };
    format!("{name} {word}")
}

fn run_view(home: &Home, run: &RunId) -> RunView {
    let dir = home.run_with_id(run).ok().flatten();
    let read = |dir: RunDir| {
        let status: Status = dir.status().ok()?;
        let waits_until = status.deadline_at.filter(|_| status.status == "waiting").map(|at| at.0);
        let activity = match (waits_until, status.fault) {
            (Some(_), Some(fault)) => fault.describe().to_owned(),
            (Some(_), None) => String::new(),
            (None, _) => working(&dir),
        };
        Some(RunView { activity, waits_until, cost: status.total_cost_usd.0 })
    };
    dir.and_then(read).unwrap_or_else(|| RunView { activity: "starting".to_owned(), ..RunView::default() })
}

/// `kxhfgg-2-prove-1 (Algebra.lean): Bash: lake build, $0.45`.
fn row_text(row: &BoardRow, view: Option<&RunView>, now: Moment) -> String {
    let item = phrases::one_line(&row.item);
    let item = if item.is_empty() { item } else { format!(" ({item})") };
    let cost = phrases::money(view.map_or(row.cost, |view| view.cost.max(row.cost)));
    let until = |verb: &str, until: Moment| {
        let remaining = Span::from_secs(until.since(now).millis() / 1000);
        format!("{verb} until {} (in {remaining})", time::future_time(until))
    };
    let text = match (row.status, view) {
        (ItemStatus::Parked { until: at }, _) => until("parked", at),
        (ItemStatus::Limited { .. }, _) => "waiting for a larger share of the budget".to_owned(),
        (_, Some(RunView { waits_until: Some(at), activity, .. })) => {
            let cause = if activity.is_empty() { String::new() } else { format!(": {activity}") };
            format!("{}{cause}", until("waiting", *at))
        }
        (_, Some(view)) => phrases::one_line(&view.activity),
        (_, None) => "starting".to_owned(),
    };
    // The cost comes first, because a long command may be cut off.
    format!("{}{item}: {cost}, {text}", row.run)
}

#[cfg(test)]
mod tests;

//! The live view of a workflow: its phases and its live runs in at most twelve lines, as a pure function of its
//! status, the time and the size of the terminal. A run's own files say what it does.

use crate::commands::runs::working;
use crate::commands::workflow_lines::headline;
use crate::output::color::{Colors, Style};
use crate::output::envelope_text::fit;
use crate::output::{phrases, time};
use longhaul::workflow::WorkflowView;
use longhaul_core::{Moment, OutcomeKind, RunId, Span, Usd, WorkflowDeadlineKind};
use longhaul_store::{Home, ItemReport, PhaseReport, RunDir, WorkflowStatus};
use std::collections::BTreeMap;
use std::process;

// A frame of half a usual terminal, so that the lines above it stay readable.
const LINES_MAX: usize = 12;
// Reading the files of a run takes a moment, and its tool calls take seconds.
const READ_EVERY: Span = Span::from_secs(2);

/// A workflow as of its last step. It is a copy, because a thread draws it between the steps.
pub struct Board {
    home: Home,
    workflow: RunId,
    /// `kxhfgg`, or `nightly (kxhfgg)`.
    label: String,
    started_at: Moment,
    /// State after the last step. `None` before the first one.
    status: Option<WorkflowStatus>,
    /// Live runs whose files were read, as of a time.
    read: BTreeMap<RunId, (Moment, RunView)>,
}

/// State of a live run, as its files describe it.
struct RunView {
    activity: String,
    cost: Usd,
}

impl Board {
    pub fn new(home: Home, workflow: &RunId, name: Option<&str>, started_at: Moment) -> Board {
        Board {
            home,
            workflow: workflow.clone(),
            label: phrases::label(workflow, name),
            started_at,
            status: None,
            read: BTreeMap::new(),
        }
    }

    pub fn update(&mut self, view: WorkflowView<'_>) {
        let status = WorkflowStatus::new(
            &self.workflow,
            view.workflow,
            view.policy,
            |_, _| None,
            process::id(),
            view.at,
        );
        self.read.retain(|run, _| live(&status).any(|item| item.run.as_ref() == Some(run)));
        self.status = Some(status);
    }

    /// Shows that the next run waits for memory, until a step changes that.
    pub fn delay_for_memory(&mut self) {
        if let Some(status) = &mut self.status {
            status.deadline = Some(WorkflowDeadlineKind::Memory.as_str().to_owned());
        }
    }

    /// Returns the lines for a terminal of this size. Each fits. The files of the runs on the screen are read again
    /// if they were read a while ago.
    pub fn lines(&mut self, now: Moment, width: usize, height: usize) -> Vec<String> {
        let Some(status) = &self.status else { return vec![fit(&self.label, width)] };
        let height = height.min(LINES_MAX);
        let items: Vec<&ItemReport> = live(status).collect();
        let shown = items.len().min(height.saturating_sub(2));
        // The last line counts the runs that do not fit.
        let shown = if shown < items.len() { shown.saturating_sub(1) } else { shown };
        for run in
            items[..shown].iter().filter(|item| item.status == "running").filter_map(|item| item.run.as_ref())
        {
            if self.read.get(run).is_none_or(|(at, _)| now.since(*at) >= READ_EVERY) {
                self.read.insert(run.clone(), (now, run_view(&self.home, run, now)));
            }
        }
        let view = |item: &ItemReport| self.read.get(item.run.as_ref()?).map(|(_, view)| view);
        let rows = items[..shown].iter().map(|item| row_text(item, view(item), now));
        let more = items.len() - shown;
        let more = (more > 0).then(|| format!("and {more} more"));
        let phases: Vec<String> = status.phases.iter().map(phase_text).collect();
        let details = [phases.join(", ")].into_iter().chain(rows).chain(more);
        let details = details.map(|line| format!("  {line}"));
        // The status has the costs up to the last end of each run.
        let since =
            items.iter().filter_map(|item| Some(view(item)?.cost.saturating_sub(item.total_cost_usd.0)));
        let cost = status.total_cost_usd.0 + since.sum();
        let status = WorkflowStatus { total_cost_usd: cost.into(), ..status.clone() };
        let wall = Span::from_secs(now.since(self.started_at).millis() / 1000);
        let headline = format!("{}, {wall}", headline(&self.label, &status));
        [headline].into_iter().chain(details).take(height).map(|line| fit(&line, width)).collect()
    }
}

pub fn colored_lines(board: &mut Board, now: Moment, width: usize, height: usize) -> Vec<String> {
    let mut lines = board.lines(now, width, height);
    if let Some(first) = lines.first_mut() {
        *first = Colors::stderr().styled(first, Some(Style::Hint));
    }
    lines
}

/// Returns the runs that are neither pending nor ended.
fn live(status: &WorkflowStatus) -> impl Iterator<Item = &ItemReport> {
    let items = status.phases.iter().flat_map(|phase| &phase.items);
    items.filter(|item| ["running", "parked", "limited"].contains(&item.status.as_str()))
}

/// `plan done`, or with items `prove 3 of 12 done, 1 not`.
fn phase_text(phase: &PhaseReport) -> String {
    let PhaseReport { name, status, items, .. } = phase;
    if status != "running" || items.iter().any(|item| item.item.is_none()) {
        return format!("{name} {status}");
    }
    if items.is_empty() {
        return format!("{name} listing items");
    }
    let is_done = |item: &&ItemReport| item.status == OutcomeKind::Done.as_str();
    let has_failed = |item: &&ItemReport| {
        OutcomeKind::ALL.iter().any(|kind| *kind != OutcomeKind::Suspended && kind.as_str() == item.status)
            && !is_done(item)
    };
    let failed = match items.iter().filter(has_failed).count() {
        0 => String::new(),
        failed => format!(", {failed} not"),
    };
    format!("{name} {} of {} done{failed}", items.iter().filter(is_done).count(), items.len())
}

fn run_view(home: &Home, run: &RunId, now: Moment) -> RunView {
    let dir = home.run_with_id(run).ok().flatten();
    let read = |dir: RunDir| {
        let status = dir.status().ok()?;
        let activity = match status.deadline_at.filter(|_| status.status == "waiting") {
            Some(at) => {
                let cause = status.fault.map_or_else(String::new, |fault| format!(": {}", fault.describe()));
                format!("{}{cause}", until("waiting", at.0, now))
            }
            None => phrases::one_line(&working(&dir)),
        };
        Some(RunView { activity, cost: status.total_cost_usd.0 })
    };
    dir.and_then(read).unwrap_or_else(|| RunView { activity: "starting".to_owned(), cost: Usd::ZERO })
}

fn until(verb: &str, until: Moment, now: Moment) -> String {
    let remaining = Span::from_secs(until.since(now).millis() / 1000);
    format!("{verb} until {} (in {remaining})", time::future_time(until))
}

/// `kxhfgg-2-prove-1 (Algebra.lean): $0.45, Bash: lake build`.
fn row_text(item: &ItemReport, view: Option<&RunView>, now: Moment) -> String {
    let name = item.item.as_ref().map_or_else(String::new, |name| format!(" ({})", phrases::one_line(name)));
    let cost = view.map_or(Usd::ZERO, |view| view.cost).max(item.total_cost_usd.0);
    let text = match (item.until, view) {
        (Some(at), _) => until("parked", at.0, now),
        (None, _) if item.status == "limited" => "waiting for a larger share of the budget".to_owned(),
        (None, view) => view.map_or_else(|| "starting".to_owned(), |view| view.activity.clone()),
    };
    // The cost comes first, because a long command may be cut off.
    let run = item.run.as_ref().map_or("", |run| run.as_str());
    format!("{run}{name}: {cost}, {text}")
}

#[cfg(test)]
mod tests;

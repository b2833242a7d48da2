//! `longhaul status --watch`: a live view of every unfinished workflow and run, until Ctrl-C. It changes nothing.

use super::{headline, tree, unfinished, with_all_costs, workflow_status};
use crate::commands::supervise::supervisor;
use crate::failure::Failure;
use crate::output::color::Colors;
use crate::output::live::{self, LiveView, label};
use crate::output::out;
use crate::output::region::Region;
use crate::output::{self, envelope_text, phrases};
use crate::run_history::timeline_text::describe_outcome;
use crate::{open_home, runtime, signals};
use longhaul::{Observer, RunError, RunReport, RunStart, StepView, SuperviseError};
use longhaul_core::{OutcomeKind, Step};
use longhaul_store::{Home, Journal, RunDir, WorkflowStatus};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::{JoinSet, LocalSet};

// Short enough that a run started in another terminal appears promptly.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

enum Watched {
    /// A supervisor is attached.
    Live(Box<LiveView>),
    /// No supervisor is attached: it died, or a signal suspended the run.
    Unsupervised(String),
    /// Its files cannot be followed.
    Unreadable(String),
}

#[derive(Default)]
struct Board {
    /// Unfinished workflows, newest first.
    workflows: Vec<WorkflowStatus>,
    /// Runs by directory, which sorts them by day.
    runs: BTreeMap<PathBuf, Watched>,
    /// Whether all of them were read once.
    is_complete: bool,
}

/// Runs the command and returns the exit code of the signal that ends it.
pub fn watch() -> Result<u8, Failure> {
    let home = open_home::locate()?;
    let region = Region::open(Board::default(), |board, width, height| frame(board, width, height));
    let region = region.ok_or_else(|| {
        let reason = if out::stderr_is_terminal() {
            "this terminal cannot redraw lines: TERM is `dumb` or not set"
        } else {
            "stderr is not a terminal"
        };
        Failure::usage(
            format!("cannot watch runs: {reason}"),
            "run `longhaul status`, or follow one run with `longhaul attach RUN --events -`",
        )
    })?;
    runtime::new()?.block_on(LocalSet::new().run_until(follow_all(&home, Rc::new(region))))
}

/// Follows all current and new unfinished runs, until a signal arrives.
async fn follow_all(home: &Home, region: Rc<Region<Board>>) -> Result<u8, Failure> {
    let mut cancels = signals::cancels()?;
    let mut following: JoinSet<(RunDir, Result<RunReport, RunError>)> = JoinSet::new();
    let mut ticks = tokio::time::interval(POLL_INTERVAL);
    loop {
        tokio::select! {
            Some(by) = cancels.recv() => return Ok(by.exit_code()),
            Some(result) = following.join_next() => {
                let (dir, followed) = result.map_err(|error| Failure::unexpected(error.to_string()))?;
                on_follow_end(&region, &dir, followed);
            }
            _ = ticks.tick() => {
                update_workflows(home, &region)?;
                for dir in dirs_to_follow(home, &region)? {
                    let view = Watched::Live(Box::new(LiveView::new(label(dir.id(), dir.path()))));
                    region.update(|board| board.runs.insert(dir.path().to_owned(), view));
                    let mut watcher = Watcher { region: Rc::clone(&region), dir: dir.path().to_owned() };
                    let supervisor = supervisor(home);
                    following.spawn_local(async move {
                        let start = RunStart::Attach(dir.clone());
                        let followed = supervisor.observe(start, &mut watcher).await;
                        (dir, followed)
                    });
                }
                region.update(|board| board.is_complete = true);
            }
        }
    }
}

/// Returns the supervised runs that are not followed yet. Orphaned runs stay on the board without being
/// followed.
fn dirs_to_follow(home: &Home, region: &Region<Board>) -> Result<Vec<RunDir>, Failure> {
    let rows = unfinished(home)?;
    let dirs: Vec<RunDir> = rows.iter().map(|row| row.entry.run_dir()).collect();
    Ok(region.update(|Board { runs, .. }| {
        runs.retain(|path, watched| match watched {
            Watched::Live(_) => true,
            Watched::Unsupervised(_) | Watched::Unreadable(_) => dirs.iter().any(|dir| dir.path() == path),
        });
        let needs_follower = |dir: &RunDir| match runs.get(dir.path()) {
            None => true,
            Some(Watched::Live(_) | Watched::Unreadable(_)) => false,
            Some(Watched::Unsupervised(_)) => Journal::is_locked(&dir.journal_path()).unwrap_or(false),
        };
        dirs.into_iter().filter(needs_follower).collect()
    }))
}

/// Reads the unfinished workflows again, and reports those that finished.
fn update_workflows(home: &Home, region: &Region<Board>) -> Result<(), Failure> {
    let dirs = home.workflows_newest_first()?;
    let statuses: Vec<WorkflowStatus> =
        dirs.iter().filter_map(|dir| Some(with_all_costs(home, dir, workflow_status(home, dir)?))).collect();
    let is_finished = |status: &WorkflowStatus| status.returncode.is_some();
    let (finished, unfinished): (Vec<_>, Vec<_>) = statuses.into_iter().partition(is_finished);
    let shown = region.update(|board| std::mem::replace(&mut board.workflows, unfinished));
    let was_shown =
        |status: &&WorkflowStatus| shown.iter().any(|shown| shown.workflow_id == status.workflow_id);
    for status in finished.iter().filter(was_shown) {
        region.print_above(|| output::print_status(&headline(status)));
    }
    Ok(())
}

/// Removes a finished run from the board. A run that cannot be followed stays.
fn on_follow_end(region: &Region<Board>, dir: &RunDir, followed: Result<RunReport, RunError>) {
    let label = label(dir.id(), dir.path());
    // A workflow continues its runs.
    let position = dir.plan().ok().and_then(|plan| plan.workflow);
    let id = position.as_ref().map_or(dir.id(), |position| &position.id);
    let unsupervised = |state: &str| {
        Watched::Unsupervised(format!("{label}: {state}; continue it with `longhaul recover {id}`"))
    };
    let watched = match followed {
        Err(RunError::NotStarted(SuperviseError::Orphaned(_))) => unsupervised("no supervisor"),
        Err(error) => Watched::Unreadable(format!("{label}: {}", phrases::one_line(&error.to_string()))),
        Ok(report) if report.outcome.kind == OutcomeKind::Suspended => unsupervised("suspended"),
        Ok(report) => {
            region.update(|board| board.runs.remove(dir.path()));
            let (outcome, cost) = (describe_outcome(report.outcome), report.usage.total_cost().to_string());
            let text = format!("{label}: {outcome}, {}, {cost}", report.wall());
            return region.print_above(|| output::print_status(&text));
        }
    };
    region.update(|board| board.runs.insert(dir.path().to_owned(), watched));
}

/// Returns the lines of all workflows, then those of all runs, both newest first. Runs that do not fit are counted.
fn frame(board: &Board, width: usize, height: usize) -> Vec<String> {
    if !board.is_complete {
        return Vec::new();
    }
    if board.workflows.is_empty() && board.runs.is_empty() {
        return vec![envelope_text::fit("no unfinished runs; new runs appear here, Ctrl-C exits", width)];
    }
    // Half of the screen belongs to the runs.
    let workflows_max = height.saturating_sub(board.runs.len().min(height / 2));
    let mut lines = workflow_lines(&board.workflows, width);
    lines.truncate(workflows_max);
    lines.extend(run_lines(&board.runs, width, height - lines.len()));
    lines
}

/// Returns a line for each workflow and each of its phases. Lines of their own show the live runs.
fn workflow_lines(workflows: &[WorkflowStatus], width: usize) -> Vec<String> {
    let text: String = workflows.iter().map(|status| tree(status, None, Colors::plain())).collect();
    text.lines().map(|line| envelope_text::fit(line, width)).collect()
}

fn run_lines(runs: &BTreeMap<PathBuf, Watched>, width: usize, height: usize) -> Vec<String> {
    if runs.is_empty() || height == 0 {
        return Vec::new();
    }
    let is_crowded = runs.len() > height;
    let shown = if is_crowded { height.saturating_sub(1) } else { runs.len() };
    let lines_each = if is_crowded { 1 } else { height / runs.len() };
    let mut lines = Vec::new();
    for watched in runs.values().rev().take(shown) {
        match watched {
            Watched::Live(view) => {
                lines.extend(live::colored_lines(view, output::now(), width).into_iter().take(lines_each));
            }
            Watched::Unsupervised(text) | Watched::Unreadable(text) => {
                lines.push(envelope_text::fit(text, width))
            }
        }
    }
    if is_crowded {
        let more = format!("and {} more; `longhaul status` lists them", runs.len() - shown);
        lines.push(envelope_text::fit(&more, width));
    }
    lines
}

struct Watcher {
    region: Rc<Region<Board>>,
    dir: PathBuf,
}

impl Observer for Watcher {
    fn on_step(&mut self, view: StepView<'_>, _step: &Step) {
        self.region.update(|board| {
            if let Some(Watched::Live(live)) = board.runs.get_mut(&self.dir) {
                live.update(view, output::now());
            }
        });
    }
}

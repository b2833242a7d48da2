//! `longhaul playbook status`: queued and failed transcripts, judging in progress, lessons, errors and cost.

use super::learn::command;
use super::settings;
use crate::args::GlobalArgs;
use crate::failure::Failure;
use crate::output::envelope_text::short_count;
use crate::output::pager::page_output;
use crate::output::phrases::{bytes, counted};
use crate::output::time::future_time;
use crate::time_arg::ago;
use crate::{open_home, output};
use longhaul_core::{Dollars, Moment, Tokens, Usd};
use longhaul_playbook::database::{
    JudgeCost, JudgeKind, Lesson, PausedJudge, QueueEntry, QueueStatus, SliceInProgress,
};
use longhaul_playbook::hooks::{HookError, logged_errors};
use longhaul_playbook::worker::WorkerLock;
use longhaul_playbook::{LearningDb, LearningPaths};
use serde::Serialize;
use std::path::PathBuf;

// The JSON output contains all errors.
const ERRORS_MAX: usize = 5;

/// Output of the command.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LearningStatus {
    /// Whether a worker is running, or waiting for entries to become due.
    worker: bool,
    /// Claude Code settings that contain Longhaul's hooks: the user's, and those of the current project.
    installed_in: Vec<String>,
    #[serde(flatten)]
    queue: QueueStatus,
    /// Copies of damaged queues.
    damaged_copy: Vec<String>,
    /// Errors of hooks and workers, oldest first.
    hook_errors: Vec<HookError>,
    /// Requests to the Messages API and their cost. Runs of `--judge claude` are counted as runs.
    spent: Spent,
}

/// Usage of the judge.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Spent {
    /// Number of answers.
    answers: u64,
    /// Cost according to the bundled prices.
    estimated_cost_usd: Dollars,
    /// Whether some usage has no known price. The cost is then a lower bound.
    unpriced: bool,
    /// Input tokens that were not read from a cache.
    input_tokens: u64,
    /// Output tokens.
    output_tokens: u64,
}

pub fn status(global: &GlobalArgs, lessons_max: u32) -> Result<u8, Failure> {
    let paths = LearningPaths::in_home(open_home::locate()?.path());
    let learning = LearningDb::open_existing(&paths)?;
    let now = output::now();
    let (queue, judge_costs) = match &learning {
        Some(learning) => (learning.status(now, lessons_max)?, learning.judge_costs(Moment(0))?),
        None => (QueueStatus::default(), Vec::new()),
    };
    let (installed_in, unreadable) = settings::installed();
    unreadable.iter().for_each(|error| output::print_warning(&error.message, Some(&error.hint)));
    let status = LearningStatus {
        worker: WorkerLock::is_any_held(&paths),
        installed_in: shown(installed_in),
        queue,
        damaged_copy: shown(LearningDb::damaged_copies(&paths)),
        hook_errors: logged_errors(&paths),
        spent: Spent::new(&judge_costs),
    };
    page_output(global, &status, || text(&status, now));
    Ok(0)
}

impl Spent {
    fn new(paid: &[JudgeCost]) -> Spent {
        let tokens = paid.iter().fold(Tokens::default(), |sum, paid| sum + paid.tokens);
        Spent {
            answers: paid.len() as u64,
            estimated_cost_usd: paid.iter().filter_map(|paid| paid.cost).sum::<Usd>().into(),
            unpriced: paid.iter().any(|paid| paid.cost.is_none()),
            input_tokens: tokens.input,
            output_tokens: tokens.output,
        }
    }
}

fn shown(paths: Vec<PathBuf>) -> Vec<String> {
    paths.iter().map(|path| path.display().to_string()).collect()
}

fn text(status: &LearningStatus, now: Moment) -> String {
    let LearningStatus { worker, installed_in, queue, damaged_copy, hook_errors, spent } = status;
    let worker = if *worker { "a worker is running" } else { "no worker running" };
    let waiting = counted(queue.waiting.len() as u64, "transcript");
    let (failed, done) = (queue.failed.len(), queue.done);
    let mut lines = vec![format!("{waiting} waiting, {failed} failed, {done} done; {worker}")];
    lines.push(match installed_in.as_slice() {
        [] => "hooks not installed: longhaul playbook install".to_owned(),
        files => format!("hooks installed in {}", files.join(", ")),
    });
    for PausedJudge { judge, destination, retry_at, reason, .. } in &queue.paused_judges {
        let next = match retry_at {
            None => {
                format!("learning is paused until this is fixed; then run `{}`", command(*judge))
            }
            Some(retry_at) => format!("asked again from {}", future_time(*retry_at)),
        };
        lines.push(format!("the judge at {destination} did not answer: {reason}; {next}"));
    }
    for SliceInProgress { transcript, start, end, state, .. } in &queue.in_progress {
        let length = bytes(end.saturating_sub(*start));
        lines.push(format!("judging {length} of {}: {state}", transcript.display()));
    }
    let line = |entry: &QueueEntry| {
        let reason = entry.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("  {} ({}){reason}", entry.transcript.display(), entry.event)
    };
    if !queue.waiting.is_empty() {
        lines.push("waiting:".to_owned());
        lines.extend(queue.waiting.iter().map(line));
    }
    for judge in JudgeKind::ALL {
        let mut failed = queue.failed.iter().filter(|entry| entry.judge == *judge).peekable();
        if failed.peek().is_some() {
            lines.push(format!("failed; retry with `{} --retry-failed`:", command(*judge)));
            lines.extend(failed.map(line));
        }
    }
    if !queue.lessons.is_empty() {
        lines.push(format!("judged {} of transcripts, most recent:", counted(queue.learned, "part")));
        lines.extend(queue.lessons.iter().map(|lesson| {
            let Lesson { project, at, description, .. } = lesson;
            format!("  {}, {}: {description}", ago(*at, now), project.display())
        }));
    }
    if !hook_errors.is_empty() {
        lines.push(format!("{}, most recent:", counted(hook_errors.len() as u64, "error")));
        let latest = &hook_errors[hook_errors.len().saturating_sub(ERRORS_MAX)..];
        lines.extend(
            latest
                .iter()
                .map(|HookError { at, event, description }| format!("  {at} {event}: {description}")),
        );
    }
    for path in damaged_copy {
        lines.push(format!("a damaged queue is kept as {}", path));
    }
    if spent.answers > 0 {
        let at_least = if spent.unpriced { "at least " } else { "" };
        lines.push(format!(
            "{}: {at_least}{} (estimated), {} tokens in and {} out",
            counted(spent.answers, "answer"),
            spent.estimated_cost_usd.0,
            short_count(spent.input_tokens),
            short_count(spent.output_tokens)
        ));
    }
    lines.join("\n") + "\n"
}

//! `longhaul playbook status`: queued and failed transcripts, judging in progress, lessons, errors and cost.

use super::learn::command;
use super::settings;
use crate::args::playbook::PlaybookStatusArgs;
use crate::args::{GlobalArgs, OutputFormat};
use crate::failure::Failure;
use crate::output::envelope_text::short_count;
use crate::output::pager::page;
use crate::output::phrases::{bytes, counted, money};
use crate::output::time::future_time;
use crate::time_arg::ago;
use crate::{open_home, output};
use longhaul_core::{Moment, Tokens, Usd};
use longhaul_playbook::database::{JudgeBackoff, JudgeCost, JudgeKind, QueueEntry, QueueStatus};
use longhaul_playbook::hooks::{HookError, logged_errors};
use longhaul_playbook::worker::WorkerLock;
use longhaul_playbook::{LearningDb, LearningPaths};
use longhaul_store::rfc3339;
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
    installed_in: Vec<PathBuf>,
    /// Queued transcripts, oldest first.
    waiting: Vec<Queued>,
    /// Failed transcripts that are kept, oldest first.
    failed: Vec<Queued>,
    /// Number of finished transcripts.
    done: u64,
    /// Slices being judged, or interrupted by the death of their worker.
    in_progress: Vec<Judging>,
    /// Number of lessons learned.
    learned: u64,
    /// The latest lessons, newest first.
    lessons: Vec<Lesson>,
    /// Judges whose last request failed.
    paused_judges: Vec<PausedJudge>,
    /// Copies of damaged queues.
    damaged_copy: Vec<PathBuf>,
    /// Errors of hooks and workers, oldest first.
    hook_errors: Vec<HookError>,
    /// Requests to the Messages API and their cost. Runs of `--judge claude` are counted as runs.
    spent: Spent,
    #[serde(skip)]
    now: Moment,
}

/// A queued or failed transcript.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Queued {
    /// Directory whose playbook learns.
    project: PathBuf,
    /// Path of the transcript.
    transcript: PathBuf,
    /// Cause of the entry: `SessionEnd`, `PreCompact`, `SubagentStop`, `run`, or `manual` if a person
    /// requested it.
    event: String,
    /// When it was queued.
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Rfc3339"))]
    queued_at: String,
    /// The judge.
    judge: String,
    /// API that may receive the transcript.
    destination: String,
    /// Number of failed attempts to judge it.
    tries: u32,
    /// When it is due. `None` if it is due now.
    #[cfg_attr(test, schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    due_at: Option<String>,
    /// Why the last attempt failed.
    reason: Option<String>,
}

/// A slice of a transcript that is being judged.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Judging {
    /// Path of the transcript.
    transcript: PathBuf,
    /// Offset of the slice, in bytes.
    start: u64,
    /// End of the slice, in bytes.
    end: u64,
    /// Progress: `started`, `reflected` or `curated`.
    state: String,
    /// When judging started.
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Rfc3339"))]
    since: String,
}

/// A slice of a session that was learned from.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Lesson {
    /// Directory whose playbook learned.
    project: PathBuf,
    /// Path of the transcript.
    transcript: PathBuf,
    /// When it was learned.
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Rfc3339"))]
    at: String,
    /// Result of the lesson.
    description: String,
    #[serde(skip)]
    learned_at: Moment,
}

/// A judge whose last request failed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PausedJudge {
    /// `api` or `claude`.
    judge: &'static str,
    /// API of the judge.
    destination: String,
    /// Number of consecutive failures.
    failures: u32,
    /// Whether a person must act first.
    needs_person: bool,
    /// Time of the next request. `None` if a person must act first.
    #[cfg_attr(test, schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    retry_at: Option<String>,
    /// Reason of the last failure.
    reason: String,
    #[serde(skip)]
    until: Moment,
}

/// Usage of the judge.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Spent {
    /// Number of answers.
    answers: u64,
    /// Cost according to the bundled prices.
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Dollars"))]
    estimated_cost_usd: f64,
    /// Whether some usage has no known price. The cost is then a lower bound.
    unpriced: bool,
    /// Input tokens that were not read from a cache.
    input_tokens: u64,
    /// Output tokens.
    output_tokens: u64,
}

/// Runs the command and returns its exit code.
pub fn status(global: &GlobalArgs, args: &PlaybookStatusArgs) -> Result<u8, Failure> {
    let paths = LearningPaths::in_home(open_home::locate()?.path());
    let learning = LearningDb::open_existing(&paths)?;
    let (queue_status, judge_costs) = match &learning {
        Some(learning) => (learning.status(args.lessons)?, learning.judge_costs(Moment(0))?),
        None => (QueueStatus::default(), Vec::new()),
    };
    let status = LearningStatus::new(&paths, queue_status, &judge_costs);
    match output::format(global) {
        OutputFormat::Text => page(global, &text(&status)),
        OutputFormat::Json | OutputFormat::StreamJson => output::print_json(&status),
    }
    Ok(0)
}

impl LearningStatus {
    fn new(paths: &LearningPaths, queue_status: QueueStatus, judge_costs: &[JudgeCost]) -> LearningStatus {
        let now = output::now();
        let QueueStatus { waiting, failed, done, in_progress, lessons, learned, paused_judges } =
            queue_status;
        let queued =
            |entries: Vec<QueueEntry>| entries.into_iter().map(|entry| Queued::new(entry, now)).collect();
        LearningStatus {
            worker: WorkerLock::is_any_held(paths),
            installed_in: settings::installed(),
            waiting: queued(waiting),
            failed: queued(failed),
            done,
            in_progress: in_progress
                .into_iter()
                .map(|judging| Judging {
                    transcript: judging.transcript,
                    start: judging.start,
                    end: judging.end,
                    state: judging.state,
                    since: rfc3339(judging.since),
                })
                .collect(),
            learned,
            lessons: lessons
                .into_iter()
                .map(|lesson| Lesson {
                    project: lesson.project,
                    transcript: lesson.transcript,
                    at: rfc3339(lesson.at),
                    description: lesson.description,
                    learned_at: lesson.at,
                })
                .collect(),
            paused_judges: paused_judges
                .into_iter()
                .map(|(judge, destination, backoff)| PausedJudge::new(judge, destination, backoff))
                .collect(),
            damaged_copy: LearningDb::damaged_copies(paths),
            hook_errors: logged_errors(paths),
            spent: Spent::new(judge_costs),
            now,
        }
    }
}

impl Queued {
    fn new(entry: QueueEntry, now: Moment) -> Queued {
        Queued {
            project: entry.project,
            transcript: entry.transcript,
            event: entry.event,
            queued_at: rfc3339(entry.at),
            judge: entry.judge,
            destination: entry.destination,
            tries: entry.tries,
            due_at: (entry.not_before > now).then(|| rfc3339(entry.not_before)),
            reason: entry.reason,
        }
    }
}

impl PausedJudge {
    fn new(judge: JudgeKind, destination: String, backoff: JudgeBackoff) -> PausedJudge {
        let JudgeBackoff { failures, not_before, needs_person, reason } = backoff;
        PausedJudge {
            judge: judge.as_str(),
            destination,
            failures,
            needs_person,
            retry_at: (!needs_person).then(|| rfc3339(not_before)),
            reason,
            until: not_before,
        }
    }
}

impl Spent {
    fn new(paid: &[JudgeCost]) -> Spent {
        let tokens = paid.iter().fold(Tokens::default(), |sum, paid| sum + paid.tokens);
        Spent {
            answers: paid.len() as u64,
            estimated_cost_usd: paid.iter().filter_map(|paid| paid.cost).sum::<Usd>().as_dollars(),
            unpriced: paid.iter().any(|paid| paid.cost.is_none()),
            input_tokens: tokens.input,
            output_tokens: tokens.output,
        }
    }
}

fn text(status: &LearningStatus) -> String {
    let mut lines = Vec::new();
    let worker = if status.worker { "a worker is running" } else { "no worker running" };
    lines.push(format!(
        "{} waiting, {} failed, {} done; {worker}",
        counted(status.waiting.len() as u64, "transcript"),
        status.failed.len(),
        status.done
    ));
    let installed: Vec<_> = status.installed_in.iter().map(|file| file.display().to_string()).collect();
    lines.push(match installed.as_slice() {
        [] => "hooks not installed: longhaul playbook install".to_owned(),
        files => format!("hooks installed in {}", files.join(", ")),
    });
    for judge in &status.paused_judges {
        let next = if judge.needs_person {
            let learn = command(JudgeKind::parse(judge.judge).unwrap_or(JudgeKind::Api));
            format!("learning is paused until this is fixed; then run `{learn}`")
        } else {
            format!("asked again from {}", future_time(judge.until))
        };
        lines.push(format!("the judge at {} did not answer: {}; {next}", judge.destination, judge.reason));
    }
    for judging in &status.in_progress {
        let length = bytes(judging.end.saturating_sub(judging.start));
        lines.push(format!("judging {} of {}: {}", length, judging.transcript.display(), judging.state));
    }
    let reason = |queued: &Queued| {
        let reason = queued.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("  {} ({}){reason}", queued.transcript.display(), queued.event)
    };
    if !status.waiting.is_empty() {
        lines.push("waiting:".to_owned());
        lines.extend(status.waiting.iter().map(reason));
    }
    for judge in JudgeKind::ALL {
        let is_for_judge =
            |queued: &&Queued| JudgeKind::parse(&queued.judge).unwrap_or(JudgeKind::Api) == *judge;
        let mut failed = status.failed.iter().filter(is_for_judge).peekable();
        if failed.peek().is_some() {
            lines.push(format!("failed; retry with `{} --retry-failed`:", command(*judge)));
            lines.extend(failed.map(reason));
        }
    }
    if !status.lessons.is_empty() {
        lines.push(format!("{} learned, most recent:", counted(status.learned, "lesson")));
        lines.extend(status.lessons.iter().map(|lesson| {
            format!(
                "  {}, {}: {}",
                ago(lesson.learned_at, status.now),
                lesson.project.display(),
                lesson.description
            )
        }));
    }
    let first = status.hook_errors.len().saturating_sub(ERRORS_MAX);
    if !status.hook_errors.is_empty() {
        lines.push(format!("{}, most recent:", counted(status.hook_errors.len() as u64, "error")));
        lines.extend(
            status.hook_errors[first..]
                .iter()
                .map(|error| format!("  {} {}: {}", error.at, error.event, error.description)),
        );
    }
    for path in &status.damaged_copy {
        lines.push(format!("a damaged queue is kept as {}", path.display()));
    }
    if status.spent.answers > 0 {
        let Spent { answers, estimated_cost_usd, unpriced, input_tokens, output_tokens } = status.spent;
        let at_least = if unpriced { "at least " } else { "" };
        let cost = Usd::from_dollars(estimated_cost_usd).unwrap_or_default();
        lines.push(format!(
            "{}: {at_least}{} (estimated), {} tokens in and {} out",
            counted(answers, "answer"),
            money(cost),
            short_count(input_tokens),
            short_count(output_tokens)
        ));
    }
    lines.join("\n") + "\n"
}

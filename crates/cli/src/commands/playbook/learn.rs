//! `longhaul playbook learn`: learns from queued or named transcripts.
//!
//! An interrupted command continues where it stopped.

pub(super) mod judge;
pub(super) mod progress;

use super::project;
use super::transcript::read_transcript;
use crate::api_judge::SystemClock;
use crate::args::GlobalArgs;
use crate::args::playbook::LearnArgs;
use crate::commands::detach;
use crate::failure::{Failure, OrFailure, code};
use crate::output::phrases::counted;
use crate::output::time::future_time;
use crate::run_learning::destination;
use crate::{open_home, output, runtime, signals};
use longhaul_core::{CancelSource, Moment, OutcomeKind, Rfc3339, Span};
use longhaul_playbook::database::{JudgeKind, NextItem, QueueEntry, QueueStatus, Queued, QueuedEvent};
use longhaul_playbook::worker::{LearnRules, Worker, WorkerEvent, WorkerReport};
use longhaul_playbook::{LearningDb, LearningPaths};
use longhaul_store::DatabaseError;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

// How often to check whether another worker has finished.
const POLL_INTERVAL: Span = Span::from_secs(1);

/// Output of the command.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LearnOutput {
    /// Number of judged parts of transcripts.
    learned: u64,
    /// Transcripts that failed. They are kept for `--retry-failed`.
    failed: Vec<QueueEntry>,
    /// Number of transcripts still queued for this judge.
    waiting: u64,
    /// When the next of them is due. `None` if none is due, or if a person must act first.
    due_at: Option<Rfc3339>,
    /// Change that a person must make before learning can continue.
    needs_person: Option<String>,
    /// Number of transcripts queued for another judge or another API.
    for_other_judges: u64,
    /// The requested judge, and the number of transcripts above that are for another judge.
    #[serde(skip)]
    judge: (JudgeKind, u64),
}

pub(super) struct WorkerTarget {
    pub home: LearningPaths,
    pub kind: JudgeKind,
    pub destination: String,
}

pub fn learn(global: &GlobalArgs, args: &LearnArgs) -> Result<u8, Failure> {
    if args.worker {
        output::set_quiet();
        detach::leave_terminal();
    }
    let transcripts = args.transcripts.iter().map(|path| readable(path)).collect::<Result<Vec<_>, _>>()?;
    let paths = LearningPaths::in_home(open_home::open()?.path());
    let learned = learn_here(&paths, global, args, transcripts);
    if let Err(failure) = &learned
        && args.worker
    {
        progress::log_failure(&paths, failure);
    }
    learned
}

fn learn_here(
    paths: &LearningPaths,
    global: &GlobalArgs,
    args: &LearnArgs,
    transcripts: Vec<PathBuf>,
) -> Result<u8, Failure> {
    let target = WorkerTarget { home: paths.clone(), kind: args.judge, destination: destination() };
    let mut learning = project::warn_if_damaged(LearningDb::replace_if_damaged(&target.home)?);
    let project = PathBuf::from(project::file(&args.project)?.project());
    for transcript in transcripts {
        learning.enqueue(output::now(), &target.queued(&project, transcript))?;
    }
    if args.retry_failed {
        learning.retry_failed(target.kind, &target.destination)?;
    }
    if !args.worker {
        learning.make_due(target.kind, &target.destination)?;
    }
    let before = learning.status(output::now(), 0)?;
    drop(learning);
    // A cancellation drops the work in progress and cancels a run of the judge.
    let (report, cancelled) =
        match runtime::new()?.block_on(signals::until_cancelled(target.work(args.worker)))? {
            Ok(report) => (report?, None),
            Err(source) => {
                output::print_status("cancelled; the queue is kept; run it again to continue");
                (WorkerReport::default(), Some(source))
            }
        };
    let code = if args.worker { 0 } else { target.print_result(global, &before, report)? };
    Ok(cancelled.map_or(code, CancelSource::exit_code))
}

/// Returns the absolute path of a file, if it is a transcript. Another file would fail in the queue, and stay there.
fn readable(path: &Path) -> Result<PathBuf, Failure> {
    read_transcript(path)?;
    fs::canonicalize(path).or_usage(format!("cannot read {}", path.display()), "check the path")
}

impl WorkerTarget {
    pub(super) fn queued(&self, project: &Path, transcript: PathBuf) -> Queued {
        Queued {
            project: project.to_owned(),
            session: None,
            transcript,
            event: QueuedEvent::Manual,
            reason: None,
            judge: self.kind,
            destination: self.destination.clone(),
        }
    }

    async fn work(&self, is_worker: bool) -> Result<WorkerReport, DatabaseError> {
        let clock = Arc::new(SystemClock::new());
        let judge = judge::create(self.kind, &self.home, &clock);
        let rules = learn_rules();
        let on_event = |event: WorkerEvent<'_>| {
            if is_worker {
                progress::log_event(&self.home, event);
            }
            progress::print_event(self.kind, event);
        };
        let worker = Worker {
            paths: &self.home,
            judge: &*judge,
            kind: self.kind,
            destination: &self.destination,
            transcript: None,
            rules: &rules,
            clock: &*clock,
            linger: is_worker,
            on_event: &on_event,
        };
        if is_worker { worker.work().await } else { work_or_wait(&worker).await }
    }

    /// Prints the result according to the database, because another worker may have done the work.
    fn print_result(
        &self,
        global: &GlobalArgs,
        before: &QueueStatus,
        report: WorkerReport,
    ) -> Result<u8, Failure> {
        let learning = LearningDb::open(&self.home)?;
        let after = learning.status(output::now(), 0)?;
        let next = learning.next(self.kind, &self.destination, None, Moment(0))?;
        let due = match next {
            NextItem::Waits(at) if report.needs_person.is_none() => Some(at),
            NextItem::Due(_) if report.needs_person.is_none() => Some(output::now()),
            NextItem::Waits(_) | NextItem::Due(_) | NextItem::Nothing => None,
        };
        let (this_judge, others): (Vec<_>, Vec<_>) = after
            .waiting
            .iter()
            .partition(|entry| entry.judge == self.kind && entry.destination == self.destination);
        let is_new = |id: i64| before.failed.iter().all(|entry| entry.id != id);
        let failed = after.failed.into_iter().filter(|entry| is_new(entry.id));
        let learned = LearnOutput {
            learned: after.learned.saturating_sub(before.learned),
            failed: failed.collect(),
            waiting: this_judge.len() as u64,
            due_at: due.map(Rfc3339),
            needs_person: report.needs_person,
            for_other_judges: others.len() as u64,
            judge: (self.kind, others.iter().filter(|entry| entry.judge != self.kind).count() as u64),
        };
        output::print_output(global, &learned, || text(&learned, due));
        let outcome = if learned.needs_person.is_some() {
            OutcomeKind::NeedsPerson
        } else if learned.waiting > 0 {
            OutcomeKind::RetryLater
        } else if !learned.failed.is_empty() {
            OutcomeKind::Failed
        } else {
            OutcomeKind::Done
        };
        Ok(code(outcome))
    }
}

/// Works, or waits for the worker that does. Reports when the next item is due, even if another worker did
/// the work.
pub(super) async fn work_or_wait(worker: &Worker<'_>) -> Result<WorkerReport, DatabaseError> {
    let mut has_printed = false;
    loop {
        let report = worker.work().await?;
        if !report.other_worker_active {
            return Ok(report);
        }
        let now = worker.clock.now().at;
        match worker.next(&LearningDb::open(worker.paths)?, now)? {
            NextItem::Due(_) => {}
            NextItem::Waits(until) => return Ok(WorkerReport { due_at: Some(until), ..report }),
            NextItem::Nothing => return Ok(report),
        }
        if !has_printed {
            output::print_status("another worker is learning: waiting for it");
            has_printed = true;
        }
        worker.clock.sleep_until(now + POLL_INTERVAL).await;
    }
}

pub(super) fn learn_rules() -> LearnRules {
    let (threshold, warning) = project::similarity_threshold();
    if let Some(warning) = warning {
        output::print_warning(&warning, None);
    }
    LearnRules { templates: project::templates(), threshold }
}

fn text(learned: &LearnOutput, due: Option<Moment>) -> String {
    let mut text = match learned.learned {
        0 => "nothing new was judged\n".to_owned(),
        parts => format!("judged {} of transcripts\n", counted(parts, "part")),
    };
    if !learned.failed.is_empty() {
        let retry = command(learned.judge.0);
        text += &format!("{} failed; retry with `{retry} --retry-failed`:\n", learned.failed.len());
        for QueueEntry { transcript, reason, .. } in &learned.failed {
            text += &format!("  {}: {}\n", transcript.display(), reason.as_deref().unwrap_or_default());
        }
    }
    let due_text = due.map(|due| format!(", until {}", future_time(due))).unwrap_or_default();
    if learned.waiting > 0 {
        text += &format!("{} waiting{due_text}\n", counted(learned.waiting, "transcript"));
    }
    let (judge, of_other_judge) = learned.judge;
    for other in JudgeKind::ALL.iter().filter(|other| **other != judge && of_other_judge > 0) {
        let transcripts = counted(of_other_judge, "transcript");
        text += &format!("{transcripts} for another judge: `{}`\n", command(*other));
    }
    let of_other_api = learned.for_other_judges - of_other_judge;
    if of_other_api > 0 {
        let transcripts = counted(of_other_api, "transcript");
        text += &format!("{transcripts} for another API: see `longhaul playbook status`\n");
    }
    text
}

pub(super) fn command(judge: JudgeKind) -> &'static str {
    match judge {
        JudgeKind::Api => "longhaul playbook learn",
        JudgeKind::Claude => "longhaul playbook learn --judge claude",
    }
}

#[cfg(test)]
mod tests {
    use super::{JudgeKind, LearnOutput, Moment, QueueEntry, text};
    use expect_test::expect;

    #[test]
    fn suggested_commands_name_requested_judge() {
        let output = |judge: JudgeKind| LearnOutput {
            learned: 0,
            failed: vec![QueueEntry {
                id: 1,
                project: "/p".into(),
                transcript: "/t".into(),
                event: "manual".to_owned(),
                queued_at: Moment(0),
                judge,
                destination: String::new(),
                tries: 1,
                due_at: None,
                reason: Some("it".to_owned()),
            }],
            waiting: 0,
            due_at: None,
            needs_person: None,
            for_other_judges: 3,
            judge: (judge, 2),
        };
        let texts = JudgeKind::ALL.iter().map(|judge| text(&output(*judge), None)).collect::<String>();
        expect![[r#"
            nothing new was judged
            1 failed; retry with `longhaul playbook learn --retry-failed`:
              /t: it
            2 transcripts for another judge: `longhaul playbook learn --judge claude`
            1 transcript for another API: see `longhaul playbook status`
            nothing new was judged
            1 failed; retry with `longhaul playbook learn --judge claude --retry-failed`:
              /t: it
            2 transcripts for another judge: `longhaul playbook learn`
            1 transcript for another API: see `longhaul playbook status`
        "#]]
        .assert_eq(&texts);
    }
}

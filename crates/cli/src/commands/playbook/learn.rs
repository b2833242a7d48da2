//! `longhaul playbook learn`: learns from what is queued, or from transcripts that are named. Whatever ends it, the next one
//! goes on where it was.

pub(super) mod judge;
pub(super) mod progress;

use super::project;
use crate::api_judge::SystemClock;
use crate::args::playbook::LearnArgs;
use crate::args::{GlobalArgs, OutputFormat};
use crate::commands::detach;
use crate::failure::Failure;
use crate::output::phrases::counted;
use crate::output::time::coming;
use crate::run_learning::destination;
use crate::{open_home, output, runtime, signals};
use longhaul_core::{CancelSource, Fault, Moment, Outcome, OutcomeKind, Span};
use longhaul_playbook::database::{JudgeKind, LearningError, NextItem, QueueStatus, Queued, QueuedEvent};
use longhaul_playbook::points::WordOverlap;
use longhaul_playbook::worker::{LearnSteps, Worker, WorkerEvent, WorkerReport};
use longhaul_playbook::{LearningDb, LearningPaths};
use longhaul_store::rfc3339;
use progress::Progress;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;

// How often it is looked whether another worker has come to its end.
const LOOK_EVERY: Span = Span::from_secs(1);

/// What is printed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LearnOutput {
    /// How many parts of sessions were learnt from.
    learned: u64,
    /// What failed, and is kept for `--failed`.
    failed: Vec<Failed>,
    /// How many transcripts are still queued for this judge.
    waiting: u64,
    /// When the next of them is due; nothing if none is, or a person must do something first.
    #[cfg_attr(test, schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    due_at: Option<String>,
    /// What a person must change before anything is learnt; else nothing.
    needs_person: Option<String>,
    /// How many are queued for another judge or another API.
    for_other_judges: u64,
    /// The judge that was asked, and how many of these are for the other one.
    #[serde(skip)]
    judge: (JudgeKind, u64),
}

/// What failed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Failed {
    /// The transcript.
    transcript: PathBuf,
    /// The directory whose playbook was to learn.
    project: PathBuf,
    /// Why.
    reason: Option<String>,
}

/// All that a worker of this process needs to know of itself.
struct WorkerTarget {
    project: LearningPaths,
    kind: JudgeKind,
    destination: String,
}

/// Carries out the command and returns its exit code.
pub fn learn(global: &GlobalArgs, args: &LearnArgs) -> Result<u8, Failure> {
    if args.worker {
        detach::leave_terminal();
    }
    let transcripts = args.transcripts.iter().map(|path| readable(path)).collect::<Result<Vec<_>, _>>()?;
    let place = LearningPaths::in_home(open_home::open()?.path());
    let learned = learn_here(&place, global, args, transcripts);
    if let Err(failure) = &learned
        && args.worker
    {
        progress::put_down_failure(&place, failure);
    }
    learned
}

fn learn_here(
    place: &LearningPaths,
    global: &GlobalArgs,
    args: &LearnArgs,
    transcripts: Vec<PathBuf>,
) -> Result<u8, Failure> {
    let here = WorkerTarget { project: place.clone(), kind: args.judge.into(), destination: destination() };
    let mut learning = LearningDb::open(&here.project).map_err(|error| failure(&error))?;
    if let Some(path) = learning.set_aside() {
        progress::say_set_aside(path);
    }
    let project = PathBuf::from(project::file(&args.project)?.project());
    for transcript in transcripts {
        learning
            .enqueue(output::now(), &here.queued(&project, transcript))
            .map_err(|error| failure(&error))?;
    }
    if args.retry_failed {
        let again = learning.try_failed_again(here.kind, &here.destination);
        again.map_err(|error| failure(&error))?;
    }
    if !args.worker {
        let now = learning.make_due(here.kind, &here.destination);
        now.map_err(|error| failure(&error))?;
    }
    let before = learning.standing(0).map_err(|error| failure(&error))?;
    drop(learning);
    let worked = runtime::new()?.block_on(here.work_until_cancelled(global, args.worker))?;
    let (worked, cancelled) = match worked {
        Ok(worked) => (worked, None),
        Err(by) => (WorkerReport::default(), Some(by)),
    };
    let code = if args.worker { 0 } else { here.tell(global, &before, worked)? };
    Ok(cancelled.map_or(code, CancelSource::exit_code))
}

/// A transcript that can be read, by a name that holds everywhere.
fn readable(path: &Path) -> Result<PathBuf, Failure> {
    let file = longhaul_store::open_regular(path).and_then(|file| file.metadata());
    let refused = |why: String| {
        let hint = "name a session file of Claude Code: ~/.claude/projects/*/*.jsonl";
        Failure::usage(format!("read {}: {why}", path.display()), hint)
    };
    match file {
        Ok(found) if found.is_file() => {
            fs::canonicalize(path).or_else(|_| absolute(path)).map_err(|error| refused(error.to_string()))
        }
        Ok(_) => Err(refused("it is no file".to_owned())),
        Err(error) => Err(refused(error.to_string())),
    }
}

impl WorkerTarget {
    fn queued(&self, project: &Path, transcript: PathBuf) -> Queued {
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

    /// Works, unless somebody wants the end: then what is under way is dropped, and a run that is asked something cancelled.
    async fn work_until_cancelled(
        &self,
        global: &GlobalArgs,
        is_worker: bool,
    ) -> Result<Result<WorkerReport, CancelSource>, Failure> {
        let mut cancels = signals::cancels()
            .map_err(|error| Failure::unexpected(format!("listen for signals: {error}")))?;
        tokio::select! {
            worked = self.work(global, is_worker) => worked.map(Ok).map_err(|error| failure(&error)),
            Some(by) = cancels.recv() => {
                if !(global.quiet || is_worker) {
                    output::print_status("cancelled; what is queued is kept, and running it again goes on");
                }
                Ok(Err(by))
            }
        }
    }

    /// Works, or waits for the worker that does.
    async fn work(&self, global: &GlobalArgs, is_worker: bool) -> Result<WorkerReport, LearningError> {
        let clock = Arc::new(SystemClock::new());
        let judge = judge::of(self.kind, &self.project, &clock);
        let lessons = lessons(&self.project, global);
        let progress = Progress { quiet: global.quiet || is_worker, kind: self.kind };
        let told = |happening: WorkerEvent<'_>| {
            if is_worker {
                progress::log_event(&self.project, happening);
            }
            progress.tell(happening);
        };
        let worker = Worker {
            paths: &self.project,
            judge: &*judge,
            kind: self.kind,
            destination: &self.destination,
            only: None,
            steps: &lessons,
            clock: &*clock,
            linger: is_worker,
            on_event: &told,
        };
        if is_worker { worker.work().await } else { work_or_wait(&worker, progress.quiet).await }
    }

    /// Says what came of it, by what the database knows: another worker may have done it.
    fn tell(&self, global: &GlobalArgs, before: &QueueStatus, worked: WorkerReport) -> Result<u8, Failure> {
        let learning = LearningDb::open(&self.project).map_err(|error| failure(&error))?;
        let after = learning.standing(0).map_err(|error| failure(&error))?;
        let next = learning.next(self.kind, &self.destination, Moment(0)).map_err(|error| failure(&error))?;
        let due = match next {
            NextItem::Waits(at) if worked.person.is_none() => Some(at),
            NextItem::Due(_) if worked.person.is_none() => Some(output::now()),
            NextItem::Waits(_) | NextItem::Due(_) | NextItem::Nothing => None,
        };
        let (own, others): (Vec<_>, Vec<_>) = after
            .waiting
            .iter()
            .partition(|entry| entry.judge == self.kind.as_str() && entry.destination == self.destination);
        let is_new = |id: i64| before.failed.iter().all(|entry| entry.id != id);
        let failed = after.failed.into_iter().filter(|entry| is_new(entry.id));
        let learned = LearnOutput {
            learned: after.learned.saturating_sub(before.learned),
            failed: failed
                .map(|entry| Failed {
                    transcript: entry.transcript,
                    project: entry.project,
                    reason: entry.reason,
                })
                .collect(),
            waiting: own.len() as u64,
            due_at: due.map(rfc3339),
            needs_person: worked.person,
            for_other_judges: others.len() as u64,
            judge: (
                self.kind,
                others.iter().filter(|entry| entry.judge != self.kind.as_str()).count() as u64,
            ),
        };
        match output::format(global) {
            OutputFormat::Text => output::print_text(&text(&learned, due)),
            OutputFormat::Json | OutputFormat::StreamJson => output::print_json(&learned),
        }
        let outcome = if learned.needs_person.is_some() {
            OutcomeKind::NeedsPerson
        } else if learned.waiting > 0 {
            OutcomeKind::RetryLater
        } else if !learned.failed.is_empty() {
            OutcomeKind::Failed
        } else {
            OutcomeKind::Done
        };
        Ok(Outcome { kind: outcome, ..Outcome::DONE }.exit_code())
    }
}

/// Works, or waits for the worker that does, and tells when what is left is due, whoever has worked.
pub(super) async fn work_or_wait(worker: &Worker<'_>, quiet: bool) -> Result<WorkerReport, LearningError> {
    let mut is_said = false;
    loop {
        let worked = worker.work().await?;
        if !worked.other_worker_active {
            return Ok(worked);
        }
        let now = worker.clock.now().at;
        match worker.next(&LearningDb::open(worker.paths)?, now)? {
            NextItem::Due(_) => {}
            NextItem::Waits(until) => return Ok(WorkerReport { waits: Some(until), ..worked }),
            NextItem::Nothing => return Ok(worked),
        }
        if !is_said && !quiet {
            output::print_status("another worker is learning: waiting for it");
            is_said = true;
        }
        worker.clock.sleep_until(now + LOOK_EVERY).await;
    }
}

/// What is asked, and what is made of the answers, as the user has it.
pub(super) fn lessons(home: &LearningPaths, global: &GlobalArgs) -> LearnSteps {
    let (threshold, odd) = project::similarity_threshold();
    if let Some(odd) = odd.filter(|_| !global.quiet) {
        output::print_warning(&odd, None);
    }
    LearnSteps {
        paths: home.clone(),
        templates: project::templates(),
        similarity: Box::new(WordOverlap),
        threshold,
    }
}

fn text(learned: &LearnOutput, due: Option<Moment>) -> String {
    let mut text = match learned.learned {
        0 => "nothing new was learnt\n".to_owned(),
        lessons => format!("{} learnt\n", counted(lessons, "lesson")),
    };
    if !learned.failed.is_empty() {
        let again = command(learned.judge.0);
        text += &format!("{} failed; `{again} --failed` tries again:\n", learned.failed.len());
        for Failed { transcript, reason: why, .. } in &learned.failed {
            text += &format!("  {}: {}\n", transcript.display(), why.as_deref().unwrap_or_default());
        }
    }
    let when = due.map(|due| format!(", until {}", coming(due))).unwrap_or_default();
    if learned.waiting > 0 {
        text += &format!("{} waiting{when}\n", counted(learned.waiting, "transcript"));
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

/// The command that learns by this judge.
pub(super) fn command(judge: JudgeKind) -> &'static str {
    match judge {
        JudgeKind::Api => "longhaul playbook learn",
        JudgeKind::Claude => "longhaul playbook learn --judge claude",
    }
}

/// What is wrong with the database.
pub fn failure(error: &LearningError) -> Failure {
    let fault = None::<Fault>;
    Failure::not_started(error.to_string(), error.hint(), fault)
}

#[cfg(test)]
mod tests {
    use super::{Failed, JudgeKind, LearnOutput, text};
    use expect_test::expect;

    #[test]
    fn what_is_to_be_typed_is_for_the_judge_that_was_asked() {
        let learnt = |judge: JudgeKind| LearnOutput {
            learned: 0,
            failed: vec![Failed {
                transcript: "/t".into(),
                project: "/p".into(),
                reason: Some("it".to_owned()),
            }],
            waiting: 0,
            due_at: None,
            needs_person: None,
            for_other_judges: 3,
            judge: (judge, 2),
        };
        let told = JudgeKind::ALL.iter().map(|judge| text(&learnt(*judge), None)).collect::<String>();
        expect![[r#"
            nothing new was learnt
            1 failed; `longhaul playbook learn --failed` tries again:
              /t: it
            2 transcripts for another judge: `longhaul playbook learn --judge claude`
            1 transcript for another API: see `longhaul playbook status`
            nothing new was learnt
            1 failed; `longhaul playbook learn --judge claude --failed` tries again:
              /t: it
            2 transcripts for another judge: `longhaul playbook learn`
            1 transcript for another API: see `longhaul playbook status`
        "#]]
        .assert_eq(&told);
    }
}

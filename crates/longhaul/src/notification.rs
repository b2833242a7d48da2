//! What the commands of `--notify` are told: one JSON object on their standard input. Keys are only ever added. It holds
//! closed words, figures, and the beginning of the task; no agent's prose.

use crate::RunReport;
use crate::channel::Message;
use longhaul_core::{Fault, Limit, Moment, OutcomeKind, Phase, Run, RunId, Span};
use longhaul_store::rfc3339;
use serde::Serialize;
use std::path::{Path, PathBuf};

// A shorter wait is over before somebody who is told of it has looked.
const LONG_WAIT: Span = Span::from_mins(15);
// By the first sentences a person knows which one it is.
const TASK_CHARS_MAX: usize = 200;

/// What it is that is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NotificationKind {
    /// The run is over.
    Outcome,
    /// The same, and only a person can go on with it.
    NeedsPerson,
    /// It begins to wait for more than a quarter of an hour.
    Waiting,
}

impl NotificationKind {
    /// The wire word.
    pub fn as_str(self) -> &'static str {
        match self {
            NotificationKind::Outcome => "outcome",
            NotificationKind::NeedsPerson => "needs_person",
            NotificationKind::Waiting => "waiting",
        }
    }
}

/// Something to be told.
pub(crate) struct Notification {
    /// What it is called in the run's directory: the same whoever supervises the run.
    pub(crate) name: String,
    pub(crate) kind: NotificationKind,
    body: NotificationBody,
}

/// A command that was not told something, or that failed.
#[derive(Clone, Debug)]
pub struct NotifyFailure {
    /// The command.
    pub command: String,
    /// What it was to be told.
    pub kind: NotificationKind,
    /// What came of that, in words.
    pub reason: String,
    /// What it said.
    pub log: PathBuf,
}

/// What a command reads. Money is in US dollars, times are in UTC.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NotificationBody {
    /// What it is that is told.
    kind: NotificationKind,
    /// The run's id.
    run: RunId,
    /// When the run ended, or began to wait.
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Rfc3339"))]
    at: String,
    /// How it ended; nothing while it waits.
    outcome: Option<OutcomeKind>,
    /// The same as a number.
    exit_code: Option<u8>,
    /// What decided that, or what it waits out.
    fault: Option<Fault>,
    /// The limit that ended it.
    limit: Option<Limit>,
    /// When it goes on by itself; of an outcome, when trying again makes sense.
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    until: Option<String>,
    /// How many attempts there were.
    attempts: u32,
    /// What the run cost so far, estimates included.
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Dollars"))]
    total_cost_usd: f64,
    /// The beginning of the prompt.
    task: String,
    /// The run's directory.
    dir: String,
    /// A command that makes sense now.
    next: String,
}

impl Notification {
    /// How a run ended that was to do `task`.
    pub(crate) fn for_outcome(report: &RunReport, run: &Run, task: &str) -> Notification {
        let outcome = report.outcome;
        let kind = match outcome.kind {
            OutcomeKind::NeedsPerson => NotificationKind::NeedsPerson,
            OutcomeKind::Done
            | OutcomeKind::Failed
            | OutcomeKind::OverBudget
            | OutcomeKind::OutOfTime
            | OutcomeKind::CheckFailed
            | OutcomeKind::NotStarted
            | OutcomeKind::Incomplete
            | OutcomeKind::Bug
            | OutcomeKind::RetryLater
            | OutcomeKind::Cancelled
            | OutcomeKind::Suspended => NotificationKind::Outcome,
        };
        let next = report.resume_command().unwrap_or_else(|| format!("longhaul show {}", report.run));
        let told = NotificationBody {
            outcome: Some(outcome.kind),
            exit_code: Some(outcome.exit_code()),
            fault: outcome.fault,
            limit: outcome.limit,
            until: outcome.retry_at.map(rfc3339),
            ..NotificationBody::new(kind, (&report.run, &report.dir), (run, report.finished_at), task, next)
        };
        // Each end of a run that is resumed is an end of its own.
        Notification { name: format!("outcome-{}", run.state().reopen_count), kind, body: told }
    }

    /// The wait that the run is in by `at`, if it is a long one.
    pub(crate) fn for_wait(dir: (&RunId, &Path), run: &Run, at: Moment, task: &str) -> Option<Notification> {
        let Phase::Waiting { since, until, plan } = &run.state().phase else { return None };
        if until.since(*since) <= LONG_WAIT {
            return None;
        }
        let (kind, next) = (NotificationKind::Waiting, format!("longhaul attach {}", dir.0));
        let told = NotificationBody {
            fault: run.state().fault,
            until: Some(rfc3339(*until)),
            ..NotificationBody::new(kind, dir, (run, at), task, next)
        };
        Some(Notification { name: format!("wait-{}", plan.attempt), kind, body: told })
    }

    /// The text for people, about a run in this project.
    pub(crate) fn message(&self, project: &str) -> Message {
        let NotificationBody { kind, run, outcome, fault, until, attempts, total_cost_usd, next, .. } =
            &self.body;
        let state = match (outcome, until) {
            (Some(outcome), _) => outcome.as_str().to_owned(),
            (None, Some(until)) => format!("waiting until {until}"),
            (None, None) => "waiting".to_owned(),
        };
        let fault = fault.map(|fault| format!(" ({})", fault.word())).unwrap_or_default();
        let attempts = if *attempts == 1 { "1 attempt".to_owned() } else { format!("{attempts} attempts") };
        Message {
            title: format!("run {run}: {state}{fault}"),
            body: format!("{project}: {attempts}, ${total_cost_usd:.2}\nNext: {next}"),
            urgent: *kind == NotificationKind::NeedsPerson,
        }
    }

    /// The object, in one line.
    pub(crate) fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(&self.body).expect("it has only string keys");
        line.push(b'\n');
        line
    }
}

impl NotificationBody {
    fn new(
        kind: NotificationKind,
        (id, dir): (&RunId, &Path),
        (run, at): (&Run, Moment),
        task: &str,
        next: String,
    ) -> NotificationBody {
        let usage = run.state().usage;
        NotificationBody {
            kind,
            run: id.clone(),
            at: rfc3339(at),
            outcome: None,
            exit_code: None,
            fault: None,
            limit: None,
            until: None,
            attempts: run.state().attempts(),
            total_cost_usd: (usage.reported_cost + usage.estimated_cost).as_dollars(),
            task: beginning(task),
            dir: dir.display().to_string(),
            next,
        }
    }
}

fn beginning(task: &str) -> String {
    let task = task.trim();
    match task.char_indices().nth(TASK_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &task[..end]),
        None => task.to_owned(),
    }
}

#[cfg(test)]
mod tests;

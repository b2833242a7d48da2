//! Notifications: one JSON object on the standard input of each `--notify` command. Keys are only ever added.
//! The object contains wire words, numbers and the start of the task, but no text of the agent.

use crate::RunReport;
use longhaul_core::{
    AfterWait, Dollars, Fault, Limit, Moment, OutcomeKind, Phase, Rfc3339, Run, RunId, Span,
};
use serde::Serialize;
use std::path::{Path, PathBuf};

// A shorter wait ends before a person would react to the notification.
const LONG_WAIT: Span = Span::from_mins(15);
// The first sentences are enough to recognize a task.
const TASK_CHARS_MAX: usize = 200;

/// The kind of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NotificationKind {
    /// The run finished.
    Outcome,
    /// The run finished, and only a person can continue it.
    NeedsPerson,
    /// The run starts to wait for more than a quarter of an hour.
    Waiting,
}

impl NotificationKind {
    /// Returns the wire word.
    pub fn as_str(self) -> &'static str {
        match self {
            NotificationKind::Outcome => "outcome",
            NotificationKind::NeedsPerson => "needs_person",
            NotificationKind::Waiting => "waiting",
        }
    }
}

/// A notification to send.
pub(crate) struct Notification {
    /// Name in the run's directory. It does not depend on the supervisor.
    pub(crate) name: String,
    pub(crate) kind: NotificationKind,
    body: NotificationBody,
}

/// A notification for people. It contains no text of the task or of the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) title: String,
    pub(crate) body: String,
    /// Whether a person must act.
    pub(crate) is_urgent: bool,
}

/// A notification command that could not be started, or that failed.
#[derive(Clone, Debug)]
pub struct NotifyFailure {
    /// The command.
    pub command: String,
    /// Kind of the notification.
    pub kind: NotificationKind,
    /// Cause of the failure, for people.
    pub reason: String,
    /// File with the command's output.
    pub log: PathBuf,
}

/// The JSON object that a command reads. Amounts are in US dollars, times in UTC.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NotificationBody {
    /// Kind of the notification.
    kind: NotificationKind,
    /// The run's id.
    run: RunId,
    /// When the run finished or started to wait.
    at: Rfc3339,
    /// How the run finished. `None` while it waits.
    outcome: Option<OutcomeKind>,
    /// Exit code of the outcome.
    exit_code: Option<u8>,
    /// Fault that led to the outcome or the wait.
    fault: Option<Fault>,
    /// Limit that ended the run.
    limit: Option<Limit>,
    /// When the wait ends. For an outcome, when a retry makes sense.
    until: Option<Rfc3339>,
    /// Number of attempts.
    attempts: u32,
    /// Cost of the run so far, including estimates.
    total_cost_usd: Dollars,
    /// Start of the prompt.
    task: String,
    /// The run's directory.
    dir: String,
    /// Command that continues, follows or shows the run. `longhaul` always names one.
    next: Option<String>,
}

impl Notification {
    /// Creates the notification of a run's outcome.
    pub(crate) fn for_outcome(
        report: &RunReport,
        run: &Run,
        task: &str,
        next: Option<String>,
    ) -> Notification {
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
            | OutcomeKind::Partial
            | OutcomeKind::Bug
            | OutcomeKind::RetryLater
            | OutcomeKind::Cancelled
            | OutcomeKind::Suspended => NotificationKind::Outcome,
        };
        let body = NotificationBody {
            outcome: Some(outcome.kind),
            exit_code: Some(outcome.exit_code()),
            fault: outcome.fault,
            limit: outcome.limit,
            until: outcome.retry_at.map(Rfc3339),
            ..NotificationBody::new(kind, &report.run, &report.dir, run, report.finished_at, task, next)
        };
        // A resumed run sends a notification for each of its outcomes.
        Notification { name: format!("outcome-{}", run.state().reopen_count), kind, body }
    }

    /// Creates the notification of the current wait, or returns `None` if the run is not in a long wait.
    pub(crate) fn for_wait(
        id: &RunId,
        dir: &Path,
        run: &Run,
        at: Moment,
        task: &str,
        next: Option<String>,
    ) -> Option<Notification> {
        let Phase::Waiting { since, until, next: after_wait } = &run.state().phase else { return None };
        if until.since(*since) <= LONG_WAIT {
            return None;
        }
        let kind = NotificationKind::Waiting;
        let body = NotificationBody {
            fault: run.state().wait_fault(),
            until: Some(Rfc3339(*until)),
            ..NotificationBody::new(kind, id, dir, run, at, task, next)
        };
        let name = match after_wait {
            AfterWait::Attempt(plan) => format!("wait-{}", plan.attempt),
            AfterWait::Review(_) => format!("wait-review-{}", run.state().reviews),
        };
        Some(Notification { name, kind, body })
    }

    /// Returns the message for people. `project` is the name of the run's project.
    pub(crate) fn message(&self, project: &str) -> Message {
        let NotificationBody { kind, run, outcome, fault, until, attempts, total_cost_usd, next, .. } =
            &self.body;
        let state = match (outcome, until) {
            (Some(outcome), _) => outcome.as_str().to_owned(),
            (None, Some(until)) => format!("waiting until {until}"),
            (None, None) => "waiting".to_owned(),
        };
        let (fault, cost) =
            (fault.map(|fault| format!(" ({})", fault.as_str())), total_cost_usd.0.as_dollars());
        let fault = fault.unwrap_or_default();
        let attempts = if *attempts == 1 { "1 attempt".to_owned() } else { format!("{attempts} attempts") };
        let next = next.as_ref().map(|next| format!("\nNext: {next}")).unwrap_or_default();
        Message {
            title: format!("run {run}: {state}{fault}"),
            body: format!("{project}: {attempts}, ${cost:.2}{next}"),
            is_urgent: *kind == NotificationKind::NeedsPerson,
        }
    }

    /// Returns the JSON object as one line.
    pub(crate) fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(&self.body).expect("the object has only string keys");
        line.push(b'\n');
        line
    }
}

impl NotificationBody {
    fn new(
        kind: NotificationKind,
        id: &RunId,
        dir: &Path,
        run: &Run,
        at: Moment,
        task: &str,
        next: Option<String>,
    ) -> NotificationBody {
        NotificationBody {
            kind,
            run: id.clone(),
            at: at.into(),
            outcome: None,
            exit_code: None,
            fault: None,
            limit: None,
            until: None,
            attempts: run.state().attempts(),
            total_cost_usd: run.state().usage.total_cost().into(),
            task: shorten(task),
            dir: dir.display().to_string(),
            next,
        }
    }
}

fn shorten(task: &str) -> String {
    let task = task.trim();
    match task.char_indices().nth(TASK_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &task[..end]),
        None => task.to_owned(),
    }
}

#[cfg(test)]
mod tests;

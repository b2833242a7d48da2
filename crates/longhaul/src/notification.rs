//! Notifications: one JSON object on the standard input of each `--notify` command. Keys are only ever added.
//! The object contains wire words, numbers and the start of the task, but no text of the agent.

use crate::RunReport;
use longhaul_core::{
    AfterWait, Dollars, Fault, Limit, Moment, Outcome, OutcomeKind, Phase, Rfc3339, Run, RunId, Span,
};
use longhaul_store::{WorkflowDir, WorkflowStatus};
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
    /// The run's id. For a workflow, the workflow's id.
    run: RunId,
    /// Whether this is the notification of a workflow. Its runs do not send any.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    workflow: bool,
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
    /// Number of attempts. For a workflow, number of runs in the last iteration.
    attempts: u32,
    /// Cost of the run so far, including estimates.
    total_cost_usd: Dollars,
    /// Start of the prompt. For a workflow, its name or its file.
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
        let kind = kind_of(outcome.kind);
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

    /// Creates the notification of a workflow: of its outcome, or of a run that only a person can continue.
    pub(crate) fn for_workflow_outcome(
        workflow: WorkflowSubject<'_>,
        outcome: Outcome,
        next: Option<String>,
    ) -> Notification {
        let kind = kind_of(outcome.kind);
        let body = NotificationBody {
            outcome: Some(outcome.kind),
            exit_code: Some(outcome.exit_code()),
            fault: outcome.fault,
            limit: outcome.limit,
            until: outcome.retry_at.map(Rfc3339),
            ..NotificationBody::for_workflow(kind, workflow, next)
        };
        Notification { name: format!("outcome-{}", workflow.reopen_count), kind, body }
    }

    /// Creates the notification of a wait of a whole workflow, or returns `None` if it is not a long one.
    pub(crate) fn for_workflow_wait(
        workflow: WorkflowSubject<'_>,
        until: Moment,
        fault: Option<Fault>,
        next: Option<String>,
    ) -> Option<Notification> {
        if until.since(workflow.at) <= LONG_WAIT {
            return None;
        }
        let kind = NotificationKind::Waiting;
        let body = NotificationBody {
            fault,
            until: Some(Rfc3339(until)),
            ..NotificationBody::for_workflow(kind, workflow, next)
        };
        // The end of the wait is journaled, so another supervisor finds the same name.
        Some(Notification { name: format!("wait-{}", until.0), kind, body })
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
        let (subject, unit) = if self.body.workflow { ("workflow", "run") } else { ("run", "attempt") };
        let attempts = if *attempts == 1 { format!("1 {unit}") } else { format!("{attempts} {unit}s") };
        let next = next.as_ref().map(|next| format!("\nNext: {next}")).unwrap_or_default();
        Message {
            title: format!("{subject} {run}: {state}{fault}"),
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
    fn for_workflow(
        kind: NotificationKind,
        workflow: WorkflowSubject<'_>,
        next: Option<String>,
    ) -> NotificationBody {
        let WorkflowSubject { status, dir, task, at, .. } = workflow;
        let items = status.phases.iter().flat_map(|phase| &phase.items);
        NotificationBody {
            kind,
            run: dir.id().clone(),
            workflow: true,
            at: at.into(),
            outcome: None,
            exit_code: None,
            fault: None,
            limit: None,
            until: None,
            attempts: u32::try_from(items.filter(|item| item.run.is_some()).count()).unwrap_or(u32::MAX),
            total_cost_usd: status.total_cost_usd,
            task: shorten(task),
            dir: dir.path().display().to_string(),
            next,
        }
    }

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
            workflow: false,
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

/// A workflow that a notification is about.
#[derive(Clone, Copy)]
pub(crate) struct WorkflowSubject<'a> {
    pub(crate) status: &'a WorkflowStatus,
    pub(crate) dir: &'a WorkflowDir,
    /// Name or file of the workflow.
    pub(crate) task: &'a str,
    /// How often the finished workflow was resumed.
    pub(crate) reopen_count: usize,
    pub(crate) at: Moment,
}

fn kind_of(outcome: OutcomeKind) -> NotificationKind {
    match outcome {
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

//! Notifications: one JSON object on the standard input of each `--notify` command. Keys are only ever added.
//! The object contains wire words, numbers and the start of the task, but no text of the agent.

use crate::ChannelError;
use longhaul_core::{
    AfterWait, Dollars, Fault, Limit, Moment, Outcome, OutcomeKind, Phase, Rfc3339, Run, RunId, Span, shorten,
};
use longhaul_store::{RunDir, WorkflowDir, WorkflowStatus};
use serde::Serialize;
use std::fmt::Display;
use std::path::{Path, PathBuf};

// A shorter wait ends before a person would react to the notification.
const LONG_WAIT: Span = Span::from_mins(15);
// The first sentences are enough to recognize a task.
const TASK_CHARS_MAX: usize = 200;

longhaul_core::word_enum! {
    /// The kind of a notification.
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum NotificationKind {
        /// The run finished.
        Outcome = "outcome",
        /// The run finished, and only a person can continue it.
        NeedsPerson = "needs_person",
        /// The run starts to wait for more than a quarter of an hour.
        Waiting = "waiting",
    }
}

pub(crate) struct Notification {
    /// Name in the run's directory. It does not depend on the supervisor.
    pub(crate) name: String,
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
#[non_exhaustive]
pub struct NotifyFailure {
    /// The command.
    pub command: String,
    /// Kind of the notification.
    pub kind: NotificationKind,
    /// Cause of the failure, for people.
    pub reason: String,
    /// The reason why the channel cannot be used. `None` for any other cause.
    pub channel_error: Option<ChannelError>,
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
    /// Creates the notification of an outcome. A resumed run or workflow sends one for each of its outcomes.
    pub(crate) fn for_outcome(
        subject: NotificationBody,
        outcome: Outcome,
        reopen_count: impl Display,
    ) -> Notification {
        let needs_person = outcome.kind == OutcomeKind::NeedsPerson;
        let body = NotificationBody {
            kind: if needs_person { NotificationKind::NeedsPerson } else { NotificationKind::Outcome },
            outcome: Some(outcome.kind),
            exit_code: Some(outcome.exit_code()),
            fault: outcome.fault,
            limit: outcome.limit,
            until: outcome.retry_at.map(Rfc3339),
            ..subject
        };
        Notification { name: format!("outcome-{reopen_count}"), body }
    }

    /// Creates the notification of a run's current wait, or returns `None` if the run is not in a long wait.
    pub(crate) fn for_run_wait(subject: NotificationBody, run: &Run) -> Option<Notification> {
        let state = run.state();
        let Phase::Waiting { since, until, next } = &state.phase else { return None };
        let name = match next {
            AfterWait::Attempt(plan) => format!("wait-{}", plan.attempt),
            AfterWait::Review(_) => format!("wait-review-{}", state.reviews),
        };
        Notification::for_wait(subject, name, *since, *until, state.wait_fault())
    }

    /// Creates the notification of a wait, or returns `None` if it is not a long one.
    pub(crate) fn for_wait(
        subject: NotificationBody,
        name: String,
        since: Moment,
        until: Moment,
        fault: Option<Fault>,
    ) -> Option<Notification> {
        let body = NotificationBody { fault, until: Some(Rfc3339(until)), ..subject };
        (until.since(since) > LONG_WAIT).then_some(Notification { name, body })
    }

    pub(crate) fn kind(&self) -> NotificationKind {
        self.body.kind
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
        let fault = fault.map(|fault| format!(" ({})", fault.as_str())).unwrap_or_default();
        let (subject, unit) = if self.body.workflow { ("workflow", "run") } else { ("run", "attempt") };
        let cost = total_cost_usd.0;
        let attempts = if *attempts == 1 { format!("1 {unit}") } else { format!("{attempts} {unit}s") };
        let next = next.as_ref().map(|next| format!("\nNext: {next}")).unwrap_or_default();
        Message {
            title: format!("{subject} {run}: {state}{fault}"),
            body: format!("{project}: {attempts}, {cost}{next}"),
            is_urgent: *kind == NotificationKind::NeedsPerson,
        }
    }

    pub(crate) fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(&self.body).expect("the object has only string keys");
        line.push(b'\n');
        line
    }
}

impl NotificationBody {
    /// Creates the notification of a run, without its reason.
    pub(crate) fn of_run(
        dir: &RunDir,
        run: &Run,
        at: Moment,
        task: &str,
        next: Option<String>,
    ) -> NotificationBody {
        let (attempts, cost) = (run.state().attempts(), run.state().usage.total_cost());
        let body = NotificationBody::new(dir.id(), dir.path(), at, task, next);
        NotificationBody { attempts, total_cost_usd: cost.into(), ..body }
    }

    /// Creates the notification of a workflow, without its reason. `task` is its name or its file.
    pub(crate) fn of_workflow(
        dir: &WorkflowDir,
        status: &WorkflowStatus,
        at: Moment,
        task: &str,
        next: Option<String>,
    ) -> NotificationBody {
        let items = status.phases.iter().flat_map(|phase| &phase.items);
        let attempts = items.filter(|item| item.run.is_some()).count() as u32;
        let body = NotificationBody::new(dir.id(), dir.path(), at, task, next);
        NotificationBody { workflow: true, attempts, total_cost_usd: status.total_cost_usd, ..body }
    }

    fn new(id: &RunId, dir: &Path, at: Moment, task: &str, next: Option<String>) -> NotificationBody {
        NotificationBody {
            kind: NotificationKind::Waiting,
            run: id.clone(),
            workflow: false,
            at: at.into(),
            outcome: None,
            exit_code: None,
            fault: None,
            limit: None,
            until: None,
            attempts: 0,
            total_cost_usd: Dollars::default(),
            task: shorten(task.trim(), TASK_CHARS_MAX),
            dir: dir.display().to_string(),
            next,
        }
    }
}

#[cfg(test)]
mod tests;

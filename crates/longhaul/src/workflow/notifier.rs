//! Notifies the user of a workflow: when it finishes, when a run stops it that only a person can continue, and when
//! all of it waits for long. Its runs send no notifications of their own. No notification is sent twice, also
//! across a crash: the store records it first.

use super::{WorkflowObserver, workflow_status};
use crate::Environment;
use crate::live::NotifySender;
use crate::notification::{Notification, NotificationBody};
use longhaul_core::{
    AfterRun, CancelSource, Fault, Moment, Outcome, OutcomeKind, RunKey, Workflow, WorkflowDeadlineKind,
    WorkflowRecord,
};
use longhaul_store::{WorkflowDir, WorkflowPlan, WorkflowStatus};
use std::collections::BTreeMap;
use tokio::sync::mpsc;

pub(super) struct WorkflowNotifier {
    sender: NotifySender,
    environment: Environment,
    reopen_count: usize,
    /// Reason and end of the wait of each live run that waits.
    waits: BTreeMap<RunKey, (Option<Fault>, Moment)>,
}

impl WorkflowNotifier {
    pub(super) fn new(dir: &WorkflowDir, plan: &WorkflowPlan, environment: Environment) -> WorkflowNotifier {
        let cwd = plan.project_dir.as_path();
        WorkflowNotifier {
            sender: NotifySender::new(&plan.notify, cwd, dir.notify_files(), environment.clone()),
            environment,
            reopen_count: 0,
            waits: BTreeMap::new(),
        }
    }

    /// Follows a record, without a notification.
    pub(super) fn apply(&mut self, record: &WorkflowRecord) {
        if matches!(record, WorkflowRecord::WorkflowReopened { .. }) {
            self.reopen_count += 1;
        }
        if let WorkflowRecord::RunEnded { key, .. } = record {
            self.waits.remove(key);
        }
    }

    pub(super) fn on_run_wait(&mut self, key: RunKey, wait: Option<(Option<Fault>, Moment)>) {
        match wait {
            Some(wait) => self.waits.insert(key, wait),
            None => self.waits.remove(&key),
        };
    }

    /// Sends what a journaled step makes due.
    pub(super) fn on_step(
        &mut self,
        dir: &WorkflowDir,
        plan: &WorkflowPlan,
        workflow: &Workflow,
        records: &[WorkflowRecord],
        at: Moment,
    ) {
        records.iter().for_each(|record| self.apply(record));
        if plan.notify.is_empty() || workflow.state().outcome().is_some() {
            return;
        }
        let stop = records.iter().find_map(|record| {
            let WorkflowRecord::RunEnded { end, next: AfterRun::Stop, .. } = record else { return None };
            Some(end.outcome).filter(|outcome| outcome.kind == OutcomeKind::NeedsPerson)
        });
        let wait = self.wait_end(plan, workflow);
        if stop.is_none() && wait.is_none() {
            return;
        }
        let status = workflow_status(dir, plan, workflow, at);
        let subject = self.subject(dir, plan, &status, stop, at);
        if let Some(outcome) = stop {
            self.send(Notification::for_outcome(subject, outcome, self.reopen_count));
        } else if let Some((until, fault)) = wait {
            // The end of the wait is journaled, so another supervisor finds the same name.
            let name = format!("wait-{}", until.0);
            let notification = Notification::for_wait(subject, name, at, until, fault);
            notification.into_iter().for_each(|notification| self.send(notification));
        }
    }

    /// Claims the notification of the outcome. `None` if none is to be sent: a workflow that was suspended
    /// continues later.
    pub(super) fn claim_outcome(
        &self,
        dir: &WorkflowDir,
        plan: &WorkflowPlan,
        status: &WorkflowStatus,
        outcome: Outcome,
        at: Moment,
    ) -> Option<Notification> {
        if plan.notify.is_empty() || outcome.kind == OutcomeKind::Suspended {
            return None;
        }
        let subject = self.subject(dir, plan, status, Some(outcome), at);
        self.sender.claim(Notification::for_outcome(subject, outcome, self.reopen_count))
    }

    /// Sends a claimed notification, waits for all calls, and reports those that failed.
    pub(super) async fn finish(
        &mut self,
        claimed: Option<Notification>,
        observer: &mut dyn WorkflowObserver,
        cancels: &mut mpsc::Receiver<CancelSource>,
    ) {
        claimed.iter().for_each(|notification| self.sender.call(notification));
        while self.sender.wait_for_call(cancels).await {}
        for failure in self.sender.take_failures() {
            observer.on_notify_failure(&failure);
        }
    }

    fn send(&mut self, notification: Notification) {
        if let Some(claimed) = self.sender.claim(notification) {
            self.sender.call(&claimed);
        }
    }

    /// Returns the end of the current wait, with its reason, if nothing of the workflow works.
    fn wait_end(&self, plan: &WorkflowPlan, workflow: &Workflow) -> Option<(Moment, Option<Fault>)> {
        let state = workflow.state();
        if state.clock.since.is_some() || state.live().any(|(key, _)| !self.waits.contains_key(&key)) {
            return None;
        }
        let parks =
            workflow.deadline(&plan.policy).filter(|deadline| deadline.kind == WorkflowDeadlineKind::Park);
        let parks = parks.map(|deadline| (deadline.at, None));
        let waits = self.waits.values().map(|(fault, until)| (*until, *fault));
        waits.chain(parks).min_by_key(|(until, _)| *until)
    }

    fn subject(
        &self,
        dir: &WorkflowDir,
        plan: &WorkflowPlan,
        status: &WorkflowStatus,
        outcome: Option<Outcome>,
        at: Moment,
    ) -> NotificationBody {
        let file = plan.file.path.as_path().file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let task = plan.name.as_deref().unwrap_or(file);
        let next = self.environment.notified_workflow_command.map(|name| name(status, outcome));
        NotificationBody::of_workflow(dir, status, at, task, next)
    }
}

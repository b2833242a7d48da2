//! Reports a run's long waits to its `--notify` commands once they are on disk. The supervisor reports the outcome.

use super::notify_sender::NotifySender;
use super::subscriber::{Subscriber, WorldView};
use super::world_config::WorldConfig;
use crate::notification::{Notification, NotificationBody};
use longhaul_core::{Policy, Run, Step};
use std::rc::Rc;

/// Reports a run's long waits and its outcome.
pub(crate) struct Notifier<'a> {
    config: Rc<WorldConfig<'a>>,
    pub(crate) sender: NotifySender,
    /// A wait to report once it is on disk.
    due: Option<Notification>,
    /// The attempt of the last reported wait.
    last_wait_attempt: u32,
}

impl<'a> Notifier<'a> {
    pub(crate) fn new(config: Rc<WorldConfig<'a>>) -> Notifier<'a> {
        let (spec, files) = (config.spec(), config.dir.notify_files());
        let sender = NotifySender::new(&spec.notify, &spec.cwd, files, config.environment.clone());
        Notifier { config, sender, due: None, last_wait_attempt: 0 }
    }
}

impl Subscriber for Notifier<'_> {
    /// Prepares a notification if the run has started a long wait.
    fn on_step(&mut self, run: &Run, _policy: &Policy, view: &WorldView<'_>, _step: &Step) {
        let (dir, spec) = (&self.config.dir, self.config.spec());
        let attempt = run.state().attempts() + 1;
        if spec.notify.is_empty() || self.last_wait_attempt == attempt {
            return;
        }
        let next = self.config.notified_command(run);
        let subject = NotificationBody::of_run(dir, run, view.at, &spec.prompt, next);
        let notification = Notification::for_run_wait(subject, run);
        if notification.is_some() {
            self.last_wait_attempt = attempt;
            self.due = notification;
        }
    }

    /// Sends the notification of a long wait that is now on disk, and collects failures of earlier calls.
    fn on_sync(&mut self, _view: &WorldView<'_>) {
        if let Some(notification) = self.due.take()
            && let Some(notification) = self.sender.claim(notification)
        {
            self.sender.call(&notification);
        }
        self.sender.collect_failures();
    }
}

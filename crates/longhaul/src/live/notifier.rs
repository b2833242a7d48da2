//! Reports a run's long waits to its `--notify` commands once they are on disk. The supervisor reports the outcome.

use super::notify_sender::NotifySender;
use super::subscriber::{Subscriber, WorldView};
use super::world_config::WorldConfig;
use crate::notification::{Notification, NotificationBody};
use longhaul_core::{Phase, Policy, Run, Step};
use std::rc::Rc;

pub(crate) struct Notifier<'a> {
    config: Rc<WorldConfig<'a>>,
    pub(crate) sender: NotifySender,
    /// A wait to report once it is on disk.
    due: Option<Notification>,
}

impl<'a> Notifier<'a> {
    pub(crate) fn new(config: Rc<WorldConfig<'a>>) -> Notifier<'a> {
        let (spec, files) = (config.spec(), config.dir.notify_files());
        let sender = NotifySender::new(&spec.notify, &spec.cwd, files, config.environment.clone());
        Notifier { config, sender, due: None }
    }
}

impl Subscriber for Notifier<'_> {
    /// Prepares a notification if the run is in a long wait. Each wait has a name, which is claimed only once.
    fn on_step(&mut self, run: &Run, _policy: &Policy, view: &WorldView<'_>, _step: &Step) {
        let (dir, spec) = (&self.config.dir, self.config.spec());
        if spec.notify.is_empty() || !matches!(run.state().phase, Phase::Waiting { .. }) {
            return;
        }
        let next = self.config.notified_command(run);
        let subject = NotificationBody::of_run(dir, run, view.at, &spec.prompt, next);
        self.due = Notification::for_run_wait(subject, run).or_else(|| self.due.take());
    }

    /// Sends the notification of a long wait that is now on disk.
    fn on_sync(&mut self, _view: &WorldView<'_>) {
        if let Some(notification) = self.due.take()
            && let Some(notification) = self.sender.claim(notification)
        {
            self.sender.call(&notification);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Notifier;
    use crate::Environment;
    use crate::live::run_marker::RunMarker;
    use crate::live::subscriber::{Subscriber, WorldView};
    use crate::live::world_config::WorldConfig;
    use longhaul_agent::{AgentContext, default_dialect};
    use longhaul_core::{Fault, Moment, Preset, Record, ReviewResult, Run, RunSpec, Span, Step, Usage};
    use longhaul_store::{Home, RunDir};
    use std::rc::Rc;
    use std::sync::Arc;

    #[test]
    fn notifies_of_each_long_wait_of_a_reviewer() {
        let folder = tempfile::tempdir().expect("a directory");
        let home = Home::open(Some(folder.path().join("home")), |_| None).expect("a home");
        let dir = RunDir::from_path(folder.path().join("kmzxqp")).expect("an absolute path");
        let policy = Preset::Default.policy();
        let spec = RunSpec::new("/bin/agent", folder.path(), "p", policy.clone());
        let spec = spec.with(|spec| spec.notify.push("true".to_owned()));
        let mut notifier = Notifier::new(Rc::new(WorldConfig {
            home: &home,
            marker: RunMarker::new(&dir, "4b1d"),
            dialect: Arc::from(default_dialect()),
            context: AgentContext::new(spec, dir.id().clone()).expect("there are no guards"),
            environment: Environment::default(),
            inherited: None,
            missing: Vec::new(),
            dir,
        }));
        let at = Moment(1_763_775_245_120);
        let parked = [
            Record::ReviewStarted { after_commands: false },
            Record::ReviewEnded {
                result: ReviewResult::NoVerdict(Fault::UsageLimit),
                usage: Usage::default(),
                retry_at: Some(at + Span::from_hours(1)),
            },
        ];
        let mut name_after = |waits: usize| {
            let run = Run::replay(parked.iter().cycle().take(2 * waits).map(|record| (at, record)));
            notifier.on_step(&run, &policy, &WorldView::new(at, &None, None), &Step::default());
            notifier.due.take().map(|notification| notification.name)
        };
        assert_eq!(name_after(1).as_deref(), Some("wait-review-1"));
        assert_eq!(name_after(2).as_deref(), Some("wait-review-2"));
    }
}

//! Calls the user's commands of `--notify`: in a shell, in the directory where the agent works, without the run's mark, so
//! that no sweep of the run ends them. What they are told comes on their standard input and in no other way. What becomes
//! of them is noted, and changes nothing.

use super::LiveWorld;
use crate::NotifyFailure;
use crate::channel::{Channel, ChannelError, Delivery};
use crate::live::agent_process::AgentProcess;
use crate::notification::Notification;
use longhaul_core::{Exit, Moment, Run, Span, StopLevel};
use std::fs::File;
use std::io::{self, Write};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;

// A message is sent within seconds, or its server does not answer.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Who is told what.
#[derive(Default)]
pub(super) struct Notifier {
    /// A wait that is to be told once it is on disk.
    due: Option<Notification>,
    /// The last wait that was looked at, by the attempt that it is for.
    wait_seen: u32,
    /// The calls under way.
    calls: JoinSet<Option<NotifyFailure>>,
    /// Whether they are to end now.
    ends: watch::Sender<bool>,
}

impl LiveWorld<'_> {
    /// What the run is to do, in the words of whoever began it.
    pub(crate) fn task(&self) -> String {
        self.setup.order.prompt.clone()
    }

    /// Looks whether the run has begun a long wait.
    pub(super) fn notice_wait(&mut self, run: &Run, at: Moment) {
        let (notify, dir) = (&self.setup.notify, &self.setup.dir);
        if notify.is_empty() || self.notifying.wait_seen == run.state().attempts() + 1 {
            return;
        }
        let news = Notification::for_wait((dir.id(), dir.path()), run, at, &self.setup.order.prompt);
        if news.is_some() {
            self.notifying.wait_seen = run.state().attempts() + 1;
            self.notifying.due = news;
        }
    }

    /// Tells of such a wait, now that it is on disk, and says who could not be told of an earlier one.
    pub(super) fn notify_wait(&mut self) {
        if let Some(news) = self.notifying.due.take() {
            let news = self.claim_notification(news);
            self.call(news);
        }
        while let Some(ended) = self.notifying.calls.try_join_next() {
            ended.ok().flatten().iter().for_each(|untold| self.setup.observer.on_notify_failure(untold));
        }
    }

    /// Takes the telling of it upon us; nothing if nobody wants to be told, or if somebody was told before. Who dies between
    /// this and the call has told nobody: better that than to be told twice.
    pub(crate) fn claim_notification(&self, news: Notification) -> Option<Notification> {
        let is_wanted = !self.setup.notify.is_empty();
        let is_ours = || self.setup.dir.claim_notification(&news.name, &news.line()).unwrap_or(false);
        (is_wanted && is_ours()).then_some(news)
    }

    /// Calls each command, all at the same time, and waits for none.
    pub(crate) fn call(&mut self, news: Option<Notification>) {
        let Some(news) = news else { return };
        for (place, command) in self.setup.notify.iter().enumerate() {
            let started = self.begin_call(command, place, &news);
            let untold = NotifyFailure {
                command: command.clone(),
                kind: news.kind,
                reason: String::new(),
                log: self.setup.dir.notify_log_path(&news.name, place),
            };
            let ends = self.notifying.ends.subscribe();
            self.notifying.calls.spawn(async move {
                let failed = match started {
                    Ok((agent, log)) => end(agent, log, TIME_LIMIT, ends).await,
                    Err(error) => Some(format!("it could not be started: {error}")),
                };
                failed.map(|reason| NotifyFailure { reason, ..untold })
            });
        }
    }

    fn begin_call(
        &self,
        command: &str,
        place: usize,
        news: &Notification,
    ) -> io::Result<(AgentProcess, File)> {
        let log = self.setup.dir.create_notify_log(&news.name, place).map_err(io::Error::other)?;
        // For whoever reads it: which command said what.
        let _ = writeln!(&log, "$ {command}");
        let delivery = self.delivery(command, news).inspect_err(|error| {
            let _ = writeln!(&log, "longhaul: {error}");
        })?;
        let launch = self.launch((delivery.program, delivery.args), &log)?.unmarked();
        match AgentProcess::start(launch, delivery.stdin) {
            Ok((mut agent, _)) => {
                agent.end_input(Vec::new());
                Ok((agent, log))
            }
            Err((_, error)) => {
                let _ = writeln!(&log, "longhaul could not start it: {error}");
                Err(error)
            }
        }
    }

    fn delivery(&self, channel: &str, news: &Notification) -> io::Result<Delivery> {
        let channel: Channel = channel.parse().map_err(|error: ChannelError| other(&error))?;
        let environment = &self.setup.environment;
        let variable = |name: &str| environment.variable(name)?.into_string().ok();
        let project = self.setup.order.cwd.file_name().unwrap_or_default().to_string_lossy();
        channel.delivery((news, &project), variable).map_err(|error| other(&error))
    }

    /// Waits for the commands that are still at work, for as long as they may take, or until a person wants no more
    /// of that.
    pub(crate) async fn finish_calls(&mut self) {
        while !self.notifying.calls.is_empty() {
            tokio::select! {
                Some(ended) = self.notifying.calls.join_next() => {
                    ended.ok().flatten().iter().for_each(|untold| self.setup.observer.on_notify_failure(untold));
                }
                Some(_) = self.setup.cancels.recv() => {
                    self.notifying.ends.send_replace(true);
                }
                // No call is left.
                else => break,
            }
        }
    }
}

fn other(error: &ChannelError) -> io::Error {
    io::Error::other(error.to_string())
}

/// Waits for the end of a command, which it has to come to in its time, or before everything `ends`; why it failed, if it
/// did.
async fn end(
    mut agent: AgentProcess,
    log: File,
    time_limit: Duration,
    mut ends: watch::Receiver<bool>,
) -> Option<String> {
    let late = tokio::select! {
        exited = agent.exited() => Ok(exited),
        () = tokio::time::sleep(time_limit) => Err(format!("it was stopped after {}", Span(time_limit.as_millis() as u64))),
        Ok(_) = ends.wait_for(|ends| *ends) => Err("it was ended, because the run was to end at once".to_owned()),
    };
    let failed = match late {
        Ok(Ok(Exit::Code(0))) => return None,
        Ok(Ok(Exit::Code(code))) => format!("it exited with {code}"),
        Ok(Ok(Exit::Signal(signal))) => format!("it was ended by signal {signal}"),
        Ok(Ok(Exit::Unobserved | Exit::NeverSpawned)) => "nobody saw its end".to_owned(),
        Ok(Err(error)) => format!("nobody saw its end: {error}"),
        Err(late) => {
            // Its whole group, while that is surely its own: a part of it that stays behind belongs to nobody.
            agent.signal(StopLevel::Kill);
            let _ = agent.exited().await;
            late
        }
    };
    let _ = writeln!(&log, "longhaul: {failed}");
    Some(failed)
}

#[cfg(test)]
mod tests {
    use super::end;
    use crate::Environment;
    use crate::live::RunMarker;
    use crate::live::agent_process::{AgentProcess, LaunchSpec};
    use longhaul_agent::Invocation;
    use std::fs::{self, File};
    use std::time::Duration;

    #[test]
    fn a_command_has_its_time_and_no_longer() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("log");
        let (ends, _) = tokio::sync::watch::channel(false);
        let ended = |command: &str, time_limit| {
            let log = File::create(&path).expect("it can be made");
            let invocation = Invocation {
                program: "/bin/sh".into(),
                args: vec!["-c".to_owned(), command.to_owned()],
                cwd: dir.path().to_owned(),
                env_set: Vec::new(),
                env_remove: Vec::new(),
                stdin: Vec::new(),
                prompt: String::new(),
                input_outlives_supervisor: false,
            };
            let files = (log.try_clone().expect("a file"), log.try_clone().expect("a file"));
            let launch = LaunchSpec::new(&invocation, &Environment::default(), &RunMarker::unowned(), files)
                .unmarked();
            let failed = runtime.block_on(async {
                let (mut agent, _) = AgentProcess::start(launch, b"{}\n".to_vec()).expect("there is a shell");
                agent.end_input(Vec::new());
                end(agent, log, time_limit, ends.subscribe()).await
            });
            (failed, fs::read_to_string(&path).expect("a log"))
        };
        let long = Duration::from_secs(60);
        assert_eq!(ended("cat", long), (None, "{}\n".to_owned()));
        let (failed, log) = ended("exit 3", long);
        assert_eq!((failed.as_deref(), &*log), (Some("it exited with 3"), "longhaul: it exited with 3\n"));
        // One that does not want to end, with what it started.
        let short = Duration::from_millis(100);
        let (failed, _) = ended("trap '' TERM; sleep 60 & sleep 60; sleep 60", short);
        assert_eq!(failed.as_deref(), Some("it was stopped after 100ms"));
        ends.send_replace(true);
        let (failed, _) = ended("sleep 60", long);
        assert_eq!(failed.as_deref(), Some("it was ended, because the run was to end at once"));
    }
}

//! Calls the user's `--notify` commands in the working directory. They run without a run marker, so that no
//! sweep stops them. They receive their data on standard input only. Their failures are logged and
//! change nothing.

use super::agent_process::{AgentProcess, LaunchSpec};
use crate::Environment;
use crate::channel::{Channel, ChannelError, Delivery};
use crate::notification::{Notification, NotifyFailure};
use longhaul_core::{CancelSource, Exit, Span, StopLevel};
use longhaul_store::NotifyFiles;
use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

// A message is sent within seconds unless its server does not answer.
const TIME_LIMIT: Duration = Duration::from_secs(30);
// A sender writes a few lines. One that never stops must not fill the disk until the time limit.
const OUTPUT_BYTES_MAX: u64 = 1 << 20;
const OUTPUT_POLL_INTERVAL: Duration = Duration::from_millis(100);

pub(crate) struct NotifySender {
    channels: Vec<String>,
    cwd: PathBuf,
    files: NotifyFiles,
    environment: Environment,
    calls: JoinSet<Option<NotifyFailure>>,
    stop_calls: watch::Sender<bool>,
    /// Calls that failed and are not reported yet.
    failures: Vec<NotifyFailure>,
}

impl NotifySender {
    pub(crate) fn new(
        channels: &[String],
        cwd: &Path,
        files: NotifyFiles,
        environment: Environment,
    ) -> NotifySender {
        NotifySender {
            channels: channels.to_vec(),
            cwd: cwd.to_owned(),
            files,
            environment,
            calls: JoinSet::new(),
            stop_calls: watch::Sender::default(),
            failures: Vec::new(),
        }
    }

    /// Records a notification durably before it is sent. Returns `None` if there are no notification
    /// commands, or if it was recorded already. A supervisor that dies before the call sends nothing, which
    /// is better than sending twice.
    pub(crate) fn claim(&self, notification: Notification) -> Option<Notification> {
        let is_claimed = || self.files.claim(&notification.name, &notification.line()).unwrap_or(false);
        (!self.channels.is_empty() && is_claimed()).then_some(notification)
    }

    /// Starts all commands at the same time and waits for none.
    pub(crate) fn call(&mut self, notification: &Notification) {
        for (index, command) in self.channels.iter().enumerate() {
            let started = self.start_call(command, index, notification);
            let channel_error = |error: &io::Error| error.get_ref()?.downcast_ref::<ChannelError>().cloned();
            let failure = NotifyFailure {
                command: command.clone(),
                kind: notification.kind(),
                reason: String::new(),
                channel_error: started.as_ref().err().and_then(channel_error),
                log: self.files.log_path(&notification.name, index),
            };
            let stop_calls = self.stop_calls.subscribe();
            self.calls.spawn(async move {
                let reason = match started {
                    Ok((agent, log)) => wait_for_call(agent, log, TIME_LIMIT, stop_calls).await,
                    Err(error) => Some(format!("it could not be started: {error}")),
                };
                reason.map(|reason| NotifyFailure { reason, ..failure })
            });
        }
    }

    fn start_call(
        &self,
        command: &str,
        index: usize,
        notification: &Notification,
    ) -> io::Result<(AgentProcess, File)> {
        let log = self.files.create_log(&notification.name, index).map_err(io::Error::other)?;
        // Shows readers which command wrote which output.
        let _ = writeln!(&log, "$ {command}");
        let delivery = self.delivery(command, notification).inspect_err(|error| {
            let _ = writeln!(&log, "longhaul: {error}");
        })?;
        let Delivery { program, args, stdin } = delivery;
        let (stdout, stderr) = (log.try_clone()?, log.try_clone()?);
        let launch = LaunchSpec::command(program, &args, &self.cwd, &self.environment, stdout, stderr);
        match AgentProcess::start(launch, stdin) {
            Ok((mut agent, _)) => {
                agent.close_input(None);
                Ok((agent, log))
            }
            Err((_, error)) => {
                let _ = writeln!(&log, "longhaul could not start the command: {error}");
                Err(error)
            }
        }
    }

    fn delivery(&self, channel: &str, notification: &Notification) -> io::Result<Delivery> {
        let channel: Channel = channel.parse().map_err(io::Error::other::<ChannelError>)?;
        let variable = |name: &str| self.environment.variable(name)?.into_string().ok();
        let project = self.cwd.file_name().unwrap_or_default().to_string_lossy();
        channel.delivery(notification, &project, variable).map_err(io::Error::other)
    }

    pub(crate) fn take_failures(&mut self) -> Vec<NotifyFailure> {
        while let Some(ended) = self.calls.try_join_next() {
            self.failures.extend(ended.ok().flatten());
        }
        mem::take(&mut self.failures)
    }

    /// Waits until a running command exits or times out. If a user cancels again, all commands are stopped.
    /// Returns `false` if none is running.
    pub(crate) async fn wait_for_call(&mut self, cancels: &mut mpsc::Receiver<CancelSource>) -> bool {
        if self.calls.is_empty() {
            return false;
        }
        tokio::select! {
            Some(ended) = self.calls.join_next() => self.failures.extend(ended.ok().flatten()),
            Some(_) = cancels.recv() => {
                self.stop_calls.send_replace(true);
            }
            // All calls have ended.
            else => return false,
        }
        true
    }
}

/// Waits until a command exits, times out, writes too much, or `stop_calls` becomes true. Returns why it failed, or
/// `None` if it succeeded.
async fn wait_for_call(
    mut agent: AgentProcess,
    log: File,
    time_limit: Duration,
    mut stop_calls: watch::Receiver<bool>,
) -> Option<String> {
    let result = tokio::select! {
        exited = agent.wait_for_exit() => Ok(exited),
        () = tokio::time::sleep(time_limit) => {
            Err(format!("it was stopped after {}", Span(time_limit.as_millis() as u64)))
        }
        () = wait_for_long_output(&log) => {
            Err(format!("it was stopped because it wrote more than {} MiB", OUTPUT_BYTES_MAX >> 20))
        }
        Ok(_) = stop_calls.wait_for(|must_stop| *must_stop) => {
            Err("it was stopped because the run had to finish at once".to_owned())
        }
    };
    let reason = match result {
        Ok(Ok(Exit::Code(0))) => {
            shorten(&log);
            return None;
        }
        Ok(Ok(Exit::Code(code))) => format!("it exited with {code}"),
        Ok(Ok(Exit::Signal(signal))) => format!("it was killed by signal {signal}"),
        Ok(Ok(Exit::Unobserved | Exit::NeverSpawned)) => "its exit was not observed".to_owned(),
        Ok(Err(error)) => format!("its exit was not observed: {error}"),
        Err(reason) => {
            // Kills the whole process group, because no sweep would find leftover processes. The group still
            // belongs to the command, because the command has not exited.
            agent.signal(StopLevel::Kill);
            let _ = agent.wait_for_exit().await;
            reason
        }
    };
    shorten(&log);
    let _ = writeln!(&log, "longhaul: {reason}");
    Some(reason)
}

fn is_too_long(log: &File) -> bool {
    log.metadata().is_ok_and(|metadata| metadata.len() > OUTPUT_BYTES_MAX)
}

async fn wait_for_long_output(log: &File) {
    while !is_too_long(log) {
        tokio::time::sleep(OUTPUT_POLL_INTERVAL).await;
    }
}

/// Removes the end of a log that is too long. The log is open for appending, so that more lines follow what remains.
fn shorten(log: &File) {
    if is_too_long(log) {
        let _ = log.set_len(OUTPUT_BYTES_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::{OUTPUT_BYTES_MAX, wait_for_call};
    use crate::Environment;
    use crate::live::agent_process::{AgentProcess, LaunchSpec};
    use std::fs::{self, File};
    use std::time::Duration;

    #[test]
    fn stops_a_command_after_its_limits() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("log");
        let (stop_calls, _) = tokio::sync::watch::channel(false);
        let run_command = |command: &str, time_limit| {
            fs::write(&path, "").expect("it can be made");
            let log = File::options().append(true).open(&path).expect("a file");
            let (stdout, stderr) = (log.try_clone().expect("a file"), log.try_clone().expect("a file"));
            let (args, environment) = (["-c", command], Environment::default());
            let launch = LaunchSpec::command("/bin/sh", &args, dir.path(), &environment, stdout, stderr);
            let failed = runtime.block_on(async {
                let (mut agent, _) = AgentProcess::start(launch, b"{}\n".to_vec()).expect("there is a shell");
                agent.close_input(None);
                wait_for_call(agent, log, time_limit, stop_calls.subscribe()).await
            });
            (failed, fs::read_to_string(&path).expect("a log"))
        };
        let long = Duration::from_secs(60);
        assert_eq!(run_command("cat", long), (None, "{}\n".to_owned()));
        let (failed, log) = run_command("exit 3", long);
        assert_eq!((failed.as_deref(), &*log), (Some("it exited with 3"), "longhaul: it exited with 3\n"));
        let (failed, log) = run_command("yes", long);
        assert_eq!(failed.as_deref(), Some("it was stopped because it wrote more than 1 MiB"));
        assert!((log.len() as u64) < OUTPUT_BYTES_MAX + 100 && log.ends_with("more than 1 MiB\n"));
        // A command that ignores SIGTERM, with child processes.
        let short = Duration::from_millis(100);
        let (failed, _) = run_command("trap '' TERM; sleep 60 & sleep 60; sleep 60", short);
        assert_eq!(failed.as_deref(), Some("it was stopped after 100ms"));
        stop_calls.send_replace(true);
        let (failed, _) = run_command("sleep 60", long);
        assert_eq!(failed.as_deref(), Some("it was stopped because the run had to finish at once"));
    }
}

//! Receives the input of the world and turns it into events: the agent's stream, cancel requests, process
//! exits, and the kernel's data about silent processes.

use super::checks::CheckRun;
use super::{LiveWorld, checks, summaries};
use crate::SuperviseError;
use crate::live::agent_process::is_frozen;
use crate::live::disk_space;
use crate::live::file_watch::WatchEvents;
use crate::live::process_activity::probe;
use crate::live::requests::RequestWatch;
use crate::live::rss::resident;
use longhaul_core::{CancelSource, Event, Exit, Moment, Notice};
use std::time::Duration;

// Timers stop while the machine sleeps, and a frozen agent writes nothing, so both are polled.
const POLL_INTERVAL: Duration = Duration::from_secs(30);
const POLL_INTERVAL_LIVE: Duration = Duration::from_secs(2);
// A signal to a whole process group or cgroup reaches its processes within milliseconds.
const SHARED_SIGNAL_TIMEOUT: Duration = Duration::from_millis(250);

impl LiveWorld<'_> {
    /// Returns the next request to cancel the run, or `None` if there is none.
    pub(super) fn next_cancel(&mut self) -> Option<CancelSource> {
        let by_channel = self.setup.cancels.try_recv().ok();
        by_channel.or_else(|| self.requests.as_mut()?.take())
    }

    /// Waits a moment for a signal to this supervisor if one of its processes may have exited by a signal,
    /// and returns it. A system that shuts down signals all processes at once, in any order.
    pub(super) async fn shared_signal(&mut self) -> Option<CancelSource> {
        let agent = self.attempt.as_ref().and_then(|attempt| attempt.exit);
        let check = self.check_run.as_ref().and_then(CheckRun::exit);
        if !agent.or(check).is_some_and(is_by_signal) {
            return None;
        }
        tokio::time::timeout(SHARED_SIGNAL_TIMEOUT, self.setup.cancels.recv()).await.ok().flatten()
    }

    /// Probes the processes of a silent agent. Output that arrived meanwhile is reported first, because the
    /// agent is then not silent.
    pub(super) async fn probe(&mut self) -> Result<(), SuperviseError> {
        let activity = match &self.attempt {
            Some(attempt) => probe(&self.setup.marker, attempt.process).await,
            None => None,
        };
        self.read_stream()?;
        // If the machine slept meanwhile, the downtime is reported first.
        self.events.extend(self.clock.sleep_since_last_call().map(Event::Downtime));
        self.events.push_back(Event::ProcessesProbed(activity));
        Ok(())
    }

    /// Reads one chunk of the stream. Returns `false` if there was none.
    pub(super) fn read_stream(&mut self) -> Result<bool, SuperviseError> {
        let Some(attempt) = &mut self.attempt else { return Ok(false) };
        let bytes = attempt.tail.read()?;
        if bytes.is_empty() {
            self.answer()?;
            return Ok(false);
        }
        let mut notices = Vec::new();
        attempt.decoder.feed(bytes, &mut notices);
        let messages = attempt.decoder.take_messages();
        self.setup.observer.on_output(bytes, &messages);
        self.recorder.add_messages(messages);
        // One fingerprint per chunk, because an adopted agent's stream may report many exchanges at once.
        let has_ended = notices.iter().any(|notice| matches!(notice, Notice::ExchangeEnded(_)));
        let workspace = has_ended.then(|| self.fingerprint()).flatten();
        for notice in notices {
            let fingerprint = workspace.filter(|_| matches!(notice, Notice::ExchangeEnded(_)));
            self.events.push_back(Event::Noticed(notice));
            self.events.extend(
                fingerprint.map(|workspace| Event::Noticed(Notice::WorkspaceFingerprinted(workspace))),
            );
        }
        Ok(true)
    }

    /// Answers the agent's requests and sends those that are due. Call it only when all output is read, because an adopted agent may
    /// already have the answers.
    fn answer(&mut self) -> Result<(), SuperviseError> {
        let Some(attempt) = &mut self.attempt else { return Ok(()) };
        for answer in attempt.decoder.take_replies() {
            attempt.agent.send_line(answer);
        }
        let requests = attempt.decoder.take_requests();
        if requests.is_empty() || attempt.is_stopping {
            return Ok(());
        }
        // The session that a request continues must be known to the next supervisor, and also that the request
        // was sent: sending it twice would repeat its effects.
        self.sync()?;
        let Some(attempt) = &self.attempt else { return Ok(()) };
        for request in requests {
            attempt.dir.add_sent_request(&request.id)?;
            attempt.agent.send_line(request.line);
        }
        Ok(())
    }

    /// Waits until something may have happened.
    pub(super) async fn wait_for_change(&mut self, until: Option<Moment>) -> Result<(), SuperviseError> {
        let interval = if self.attempt.is_some() || self.summary_run.is_some() || self.check_run.is_some() {
            POLL_INTERVAL_LIVE
        } else {
            POLL_INTERVAL
        };
        let remaining = until.map_or(interval, |until| until.since(self.clock.at()).to_std().min(interval));
        let timer = tokio::time::sleep(remaining);
        // If the channel is closed, no cancel can arrive, and `select!` disables the branch.
        let cancelled = self.setup.cancels.recv();
        let changed = self.watch.changed();
        match &mut self.attempt {
            Some(attempt) => tokio::select! {
                () = timer => {
                    let frozen = is_frozen(attempt.process.pid);
                    if frozen && !attempt.frozen {
                        self.events.push_back(Event::Noticed(Notice::ProcessFrozen));
                    }
                    attempt.frozen = frozen;
                    let limit = self.setup.context.spec.policy.limits.memory.unwrap_or(u64::MAX);
                    if limit < u64::MAX && resident(&self.setup.marker) > limit {
                        self.events.push_back(Event::Noticed(Notice::MemoryExceeded));
                    }
                    // A build may fill the disk for a moment and clean up, so only two polls in a row count.
                    match disk_space::check(&self.setup.dir) {
                        Err(error) if attempt.disk_was_full => return Err(error.into()),
                        result => attempt.disk_was_full = result.is_err(),
                    }
                }
                Some(source) = cancelled => self.events.push_back(Event::Cancelled(source)),
                changes = changed => mark_requests(&mut self.requests, changes?),
                exit = attempt.agent.wait_for_exit(), if attempt.exit.is_none() => attempt.exit = Some(exit?),
            },
            None => tokio::select! {
                () = timer => {}
                Some(source) = cancelled => self.events.push_back(Event::Cancelled(source)),
                changes = changed => mark_requests(&mut self.requests, changes?),
                exited = summaries::wait_for_exit(&mut self.summary_run) => exited?,
                exited = checks::wait_for_command_exit(&mut self.check_run) => exited?,
            },
        }
        Ok(())
    }
}

/// Returns `true` if the process may have exited by a signal that this supervisor also receives. The exit of
/// an adopted process is unknown.
fn is_by_signal(exit: Exit) -> bool {
    match exit {
        // Exit codes of agents and shells that handle SIGHUP and SIGTERM.
        Exit::Code(code) => [129, 143].contains(&code),
        Exit::Signal(signal) => [1, 15].contains(&signal),
        Exit::Unobserved => true,
        Exit::NeverSpawned => false,
    }
}

/// Schedules a check for requests if a directory has new names. A growing stream does not need one.
fn mark_requests(requests: &mut Option<RequestWatch>, changes: WatchEvents) {
    if let Some(requests) = requests.as_mut().filter(|_| changes.names) {
        requests.schedule_check();
    }
}

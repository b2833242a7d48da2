//! Listens: to the agent's stream, to whoever wants the run to end, to the end of processes, and to what the kernel tells of
//! those that are silent. All of it becomes events.

use super::checks::CheckRun;
use super::{LiveWorld, checks, summaries};
use crate::SuperviseError;
use crate::live::agent_process::is_halted;
use crate::live::disk_space;
use crate::live::file_watch::WatchEvents;
use crate::live::process_activity::probe;
use crate::live::requests::RequestWatch;
use crate::live::rss::resident;
use longhaul_core::{CancelSource, Event, Exit, Moment, Notice};
use std::time::Duration;

// The timer does not run while the machine sleeps, and an agent that was stopped says nothing of it:
// looking up now and then finds out.
const LOOK_UP: Duration = Duration::from_secs(30);
const LOOK_UP_LIVE: Duration = Duration::from_secs(2);
// A signal to a whole process group or cgroup reaches its processes within milliseconds.
const SHARED_SIGNAL: Duration = Duration::from_millis(250);

impl LiveWorld<'_> {
    pub(super) fn cancelled(&mut self) -> Option<CancelSource> {
        let by_channel = self.setup.cancels.try_recv().ok();
        by_channel.or_else(|| self.requests.as_mut()?.take())
    }

    /// The signal to us that ended one of our processes, too. A system that shuts down signals all of them at once, in any
    /// order: waits a moment for ours where a process ended by such a signal.
    pub(super) async fn shared_signal(&mut self) -> Option<CancelSource> {
        let agent = self.attempt.as_ref().and_then(|attempt| attempt.exit);
        let check = self.checking.as_ref().and_then(CheckRun::exit);
        if !agent.or(check).is_some_and(is_by_signal) {
            return None;
        }
        tokio::time::timeout(SHARED_SIGNAL, self.setup.cancels.recv()).await.ok().flatten()
    }

    /// Looks what the processes of a silent agent do. What it said meanwhile is told first: then it is not silent.
    pub(super) async fn probe(&mut self) -> Result<(), SuperviseError> {
        let signs = match &self.attempt {
            Some(attempt) => probe(&self.setup.marker, attempt.process).await,
            None => None,
        };
        self.read_stream()?;
        // A machine that fell asleep meanwhile was not silent.
        self.events.extend(self.clock.sleep_since_last_call().map(Event::Downtime));
        self.events.push_back(Event::ProcessesProbed(signs));
        Ok(())
    }

    /// Reads one chunk of the stream; whether there was one.
    pub(super) fn read_stream(&mut self) -> Result<bool, SuperviseError> {
        let Some(attempt) = &mut self.attempt else { return Ok(false) };
        let bytes = attempt.tail.read()?;
        if bytes.is_empty() {
            self.answer();
            return Ok(false);
        }
        self.setup.observer.on_output(bytes);
        self.recorder.feed(bytes);
        let mut notices = Vec::new();
        attempt.decoder.feed(bytes, &mut notices);
        // One look a chunk: an adopted agent's stream may tell of many turns at once.
        let has_ended = notices.iter().any(|notice| matches!(notice, Notice::ExchangeEnded(_)));
        let workspace = has_ended.then(|| self.fingerprint()).flatten();
        for notice in notices {
            let surveyed = workspace.filter(|_| matches!(notice, Notice::ExchangeEnded(_)));
            self.events.push_back(Event::Noticed(notice));
            self.events
                .extend(surveyed.map(|workspace| Event::Noticed(Notice::WorkspaceFingerprinted(workspace))));
        }
        Ok(true)
    }

    /// Answers what the agent waits for, now that all is read that it has said: an adopted one may have been
    /// answered before.
    fn answer(&mut self) {
        let Some(attempt) = &mut self.attempt else { return };
        for answer in attempt.decoder.take_replies() {
            attempt.agent.say(answer);
        }
    }

    /// Waits until something may have happened.
    pub(super) async fn wait_for_change(&mut self, until: Option<Moment>) -> Result<(), SuperviseError> {
        let look_up = if self.attempt.is_some() || self.summary_run.is_some() || self.checking.is_some() {
            LOOK_UP_LIVE
        } else {
            LOOK_UP
        };
        let remaining = until.map_or(look_up, |until| until.since(self.clock.at()).to_std().min(look_up));
        let timer = tokio::time::sleep(remaining);
        // A closed channel matches no branch, and is then left out: nobody can cancel any more.
        let cancelled = self.setup.cancels.recv();
        let changed = self.watch.changed();
        match &mut self.attempt {
            Some(attempt) => tokio::select! {
                () = timer => {
                    let halted = is_halted(attempt.process.pid);
                    if halted && !attempt.halted {
                        self.events.push_back(Event::Noticed(Notice::ProcessFrozen));
                    }
                    attempt.halted = halted;
                    let most = self.setup.memory_limit.unwrap_or(u64::MAX);
                    if most < u64::MAX && resident(&self.setup.marker) > most {
                        self.events.push_back(Event::Noticed(Notice::MemoryExceeded));
                    }
                    // Once may be a build that cleans up after itself.
                    match disk_space::check(&self.setup.dir) {
                        Err(error) if attempt.has_unread_output => return Err(error.into()),
                        looked => attempt.has_unread_output = looked.is_err(),
                    }
                }
                Some(by) = cancelled => self.events.push_back(Event::Cancelled(by)),
                changes = changed => note(&mut self.requests, changes?),
                exit = attempt.agent.exited(), if attempt.exit.is_none() => attempt.exit = Some(exit?),
            },
            None => tokio::select! {
                () = timer => {}
                Some(by) = cancelled => self.events.push_back(Event::Cancelled(by)),
                changes = changed => note(&mut self.requests, changes?),
                gone = summaries::gone(&mut self.summary_run) => gone?,
                over = checks::over(&mut self.checking) => over?,
            },
        }
        Ok(())
    }
}

/// Whether a process that ended so may have had a signal that we get, too. Of an adopted one it is not known.
fn is_by_signal(exit: Exit) -> bool {
    match exit {
        // As agents and shells that handle SIGHUP and SIGTERM report them.
        Exit::Code(code) => [129, 143].contains(&code),
        Exit::Signal(signal) => [1, 15].contains(&signal),
        Exit::Unobserved => true,
        Exit::NeverSpawned => false,
    }
}

/// Requests are looked at when there may be one: a stream that grows is no reason.
fn note(requests: &mut Option<RequestWatch>, changes: WatchEvents) {
    if let Some(requests) = requests.as_mut().filter(|_| changes.names) {
        requests.arrived();
    }
}

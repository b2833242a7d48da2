//! The process of the running attempt, with the stream that it writes. It reports facts and decides nothing.

use super::agent_process::{AgentProcess, InputFifo, LaunchSpec};
use super::disk_space;
use super::run_marker::RunMarker;
use super::system::{FileWatch, is_frozen, oom_kills, resident_bytes};
use super::tail::Tail;
use super::world_config::WorldConfig;
use crate::SuperviseError;
use crate::failpoints::{self, Failpoint};
use longhaul_agent::transcript_message::TranscriptMessage;
use longhaul_agent::{AgentRequest, Decoder, Invocation, SessionStart, session_prompt};
use longhaul_core::{
    AttemptPlan, Exit, Moment, Notice, ProcessId, PromptKind, Remaining, SpawnError, StopLevel,
};
use longhaul_store::{AttemptDir, AttemptExit, SessionBaseline, StoreError};
use std::time::Duration;
use std::{fs, future, io};

const SIGKILL: i32 = 9;

pub(crate) struct AttemptProcess {
    agent: AgentProcess,
    pub(crate) process: ProcessId,
    tail: Tail,
    pub(crate) decoder: Box<dyn Decoder>,
    pub(crate) dir: AttemptDir,
    /// The kernel's count of processes that it killed because memory ran out, before this one started.
    oom_kills_before: Option<u64>,
    /// Whether the disk was full at the last poll.
    disk_was_full: bool,
    /// Whether it is being stopped, so that it receives no further requests.
    is_stopping: bool,
    exit: Option<Exit>,
}

pub(crate) struct StreamChunk<'a> {
    /// The bytes, which may end within a line.
    pub(crate) bytes: &'a [u8],
    /// The messages of the conversation that they complete.
    pub(crate) messages: Vec<TranscriptMessage>,
    pub(crate) notices: Vec<Notice>,
}

pub(crate) struct EndedProcess {
    pub(crate) dir: AttemptDir,
    pub(crate) decoder: Box<dyn Decoder>,
    pub(crate) exit: Exit,
    pub(crate) oom_killed: bool,
}

impl AttemptProcess {
    /// Creates the files of an attempt and starts its process. `watch` reports its output.
    /// `session` is stored for later comparison. The inner error means that the system did not start the agent.
    pub(crate) fn start(
        config: &WorldConfig<'_>,
        plan: &AttemptPlan,
        invocation: &Invocation,
        session: Option<&SessionBaseline>,
        watch: &mut FileWatch,
    ) -> Result<Result<AttemptProcess, (SpawnError, io::Error)>, SuperviseError> {
        disk_space::check(&config.dir, disk_space::START)?;
        let dir = config.dir.attempt(plan.attempt).create()?;
        if let Some(session) = session {
            // Needed later to verify that the history arrived. The work does not need it.
            let _ = dir.write(session);
        }
        let (stdout, stderr) = (dir.create_stream()?, dir.create_stderr()?);
        let write_end = invocation.input_outlives_supervisor.then(|| dir.create_input()).transpose()?;
        let launch = LaunchSpec {
            input: write_end.map(|end| InputFifo { end, path: dir.input_path() }),
            ..LaunchSpec::new(invocation, &config.environment, &config.marker, stdout, stderr)
        };
        // A full quota does not show in the free space of the file system.
        if let Err(error) = dir.write(&launch.argv())
            && error.is_disk_full()
        {
            return Err(error.into());
        }
        // For people, and for the list of calls in the next prompt. The work does not need it.
        let _ = dir.write_prompt(&invocation.prompt);
        // The watch starts before the agent can write, so that no output is missed.
        watch.add_file(&dir.stream_path());
        let tail = Tail::open(&dir.stream_path())?;
        let oom_kills_before = oom_kills();
        let mut decoder = config.decoder(plan.attempt);
        let (spec, prompt) = (config.spec(), &invocation.prompt);
        decoder.begin(SessionStart { spec, plan, prompt });
        let (agent, process) = match AgentProcess::start(launch, invocation.stdin.clone()) {
            Ok(started) => started,
            Err(failure) => return Ok(Err(failure)),
        };
        failpoints::agent_is(process.pid);
        failpoints::hit(Failpoint::Spawned);
        Ok(Ok(AttemptProcess::new(agent, process, oom_kills_before, tail, decoder, dir)))
    }

    /// Adopts the process of an attempt, which a dead supervisor started. Returns `None` if the
    /// process has exited.
    pub(crate) fn adopt(
        config: &WorldConfig<'_>,
        plan: &AttemptPlan,
        process: ProcessId,
        watch: &mut FileWatch,
    ) -> Result<Option<AttemptProcess>, SuperviseError> {
        let dir = config.dir.attempt(plan.attempt);
        let Ok(agent) = AgentProcess::adopt(process, &dir.input_path()) else { return Ok(None) };
        watch.add_file(&dir.stream_path());
        let tail = Tail::open(&dir.stream_path())?;
        let mut decoder = config.decoder(plan.attempt);
        let prompt = dir.prompt()?.unwrap_or_default();
        decoder.begin(SessionStart { spec: config.spec(), plan, prompt: &prompt });
        decoder.add_sent(dir.sent_requests()?);
        Ok(Some(AttemptProcess::new(agent, process, oom_kills(), tail, decoder, dir)))
    }

    fn new(
        agent: AgentProcess,
        process: ProcessId,
        oom_kills_before: Option<u64>,
        tail: Tail,
        decoder: Box<dyn Decoder>,
        dir: AttemptDir,
    ) -> AttemptProcess {
        AttemptProcess {
            agent,
            process,
            tail,
            decoder,
            dir,
            oom_kills_before,
            disk_was_full: false,
            is_stopping: false,
            exit: None,
        }
    }

    pub(crate) fn exit(&self) -> Option<Exit> {
        self.exit
    }

    /// Returns whether output is unread that the agent wrote before it was adopted.
    pub(crate) fn has_backlog(&self) -> bool {
        self.tail.has_backlog()
    }

    /// Returns the time since the agent's last output, which may be unread.
    pub(crate) fn silent_for(&self) -> Duration {
        let written_at = fs::metadata(self.dir.stream_path()).and_then(|file| file.modified());
        written_at.ok().and_then(|at| at.elapsed().ok()).unwrap_or_default()
    }

    pub(crate) fn read_chunk(&mut self) -> io::Result<Option<StreamChunk<'_>>> {
        let bytes = self.tail.read()?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let mut notices = Vec::new();
        self.decoder.feed(bytes, &mut notices);
        Ok(Some(StreamChunk { bytes, messages: self.decoder.take_messages(), notices }))
    }

    /// Answers the agent's requests. Call it only when all output is read, because an adopted agent may
    /// already have the answers. Returns the requests to the agent that are due.
    pub(crate) fn answer(&mut self) -> Vec<AgentRequest> {
        let replies = self.decoder.take_replies();
        if !replies.is_empty() {
            // Only the time that a run without a supervisor uses depends on it.
            let _ = self.dir.add_replied_bytes(self.tail.offset());
        }
        replies.into_iter().for_each(|reply| self.agent.send_line(reply));
        let mut requests = self.decoder.take_requests();
        if self.is_stopping {
            requests.clear();
        }
        requests
    }

    /// Sends requests to the agent. Each is recorded before it is sent: sending it twice would repeat its
    /// effects.
    pub(crate) fn send(&self, requests: Vec<AgentRequest>) -> Result<(), StoreError> {
        for request in requests {
            self.dir.add_sent_request(&request.id)?;
            self.agent.send_line(request.line);
        }
        Ok(())
    }

    /// Sends a prompt to the agent in its open session, and returns its text. If the agent's input is closed,
    /// the next attempt receives the prompt.
    pub(crate) fn send_prompt(
        &mut self,
        config: &WorldConfig<'_>,
        kind: PromptKind,
        remaining: Remaining,
    ) -> Result<String, StoreError> {
        if let Some(id) = self.decoder.add_prompt() {
            self.dir.add_sent_request(&id)?;
        }
        let snapshot = self.decoder.snapshot();
        let prompt = session_prompt(&config.context, kind, remaining, &snapshot.background);
        self.agent.send_line(config.dialect.encode_prompt(snapshot, &prompt));
        Ok(prompt)
    }

    /// Closes the agent's input, or asks the agent to exit if the input cannot be closed.
    pub(crate) fn close_input(&mut self, config: &WorldConfig<'_>) {
        self.agent.close_input(config.dialect.encode_exit());
    }

    /// Interrupts the exchange, or signals the process group.
    pub(crate) fn stop(&mut self, config: &WorldConfig<'_>, level: StopLevel) {
        self.is_stopping = true;
        match level {
            StopLevel::Interrupt => {
                let line = config.dialect.encode_interrupt(self.decoder.snapshot());
                if line.is_empty() {
                    // There is no exchange to end.
                    self.agent.signal(StopLevel::Term);
                }
                self.agent.interrupt(line);
            }
            StopLevel::Term | StopLevel::Kill => self.agent.signal(level),
        }
    }

    /// Polls what no event reports, and returns what is found.
    pub(crate) fn poll(&mut self, config: &WorldConfig<'_>) -> Result<Vec<Notice>, SuperviseError> {
        let mut notices = Vec::new();
        // Output that the agent wrote before it froze may be read later, so each poll reports the freeze.
        if is_frozen(self.process.pid) {
            notices.push(Notice::ProcessFrozen);
        }
        let limit = config.spec().policy.limits.memory.unwrap_or(u64::MAX);
        if limit < u64::MAX && resident(&config.marker) > limit {
            notices.push(Notice::MemoryExceeded);
        }
        // A build may fill the disk for a moment and clean up, so only two polls in a row count.
        match disk_space::check(&config.dir, disk_space::OUTPUT) {
            Err(error) if self.disk_was_full => return Err(error.into()),
            result => self.disk_was_full = result.is_err(),
        }
        Ok(notices)
    }

    /// Waits until the process exits. Waits forever if the exit was observed already.
    pub(crate) async fn wait_for_exit(&mut self) -> io::Result<()> {
        if self.exit.is_some() {
            future::pending::<()>().await;
        }
        self.exit = Some(self.agent.wait_for_exit().await?);
        Ok(())
    }

    /// Ends the attempt after its `exit`, and stores how and when (`at`) it ended. The stream must be fully
    /// read.
    pub(crate) fn end(self, exit: Exit, at: Moment) -> EndedProcess {
        let AttemptProcess { process, dir, decoder, oom_kills_before, .. } = self;
        let oom_killed = is_oom_kill(oom_kills_before, oom_kills(), exit);
        // The journal records the same afterwards.
        let _ = dir.write(&AttemptExit { exit, ended_at: at.into(), process: Some(process), oom_killed });
        dir.remove_input();
        EndedProcess { dir, decoder, exit, oom_killed }
    }
}

/// Returns whether a process was killed because memory ran out: the count of such kills rose while it was running.
fn is_oom_kill(before: Option<u64>, after: Option<u64>, exit: Exit) -> bool {
    exit == Exit::Signal(SIGKILL) && before.zip(after).is_some_and(|(before, after)| after > before)
}

/// Returns the resident memory of a run's processes. Shared pages count once per process, so the sum is an upper bound.
fn resident(marker: &RunMarker) -> u64 {
    marker.processes().into_iter().filter_map(resident_bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_killed_process_counts_as_oom_killed() {
        assert!(is_oom_kill(Some(3), Some(4), Exit::Signal(SIGKILL)));
        assert!(!is_oom_kill(Some(3), Some(3), Exit::Signal(SIGKILL)));
        assert!(!is_oom_kill(Some(3), Some(4), Exit::Code(1)));
        assert!(!is_oom_kill(None, Some(4), Exit::Signal(SIGKILL)));
    }
}

//! The world of one live run: performs actions, and turns files, exits and signals into events. The child
//! modules implement the kinds of actions and events.

mod checks;
mod ending;
mod input;
mod notify;
mod publishing;
mod starting;
mod summaries;
mod takeover;

use super::agent_process::AgentProcess;
use super::clock::LiveClock;
use super::file_watch::FileWatch;
use super::ledger_writer::LedgerWriter;
use super::loaded_session::LoadedSession;
use super::oom_watch::OomWatch;
use super::requests::RequestWatch;
use super::run_marker::RunMarker;
use super::sweep::sweep;
use super::tail::Tail;
use super::transcript_recorder::TranscriptRecorder;
use crate::cost_breakdown::CostBreakdownReader;
use crate::diagnostic::Diagnostic;
use crate::observer::{Observer, StepView};
use crate::watchdog::{Watchdog, watchdog_command};
use crate::{Environment, SuperviseError, World};
use checks::CheckRun;
use longhaul_agent::{AgentContext, AttemptSnapshot, Decoder, Dialect, PriorAttempts, Program};
use longhaul_core::{
    Action, CancelSource, Event, Exit, Moment, Now, Policy, ProcessId, PromptKind, Record, Remaining, Run,
    RunSpec, SessionFileState, SessionId, Step, StopLevel,
};
use longhaul_store::{AttemptDir, Home, Journal, RunDir, SessionLock, compact};
use notify::Notifier;
use publishing::Published;
use std::collections::VecDeque;
use std::sync::Arc;
use summaries::SummaryRun;
use tokio::sync::mpsc;

/// The parts of a live world.
pub(crate) struct WorldConfig<'a> {
    pub(crate) home: &'a Home,
    pub(crate) dir: RunDir,
    /// Identifies the run's processes.
    pub(crate) marker: RunMarker,
    pub(crate) journal: Journal,
    pub(crate) dialect: Arc<dyn Dialect>,
    /// The description of the run, and what else the agent is started with.
    pub(crate) context: AgentContext,
    pub(crate) environment: Environment,
    /// Variables that the agent needs and that are not set. If there are any, no agent is started.
    pub(crate) missing: Vec<String>,
    pub(crate) cancels: mpsc::Receiver<CancelSource>,
    pub(crate) observer: &'a mut dyn Observer,
}

/// The world of one live run.
pub(crate) struct LiveWorld<'a> {
    setup: WorldConfig<'a>,
    /// Watches the stream and the requests.
    watch: FileWatch,
    /// Requests of other processes. `None` if they cannot be received.
    requests: Option<RequestWatch>,
    clock: LiveClock,
    /// Whether an appended record is not yet on disk.
    needs_sync: bool,
    events: VecDeque<Event>,
    attempt: Option<AttemptProcess>,
    /// The model that summarizes older work for the next attempt. It never runs during one.
    summary_run: Option<SummaryRun>,
    /// The running check. It never runs during an attempt.
    check_run: Option<CheckRun>,
    /// Writes the transcript, for people.
    recorder: TranscriptRecorder,
    /// Writes the run's row in the ledger.
    ledger: LedgerWriter,
    /// Ended attempts, each with the decoder that read it. The decoder decides which lines of the stream can
    /// be dropped.
    ended_attempts: Vec<(AttemptDir, Box<dyn Decoder>)>,
    /// The watchdog's program, until it is started.
    watchdog_program: Option<Program>,
    /// Stops the agent if the run is orphaned for too long.
    watchdog: Option<Watchdog>,
    /// Files that publish the run's state. `None` until they name this supervisor. They are written even if
    /// the first step records nothing, because a dead supervisor's watchdog waits for a change.
    published: Option<Published>,
    /// Reads the transcript for a harness's cost summary.
    cost_reader: Option<CostBreakdownReader>,
    /// Locks of the run's sessions. They are held until the run finishes, because the run may need its
    /// earlier sessions again.
    locks: Vec<(SessionId, SessionLock)>,
    /// The session file that was inspected for the next attempt.
    inspected: Option<LoadedSession>,
    /// Whether the stream was read again after the deadline was due.
    polled_when_due: bool,
    /// State of the last attempt's stream, for the report.
    snapshot: AttemptSnapshot,
    /// Data of the ended attempts, for the prompt of the next one.
    prior_attempts: PriorAttempts,
    /// Error of the system if the agent could not be started.
    spawn_error: Option<String>,
    stderr_tail: String,
    diagnostic: Diagnostic,
    notifier: Notifier,
}

/// A running attempt.
struct AttemptProcess {
    agent: AgentProcess,
    tail: Tail,
    decoder: Box<dyn Decoder>,
    dir: AttemptDir,
    process: ProcessId,
    memory: OomWatch,
    /// Whether the agent was frozen at the last poll.
    frozen: bool,
    /// Whether the disk was full at the last poll.
    disk_was_full: bool,
    /// Whether it is being stopped, so that it receives no further requests.
    is_stopping: bool,
    exit: Option<Exit>,
}

impl AttemptProcess {
    fn new(
        agent: AgentProcess,
        process: ProcessId,
        memory: OomWatch,
        tail: Tail,
        decoder: Box<dyn Decoder>,
        dir: AttemptDir,
    ) -> AttemptProcess {
        AttemptProcess {
            agent,
            tail,
            decoder,
            dir,
            process,
            memory,
            frozen: false,
            disk_was_full: false,
            is_stopping: false,
            exit: None,
        }
    }
}

impl<'a> LiveWorld<'a> {
    pub(crate) fn new(setup: WorldConfig<'a>) -> LiveWorld<'a> {
        // If requests cannot be received, signals can still cancel the run.
        let mut watch = FileWatch::new();
        let requests = RequestWatch::listen(&setup.dir, &mut watch).ok();
        let WorldConfig { dir, context: AgentContext { spec, .. }, environment, .. } = &setup;
        let diagnostic = Diagnostic::new(spec.diagnostic, dir, &spec.cwd, environment);
        let recorder = TranscriptRecorder::new(dir.clone(), Arc::clone(&setup.dialect), spec.harness);
        let watchdog_program = watchdog_command(environment, &spec.policy);
        let ledger = LedgerWriter::new(setup.home, &setup.dir);
        LiveWorld {
            setup,
            watch,
            requests,
            clock: LiveClock::new(),
            needs_sync: false,
            events: VecDeque::new(),
            attempt: None,
            summary_run: None,
            check_run: None,
            recorder,
            ledger,
            ended_attempts: Vec::new(),
            watchdog_program,
            watchdog: None,
            published: None,
            cost_reader: None,
            locks: Vec::new(),
            inspected: None,
            polled_when_due: false,
            snapshot: AttemptSnapshot::default(),
            prior_attempts: PriorAttempts::default(),
            spawn_error: None,
            stderr_tail: String::new(),
            diagnostic,
            notifier: Notifier::default(),
        }
    }
}

impl World for LiveWorld<'_> {
    type Error = SuperviseError;

    fn now(&mut self) -> Now {
        self.clock.now()
    }

    fn append(&mut self, at: Moment, records: &[Record]) -> Result<(), SuperviseError> {
        self.setup.journal.append(at, records)?;
        self.needs_sync = true;
        // An agent may choose the id of its session. No other run can know it yet.
        let opened = records.iter().filter_map(|record| match record {
            Record::SessionOpened { session, .. } => Some(session),
            _ => None,
        });
        for session in opened {
            if !self.locks.iter().any(|(locked, _)| locked == session) {
                self.lock_sessions(std::iter::once(session));
            }
        }
        Ok(())
    }

    fn on_step(&mut self, run: &Run, policy: &Policy, at: Moment, step: &Step) {
        self.queue_wait_notification(run, at);
        // The final status is written last, by `write_final_status`.
        if (!step.records.is_empty() || self.published.is_none()) && run.state().outcome().is_none() {
            self.publish(run, policy, at);
        }
        self.ledger.apply(at, &step.records);
        let snapshot = self.attempt.as_ref().map(|attempt| attempt.decoder.snapshot());
        self.diagnostic.on_step(run, at, step, self.spawn_error.as_deref());
        self.setup.observer.on_step(StepView { run, policy, at, snapshot }, step);
    }

    async fn perform(&mut self, action: Action) -> Result<(), SuperviseError> {
        self.sync()?;
        if matches!(action, Action::Spawn(_) | Action::StartSummary(_)) && !self.setup.missing.is_empty() {
            let (run, names) = (self.setup.dir.id().clone(), self.setup.missing.clone());
            return Err(SuperviseError::MissingVariables { run, names });
        }
        match action {
            Action::InspectSession(session) => {
                let inspected = self.session_files().map(|files| files.inspect(&session));
                let (state, loaded) = inspected.unwrap_or((SessionFileState::Ready, None));
                self.inspected = loaded;
                self.events.push_back(Event::SessionInspected(state));
                Ok(())
            }
            Action::StartSummary(plan) => {
                self.start_summary(&plan);
                Ok(())
            }
            Action::StopSummary => self.stop_summary().await,
            Action::StartCheck(number) => self.start_check(number),
            Action::StopCheck => self.end_check(true).await,
            Action::Spawn(plan) => self.spawn(&plan),
            Action::SendPrompt(kind, remaining) => {
                self.send_prompt(kind, remaining);
                Ok(())
            }
            Action::CloseInput => {
                if let Some(attempt) = &mut self.attempt {
                    attempt.agent.close_input(self.setup.dialect.encode_exit());
                }
                Ok(())
            }
            Action::ProbeProcesses => self.probe().await,
            Action::Stop(level) => {
                self.stop(level);
                Ok(())
            }
            Action::Sweep => {
                let stopped = sweep(&self.setup.marker).await?;
                self.events.push_back(Event::Swept(stopped));
                Ok(())
            }
            Action::Finish(_) => Ok(()),
        }
    }

    async fn next(&mut self, until: Option<Moment>) -> Result<Event, SuperviseError> {
        loop {
            if let Some(source) = self.next_cancel() {
                return Ok(Event::Cancelled(source));
            }
            if let Some(event) = self.events.pop_front() {
                return Ok(event);
            }
            // Output that is already written is read before a stall or a timeout is declared. An agent that
            // never stops writing does not delay the deadline forever.
            let due = until.is_some_and(|until| until <= self.clock.at());
            if due && self.polled_when_due {
                self.polled_when_due = false;
                return Ok(Event::Ticked);
            }
            if self.read_stream()? {
                self.polled_when_due = due;
                continue;
            }
            if let Some(source) = self.shared_signal().await {
                return Ok(Event::Cancelled(source));
            }
            if let Some(evidence) = self.end_attempt()? {
                return Ok(Event::Exited(evidence));
            }
            if self.summary_run.as_ref().is_some_and(SummaryRun::has_exited) {
                self.stop_summary().await?;
                continue;
            }
            if self.has_check_exited() {
                self.end_check(false).await?;
                continue;
            }
            if due {
                return Ok(Event::Ticked);
            }
            self.sync()?;
            self.start_watchdog().await;
            self.ledger.write();
            let publish_at = self.publish_usage();
            self.wait_for_change(until.into_iter().chain(publish_at).min()).await?;
            if let Some(span) = self.clock.sleep_since_last_call() {
                return Ok(Event::Downtime(span));
            }
        }
    }
}

impl LiveWorld<'_> {
    /// Returns the state of the last attempt's stream, for the report.
    pub(crate) fn snapshot(&self) -> &AttemptSnapshot {
        &self.snapshot
    }

    /// Returns why the last attempt could not be started, or the end of its stderr.
    pub(crate) fn startup_message(&self) -> Option<&str> {
        self.spawn_error.as_deref().or_else(|| Some(self.stderr_tail.trim()).filter(|tail| !tail.is_empty()))
    }

    /// Compacts the stream files. A file that cannot be compacted stays as it is.
    pub(crate) fn compact_streams(&self) {
        for (dir, decoder) in self.ended_attempts.iter().filter(|(_, decoder)| decoder.is_compactable()) {
            let _ = compact(&dir.stream_path(), |line| decoder.keeps_line(line));
        }
    }

    /// Completes the transcript of the first `attempts` attempts, none of which is still running.
    pub(crate) fn complete_transcript(&mut self, attempts: u32) {
        self.recorder.complete(attempts);
    }

    /// Releases the run's sessions and updates the ledger, after the run finished.
    pub(crate) fn release(&mut self) {
        self.locks.clear();
        self.ledger.write_last();
    }

    /// Stores the limits that a user added, so that the next prompt states them.
    pub(crate) fn add_limits(&mut self, added: Remaining) {
        self.prior_attempts.added = added;
    }

    /// Returns the description of the run.
    pub(crate) fn spec(&self) -> &RunSpec {
        &self.setup.context.spec
    }

    /// Returns the home of the run.
    pub(crate) fn home(&self) -> &Home {
        self.setup.home
    }

    pub(crate) fn dir(&self) -> &RunDir {
        &self.setup.dir
    }

    /// Returns `true` if an agent was started, even if its start is not journaled.
    pub(crate) fn has_started(&self) -> bool {
        self.attempt.is_some() || !self.ended_attempts.is_empty()
    }

    /// Stops all processes of a run that cannot continue, with SIGTERM first, so that the agent's session
    /// stays intact. Nothing is journaled, because the journal failed.
    pub(crate) async fn abandon(&mut self) {
        self.stop(StopLevel::Term);
        let _ = sweep(&self.setup.marker).await;
    }

    /// Starts the watchdog with the first agent.
    async fn start_watchdog(&mut self) {
        if self.attempt.is_some()
            && let Some(program) = self.watchdog_program.take()
        {
            // The agent receives its prompt first, because it waits for the prompt.
            tokio::task::yield_now().await;
            // The run continues without a watchdog.
            self.watchdog = Watchdog::start(&program, &self.setup.dir).ok();
        }
    }

    /// Stops the watchdog, because the run has no process left.
    pub(crate) async fn stop_watchdog(&mut self) {
        if let Some(watchdog) = self.watchdog.take() {
            watchdog.stop().await;
        }
    }

    fn sync(&mut self) -> Result<(), SuperviseError> {
        if self.needs_sync {
            self.setup.journal.sync()?;
            self.needs_sync = false;
            self.setup.observer.on_sync();
        }
        self.send_wait_notification();
        Ok(())
    }

    /// Sends a prompt to the agent in its open session. If the agent's input is closed, the next attempt
    /// receives the prompt.
    fn send_prompt(&mut self, kind: PromptKind, remaining: Remaining) {
        let Some(attempt) = &self.attempt else { return };
        let running = &attempt.decoder.snapshot().background;
        let prompt = self.setup.dialect.prompt_text(&self.setup.context, kind, remaining, running);
        let line = self.setup.dialect.encode_prompt(attempt.decoder.snapshot(), &prompt);
        attempt.agent.send_line(line);
        self.recorder.prompt_sent(kind, prompt, self.clock.at());
    }

    fn stop(&mut self, level: StopLevel) {
        if let Some(attempt) = &mut self.attempt {
            attempt.is_stopping = true;
            match level {
                StopLevel::Interrupt => {
                    let line = self.setup.dialect.encode_interrupt(attempt.decoder.snapshot());
                    if line.is_empty() {
                        // There is no exchange to end.
                        attempt.agent.signal(StopLevel::Term);
                    }
                    attempt.agent.interrupt(line);
                }
                StopLevel::Term | StopLevel::Kill => attempt.agent.signal(level),
            }
        }
    }

    /// Returns a decoder for the stream of an attempt. It collects the messages.
    fn decoder(&self, attempt: u32) -> Box<dyn Decoder> {
        let mut decoder = self.notice_decoder();
        decoder.collect_messages(attempt);
        decoder
    }

    /// Returns a decoder that collects no messages.
    fn notice_decoder(&self) -> Box<dyn Decoder> {
        let context = &self.setup.context;
        self.setup.dialect.decoder(context.guards(), &context.done_signals())
    }
}

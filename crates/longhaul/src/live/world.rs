//! The world of one live run: performs actions, and turns files, exits and signals into events. What each of these is has a
//! file of its own below.

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
use super::oom_watch::OomWatch;
use super::requests::RequestWatch;
use super::run_marker::RunMarker;
use super::sweep::sweep;
use super::tail::Tail;
use super::transcript_recorder::TranscriptRecorder;
use crate::cost_breakdown::SpendingReader;
use crate::diagnostic::Diagnostic;
use crate::observer::{Observer, StepView};
use crate::watchdog::Watchdog;
use crate::{Environment, SuperviseError, World};
use checks::CheckRun;
use longhaul_agent::{AgentSpec, AttemptSnapshot, Decoder, Dialect, PriorAttempts, Program};
use longhaul_core::{
    Action, CancelSource, Event, Exit, Moment, Now, Policy, ProcessId, PromptKind, Record, Remaining, Run,
    SessionFileState, SessionId, Step, StopLevel,
};
use longhaul_store::{AttemptDir, Harness, Home, Journal, RunDir, SessionLock, compact};
use notify::Notifier;
use publishing::Published;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use summaries::SummaryRun;
use tokio::sync::mpsc;

/// What a live world is made of.
pub(crate) struct WorldConfig<'a> {
    pub(crate) home: &'a Home,
    pub(crate) dir: RunDir,
    /// What its processes carry.
    pub(crate) marker: RunMarker,
    pub(crate) journal: Journal,
    pub(crate) dialect: Arc<dyn Dialect>,
    pub(crate) order: AgentSpec,
    pub(crate) environment: Environment,
    /// Variables that the agent needs and that are not set: it is not started again.
    pub(crate) missing: Vec<String>,
    /// Memory that the run's processes may have resident, in bytes.
    pub(crate) memory_limit: Option<u64>,
    /// Whether it matters if the agent changes its workspace.
    pub(crate) fingerprints_workspace: bool,
    /// Whether each noteworthy event leaves a text for people.
    pub(crate) diagnostic: bool,
    /// Who reads the run's files besides people.
    pub(crate) harness: Option<Harness>,
    /// Commands that are told of the run.
    pub(crate) notify: Vec<String>,
    /// Who is to be the watchdog, until it is started.
    pub(crate) watchdog: Option<Program>,
    pub(crate) cancels: mpsc::Receiver<CancelSource>,
    pub(crate) observer: &'a mut dyn Observer,
}

/// The world of one live run.
pub(crate) struct LiveWorld<'a> {
    setup: WorldConfig<'a>,
    /// The stream and the requests.
    watch: FileWatch,
    /// What other processes want; nothing if it cannot be listened to.
    requests: Option<RequestWatch>,
    clock: LiveClock,
    /// Whether something was appended that is not yet on disk.
    unsynced: bool,
    events: VecDeque<Event>,
    attempt: Option<AttemptProcess>,
    /// What condenses older work for the next attempt; never beside one.
    summary_run: Option<SummaryRun>,
    /// What judges the work; never beside an attempt either.
    checking: Option<CheckRun>,
    /// Writes the conversation down, for people.
    recorder: TranscriptRecorder,
    /// Tells the ledger of it, for those who look for runs.
    indexed: LedgerWriter,
    /// Attempts that are over, each with the decoder that read it: it knows what its stream can do without.
    ended: Vec<(AttemptDir, Box<dyn Decoder>)>,
    /// Ends the agent if we die and nobody comes back.
    watchdog: Option<Watchdog>,
    /// The files that show where the run stands; `None` until they name us as the supervisor. A first step may have nothing
    /// to record, and a dead supervisor's watchdog waits for a sign.
    published: Option<Published>,
    /// Reads the transcript for a harness's cost summary.
    spending: Option<SpendingReader>,
    /// Held until the run ends: a session that a run has used may be needed by it again.
    locks: Vec<(SessionId, SessionLock)>,
    /// Whether the due deadline has already waited for one more look at the stream.
    looked_when_due: bool,
    /// What the last attempt's stream said, kept for the report.
    snapshot: AttemptSnapshot,
    /// What the ended attempts have left for the next one to know.
    past: PriorAttempts,
    /// Why the agent could not be started, in the system's words.
    spawn_error: Option<String>,
    stderr_tail: String,
    diagnostic: Diagnostic,
    notifying: Notifier,
}

/// One attempt under way.
struct AttemptProcess {
    agent: AgentProcess,
    tail: Tail,
    decoder: Box<dyn Decoder>,
    dir: AttemptDir,
    process: ProcessId,
    memory: OomWatch,
    /// Whether it stood still when we last looked.
    halted: bool,
    /// Whether the disk was full when we last looked.
    has_unread_output: bool,
    exit: Option<Exit>,
}

impl AttemptProcess {
    fn new(
        (agent, process): (AgentProcess, ProcessId),
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
            halted: false,
            has_unread_output: false,
            exit: None,
        }
    }
}

impl<'a> LiveWorld<'a> {
    pub(crate) fn new(setup: WorldConfig<'a>) -> LiveWorld<'a> {
        // Without it the run can still be cancelled by signals, and can be worked on all the same.
        let mut watch = FileWatch::new();
        let requests = RequestWatch::listen(&setup.dir, &mut watch).ok();
        let WorldConfig { dir, order, environment, .. } = &setup;
        let diagnostic = Diagnostic::new(setup.diagnostic, dir, &order.cwd, environment);
        let recorder = TranscriptRecorder::new(setup.dir.clone(), Arc::clone(&setup.dialect), setup.harness);
        let indexed = LedgerWriter::new(setup.home, &setup.dir);
        LiveWorld {
            setup,
            watch,
            requests,
            clock: LiveClock::new(),
            unsynced: false,
            events: VecDeque::new(),
            attempt: None,
            summary_run: None,
            checking: None,
            recorder,
            indexed,
            ended: Vec::new(),
            watchdog: None,
            published: None,
            spending: None,
            locks: Vec::new(),
            looked_when_due: false,
            snapshot: AttemptSnapshot::default(),
            past: PriorAttempts::default(),
            spawn_error: None,
            stderr_tail: String::new(),
            diagnostic,
            notifying: Notifier::default(),
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
        self.unsynced = true;
        Ok(())
    }

    fn on_step(&mut self, run: &Run, policy: &Policy, at: Moment, step: &Step) {
        self.notice_wait(run, at);
        // The last status is written when all else is in order.
        if (!step.records.is_empty() || self.published.is_none()) && run.state().outcome().is_none() {
            self.publish(run, policy, at);
        }
        self.indexed.take(run, &step.records);
        let snapshot = self.attempt.as_ref().map(|attempt| attempt.decoder.snapshot());
        self.diagnostic.stepped(run, at, step, self.spawn_error.as_deref());
        self.setup.observer.on_step(StepView { run, policy, at, snapshot }, step);
    }

    async fn perform(&mut self, action: Action) -> Result<(), SuperviseError> {
        self.sync()?;
        if matches!(action, Action::Spawn(_) | Action::StartSummary(_)) && !self.setup.missing.is_empty() {
            let (run, names) = (self.setup.dir.id().clone(), self.setup.missing.clone());
            return Err(SuperviseError::Variables { run, names });
        }
        match action {
            Action::InspectSession(session) => {
                let found =
                    self.session_files().map_or(SessionFileState::Ready, |files| files.inspect(&session));
                self.events.push_back(Event::SessionInspected(found));
                Ok(())
            }
            Action::StartSummary(plan) => {
                self.start_summary(&plan);
                Ok(())
            }
            Action::StopSummary => self.stop_summary().await,
            Action::StartCheck(number) => self.check(number),
            Action::StopCheck => self.end_check(true).await,
            Action::Spawn(plan) => self.spawn(&plan),
            Action::Say(say, left) => {
                self.say(say, left);
                Ok(())
            }
            Action::CloseInput => {
                if let Some(attempt) = &mut self.attempt {
                    attempt.agent.end_input(self.setup.dialect.encode_exit());
                }
                Ok(())
            }
            Action::ProbeProcesses => self.probe().await,
            Action::Stop(level) => {
                self.stop(level);
                Ok(())
            }
            Action::Sweep => {
                let ended = sweep(&self.setup.marker).await?;
                self.events.push_back(Event::Swept(ended));
                Ok(())
            }
            Action::Finish(_) => Ok(()),
        }
    }

    async fn next(&mut self, until: Option<Moment>) -> Result<Event, SuperviseError> {
        loop {
            if let Some(by) = self.cancelled() {
                return Ok(Event::Cancelled(by));
            }
            if let Some(event) = self.events.pop_front() {
                return Ok(event);
            }
            // What is written already is read before silence or a timeout is declared, but an
            // agent that never stops writing does not put a deadline off for ever.
            let due = until.is_some_and(|until| until <= self.clock.at());
            if due && self.looked_when_due {
                self.looked_when_due = false;
                return Ok(Event::Ticked);
            }
            if self.read_stream()? {
                self.looked_when_due = due;
                continue;
            }
            if let Some(by) = self.shared_signal().await {
                return Ok(Event::Cancelled(by));
            }
            if let Some(evidence) = self.ended_attempt()? {
                return Ok(Event::Exited(evidence));
            }
            if self.summary_run.as_ref().is_some_and(SummaryRun::is_gone) {
                self.stop_summary().await?;
                continue;
            }
            if self.has_checked() {
                self.end_check(false).await?;
                continue;
            }
            if due {
                return Ok(Event::Ticked);
            }
            self.sync()?;
            self.set_watchdog().await;
            self.indexed.write();
            let publish_at = self.publish_usage();
            self.wait_for_change(until.into_iter().chain(publish_at).min()).await?;
            if let Some(span) = self.clock.sleep_since_last_call() {
                return Ok(Event::Downtime(span));
            }
        }
    }
}

impl LiveWorld<'_> {
    /// The last attempt's stream, for the report.
    pub(crate) fn glance(&self) -> &AttemptSnapshot {
        &self.snapshot
    }

    /// Why the last attempt could not be started or what it said on stderr, if anything.
    pub(crate) fn startup_message(&self) -> Option<&str> {
        self.spawn_error.as_deref().or_else(|| Some(self.stderr_tail.trim()).filter(|tail| !tail.is_empty()))
    }

    /// Makes the stream files smaller. What fails is left as it was.
    pub(crate) fn compact_streams(&self) {
        for (dir, decoder) in self.ended.iter().filter(|(_, decoder)| decoder.is_compactable()) {
            let _ = compact(&dir.stream_path(), |line| decoder.keeps_line(line));
        }
    }

    /// Brings what is written down for people up to date with `attempts` attempts, of which none goes on.
    pub(crate) fn complete_transcript(&mut self, attempts: u32) {
        self.recorder.complete(attempts);
    }

    /// The run is over, and all were told: its sessions are free, and the ledger is brought up to date.
    pub(crate) fn release(&mut self) {
        self.locks.clear();
        self.indexed.write_last();
    }

    /// Has the next attempt learn what a person added to the limits.
    pub(crate) fn add_limits(&mut self, added: Remaining) {
        self.past.added = added;
    }

    /// The harness that the run is carried out for.
    pub(crate) fn harness(&self) -> Option<Harness> {
        self.setup.harness
    }

    /// Where runs are kept.
    pub(crate) fn home(&self) -> &Home {
        self.setup.home
    }

    /// Where the agent works.
    pub(crate) fn cwd(&self) -> &Path {
        &self.setup.order.cwd
    }

    /// The run's directory.
    pub(crate) fn dir(&self) -> &RunDir {
        &self.setup.dir
    }

    /// Whether an agent was started, be it one whose start is not written down.
    pub(crate) fn has_started(&self) -> bool {
        self.attempt.is_some() || !self.ended.is_empty()
    }

    /// Ends everything of a run that cannot go on, politely first, so that the agent's session is whole.
    /// Nothing is journalled: the journal is what broke.
    pub(crate) async fn abandon(&mut self) {
        self.stop(StopLevel::Term);
        let _ = sweep(&self.setup.marker).await;
    }

    /// Has somebody end the agent, should we die and nobody come back.
    async fn set_watchdog(&mut self) {
        if self.attempt.is_some()
            && let Some(program) = self.setup.watchdog.take()
        {
            // An agent that was just started gets its prompt first: it waits for that.
            tokio::task::yield_now().await;
            // The work does not need it.
            self.watchdog = Watchdog::start(&program, &self.setup.dir).ok();
        }
    }

    /// Lets the watchdog go: nothing is left to be ended.
    pub(crate) async fn dismiss_watchdog(&mut self) {
        if let Some(watchdog) = self.watchdog.take() {
            watchdog.stop().await;
        }
    }

    fn sync(&mut self) -> Result<(), SuperviseError> {
        if self.unsynced {
            self.setup.journal.sync()?;
            self.unsynced = false;
            self.setup.observer.on_sync();
        }
        self.notify_wait();
        Ok(())
    }

    /// Tells the agent something in the session that it has open. One whose input has ended hears it in the next
    /// attempt.
    fn say(&mut self, say: PromptKind, left: Remaining) {
        let Some(attempt) = &self.attempt else { return };
        let running = &attempt.decoder.snapshot().background;
        let words = self.setup.dialect.prompt_text(&self.setup.order, say, left, running);
        attempt.agent.say(self.setup.dialect.encode_prompt(&words));
        self.recorder.counts(say, words, self.clock.at());
    }

    fn stop(&mut self, level: StopLevel) {
        if let Some(attempt) = &self.attempt {
            match level {
                StopLevel::Interrupt => attempt.agent.interrupt(self.setup.dialect.encode_interrupt()),
                StopLevel::Term | StopLevel::Kill => attempt.agent.signal(level),
            }
        }
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        let order = &self.setup.order;
        self.setup.dialect.decoder(&order.guards, &order.done_signals())
    }
}

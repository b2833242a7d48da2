//! The world of one live run: performs actions, and turns files, exits and signals into events.

mod checking;
mod condensing;
mod notifying;
mod taking_over;

use super::child::{Agent, Input, Launch, is_halted};
use super::clock::Clock;
use super::indexed::Indexed;
use super::left::tail_of;
use super::mark::Mark;
use super::memory::MemoryWatch;
use super::recorder::Recorder;
use super::requests::Requests;
use super::resident::resident;
use super::room;
use super::sessions::{Begun, SessionFiles};
use super::signs::examine;
use super::survey::survey;
use super::sweep::sweep;
use super::tail::Tail;
use super::watch::{Changes, Watch};
use crate::crash::{self, Point};
use crate::diagnostic::Diagnostic;
use crate::observer::{Observer, View};
use crate::seeding::transcript_of;
use crate::watchdog::Watchdog;
use crate::{Environment, SuperviseError, World};
use checking::Checking;
use condensing::Condensing;
use longhaul_agent::{Answered, Decoder, Dialect, Glance, Order, Past, Program};
use longhaul_core::{
    Action, By, Continuity, Event, Evidence, Exit, Left, Moment, Notice, Now, Policy, Proc, Record, Run, Say,
    SessionFound, SessionId, SessionPlan, SpawnPlan, StartupError, Step, StopLevel, Tally,
};
use longhaul_store::{
    AnsweredQuestion, AttemptDir, AttemptExit, Harness, Home, Journal, ModelSpent, RunDir, SessionLock,
    Status, StoreError, add_section, compact,
};
use notifying::Notifying;
use std::collections::{BTreeSet, VecDeque};
use std::process;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

// The timer does not run while the machine sleeps, and an agent that was stopped says nothing of it:
// looking up now and then finds out.
const LOOK_UP: Duration = Duration::from_secs(30);
const LOOK_UP_LIVE: Duration = Duration::from_secs(2);

/// What a live world is made of.
pub(crate) struct Setup<'a> {
    pub(crate) home: &'a Home,
    pub(crate) dir: RunDir,
    /// What its processes carry.
    pub(crate) mark: Mark,
    pub(crate) journal: Journal,
    pub(crate) dialect: Arc<dyn Dialect>,
    pub(crate) order: Order,
    pub(crate) environment: Environment,
    /// Memory that the run's processes may have resident, in bytes.
    pub(crate) memory_limit: Option<u64>,
    /// Whether it matters if the agent changes its workspace.
    pub(crate) surveys: bool,
    /// Whether each noteworthy event leaves a text for people.
    pub(crate) diagnostic: bool,
    /// Who reads the run's files besides people.
    pub(crate) harness: Option<Harness>,
    /// Commands that are told of the run.
    pub(crate) notify: Vec<String>,
    /// Who is to be the watchdog, until it is started.
    pub(crate) watchdog: Option<Program>,
    pub(crate) cancels: mpsc::Receiver<By>,
    pub(crate) observer: &'a mut dyn Observer,
}

/// The world of one live run.
pub(crate) struct LiveWorld<'a> {
    setup: Setup<'a>,
    /// The stream and the requests.
    watch: Watch,
    /// What other processes want; nothing if it cannot be listened to.
    requests: Option<Requests>,
    clock: Clock,
    /// Whether something was appended that is not yet on disk.
    unsynced: bool,
    events: VecDeque<Event>,
    attempt: Option<Attempt>,
    /// What condenses older work for the next attempt; never beside one.
    condensing: Option<Condensing>,
    /// What judges the work; never beside an attempt either.
    checking: Option<Checking>,
    /// Writes the conversation down, for people.
    recorder: Recorder,
    /// Tells the ledger of it, for those who look for runs.
    indexed: Indexed,
    /// Attempts that are over, each with the decoder that read it: it knows what its stream can do without.
    ended: Vec<(AttemptDir, Box<dyn Decoder>)>,
    /// Ends the agent if we die and nobody comes back.
    watchdog: Option<Watchdog>,
    /// Whether the status has named us as the supervisor. A first step may have nothing to record, and a dead
    /// supervisor's watchdog waits for a sign.
    is_named: bool,
    /// Held until the run ends: a session that a run has used may be needed by it again.
    locks: Vec<(SessionId, SessionLock)>,
    /// Whether the due deadline has already waited for one more look at the stream.
    looked_when_due: bool,
    /// What the last attempt's stream said, kept for the report.
    glance: Glance,
    /// What the ended attempts have left for the next one to know.
    past: Past,
    /// Why the agent could not be started, in the system's words.
    spawn_error: Option<String>,
    stderr_tail: String,
    diagnostic: Diagnostic,
    notifying: Notifying,
}

/// One attempt under way.
struct Attempt {
    agent: Agent,
    tail: Tail,
    decoder: Box<dyn Decoder>,
    dir: AttemptDir,
    proc: Proc,
    memory: MemoryWatch,
    /// Whether it stood still when we last looked.
    halted: bool,
    /// Whether the disk was full when we last looked.
    unheard: bool,
    exit: Option<Exit>,
}

impl Attempt {
    fn of(
        (agent, proc): (Agent, Proc),
        memory: MemoryWatch,
        tail: Tail,
        decoder: Box<dyn Decoder>,
        dir: AttemptDir,
    ) -> Attempt {
        Attempt { agent, tail, decoder, dir, proc, memory, halted: false, unheard: false, exit: None }
    }
}

impl<'a> LiveWorld<'a> {
    pub(crate) fn new(setup: Setup<'a>) -> LiveWorld<'a> {
        // Without it the run can still be cancelled by signals, and can be worked on all the same.
        let mut watch = Watch::new();
        let requests = Requests::listen(&setup.dir, &mut watch).ok();
        let Setup { dir, order, environment, .. } = &setup;
        let diagnostic = Diagnostic::new(setup.diagnostic, dir, &order.cwd, environment);
        let recorder = Recorder::new(setup.dir.clone(), Arc::clone(&setup.dialect), setup.harness);
        let indexed = Indexed::new(setup.home, &setup.dir);
        LiveWorld {
            setup,
            watch,
            requests,
            clock: Clock::new(),
            unsynced: false,
            events: VecDeque::new(),
            attempt: None,
            condensing: None,
            checking: None,
            recorder,
            indexed,
            ended: Vec::new(),
            watchdog: None,
            is_named: false,
            locks: Vec::new(),
            looked_when_due: false,
            glance: Glance::default(),
            past: Past::default(),
            spawn_error: None,
            stderr_tail: String::new(),
            diagnostic,
            notifying: Notifying::default(),
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

    fn stepped(&mut self, run: &Run, policy: &Policy, at: Moment, step: &Step) {
        self.notice_wait(run, at);
        let glance = self.attempt.as_ref().map(|attempt| attempt.decoder.glance());
        // The last status is written when all else is in order.
        if (!step.records.is_empty() || !self.is_named) && run.state().outcome().is_none() {
            // Derived, for people; a failing recorder never fails the work it records.
            let status = Status::of(self.setup.dir.id(), run, policy, process::id(), at);
            let _ = self.setup.dir.write_status(&status);
            self.is_named = true;
        }
        self.indexed.take(run, &step.records);
        self.diagnostic.stepped(run, at, step, self.spawn_error.as_deref());
        self.setup.observer.stepped(View { run, policy, at, glance }, step);
    }

    async fn perform(&mut self, action: Action) -> Result<(), SuperviseError> {
        self.sync()?;
        match action {
            Action::Inspect(session) => {
                let found = self.session_files().map_or(SessionFound::Ready, |files| files.look(&session));
                self.events.push_back(Event::Inspected(found));
                Ok(())
            }
            Action::Condense(plan) => {
                self.condense(&plan);
                Ok(())
            }
            Action::EndCondensing => self.end_condensing().await,
            Action::Check(number) => self.check(number),
            Action::EndCheck => self.end_check(true).await,
            Action::Spawn(plan) => self.spawn(&plan),
            Action::Say(say, left) => {
                self.say(say, left);
                Ok(())
            }
            Action::EndInput => {
                if let Some(attempt) = &mut self.attempt {
                    attempt.agent.end_input(self.setup.dialect.leave());
                }
                Ok(())
            }
            Action::Examine => self.examine().await,
            Action::Stop(level) => {
                self.stop(level);
                Ok(())
            }
            Action::Sweep => {
                let ended = sweep(&self.setup.mark).await?;
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
            if let Some(evidence) = self.ended_attempt()? {
                return Ok(Event::Exited(evidence));
            }
            if self.condensing.as_ref().is_some_and(Condensing::is_gone) {
                self.end_condensing().await?;
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
            self.pause(until).await?;
            if let Some(span) = self.clock.slept() {
                return Ok(Event::Suspended(span));
            }
        }
    }
}

impl LiveWorld<'_> {
    /// The last attempt's stream, for the report.
    pub(crate) fn glance(&self) -> &Glance {
        &self.glance
    }

    /// Why the last attempt could not be started or what it said on stderr, if anything.
    pub(crate) fn complaint(&self) -> Option<&str> {
        self.spawn_error.as_deref().or_else(|| Some(self.stderr_tail.trim()).filter(|tail| !tail.is_empty()))
    }

    /// Makes the stream files smaller. What fails is left as it was.
    pub(crate) fn compact_streams(&self) {
        for (dir, decoder) in self.ended.iter().filter(|(_, decoder)| decoder.is_compactable()) {
            let _ = compact(&dir.stream_path(), |line| decoder.keeps(line));
        }
    }

    /// Brings what is written down for people up to date with `attempts` attempts, of which none goes on.
    pub(crate) fn complete_record(&mut self, attempts: u32) {
        self.recorder.complete(attempts);
    }

    /// The run is over, and all were told: its sessions are free, and the ledger is brought up to date.
    pub(crate) fn retire(&mut self) {
        self.locks.clear();
        self.indexed.write_last();
    }

    /// The harness that the run is carried out for.
    pub(crate) fn harness(&self) -> Option<Harness> {
        self.setup.harness
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
        let _ = sweep(&self.setup.mark).await;
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
            watchdog.dismiss().await;
        }
    }

    fn sync(&mut self) -> Result<(), SuperviseError> {
        if self.unsynced {
            self.setup.journal.sync()?;
            self.unsynced = false;
            self.setup.observer.synced();
        }
        self.tell_wait();
        Ok(())
    }

    fn spawn(&mut self, plan: &SpawnPlan) -> Result<(), SuperviseError> {
        if let Some(refusal) = self.lock_session(plan)? {
            self.events.push_back(Event::Exited(refusal));
            return Ok(());
        }
        let wrap_up = self.setup.order.wrap_up_prompt.as_deref();
        let begun =
            match self.session_files().map_or(Ok(Begun::default()), |files| files.bring(plan, wrap_up)) {
                Ok(begun) => begun,
                Err(error) => {
                    self.spawn_error = Some(format!("continue the session: {error}"));
                    self.events.push_back(Event::Exited(refused(StartupError::SessionUnknown)));
                    return Ok(());
                }
            };
        self.past.resume_at = begun.resume_at;
        self.remember(plan, begun.shown);
        let invocation = self.setup.dialect.invocation(&self.setup.order, plan, &self.past);
        let dir = self.setup.dir.create_attempt(plan.attempt)?;
        if let Some(session) = &begun.session {
            // Without it nobody can tell later whether the history arrived; the work does not need it.
            let _ = dir.write_session(session);
        }
        let output = (dir.create_stream()?, dir.create_stderr()?);
        let end = invocation.waits.then(|| dir.create_input()).transpose()?;
        let launch = Launch {
            input: end.map(|end| Input { end, path: dir.input_path() }),
            ..Launch::of(&invocation, &self.setup.environment, &self.setup.mark, output)
        };
        // A disk without room for this has none for what the agent says: it would work, and nobody would hear it.
        if let Err(error) = dir.write_argv(&launch.argv())
            && error.is_full()
        {
            return Err(error.into());
        }
        // For people; the work does not need it.
        let _ = dir.write_prompt(&invocation.prompt);
        // Watched before the agent can write: nothing it says is missed.
        self.watch.file(&dir.stream_path());
        let tail = Tail::open(&dir.stream_path())?;
        let memory = MemoryWatch::begin();
        match Agent::start(launch, invocation.stdin) {
            Ok((agent, proc)) => {
                crash::agent_is(proc.pid);
                crash::pass(Point::Spawned);
                self.recorder.begin(plan, invocation.prompt, self.clock.at());
                let decoder = self.decoder();
                self.attempt = Some(Attempt::of((agent, proc), memory, tail, decoder, dir));
                self.events.push_back(Event::Spawned(proc));
            }
            Err((kind, error)) => {
                self.spawn_error =
                    Some(format!("start {}: {error}", self.setup.order.program.path.display()));
                self.events.push_back(Event::SpawnFailed(kind));
            }
        }
        Ok(())
    }

    /// What the agent of this attempt is to know of the ones before.
    fn remember(&mut self, plan: &SpawnPlan, shown: Option<BTreeSet<String>>) {
        self.past.shown = shown;
        self.past.check = self.check_for(plan);
        if matches!(plan.session, SessionPlan::New(_)) {
            self.past.deeds.begin_session();
        }
        if matches!(plan.say, Say::TaskAgain(_)) {
            let (dir, dialect) = (&self.setup.dir, self.setup.dialect.as_ref());
            // A record that cannot be read is told by nobody; the task is.
            self.past.transcript =
                transcript_of(dir, dialect, &self.setup.order.prompt, plan.attempt - 1).unwrap_or_default();
            self.past.summary = self.summary_for(plan);
        }
    }

    /// The session's files of this run's agent; nothing if nobody knows where they are.
    fn session_files(&self) -> Option<SessionFiles<'_>> {
        let Setup { dialect, dir, environment, order, .. } = &self.setup;
        SessionFiles::of(dialect.sessions()?, dir, environment, &order.cwd)
    }

    /// Takes the session for this run; the evidence of a refusal if another run has it.
    fn lock_session(&mut self, plan: &SpawnPlan) -> Result<Option<Evidence>, SuperviseError> {
        let session = plan.session.id();
        if self.locks.iter().any(|(held, _)| held == session) {
            return Ok(None);
        }
        match SessionLock::acquire(self.setup.home, self.setup.dialect.name(), session, self.setup.dir.id()) {
            Ok(lock) => {
                self.locks.push((session.clone(), lock));
                Ok(None)
            }
            Err(busy @ (StoreError::SessionBusy { .. } | StoreError::SessionOrphaned { .. })) => {
                let hint = busy.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
                self.spawn_error = Some(format!("{busy}{hint}"));
                Ok(Some(refused(StartupError::SessionHeld)))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Looks what the processes of a silent agent do. What it said meanwhile is told first: then it is not silent.
    async fn examine(&mut self) -> Result<(), SuperviseError> {
        let signs = match &self.attempt {
            Some(attempt) => examine(&self.setup.mark, attempt.proc).await,
            None => None,
        };
        self.read_stream()?;
        // A machine that fell asleep meanwhile was not silent.
        self.events.extend(self.clock.slept().map(Event::Suspended));
        self.events.push_back(Event::Examined(signs));
        Ok(())
    }

    /// Tells the agent something in the session that it has open. One whose input has ended hears it in the next
    /// attempt.
    fn say(&mut self, say: Say, left: Left) {
        let Some(attempt) = &self.attempt else { return };
        let words = self.setup.dialect.words(&self.setup.order, say, left);
        attempt.agent.say(self.setup.dialect.say(&words));
        self.recorder.told(say, words, self.clock.at());
    }

    fn stop(&mut self, level: StopLevel) {
        if let Some(attempt) = &self.attempt {
            match level {
                StopLevel::Interrupt => attempt.agent.interrupt(self.setup.dialect.interrupt()),
                StopLevel::Term | StopLevel::Kill => attempt.agent.signal(level),
            }
        }
    }

    fn cancelled(&mut self) -> Option<By> {
        let by_channel = self.setup.cancels.try_recv().ok();
        by_channel.or_else(|| self.requests.as_mut()?.take())
    }

    /// Reads one chunk of the stream; whether there was one.
    fn read_stream(&mut self) -> Result<bool, SuperviseError> {
        let Some(attempt) = &mut self.attempt else { return Ok(false) };
        let bytes = attempt.tail.read()?;
        if bytes.is_empty() {
            self.answer();
            return Ok(false);
        }
        self.setup.observer.streamed(bytes);
        self.recorder.feed(bytes);
        let mut notices = Vec::new();
        attempt.decoder.feed(bytes, &mut notices);
        // One look a chunk: an adopted agent's stream may tell of many turns at once.
        let has_ended = notices.iter().any(|notice| matches!(notice, Notice::TurnEnded(_)));
        let workspace = has_ended.then(|| self.survey()).flatten();
        for notice in notices {
            let surveyed = workspace.filter(|_| matches!(notice, Notice::TurnEnded(_)));
            self.events.push_back(Event::Noticed(notice));
            self.events.extend(surveyed.map(|workspace| Event::Noticed(Notice::Surveyed(workspace))));
        }
        Ok(true)
    }

    /// Answers what the agent waits for, now that all is read that it has said: an adopted one may have been
    /// answered before.
    fn answer(&mut self) {
        let Some(attempt) = &mut self.attempt else { return };
        for answer in attempt.decoder.take_answers() {
            attempt.agent.say(answer);
        }
    }

    /// The evidence of an attempt whose process is gone and whose stream is read to the end.
    fn ended_attempt(&mut self) -> Result<Option<Evidence>, SuperviseError> {
        let Some(exit) = self.attempt.as_ref().and_then(|attempt| attempt.exit) else { return Ok(None) };
        let Some(attempt) = self.attempt.take() else { return Ok(None) };
        let (ended_at, memory_kill) = (self.clock.at(), attempt.memory.saw_kill(exit));
        // The journal says the same in a moment.
        let _ =
            attempt.dir.write_exit(&AttemptExit { exit, ended_at, proc: Some(attempt.proc), memory_kill });
        attempt.dir.remove_input();
        self.recorder.end();
        let continuity = self.look_back(&attempt.dir);
        let evidence = self.conclude(attempt.dir, attempt.decoder, exit, memory_kill);
        Ok(Some(Evidence { continuity, workspace: self.survey(), ..evidence }))
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        let order = &self.setup.order;
        self.setup.dialect.decoder(&order.guards, &order.claims())
    }

    /// What the workspace looks like now, if that matters.
    fn survey(&self) -> Option<u64> {
        self.setup.surveys.then(|| survey(&self.setup.order.cwd))
    }

    /// Whether the attempt continued the conversation that it was to continue.
    fn look_back(&self, dir: &AttemptDir) -> Option<Continuity> {
        self.session_files()?.look_back(dir)
    }

    /// What an attempt's whole stream proves.
    fn conclude(
        &mut self,
        dir: AttemptDir,
        mut decoder: Box<dyn Decoder>,
        exit: Exit,
        memory_kill: bool,
    ) -> Evidence {
        self.stderr_tail = tail_of(&dir.stderr_path());
        let evidence = Evidence { memory_kill, ..decoder.evidence(exit, &self.stderr_tail) };
        self.glance = decoder.glance().clone();
        // For people; what decides is in the evidence.
        let _ = write_answers(&dir, &self.glance.answered);
        let _ = dir.write_spent(&spent(decoder.by_model()));
        self.past.deeds.extend(decoder.deeds());
        if self.setup.harness.is_some() {
            // For the harness; what cannot be written fails nothing.
            let _ = self.log_exec(&dir, decoder.as_ref());
        }
        self.ended.push((dir, decoder));
        evidence
    }

    /// Adds what the agent of an attempt wrote to the logs that a harness reads, partial messages left out.
    fn log_exec(&self, attempt: &AttemptDir, decoder: &dyn Decoder) -> Result<(), StoreError> {
        let (dir, number) = (&self.setup.dir, attempt.number());
        let (stdout, stderr) = dir.exec_paths();
        add_section(dir, &stdout, (number, &attempt.stream_path()), |line| decoder.keeps(line))?;
        add_section(dir, &stderr, (number, &attempt.stderr_path()), |_| true)
    }

    /// Waits until something may have happened.
    async fn pause(&mut self, until: Option<Moment>) -> Result<(), SuperviseError> {
        let look_up = if self.attempt.is_some() || self.condensing.is_some() || self.checking.is_some() {
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
                    let halted = is_halted(attempt.proc.pid);
                    if halted && !attempt.halted {
                        self.events.push_back(Event::Noticed(Notice::Halted));
                    }
                    attempt.halted = halted;
                    let most = self.setup.memory_limit.unwrap_or(u64::MAX);
                    if most < u64::MAX && resident(&self.setup.mark) > most {
                        self.events.push_back(Event::Noticed(Notice::Swollen));
                    }
                    // Once may be a build that cleans up after itself.
                    match room::check(&self.setup.dir) {
                        Err(error) if attempt.unheard => return Err(error.into()),
                        looked => attempt.unheard = looked.is_err(),
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
                gone = condensing::gone(&mut self.condensing) => gone?,
                over = checking::over(&mut self.checking) => over?,
            },
        }
        Ok(())
    }
}

fn write_answers(dir: &AttemptDir, answered: &[Answered]) -> Result<(), StoreError> {
    if answered.is_empty() {
        return Ok(());
    }
    let answers = answered.iter().cloned();
    let answers =
        answers.map(|Answered { question, answer, key }| AnsweredQuestion { question, answer, key });
    dir.write_answers(&answers.collect::<Vec<_>>())
}

fn spent(by_model: Vec<(String, Tally)>) -> Vec<ModelSpent> {
    let spent = by_model.into_iter().map(|(model, tally)| ModelSpent {
        model,
        cost: tally.cost,
        cost_estimated: tally.cost_estimated,
        unpriced: tally.unpriced,
        tokens: tally.tokens,
        cut_tokens: tally.cut_tokens,
        messages: tally.messages,
    });
    spent.collect()
}

/// As if the agent had been started and had refused.
fn refused(startup: StartupError) -> Evidence {
    Evidence { startup: Some(startup), ..Evidence::of_exit(Exit::NeverSpawned) }
}

/// Requests are looked at when there may be one: a stream that grows is no reason.
fn note(requests: &mut Option<Requests>, changes: Changes) {
    if let Some(requests) = requests.as_mut().filter(|_| changes.names) {
        requests.arrived();
    }
}

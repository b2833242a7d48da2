//! The world of one live run: performs actions, and turns files, exits and signals into events.

mod takeover;

use super::attempt_process::AttemptProcess;
use super::check_run::CheckRun;
use super::ended_attempts::EndedAttempts;
use super::one_shot::{ModelRun, OneShotEnd, OneShotProcess, unspawned};
use super::process_activity::probe;
use super::requests::CancelRequests;
use super::review_run::{record_findings, start_review};
use super::run_sessions::{RunSessions, SessionRefusal, continuity_of};
use super::subscriber::WorldView;
use super::subscribers::Subscribers;
use super::summary_run::start_summary;
use super::sweep::sweep;
use super::system::{FileWatch, ProcessWatch, search};
use super::watchdog_process::WatchdogProcess;
use super::world_config::WorldConfig;
use crate::SuperviseError;
use crate::clock::LiveClock;
use crate::driver::World;
use crate::observer::Observer;
use crate::run_report::last_message;
use longhaul_core::{
    Action, AttemptPlan, CancelSource, CheckResult, Event, Evidence, Exit, Moment, Notice, Now, Policy,
    PromptKind, Record, Remaining, Run, Span, Step, StopLevel, SummaryReport,
};
use longhaul_store::{Journal, StoreError};
use std::collections::VecDeque;
use std::future;
use std::io;
use std::ops::ControlFlow;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

// Timers stop while the machine sleeps, and a frozen agent writes nothing, so both are polled.
const POLL_INTERVAL: Duration = Duration::from_secs(30);
const POLL_INTERVAL_LIVE: Duration = Duration::from_secs(2);
// The working time that a run loses at most if its supervisor and a silent agent are killed together.
const HEARTBEAT_INTERVAL: Span = Span::from_secs(5);
// A busy machine delays a wait by less.
const DELAY_MAX: Duration = Duration::from_secs(10);
// A signal to a whole process group or cgroup reaches its processes within milliseconds.
const SHARED_SIGNAL_TIMEOUT: Duration = Duration::from_millis(250);
// SIGTERM and then SIGKILL take half a second each.
const ABANDON_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) struct LiveWorld<'a> {
    pub(crate) config: Rc<WorldConfig<'a>>,
    journal: Journal,
    pub(crate) clock: LiveClock,
    watch: FileWatch,
    processes: ProcessWatch,
    pub(crate) cancels: CancelRequests,
    events: VecDeque<Event>,
    /// When the processes and the disk are looked at again, however many events arrive.
    next_poll: Instant,
    /// When the next heartbeat is due, if a process of the run is running.
    next_heartbeat: Moment,
    /// Whether the stream was read again after the deadline was due.
    polled_when_due: bool,
    pub(crate) attempt: Option<AttemptProcess>,
    /// It never runs during an attempt.
    one_shot: Option<OneShotRun>,
    pub(crate) sessions: RunSessions,
    pub(crate) ended: EndedAttempts,
    /// Stops the agent if the run is orphaned for too long.
    pub(crate) watchdog: WatchdogProcess,
    /// No decision depends on them.
    pub(crate) subscribers: Subscribers<'a>,
}

impl<'a> LiveWorld<'a> {
    pub(crate) fn new(
        config: WorldConfig<'a>,
        journal: Journal,
        cancels: mpsc::Receiver<CancelSource>,
        observer: &'a mut dyn Observer,
    ) -> LiveWorld<'a> {
        let config = Rc::new(config);
        let mut watch = FileWatch::new();
        LiveWorld {
            journal,
            clock: LiveClock::new(),
            cancels: CancelRequests::new(cancels, &config.dir, &mut watch),
            watch,
            processes: ProcessWatch::new(),
            events: VecDeque::new(),
            next_poll: Instant::now(),
            next_heartbeat: Moment(0),
            polled_when_due: false,
            attempt: None,
            one_shot: None,
            sessions: RunSessions::default(),
            ended: EndedAttempts::default(),
            watchdog: WatchdogProcess::new(&config),
            subscribers: Subscribers::new(&config, observer),
            config,
        }
    }
}

impl World for LiveWorld<'_> {
    type Error = SuperviseError;

    fn now(&mut self) -> Now {
        self.clock.now()
    }

    fn append(&mut self, at: Moment, records: &[Record]) -> Result<(), SuperviseError> {
        self.journal.append(at, records)?;
        // An agent may choose the id of its session. No other run can know it yet.
        let opened = records.iter().filter_map(|record| match record {
            Record::SessionOpened { session } => Some(session),
            _ => None,
        });
        self.lock_sessions(opened);
        Ok(())
    }

    fn on_step(&mut self, run: &Run, policy: &Policy, at: Moment, step: &Step) {
        let view = WorldView::new(at, &self.attempt, self.ended.spawn_error.as_deref());
        self.subscribers.each(|each| each.on_step(run, policy, &view, step));
    }

    async fn perform(&mut self, action: Action) -> Result<(), SuperviseError> {
        self.sync()?;
        if matches!(action, Action::Spawn(_) | Action::StartSummary(_) | Action::StartReview(_))
            && !self.config.missing.is_empty()
        {
            let (run, names) = (self.config.dir.id().clone(), self.config.missing.clone());
            return Err(SuperviseError::MissingVariables { run, names });
        }
        match action {
            Action::InspectSession(session) => {
                let state = self.sessions.inspect(&self.config, &session);
                self.events.push_back(Event::SessionInspected(state));
            }
            Action::StartSummary(plan) => match start_summary(&self.config, &plan) {
                ControlFlow::Continue(summary) => self.one_shot = Some(OneShotRun::Summary(summary)),
                ControlFlow::Break(report) => self.events.push_back(Event::SummaryEnded(report)),
            },
            Action::StartCheck(number) => {
                let check = CheckRun::start(&self.config, number, 0)?;
                self.continue_check(check);
            }
            Action::StartReview(plan) => {
                match start_review(&self.config, &plan, last_message(&self.ended.snapshot)).await {
                    Ok(review) => self.one_shot = Some(OneShotRun::Review(review, plan.check)),
                    Err(error) => self.events.push_back(Event::ReviewEnded(unspawned(error))),
                }
            }
            Action::StopCheck { timed_out: true } => self.end_one_shot(OneShotEnd::TimedOut).await?,
            Action::StopSummary | Action::StopCheck { .. } => self.end_one_shot(OneShotEnd::Stopped).await?,
            Action::Spawn(plan) => self.spawn(&plan)?,
            Action::SendPrompt(kind, remaining) => self.send_prompt(kind, remaining)?,
            Action::CloseInput => {
                if let Some(attempt) = &mut self.attempt {
                    attempt.close_input(&self.config);
                }
            }
            Action::ProbeProcesses => self.probe().await?,
            Action::Stop(level) => self.stop(level),
            Action::Sweep => {
                let stopped = self.sweep().await?;
                self.events.push_back(Event::Swept(stopped));
            }
            Action::Finish(_) => {}
        }
        Ok(())
    }

    async fn next(&mut self, until: Option<Moment>) -> Result<Event, SuperviseError> {
        loop {
            // A suspended run ignores a cancel until it is taken over.
            let is_taken_over = !matches!(self.events.front(), Some(Event::Recovered { .. }));
            if let Some(source) = is_taken_over.then(|| self.cancels.next()).flatten() {
                return Ok(Event::Cancelled(source));
            }
            if let Some(event) = self.events.pop_front() {
                return Ok(event);
            }
            // Output that is already written is read before a stall or a timeout is declared. An agent that
            // never stops writing delays the deadline by one chunk, after all that it wrote before a takeover.
            let due = until.is_some_and(|until| until <= self.clock.at());
            if due && self.polled_when_due {
                self.polled_when_due = false;
                return Ok(Event::Ticked);
            }
            if self.read_stream()? {
                self.polled_when_due = due && !self.attempt.as_ref().is_some_and(AttemptProcess::has_backlog);
                continue;
            }
            if let Some(source) = self.shared_signal().await {
                return Ok(Event::Cancelled(source));
            }
            if let Some(evidence) = self.end_attempt() {
                return Ok(Event::Exited(evidence));
            }
            if self.one_shot.as_mut().is_some_and(|run| run.process().exit().is_some()) {
                self.end_one_shot(OneShotEnd::Exited).await?;
                continue;
            }
            if due {
                return Ok(Event::Ticked);
            }
            self.sync()?;
            if self.attempt.is_some() {
                self.watchdog.start(&self.config.dir).await;
            }
            self.send_heartbeat();
            let idle_until = self.on_idle();
            let frozen = self.wait_for_change(until.into_iter().chain(idle_until).min()).await?;
            let downtime = self.clock.sleep_since_last_call().unwrap_or_default() + frozen;
            if downtime > Span::ZERO {
                return Ok(Event::Downtime(downtime));
            }
        }
    }
}

impl LiveWorld<'_> {
    fn sync(&mut self) -> Result<(), SuperviseError> {
        let is_new = self.journal.sync()?;
        let view = WorldView::new(self.clock.at(), &self.attempt, self.ended.spawn_error.as_deref());
        self.subscribers.on_sync(&view, is_new);
        Ok(())
    }

    /// Records that this supervisor watches a process of the run, for the case that both are killed. Call it only when
    /// the records so far, such as a downtime, are in the journal.
    fn send_heartbeat(&mut self) {
        let at = self.clock.at();
        if self.is_live() && at >= self.next_heartbeat {
            self.next_heartbeat = at + HEARTBEAT_INTERVAL;
            self.config.dir.write_heartbeat(at);
        }
    }

    /// Returns whether an agent, a check, a review or a summary is running.
    fn is_live(&self) -> bool {
        self.attempt.is_some() || self.one_shot.is_some()
    }

    fn on_idle(&mut self) -> Option<Moment> {
        let view = WorldView::new(self.clock.at(), &self.attempt, self.ended.spawn_error.as_deref());
        self.subscribers.on_idle(&view)
    }

    /// Stops the leftover processes of an attempt. Only a sweep that finds some is a wait.
    async fn sweep(&mut self) -> io::Result<u32> {
        let config = Rc::clone(&self.config);
        let mut sweep = pin!(sweep(&config.marker));
        if let Ok(stopped) = timeout(Duration::ZERO, &mut sweep).await {
            return stopped;
        }
        self.on_idle();
        sweep.await
    }

    /// Prepares the session of an attempt and starts its process. An obstacle becomes evidence, as if the
    /// agent had refused to start.
    fn spawn(&mut self, plan: &AttemptPlan) -> Result<(), SuperviseError> {
        let config = &self.config;
        let mut prepared = match self.sessions.prepare(config, plan)? {
            Ok(prepared) => prepared,
            Err(refusal) => {
                let evidence = self.refuse(refusal);
                self.events.push_back(Event::Exited(evidence));
                return Ok(());
            }
        };
        self.ended.collect_prior(config, plan, &mut prepared);
        let invocation = config.dialect.invocation(&config.context, plan, &self.ended.prior);
        self.ended.prior.added = Remaining::default();
        let session = prepared.session.as_ref();
        match AttemptProcess::start(config, plan, &invocation, session, &mut self.watch)? {
            Ok(attempt) => {
                let at = self.clock.at();
                self.subscribers.each(|each| each.on_attempt_started(plan, &invocation.prompt, at));
                self.events.push_back(Event::Spawned(attempt.process));
                self.attempt = Some(attempt);
            }
            Err((kind, error)) => {
                config.dir.attempt(plan.attempt).write_start_error(&error);
                let program = config.spec().agent.program.display();
                self.ended.spawn_error = Some(format!("cannot start {program}: {error}"));
                self.events.push_back(Event::SpawnFailed(kind));
            }
        }
        Ok(())
    }

    fn refuse(&mut self, refusal: SessionRefusal) -> Evidence {
        let evidence = refusal.evidence();
        self.ended.spawn_error = Some(refusal.message);
        evidence
    }

    fn send_prompt(&mut self, kind: PromptKind, remaining: Remaining) -> Result<(), StoreError> {
        let Some(attempt) = &mut self.attempt else { return Ok(()) };
        let prompt = attempt.send_prompt(&self.config, kind, remaining)?;
        let at = self.clock.at();
        self.subscribers.each(|each| each.on_prompt_sent(kind, &prompt, at));
        Ok(())
    }

    fn stop(&mut self, level: StopLevel) {
        if let Some(attempt) = &mut self.attempt {
            search(&self.config.marker);
            attempt.stop(&self.config, level);
        }
    }

    /// Probes the processes of a silent agent. Output that arrived meanwhile is reported first, because the
    /// agent is then not silent.
    async fn probe(&mut self) -> Result<(), SuperviseError> {
        let activity = match &self.attempt {
            Some(attempt) => probe(&self.config.marker, attempt.process).await,
            None => None,
        };
        self.read_stream()?;
        // If the machine slept meanwhile, the downtime is reported first.
        self.events.extend(self.clock.sleep_since_last_call().map(Event::Downtime));
        self.events.push_back(Event::ProcessesProbed(activity));
        Ok(())
    }

    /// Reads one chunk of the stream. Returns `false` if there was none.
    fn read_stream(&mut self) -> Result<bool, SuperviseError> {
        let Some(attempt) = &mut self.attempt else { return Ok(false) };
        let Some(chunk) = attempt.read_chunk()? else {
            self.answer()?;
            return Ok(false);
        };
        self.subscribers.on_bytes(chunk.bytes);
        self.subscribers.each(|each| each.on_messages(&chunk.messages));
        // One fingerprint per chunk, because an adopted agent's stream may report many exchanges at once.
        let has_ended = chunk.notices.iter().any(|notice| matches!(notice, Notice::ExchangeEnded(_)));
        let workspace = has_ended.then(|| self.config.fingerprint()).flatten();
        for notice in chunk.notices {
            let fingerprint = workspace.filter(|_| matches!(notice, Notice::ExchangeEnded(_)));
            self.events.push_back(Event::Noticed(notice));
            self.events.extend(
                fingerprint.map(|workspace| Event::Noticed(Notice::WorkspaceFingerprinted(workspace))),
            );
        }
        Ok(true)
    }

    /// Answers the agent's requests and sends those that are due. Call it only when all output is read,
    /// because an adopted agent may already have the answers.
    fn answer(&mut self) -> Result<(), SuperviseError> {
        let Some(attempt) = &mut self.attempt else { return Ok(()) };
        let requests = attempt.answer();
        if requests.is_empty() {
            return Ok(());
        }
        // The next supervisor must know the session that a request continues.
        self.sync()?;
        if let Some(attempt) = &self.attempt {
            attempt.send(requests)?;
        }
        Ok(())
    }

    /// Ends the attempt if its process has exited, and returns its evidence. Returns `None` otherwise. The
    /// stream must be fully read.
    fn end_attempt(&mut self) -> Option<Evidence> {
        let exit = self.attempt.as_ref()?.exit()?;
        let ended = self.attempt.take()?.end(exit, self.clock.at());
        let continuity = continuity_of(&self.config, &ended.dir);
        let evidence = self.ended.add(&self.config, ended, &mut self.subscribers, &self.clock);
        Some(Evidence { continuity, workspace_fingerprint: self.config.fingerprint(), ..evidence })
    }

    /// Ends the one-shot process if there is one, with its leftover processes, and reports its result. The
    /// next command of a check is started if the last one exited on its own.
    async fn end_one_shot(&mut self, end: OneShotEnd) -> Result<(), SuperviseError> {
        match self.one_shot.take() {
            Some(OneShotRun::Check(check)) => {
                let check = check.end(&self.config, end).await?;
                self.continue_check(check);
            }
            Some(OneShotRun::Summary(summary)) => {
                let evidence = self.ended.add_one_shot(summary.end(&self.config).await?, &self.clock);
                self.events.push_back(Event::SummaryEnded(SummaryReport::Ended(evidence)));
            }
            Some(OneShotRun::Review(review, check)) => {
                let review = review.end(&self.config).await?;
                record_findings(&self.config, check, &review, end != OneShotEnd::Exited);
                let evidence = self.ended.add_one_shot(review, &self.clock);
                self.events.push_back(Event::ReviewEnded(evidence));
            }
            None => {}
        }
        Ok(())
    }

    fn continue_check(&mut self, check: ControlFlow<CheckResult, CheckRun>) {
        match check {
            ControlFlow::Continue(check) => self.one_shot = Some(OneShotRun::Check(check)),
            ControlFlow::Break(result) => self.events.push_back(Event::CheckEnded(result)),
        }
    }

    /// Waits a moment for a signal to this supervisor if one of its processes may have exited by a signal,
    /// and returns it. A system that shuts down signals all processes at once, in any order.
    async fn shared_signal(&mut self) -> Option<CancelSource> {
        let agent = self.attempt.as_ref().and_then(AttemptProcess::exit);
        let check = match &self.one_shot {
            Some(OneShotRun::Check(check)) => check.process.exit(),
            Some(OneShotRun::Review(review, _)) => review.process.exit(),
            Some(OneShotRun::Summary(_)) | None => None,
        };
        if !agent.or(check).is_some_and(is_by_signal) {
            return None;
        }
        timeout(SHARED_SIGNAL_TIMEOUT, self.cancels.channel.recv()).await.ok().flatten()
    }

    /// Waits until something changes, or until the next poll. Returns for how long this process was frozen
    /// meanwhile.
    async fn wait_for_change(&mut self, until: Option<Moment>) -> Result<Span, SuperviseError> {
        let is_live = self.is_live();
        let interval = if is_live { POLL_INTERVAL_LIVE } else { POLL_INTERVAL };
        let remaining = until.map_or(interval, |until| until.since(self.clock.at()).to_std().min(interval));
        let exited = async {
            match (&mut self.attempt, &mut self.one_shot) {
                (Some(attempt), _) => attempt.wait_for_exit().await,
                (None, Some(one_shot)) => one_shot.process().wait_for_exit().await.map(drop),
                (None, None) => future::pending().await,
            }
        };
        let started = Instant::now();
        tokio::select! {
            () = tokio::time::sleep(remaining) => {}
            // If the channel is closed, no cancel can arrive, and `select!` disables the branch.
            Some(source) = self.cancels.channel.recv() => self.events.push_back(Event::Cancelled(source)),
            changes = self.watch.changed() => self.cancels.on_changes(changes?),
            exit = exited => exit?,
            () = self.processes.search(&self.config.marker), if is_live => {}
        }
        let silence = || self.attempt.as_ref().map(AttemptProcess::silent_for);
        let frozen = frozen_time(started.elapsed(), remaining, silence);
        if Instant::now() >= self.next_poll {
            self.next_poll = Instant::now() + POLL_INTERVAL_LIVE;
            // A file system that other machines share does not report what they write.
            self.cancels.on_changes(true);
            if let Some(attempt) = &mut self.attempt {
                self.events.extend(attempt.poll(&self.config)?.into_iter().map(Event::Noticed));
            }
            if let Some(OneShotRun::Check(check)) = &mut self.one_shot {
                check.limit_output();
            }
        }
        Ok(frozen)
    }
}

// For the supervisor, which starts and finishes the run.
impl LiveWorld<'_> {
    /// Stops what watches the run, after its outcome was recorded. The kernel does this while the run's files
    /// are completed.
    pub(crate) fn stop_watching(&mut self) {
        self.watch.close();
        self.watchdog.kill();
    }

    /// Releases the run's sessions and updates the ledger, after the run finished.
    pub(crate) fn release(&mut self) {
        self.sessions.release();
        self.subscribers.each(|each| each.on_finish());
    }

    /// Stops all processes of a run that cannot continue, with SIGTERM first, so that the agent's session
    /// stays intact. Nothing is journaled, because the journal failed.
    pub(crate) async fn abandon(&mut self) {
        self.stop(StopLevel::Term);
        // A sweep that failed has waited long enough.
        let _ = timeout(ABANDON_TIMEOUT, sweep(&self.config.marker)).await;
    }
}

/// A running check, review or summary.
enum OneShotRun {
    Check(CheckRun),
    /// With the number of its check.
    Review(ModelRun, u32),
    Summary(ModelRun),
}

impl OneShotRun {
    fn process(&mut self) -> &mut OneShotProcess {
        match self {
            OneShotRun::Check(check) => &mut check.process,
            OneShotRun::Review(model, _) | OneShotRun::Summary(model) => &mut model.process,
        }
    }
}

/// Returns for how long this process and its agent were frozen during a wait of `waited` that was planned to take at
/// most `planned`, as in a suspended batch job or a paused container. If only this process was frozen, as by Ctrl-Z, the
/// agent has worked until its last output. Output just now says nothing: an agent also writes as soon as it continues.
fn frozen_time(waited: Duration, planned: Duration, silence: impl FnOnce() -> Option<Duration>) -> Span {
    if waited <= planned * 2 + DELAY_MAX {
        return Span::ZERO;
    }
    let silent = silence().filter(|silent| *silent > DELAY_MAX);
    let frozen = waited.saturating_sub(planned).min(silent.unwrap_or(Duration::MAX));
    Span(frozen.as_millis() as u64)
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

#[cfg(test)]
mod tests {
    use super::frozen_time;
    use longhaul_core::Span;
    use std::time::Duration;

    #[test]
    fn only_a_long_delay_is_a_freeze() {
        let check = |waited, planned, silent: Option<u64>, expected| {
            let silence = || silent.map(Duration::from_secs);
            let frozen = frozen_time(Duration::from_secs(waited), Duration::from_secs(planned), silence);
            assert_eq!(frozen, Span::from_secs(expected), "{waited} s instead of {planned} s, {silent:?}");
        };
        check(0, 2, None, 0);
        check(14, 2, None, 0);
        check(15, 2, None, 13);
        check(70, 30, None, 0);
        check(3 * 3600, 0, None, 3 * 3600);
        // The agent was silent before, or wrote as soon as it continued.
        check(3 * 3600, 2, Some(4 * 3600), 3 * 3600 - 2);
        check(3 * 3600, 2, Some(1), 3 * 3600 - 2);
        // It worked for two hours, and then waited for its supervisor.
        check(3 * 3600, 2, Some(3600), 3600);
    }
}

//! Simulates one run of one seed: a loop between core and world, in the role of a supervisor.
//!
//! The supervisor is killed at its weak points, and every oracle checks every step. The simulation never acts
//! outside its world.

pub(crate) mod kill;
mod trace;
mod watch;

pub(crate) use trace::Trace;

use crate::coverage::{Coverage, PhaseKind};
use crate::fault_mix::Interval;
use crate::oracles::{
    Oracle, OracleResult, Violation, check_ending, check_journaled, check_spawn, check_spread, check_stable,
    ensure,
};
use crate::seed_plan::SeedPlan;
use crate::world::agent::NEVER;
use crate::world::{World, WorldEvent};
use kill::KillPoint;
use longhaul_core::{
    Action, Event, Fault, FoundAttempt, Moment, Notice, Now, Outcome, OutcomeKind, Phase, Policy, Record,
    ResumeRequest, Run, SessionPlan, Span, Step, Usd,
};
use std::mem;
use watch::OracleSet;

// A day of work in attempts of a minute takes half of these steps. A run with more steps does not end.
const STEPS_MAX: u64 = 100_000;
// Half a year of virtual time. The longest hang or limit of a mix is two days.
const TIME_MAX: Span = Span::from_hours(24 * 180);
// A run whose supervisor dies at every step would never finish.
const KILLS_MAX: u32 = 12;
// A run that is always resumed would never finish either.
const REOPENS_MAX: u32 = 2;
// One in this many ends of attempts is decided again with other rolls.
const SPREAD_SAMPLE: u64 = 32;
/// Start of every run: a round moment of 2026.
pub(crate) const START: Moment = Moment::from_unix_seconds(1_790_000_000);

/// The result of a run.
#[derive(Clone, Debug)]
pub(crate) struct SimResult {
    pub steps: u64,
    pub attempts: u32,
    pub outcome: Outcome,
    pub wall: Span,
    pub waiting: Span,
    pub spend: Usd,
}

/// A simulated run. Its buffers are reused.
pub(crate) struct SimRun {
    pub journal: Vec<Record>,
    /// Time of each record's step.
    times: Vec<Moment>,
    watch: OracleSet,
    step: Step,
}

/// A run in progress and its world.
struct SimState<'a> {
    policy: &'a Policy,
    session: &'a SessionPlan,
    world: &'a mut World,
    run: Run,
    replayed: Run,
    /// An event that precedes all others: a start, a resumption or a recovery.
    pending: Option<Event>,
    /// Index of the next notice to read from the stream file.
    stream_index: usize,
    /// Whether an exchange ended, so that the workspace must be inspected.
    must_inspect_workspace: bool,
    steps: u64,
    remaining_kills: u32,
    remaining_reopens: u32,
    is_stuck: bool,
}

impl SimRun {
    pub(crate) fn new() -> SimRun {
        SimRun {
            journal: Vec::with_capacity(256),
            times: Vec::with_capacity(256),
            watch: OracleSet::default(),
            step: Step::default(),
        }
    }

    /// Returns the records of the last run, each with the time of its step.
    pub(crate) fn timed_journal(&self) -> impl Iterator<Item = (Moment, &Record)> {
        self.times.iter().copied().zip(&self.journal)
    }

    /// Simulates one seed's plan to its end.
    pub(crate) fn run(
        &mut self,
        plan: &SeedPlan,
        world: &mut World,
        coverage: &mut Coverage,
        trace: &mut Trace,
    ) -> Result<SimResult, Violation> {
        self.journal.clear();
        self.times.clear();
        self.watch.reset();
        if plan.session_exists {
            world.sessions.find_or_create(plan.session.id()).has_content = true;
        }
        let mut state = SimState {
            policy: &plan.policy,
            session: &plan.session,
            world,
            run: Run::new(),
            replayed: Run::new(),
            pending: Some(Event::Started(plan.session.clone())),
            stream_index: 0,
            must_inspect_workspace: false,
            steps: 0,
            remaining_kills: KILLS_MAX,
            remaining_reopens: REOPENS_MAX,
            is_stuck: false,
        };
        // A supervisor that dies after the finish is replaced by one that finds the run finished.
        while state.pending.is_some() || !matches!(state.run.state().phase, Phase::Finished { .. }) {
            state.check_ends()?;
            let Some(world_event) = state.next(coverage) else { continue };
            self.step(&mut state, world_event, coverage, trace)?;
            self.reopen(&mut state, coverage)?;
        }
        self.finish(state, coverage)
    }

    /// Resumes a finished run with some probability, after checking how it finished.
    fn reopen(&mut self, state: &mut SimState<'_>, coverage: &mut Coverage) -> OracleResult {
        let outcome = state.run.state().outcome().filter(|_| state.pending.is_none());
        let Some(outcome) = outcome.filter(|outcome| outcome.kind != OutcomeKind::Bug) else { return Ok(()) };
        let world = &mut *state.world;
        if state.remaining_reopens == 0 || !world.rng.chance(world.mix.reopen) {
            return Ok(());
        }
        check_ending(&outcome, world, state.policy, self.watch.is_cancelled_by(outcome.cancelled_by))?;
        self.watch.clocks.check(&state.run, world.now)?;
        state.remaining_reopens -= 1;
        let after = Span(world.rng.log_uniform(Interval::new(1, 86_400_000)));
        world.pass_time(world.now + after);
        let request = match world.rng.below(3) {
            0 => ResumeRequest::Continue,
            1 => ResumeRequest::RepeatTask,
            _ => ResumeRequest::Prompt("Now the docs.".to_owned()),
        };
        state.pending = Some(Event::Reopened(request, Vec::new()));
        coverage.reopen(outcome.kind);
        Ok(())
    }

    /// Runs one iteration of the supervisor's loop, with reused buffers.
    fn step(
        &mut self,
        state: &mut SimState<'_>,
        world_event: WorldEvent,
        coverage: &mut Coverage,
        trace: &mut Trace,
    ) -> OracleResult {
        let mut step = mem::take(&mut self.step);
        step.records.clear();
        step.actions.clear();
        let verdict = self.step_into(&mut step, state, world_event, coverage, trace);
        self.step = step;
        verdict
    }

    fn step_into(
        &mut self,
        step: &mut Step,
        state: &mut SimState<'_>,
        world_event: WorldEvent,
        coverage: &mut Coverage,
        trace: &mut Trace,
    ) -> OracleResult {
        let event = state.event(world_event);
        let kill = state.kill();
        let at = state.world.now;
        if kill == Some(KillPoint::BeforeStep) {
            trace.lost(at, &event);
            return self.crash(state, KillPoint::BeforeStep, coverage, trace);
        }
        let now = Now { at, roll: state.world.rng.bits() };
        let ticked = matches!(event, Event::Ticked);
        let inspected = if let Event::SessionInspected(file_state) = event { Some(file_state) } else { None };
        inspected.into_iter().for_each(|file_state| coverage.session_state(file_state));
        cover_cancel(coverage, &event, &state.run);
        self.watch.receive(state.policy, now, &event)?;
        trace.event(at, &event);
        // Deciding every wait nine times would halve the speed, and a sample detects the same errors.
        let sampled = matches!(event, Event::Exited(_)) && state.world.rng.one_in(SPREAD_SAMPLE);
        let before = sampled.then(|| (state.run.clone(), event.clone()));
        state.run.step_into(state.policy, now, event, step);
        trace.step(step);
        self.mark_unstarted(state, inspected.is_some(), step);
        let decides = !step.records.is_empty() || step.actions == [Action::ProbeProcesses];
        ensure(!ticked || decides, Oracle::Deadline, || {
            format!("a tick at the deadline leads to no decision in {:?}", state.run.state().phase)
        })?;
        if kill == Some(KillPoint::MidAppend) {
            return self.crash(state, KillPoint::MidAppend, coverage, trace);
        }
        for record in &step.records {
            state.replayed.apply(record);
            self.watch.on_record(state.policy, record, state.world, coverage)?;
        }
        self.journal.append(&mut step.records);
        self.times.resize(self.journal.len(), at);
        if let (Some((before, event)), Some((at, spread))) = (&before, self.watch.last_wait) {
            check_spread(before, state.policy, now, event, at, spread)?;
        }
        ensure(state.replayed.state() == state.run.state(), Oracle::Shadow, || {
            format!("live {:?}\nreplayed {:?}", state.run.state(), state.replayed.state())
        })?;
        self.watch.check_stop_obeyed(PhaseKind::new(&state.run.state().phase))?;
        self.watch.limits.check(state.policy, &self.watch.clocks, at)?;
        if kill == Some(KillPoint::AfterAppend) {
            return self.crash(state, KillPoint::AfterAppend, coverage, trace);
        }
        for (index, action) in step.actions.iter().enumerate() {
            if index == 1 && kill == Some(KillPoint::BetweenActions) {
                return self.crash(state, KillPoint::BetweenActions, coverage, trace);
            }
            self.perform(state, action)?;
        }
        let exits = step.actions.iter().any(|action| matches!(action, Action::Finish(_)));
        match kill {
            None if exits && matches!(state.run.state().phase, Phase::Suspended { .. }) => {
                coverage.outcome(OutcomeKind::Suspended);
                self.take_over(state, coverage).map(drop)
            }
            Some(point @ KillPoint::AfterActions) => self.crash(state, point, coverage, trace),
            Some(point @ KillPoint::BetweenActions) if step.actions.len() == 1 => {
                self.crash(state, point, coverage, trace)
            }
            Some(
                KillPoint::BeforeStep
                | KillPoint::MidAppend
                | KillPoint::AfterAppend
                | KillPoint::BetweenActions,
            )
            | None => Ok(()),
        }
    }

    /// Records in the world that an inspection ended the attempt before it started.
    fn mark_unstarted(&self, state: &mut SimState<'_>, inspected: bool, step: &Step) {
        let ended = step.records.iter().any(|record| matches!(record, Record::AttemptEnded { .. }));
        if let (true, true, Some(plan)) = (inspected, ended, &state.run.state().plan) {
            // Otherwise the run was cancelled before the attempt started.
            let truth = if self.watch.strategies.is_lost() { Fault::SessionLost } else { Fault::Crashed };
            state.world.mark_unstarted(plan.attempt, truth);
        }
    }

    fn perform(&mut self, state: &mut SimState<'_>, action: &Action) -> OracleResult {
        check_journaled(action, &self.journal)?;
        if let Action::Spawn(plan) = action {
            check_spawn(plan, state.world, &self.journal, state.world.now)?;
            self.watch.sessions.check_spawn(plan)?;
            self.watch.strategies.check_spawn(plan)?;
            self.watch.summaries.check_spawn(plan, state.policy)?;
            self.watch.limits.check_spawn(plan)?;
            state.stream_index = 0;
        }
        if let Action::StartCheck(_) = action {
            ensure(!state.world.has_live_process(), Oracle::OneTree, || {
                "a check runs next to a live process".to_owned()
            })?;
        }
        if let Action::StartSummary(plan) = action {
            ensure(!state.world.has_live_process(), Oracle::OneTree, || {
                format!("older work is summarized for attempt {} next to a live process", plan.attempt)
            })?;
        }
        state.world.perform(action);
        if matches!(action, Action::Spawn(_)) {
            state.stream_index = state.world.stream.len();
        }
        Ok(())
    }

    /// Kills the supervisor. A new one takes over after some time.
    fn crash(
        &mut self,
        state: &mut SimState<'_>,
        point: KillPoint,
        coverage: &mut Coverage,
        trace: &mut Trace,
    ) -> OracleResult {
        coverage.kill(point);
        state.world.kill_supervisor();
        let down = self.take_over(state, coverage)?;
        trace.killed(point, down);
        Ok(())
    }

    /// Advances the time and starts a new supervisor, which replays the journal and recovers the run. Returns
    /// the time without a supervisor.
    fn take_over(&mut self, state: &mut SimState<'_>, coverage: &mut Coverage) -> Result<Span, Violation> {
        let world = &mut *state.world;
        let died_at = world.now;
        let down = Span(world.rng.log_uniform(world.mix.supervisor_downtime));
        let up_at = world.now + down;
        world.pass_time(up_at);
        world.start_supervisor();
        state.run = Run::replay(&self.journal);
        ensure(state.run.state() == state.replayed.state(), Oracle::Shadow, || {
            format!(
                "replayed from the journal {:?}\nreplayed step by step {:?}",
                state.run.state(),
                state.replayed.state()
            )
        })?;
        let phase = PhaseKind::new(&state.run.state().phase);
        let attempt = state.run.state().attempts();
        let found = if phase == PhaseKind::Summarizing {
            FoundAttempt::Ended(world.find_summary(attempt))
        } else {
            world.find_attempt(attempt)
        };
        let is_running = matches!(found, FoundAttempt::Running(_));
        coverage.recovery(is_running, phase);
        state.stream_index = if is_running { 0 } else { world.stream.len() };
        state.must_inspect_workspace = false;
        state.pending = Some(if phase == PhaseKind::New {
            Event::Started(state.session.clone())
        } else {
            Event::Recovered { found, last_record_at: Some(died_at), changes: Vec::new() }
        });
        Ok(down)
    }

    /// Checks a finished run and returns its result.
    fn finish(&mut self, mut state: SimState<'_>, coverage: &mut Coverage) -> Result<SimResult, Violation> {
        let at = state.world.now;
        let replayed = Run::replay(&self.journal);
        ensure(replayed.state() == state.run.state(), Oracle::Shadow, || {
            format!("live {:?}\nreplayed {:?}", state.run.state(), replayed.state())
        })?;
        let Some(outcome) = state.run.state().outcome() else {
            return Err(Violation::new(Oracle::Ends, "the run has no outcome"));
        };
        check_ending(&outcome, state.world, state.policy, self.watch.is_cancelled_by(outcome.cancelled_by))?;
        let usage = state.run.state().usage;
        // A process that cannot be killed cannot be accounted for either.
        if outcome.kind != OutcomeKind::Bug {
            ensure(!state.world.has_live_process(), Oracle::OneTree, || {
                "a process outlives the run".to_owned()
            })?;
            ensure(usage == state.world.billed_usage, Oracle::Usage, || {
                format!("the run counts {usage:?}, the world billed {:?}", state.world.billed_usage)
            })?;
        }
        self.watch.clocks.check(&state.run, at)?;
        self.watch.limits.check_overshoot(state.policy, state.world)?;
        let run_state = state.run.state();
        let result = SimResult {
            steps: state.steps,
            attempts: run_state.attempts(),
            outcome,
            wall: run_state.clocks.wall(at),
            waiting: run_state.clocks.waiting,
            spend: run_state.usage.reported_cost,
        };
        check_stable(&mut state.run, state.policy, at)?;
        coverage.outcome(outcome.kind);
        Ok(result)
    }
}

impl SimState<'_> {
    /// Draws the point at which the supervisor is killed in this step, or `None` if it is not killed.
    fn kill(&mut self) -> Option<KillPoint> {
        if self.remaining_kills == 0 {
            return None;
        }
        let point = KillPoint::draw(&mut self.world.rng, self.world.mix.kill);
        self.remaining_kills -= u32::from(point.is_some());
        point
    }

    fn check_ends(&self) -> OracleResult {
        let elapsed = self.world.now.since(START);
        ensure(self.steps < STEPS_MAX && elapsed < TIME_MAX && !self.is_stuck, Oracle::Ends, || {
            let state = if self.is_stuck { "stuck" } else { "still" };
            format!("{state} in {:?} after {} steps and {elapsed}", self.run.state().phase, self.steps)
        })
    }

    /// Advances to the next event. Returns `None` if it has no effect on the supervisor.
    fn next(&mut self, coverage: &mut Coverage) -> Option<WorldEvent> {
        self.steps += 1;
        if self.pending.is_some() {
            return Some(WorldEvent::Pending);
        }
        // The supervisor inspects the workspace on its own, so no file contains the result.
        if let Some(fingerprint) =
            self.world.fingerprint_notice().filter(|_| mem::take(&mut self.must_inspect_workspace))
        {
            return Some(WorldEvent::Noticed(fingerprint));
        }
        if let Some(notice) = self.world.stream.get(self.stream_index) {
            self.stream_index += 1;
            self.must_inspect_workspace = matches!(notice, Notice::ExchangeEnded(_));
            return Some(WorldEvent::Noticed(notice.clone()));
        }
        let world_at = self.world.next_at();
        let deadline = self.run.deadline(self.policy);
        if let Some(deadline) = deadline.filter(|deadline| deadline.at <= world_at) {
            coverage.deadline(deadline.kind);
            self.world.now = self.world.now.max(deadline.at);
            return Some(WorldEvent::Ticked);
        }
        if world_at == NEVER {
            // No event will follow. A run must never wait in this state.
            self.is_stuck = true;
            return None;
        }
        let world_event = self.world.advance();
        self.must_inspect_workspace =
            matches!(world_event, Some(WorldEvent::Noticed(Notice::ExchangeEnded(_))));
        self.stream_index = self.world.stream.len();
        self.steps -= u64::from(world_event.is_none());
        world_event
    }

    /// Converts an event of the world to one of the run.
    fn event(&mut self, world_event: WorldEvent) -> Event {
        match world_event {
            WorldEvent::Spawned(process) => Event::Spawned(process),
            WorldEvent::SpawnFailed(error) => Event::SpawnFailed(error),
            WorldEvent::Noticed(notice) => Event::Noticed(notice),
            WorldEvent::Exited => {
                let ended = self.world.ended_attempt.as_ref();
                Event::Exited(
                    ended
                        .map(|ended| ended.evidence.clone())
                        .expect("an exited process has an ended attempt"),
                )
            }
            WorldEvent::SessionInspected(found) => Event::SessionInspected(found),
            WorldEvent::SummaryEnded => Event::SummaryEnded(self.world.summary_report()),
            WorldEvent::CheckEnded(result) => Event::CheckEnded(result),
            WorldEvent::ProcessesProbed(activity) => Event::ProcessesProbed(activity),
            WorldEvent::Swept(ended) => Event::Swept(ended),
            WorldEvent::Downtime(span) => Event::Downtime(span),
            WorldEvent::Cancelled(source) => Event::Cancelled(source),
            WorldEvent::Ticked => Event::Ticked,
            WorldEvent::Pending => self.pending.take().unwrap_or(Event::Ticked),
        }
    }
}

fn cover_cancel(coverage: &mut Coverage, event: &Event, run: &Run) {
    if let Event::Cancelled(source) = event {
        coverage.cancel(*source, PhaseKind::new(&run.state().phase));
    }
}

//! Simulates one run of one seed: a loop between core and world, in the role of a supervisor.
//!
//! The supervisor is killed at its weak points, and every oracle checks every step. The simulation never acts
//! outside its world.

mod trace;
mod watch;

pub(crate) use trace::Trace;

use crate::coverage::Coverage;
use crate::fault_mix::Interval;
use crate::kill_point::{KillPoint, Kills};
use crate::oracles::{
    Oracle, OracleResult, Violation, check_ending, check_journaled, check_spawn, check_spread, check_stable,
    ensure,
};
use crate::seed_plan::SeedPlan;
use crate::world::agent::NEVER;
use crate::world::{OneShot, World};
use longhaul_core::{
    Action, CheckStage, Event, Fault, FoundAttempt, Moment, Notice, Now, Outcome, OutcomeKind, Phase,
    PhaseKind, Record, ResumeRequest, Run, Span, Step, Usd, WaitBound,
};
use std::mem;
use watch::OracleSet;

// A day of work in attempts of a minute takes half of these steps. A run with more steps does not end.
const STEPS_MAX: u64 = 100_000;
// Half a year of virtual time. The longest hang or limit of a mix is two days.
const TIME_MAX: Span = Span::from_hours(24 * 180);
// A run that is always resumed would never finish either.
const REOPENS_MAX: u32 = 2;
// One in this many ends of attempts is decided again with other rolls.
const SPREAD_SAMPLE: u64 = 32;
/// Start of every run: a round moment of 2026.
pub(crate) const START: Moment = Moment::from_unix_seconds(1_790_000_000);

#[derive(Clone, Debug)]
pub(crate) struct SimResult {
    pub steps: u64,
    pub attempts: u32,
    pub outcome: Outcome,
    pub wall: Span,
    pub waiting: Span,
    pub spend: Usd,
    pub requests: u64,
    pub failed_requests: u64,
}

pub(crate) struct SimRun<'a> {
    plan: &'a SeedPlan,
    coverage: &'a mut Coverage,
    trace: &'a mut Trace,
    pub world: World,
    /// The records, each with the time of its step.
    pub journal: Vec<(Moment, Record)>,
    watch: OracleSet<'a>,
    run: Run,
    replayed: Run,
    /// An event that precedes all others: a start, a resumption or a recovery.
    pending: Option<Event>,
    /// Index of the next notice to read from the stream file.
    stream_index: usize,
    /// Whether an exchange ended, so that the workspace must be inspected.
    must_inspect_workspace: bool,
    steps: u64,
    kills: Kills,
    remaining_reopens: u32,
    is_stuck: bool,
}

impl<'a> SimRun<'a> {
    pub(crate) fn new(
        seed: u64,
        plan: &'a SeedPlan,
        coverage: &'a mut Coverage,
        trace: &'a mut Trace,
    ) -> SimRun<'a> {
        let mut world = World::new(seed, plan.mix.clone(), &plan.policy, START);
        if plan.session_exists {
            world.sessions.entry(plan.session.id().clone()).or_default().has_content = true;
        }
        SimRun {
            plan,
            coverage,
            trace,
            world,
            journal: Vec::new(),
            watch: OracleSet::new(&plan.policy),
            run: Run::new(),
            replayed: Run::new(),
            pending: Some(Event::Started(plan.session.clone())),
            stream_index: 0,
            must_inspect_workspace: false,
            steps: 0,
            kills: Kills::default(),
            remaining_reopens: REOPENS_MAX,
            is_stuck: false,
        }
    }

    pub(crate) fn run(&mut self) -> Result<SimResult, Violation> {
        // A supervisor that dies after the finish is replaced by one that finds the run finished.
        while self.pending.is_some() || !matches!(self.phase(), Phase::Finished { .. }) {
            self.check_ends()?;
            let Some(event) = self.next() else { continue };
            self.step(event)?;
            self.reopen()?;
        }
        self.finish()
    }

    fn phase(&self) -> &Phase {
        &self.run.state().phase
    }

    /// Resumes a finished run with some probability, after checking how it finished.
    fn reopen(&mut self) -> OracleResult {
        let outcome = self.run.state().outcome().filter(|_| self.pending.is_none());
        let Some(outcome) = outcome.filter(|outcome| outcome.kind != OutcomeKind::Bug) else { return Ok(()) };
        let world = &mut self.world;
        if self.remaining_reopens == 0 || !world.rng.chance(world.mix.reopen) {
            return Ok(());
        }
        self.check_outcome(&outcome)?;
        self.remaining_reopens -= 1;
        let world = &mut self.world;
        let after = Span(world.rng.log_uniform(Interval::new(1, 86_400_000)));
        world.pass_time(world.now + after);
        let request = match world.rng.below(3) {
            0 => ResumeRequest::Continue,
            1 => ResumeRequest::RepeatTask,
            _ => ResumeRequest::Prompt("Now the docs.".to_owned()),
        };
        self.pending = Some(Event::Reopened(request, Vec::new()));
        self.coverage.count("reopened", outcome.kind.as_str());
        Ok(())
    }

    fn check_outcome(&self, outcome: &Outcome) -> OracleResult {
        let was_requested = self.watch.is_cancelled_by(outcome.cancelled_by);
        check_ending(outcome, &self.world, &self.plan.policy, was_requested)?;
        let bound = WaitBound::from_state(self.run.state(), &self.plan.policy);
        ensure(bound.is_some() == (outcome.kind == OutcomeKind::RetryLater), Oracle::GivesUp, || {
            format!("{} names the bound {bound:?}", outcome.kind)
        })?;
        self.watch.facts.clocks.check(&self.run, self.world.now)
    }

    fn step(&mut self, event: Event) -> OracleResult {
        let at = self.world.now;
        let kill = self.kills.draw(&mut self.world.rng, self.world.mix.kill);
        if let Some(point @ KillPoint::BeforeStep) = kill {
            self.trace.event(at, "lost: ", &event);
            return self.crash(point);
        }
        let now = Now { at, roll: self.world.rng.bits() };
        let ticked = matches!(event, Event::Ticked);
        let is_stop = matches!(event, Event::Cancelled(_) | Event::Recovered { stop: Some(_), .. });
        let inspected = matches!(event, Event::SessionInspected(_));
        self.cover(&event);
        self.watch.receive(now.at, &event)?;
        self.trace.event(at, "", &event);
        // Deciding every wait nine times would halve the speed, and a sample detects the same errors.
        let sampled = matches!(event, Event::Exited(_)) && self.world.rng.one_in(SPREAD_SAMPLE);
        let before = sampled.then(|| (self.run.clone(), event.clone()));
        let step = self.run.step(&self.plan.policy, now, event);
        self.trace.step(&step);
        if inspected {
            self.mark_unstarted(&step);
        }
        let Step { records, actions } = step;
        let decides = !records.is_empty() || actions == [Action::ProbeProcesses];
        ensure(!ticked || decides, Oracle::Deadline, || {
            format!("a tick at the deadline leads to no decision in {:?}", self.phase())
        })?;
        if kill == Some(KillPoint::MidAppend) {
            return self.crash(KillPoint::MidAppend);
        }
        for record in records {
            self.replayed.apply(at, &record);
            self.watch.on_record(at, &record, &self.world, self.coverage)?;
            self.journal.push((at, record));
        }
        if let (Some((before, event)), Some((at, spread))) = (&before, self.watch.last_wait) {
            check_spread(before, &self.plan.policy, now, event, at, spread)?;
        }
        self.check_shadow()?;
        ensure(!is_stop || self.is_stopping(), Oracle::Cancels, || {
            format!("a requested stop is lost in {:?}", self.phase())
        })?;
        self.watch.check_stop_obeyed(self.phase())?;
        self.watch.limits.check(&self.watch.facts, at)?;
        if kill == Some(KillPoint::AfterAppend) {
            return self.crash(KillPoint::AfterAppend);
        }
        for (index, action) in actions.iter().enumerate() {
            if index == 1 && kill == Some(KillPoint::BetweenActions) {
                return self.crash(KillPoint::BetweenActions);
            }
            self.perform(action)?;
        }
        let exits = actions.iter().any(|action| matches!(action, Action::Finish(_)));
        match kill {
            Some(point @ KillPoint::AfterActions) => self.crash(point),
            Some(point @ KillPoint::BetweenActions) if actions.len() == 1 => self.crash(point),
            None if exits && matches!(self.phase(), Phase::Suspended { .. }) => {
                self.coverage.count("outcome", OutcomeKind::Suspended.as_str());
                self.take_over().map(drop)
            }
            Some(_) | None => Ok(()),
        }
    }

    fn cover(&mut self, event: &Event) {
        match event {
            Event::SessionInspected(found) => self.coverage.count("session", found.as_str()),
            Event::Recovered { stop: Some(source), .. } => {
                self.coverage.count("stop_at_takeover", source.as_str())
            }
            Event::Cancelled(source) => {
                let phase = PhaseKind::from(self.phase());
                self.coverage.count_pair("cancel", source.as_str(), phase.into());
            }
            _ => {}
        }
    }

    fn is_stopping(&self) -> bool {
        let state = self.run.state();
        let is_over = matches!(state.phase, Phase::New | Phase::Suspended { .. } | Phase::Finished { .. });
        is_over || state.cancelled_by.is_some() || state.suspended_by.is_some()
    }

    fn check_shadow(&self) -> OracleResult {
        ensure(self.replayed.state() == self.run.state(), Oracle::Shadow, || {
            format!("live {:?}\nreplayed {:?}", self.run.state(), self.replayed.state())
        })
    }

    /// Records in the world that an inspection ended the attempt before it started.
    fn mark_unstarted(&mut self, step: &Step) {
        let ended = step.records.iter().any(|record| matches!(record, Record::AttemptEnded(_)));
        if let (true, Some(plan)) = (ended, &self.run.state().plan) {
            // Otherwise the run was cancelled before the attempt started.
            let is_lost = self.watch.strategies.is_lost(&self.watch.facts);
            let truth = if is_lost { Fault::SessionLost } else { Fault::Crashed };
            self.world.mark_unstarted(plan.attempt, truth);
        }
    }

    fn perform(&mut self, action: &Action) -> OracleResult {
        check_journaled(action, &self.journal)?;
        if matches!(action, Action::StartReview(_) | Action::StartCheck(_) | Action::StartSummary(_)) {
            ensure(!self.world.has_live_process(), Oracle::OneTree, || {
                format!("{action:?} next to a live process")
            })?;
        }
        match action {
            Action::Spawn(plan) => {
                check_spawn(plan, &self.world, &self.journal, self.world.now)?;
                self.watch.check_spawn(plan)?;
            }
            Action::StartReview(plan) => {
                self.watch.limits.check_review(plan, &self.watch.facts, self.world.now)?;
            }
            _ => {}
        }
        self.world.perform(action);
        if matches!(action, Action::Spawn(_)) {
            self.stream_index = self.world.stream.len();
        }
        Ok(())
    }

    /// Kills the supervisor. A new one takes over after some time.
    fn crash(&mut self, point: KillPoint) -> OracleResult {
        self.coverage.count("kill", point.as_str());
        self.world.kill_supervisor();
        let down = self.take_over()?;
        self.trace.killed(point, down);
        Ok(())
    }

    /// Advances the time and starts a new supervisor, which replays the journal and recovers the run. Returns
    /// the time without a supervisor.
    fn take_over(&mut self) -> Result<Span, Violation> {
        let world = &mut self.world;
        let died_at = world.now;
        let down = Span(world.rng.log_uniform(world.mix.supervisor_downtime));
        world.pass_time(died_at + down);
        world.start_supervisor();
        self.run = Run::replay(self.journal.iter().map(|(at, record)| (*at, record)));
        self.check_shadow()?;
        let (phase, attempt) = (&self.run.state().phase, self.run.state().attempts());
        let found = match phase {
            Phase::Summarizing { .. } => {
                FoundAttempt::Ended(self.world.find_one_shot(OneShot::Summary, attempt))
            }
            Phase::Checking { stage: CheckStage::Review, .. } => {
                FoundAttempt::Ended(self.world.find_one_shot(OneShot::Review, self.run.state().reviews))
            }
            _ => self.world.find_attempt(attempt),
        };
        let is_running = matches!(found, FoundAttempt::Running(_));
        let agent_word = if is_running { "running" } else { "gone" };
        self.coverage.count_pair("recovery", agent_word, PhaseKind::from(phase).into());
        self.stream_index = if is_running { 0 } else { self.world.stream.len() };
        self.must_inspect_workspace = false;
        self.pending = Some(match phase {
            Phase::New => Event::Started(self.plan.session.clone()),
            _ => {
                let stop = if is_running { None } else { self.world.stop_before_takeover() };
                Event::Recovered { found, stop, last_record_at: Some(died_at), changes: Vec::new() }
            }
        });
        Ok(down)
    }

    fn finish(&mut self) -> Result<SimResult, Violation> {
        let at = self.world.now;
        self.replayed = Run::replay(self.journal.iter().map(|(at, record)| (*at, record)));
        self.check_shadow()?;
        let Some(outcome) = self.run.state().outcome() else {
            return Err(Violation::new(Oracle::Ends, "the run has no outcome"));
        };
        self.check_outcome(&outcome)?;
        let usage = self.run.state().usage;
        // A process that cannot be killed cannot be accounted for either.
        if outcome.kind != OutcomeKind::Bug {
            ensure(!self.world.has_live_process(), Oracle::OneTree, || {
                "a process outlives the run".to_owned()
            })?;
            ensure(usage == self.world.billed_usage, Oracle::Usage, || {
                format!("the run counts {usage:?}, the world billed {:?}", self.world.billed_usage)
            })?;
        }
        self.watch.limits.check_overshoot(&self.watch.facts, self.world.max_response_usage())?;
        let state = self.run.state();
        let result = SimResult {
            steps: self.steps,
            attempts: state.attempts(),
            outcome,
            wall: state.clocks.wall(at),
            waiting: state.clocks.waiting,
            spend: usage.reported_cost,
            requests: self.world.requests,
            failed_requests: self.world.failed_requests,
        };
        check_stable(&mut self.run, &self.plan.policy, at)?;
        self.coverage.count("outcome", outcome.kind.as_str());
        Ok(result)
    }

    fn check_ends(&self) -> OracleResult {
        let elapsed = self.world.now.since(START);
        ensure(self.steps < STEPS_MAX && elapsed < TIME_MAX && !self.is_stuck, Oracle::Ends, || {
            let state = if self.is_stuck { "stuck" } else { "still" };
            format!("{state} in {:?} after {} steps and {elapsed}", self.phase(), self.steps)
        })
    }

    /// Advances to the next event. Returns `None` if it has no effect on the supervisor.
    fn next(&mut self) -> Option<Event> {
        self.steps += 1;
        if let Some(event) = self.pending.take() {
            return Some(event);
        }
        // The supervisor inspects the workspace on its own, so no file contains the result.
        let fingerprint = self.world.fingerprint_notice();
        if let Some(fingerprint) = fingerprint.filter(|_| mem::take(&mut self.must_inspect_workspace)) {
            return Some(Event::Noticed(fingerprint));
        }
        if let Some(notice) = self.world.stream.get(self.stream_index) {
            self.stream_index += 1;
            self.must_inspect_workspace = matches!(notice, Notice::ExchangeEnded(_));
            return Some(Event::Noticed(notice.clone()));
        }
        let world_at = self.world.next_at();
        let deadline = self.run.deadline(&self.plan.policy);
        if let Some(deadline) = deadline.filter(|deadline| deadline.at <= world_at) {
            self.coverage.count("deadline", deadline.kind.as_str());
            self.world.now = self.world.now.max(deadline.at);
            return Some(Event::Ticked);
        }
        if world_at == NEVER {
            // No event will follow. A run must never wait in this state.
            self.is_stuck = true;
            return None;
        }
        let event = self.world.advance();
        self.must_inspect_workspace = matches!(event, Some(Event::Noticed(Notice::ExchangeEnded(_))));
        self.stream_index = self.world.stream.len();
        self.steps -= u64::from(event.is_none());
        event
    }
}

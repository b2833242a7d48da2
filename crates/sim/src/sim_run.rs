//! One run of one seed: the loop between core and world that a driver is, with the supervisor
//! killed at its weak points and every oracle watching. It performs nothing outside of its world.

pub(crate) mod kill;
mod trace;
mod watch;

pub(crate) use trace::Trace;

use crate::coverage::{Coverage, PhaseKind};
use crate::fault_mix::Interval;
use crate::oracles::{
    Oracle, OracleResult, Violation, check_ending, check_journalled, check_spawn, check_spread, check_stable,
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

// A day of work in attempts of a minute each takes half of this: more is a run that does not end.
const STEPS_MAX: u64 = 100_000;
// Half a year of virtual time; the longest hang or limit of a mix is two days.
const TIME_MAX: Span = Span::from_hours(24 * 180);
// A supervisor that dies at every step never lets a run end.
const KILLS_MAX: u32 = 12;
// A run that somebody always lets go on never ends either.
const REOPENS_MAX: u32 = 2;
// One in so many endings is decided again under other rolls.
const SPREAD_SAMPLE: u64 = 32;
/// When every run begins: a round moment of 2026.
pub(crate) const START: Moment = Moment::from_unix_seconds(1_790_000_000);

/// What a run came to.
#[derive(Clone, Debug)]
pub(crate) struct SimResult {
    pub(crate) steps: u64,
    pub(crate) attempts: u32,
    pub(crate) outcome: Outcome,
    pub(crate) outage: Span,
    pub(crate) waiting: Span,
    pub(crate) spend: Usd,
}

/// One run under way. Buffers are kept from run to run.
pub(crate) struct SimRun {
    pub(crate) journal: Vec<Record>,
    watch: OracleSet,
    taken: Step,
}

/// One run and its world, in flight.
struct SimState<'a> {
    policy: &'a Policy,
    session: &'a SessionPlan,
    world: &'a mut World,
    run: Run,
    shadow: Run,
    /// What the world or a new supervisor has to say before anything else happens.
    pending: Option<Event>,
    /// How much of the stream file is told again.
    prompted_at: usize,
    /// Whether the end of a turn was told, and nobody has looked at the workspace since.
    surveys: bool,
    steps: u64,
    kills_left: u32,
    reopens_left: u32,
    stuck: bool,
}

impl SimRun {
    pub(crate) fn new() -> SimRun {
        SimRun { journal: Vec::with_capacity(256), watch: OracleSet::default(), taken: Step::default() }
    }

    /// Flies one seed's plan to its end.
    pub(crate) fn run(
        &mut self,
        plan: &SeedPlan,
        world: &mut World,
        coverage: &mut Coverage,
        trace: &mut Trace,
    ) -> Result<SimResult, Violation> {
        self.journal.clear();
        self.watch.begin();
        if plan.session_exists {
            world.sessions.open(plan.session.id()).spoken = true;
        }
        let mut course = SimState {
            policy: &plan.policy,
            session: &plan.session,
            world,
            run: Run::new(),
            shadow: Run::new(),
            pending: Some(Event::Started(plan.session.clone())),
            prompted_at: 0,
            surveys: false,
            steps: 0,
            kills_left: KILLS_MAX,
            reopens_left: REOPENS_MAX,
            stuck: false,
        };
        // A supervisor that died at the very end comes back to find the run over.
        while course.pending.is_some() || !matches!(course.run.state().phase, Phase::Finished { .. }) {
            course.check_ends()?;
            let Some(happening) = course.next(coverage) else { continue };
            self.step(&mut course, happening, coverage, trace)?;
            self.reopen(&mut course, coverage)?;
        }
        self.land(course, coverage)
    }

    /// Somebody may let a run go on that is over. Its end is judged before.
    fn reopen(&mut self, course: &mut SimState<'_>, coverage: &mut Coverage) -> OracleResult {
        let outcome = course.run.state().outcome().filter(|_| course.pending.is_none());
        let Some(outcome) = outcome.filter(|outcome| outcome.kind != OutcomeKind::Bug) else { return Ok(()) };
        let world = &mut *course.world;
        if course.reopens_left == 0 || !world.rng.odds(world.mix.reopen) {
            return Ok(());
        }
        check_ending(&outcome, world, course.policy, self.watch.cancelled_by(outcome.cancelled_by))?;
        self.watch.clocks.check(&course.run, world.now)?;
        course.reopens_left -= 1;
        let after = Span(world.rng.magnitude(Interval::new(1, 86_400_000)));
        world.pass(world.now + after);
        let ask = match world.rng.below(3) {
            0 => ResumeRequest::Continue,
            1 => ResumeRequest::RepeatTask,
            _ => ResumeRequest::Prompt("Now the docs.".to_owned()),
        };
        course.pending = Some(Event::Reopened(ask, Vec::new()));
        coverage.reopened(outcome.kind);
        Ok(())
    }

    /// One turn of the driver's loop, in buffers that are used again.
    fn step(
        &mut self,
        course: &mut SimState<'_>,
        happening: WorldEvent,
        coverage: &mut Coverage,
        trace: &mut Trace,
    ) -> OracleResult {
        let mut taken = mem::take(&mut self.taken);
        taken.records.clear();
        taken.actions.clear();
        let verdict = self.step_into(&mut taken, course, happening, coverage, trace);
        self.taken = taken;
        verdict
    }

    fn step_into(
        &mut self,
        step: &mut Step,
        course: &mut SimState<'_>,
        happening: WorldEvent,
        coverage: &mut Coverage,
        trace: &mut Trace,
    ) -> OracleResult {
        let event = course.event(happening);
        let kill = course.kill();
        let at = course.world.now;
        if kill == Some(KillPoint::BeforeStep) {
            trace.lost(at, &event);
            return self.crash(course, KillPoint::BeforeStep, coverage, trace);
        }
        let now = Now { at, roll: course.world.rng.bits() };
        let ticked = matches!(event, Event::Ticked);
        let looked = if let Event::SessionInspected(found) = event { Some(found) } else { None };
        looked.into_iter().for_each(|found| coverage.found(found));
        cover_cancel(coverage, &event, &course.run);
        self.watch.hear(course.policy, now, &event)?;
        trace.event(at, &event);
        // Deciding every wait nine times over would halve the speed: a sample tells as much.
        let sampled = matches!(event, Event::Exited(_)) && course.world.rng.one_in(SPREAD_SAMPLE);
        let before = sampled.then(|| (course.run.clone(), event.clone()));
        course.run.step_into(course.policy, now, event, step);
        trace.step(step);
        self.start_nothing(course, looked.is_some(), step);
        let decides = !step.records.is_empty() || step.actions == [Action::ProbeProcesses];
        ensure(!ticked || decides, Oracle::Deadline, || {
            format!("a tick at the deadline decides nothing in {:?}", course.run.state().phase)
        })?;
        if kill == Some(KillPoint::MidAppend) {
            return self.crash(course, KillPoint::MidAppend, coverage, trace);
        }
        for record in &step.records {
            course.shadow.apply(record);
            self.watch.take(course.policy, record, course.world, coverage)?;
        }
        self.journal.append(&mut step.records);
        if let (Some((before, event)), Some(waited)) = (&before, self.watch.waited) {
            check_spread(before, course.policy, now, event, waited)?;
        }
        ensure(course.shadow.state() == course.run.state(), Oracle::Shadow, || {
            format!("live {:?}\nshadow {:?}", course.run.state(), course.shadow.state())
        })?;
        self.watch.check_stop_obeyed(PhaseKind::new(&course.run.state().phase))?;
        self.watch.limits.check(course.policy, &self.watch.clocks, at)?;
        if kill == Some(KillPoint::AfterAppend) {
            return self.crash(course, KillPoint::AfterAppend, coverage, trace);
        }
        for (place, action) in step.actions.iter().enumerate() {
            if place == 1 && kill == Some(KillPoint::BetweenActions) {
                return self.crash(course, KillPoint::BetweenActions, coverage, trace);
            }
            self.perform(course, action)?;
        }
        let exits = step.actions.iter().any(|action| matches!(action, Action::Finish(_)));
        match kill {
            None if exits && matches!(course.run.state().phase, Phase::Suspended { .. }) => {
                coverage.outcome(OutcomeKind::Suspended);
                self.take_over(course, coverage).map(drop)
            }
            Some(point @ KillPoint::AfterActions) => self.crash(course, point, coverage, trace),
            Some(point @ KillPoint::BetweenActions) if step.actions.len() == 1 => {
                self.crash(course, point, coverage, trace)
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

    /// A look at the session ended the attempt: the world knows why.
    fn start_nothing(&self, course: &mut SimState<'_>, looked: bool, step: &Step) {
        let ended = step.records.iter().any(|record| matches!(record, Record::AttemptEnded { .. }));
        if let (true, true, Some(plan)) = (looked, ended, &course.run.state().plan) {
            // Else somebody had cancelled the run, and it was never started.
            let truth = if self.watch.ladder.is_lost() { Fault::SessionLost } else { Fault::Crashed };
            course.world.start_nothing(plan.attempt, truth);
        }
    }

    fn perform(&mut self, course: &mut SimState<'_>, action: &Action) -> OracleResult {
        check_journalled(action, &self.journal)?;
        if let Action::Spawn(plan) = action {
            check_spawn(plan, course.world, &self.journal, course.world.now)?;
            self.watch.sessions.check_spawn(plan)?;
            self.watch.ladder.check_spawn(plan)?;
            self.watch.summaries.check_spawn(plan, course.policy)?;
            self.watch.limits.check_spawn(plan)?;
            course.prompted_at = 0;
        }
        if let Action::StartCheck(_) = action {
            ensure(!course.world.alive(), Oracle::OneTree, || {
                "work is judged beside a living process".to_owned()
            })?;
        }
        if let Action::StartSummary(plan) = action {
            ensure(!course.world.alive(), Oracle::OneTree, || {
                format!("older work is condensed for attempt {} beside a living process", plan.attempt)
            })?;
        }
        course.world.perform(action);
        if matches!(action, Action::Spawn(_)) {
            course.prompted_at = course.world.stream.len();
        }
        Ok(())
    }

    /// The supervisor dies. Time passes; a new one reads the journal and looks around.
    fn crash(
        &mut self,
        course: &mut SimState<'_>,
        point: KillPoint,
        coverage: &mut Coverage,
        trace: &mut Trace,
    ) -> OracleResult {
        coverage.kill(point);
        course.world.lose_supervisor();
        let down = self.take_over(course, coverage)?;
        trace.killed(point, down);
        Ok(())
    }

    /// Time passes; a new supervisor reads the journal and looks around. Returns how long there was none.
    fn take_over(&mut self, course: &mut SimState<'_>, coverage: &mut Coverage) -> Result<Span, Violation> {
        let world = &mut *course.world;
        let died_at = world.now;
        let down = Span(world.rng.magnitude(world.mix.down));
        let up_at = world.now + down;
        world.pass(up_at);
        world.come_back();
        course.run = Run::replay(&self.journal);
        ensure(course.run.state() == course.shadow.state(), Oracle::Shadow, || {
            format!("replayed {:?}\nshadow {:?}", course.run.state(), course.shadow.state())
        })?;
        let health = PhaseKind::new(&course.run.state().phase);
        let attempt = course.run.state().attempts();
        let found = if health == PhaseKind::Summarizing {
            FoundAttempt::Ended(world.found_summarizing(attempt))
        } else {
            world.found(attempt)
        };
        let live = matches!(found, FoundAttempt::Running(_));
        coverage.recovery(live, health);
        course.prompted_at = if live { 0 } else { world.stream.len() };
        course.surveys = false;
        course.pending = Some(if health == PhaseKind::New {
            Event::Started(course.session.clone())
        } else {
            Event::Recovered { found, last_record_at: Some(died_at), changes: Vec::new() }
        });
        Ok(down)
    }

    /// The run is over: what must hold at the end.
    fn land(&mut self, mut course: SimState<'_>, coverage: &mut Coverage) -> Result<SimResult, Violation> {
        let at = course.world.now;
        let replayed = Run::replay(&self.journal);
        ensure(replayed.state() == course.run.state(), Oracle::Shadow, || {
            format!("live {:?}\nreplayed {:?}", course.run.state(), replayed.state())
        })?;
        let Some(outcome) = course.run.state().outcome() else {
            return Err(Violation::new(Oracle::Ends, "no outcome"));
        };
        check_ending(&outcome, course.world, course.policy, self.watch.cancelled_by(outcome.cancelled_by))?;
        let usage = course.run.state().usage;
        // What cannot be ended cannot be accounted for either.
        if outcome.kind != OutcomeKind::Bug {
            ensure(!course.world.alive(), Oracle::OneTree, || "a process outlives the run".to_owned())?;
            ensure(usage == course.world.billed, Oracle::Tally, || {
                format!("the run counts {usage:?}, the world billed {:?}", course.world.billed)
            })?;
        }
        self.watch.clocks.check(&course.run, at)?;
        self.watch.limits.check_overshoot(course.policy, course.world)?;
        let state = course.run.state();
        let landing = SimResult {
            steps: course.steps,
            attempts: state.attempts(),
            outcome,
            outage: state.clocks.wall(at),
            waiting: state.clocks.waiting,
            spend: state.usage.reported_cost,
        };
        check_stable(&mut course.run, course.policy, at)?;
        coverage.outcome(outcome.kind);
        Ok(landing)
    }
}

impl SimState<'_> {
    /// Where the supervisor is killed in this step, if it is.
    fn kill(&mut self) -> Option<KillPoint> {
        if self.kills_left == 0 {
            return None;
        }
        let point = KillPoint::draw(&mut self.world.rng, self.world.mix.kill);
        self.kills_left -= u32::from(point.is_some());
        point
    }

    fn check_ends(&self) -> OracleResult {
        let elapsed = self.world.now.since(START);
        ensure(self.steps < STEPS_MAX && elapsed < TIME_MAX && !self.stuck, Oracle::Ends, || {
            let words = if self.stuck { "stuck" } else { "still" };
            format!("{words} in {:?} after {} steps and {elapsed}", self.run.state().phase, self.steps)
        })
    }

    /// What happens next; nothing if nobody noticed it.
    fn next(&mut self, coverage: &mut Coverage) -> Option<WorldEvent> {
        self.steps += 1;
        if self.pending.is_some() {
            return Some(WorldEvent::Pending);
        }
        // The supervisor looks by itself; what it sees is in no file.
        if let Some(survey) = self.world.survey().filter(|_| mem::take(&mut self.surveys)) {
            return Some(WorldEvent::Noticed(survey));
        }
        if let Some(notice) = self.world.stream.get(self.prompted_at) {
            self.prompted_at += 1;
            self.surveys = matches!(notice, Notice::ExchangeEnded(_));
            return Some(WorldEvent::Noticed(notice.clone()));
        }
        let world_at = self.world.next_at();
        let deadline = self.run.deadline(self.policy);
        if let Some(deadline) = deadline.filter(|deadline| deadline.at <= world_at) {
            coverage.why(deadline.kind);
            self.world.now = self.world.now.max(deadline.at);
            return Some(WorldEvent::Ticked);
        }
        if world_at == NEVER {
            // Nothing will ever happen: no run may come to wait for that.
            self.stuck = true;
            return None;
        }
        let happening = self.world.happen();
        self.surveys = matches!(happening, Some(WorldEvent::Noticed(Notice::ExchangeEnded(_))));
        self.prompted_at = self.world.stream.len();
        self.steps -= u64::from(happening.is_none());
        happening
    }

    /// The event that a happening is for the run.
    fn event(&mut self, happening: WorldEvent) -> Event {
        match happening {
            WorldEvent::Spawned(process) => Event::Spawned(process),
            WorldEvent::SpawnFailed(error) => Event::SpawnFailed(error),
            WorldEvent::Noticed(notice) => Event::Noticed(notice),
            WorldEvent::Exited => {
                let ended = self.world.finished.as_ref();
                Event::Exited(ended.map(|ended| ended.evidence.clone()).expect("what exited has ended"))
            }
            WorldEvent::Inspected(found) => Event::SessionInspected(found),
            WorldEvent::SummaryEnded => Event::SummaryEnded(self.world.summary_report()),
            WorldEvent::Checked(result) => Event::CheckEnded(result),
            WorldEvent::Examined(signs) => Event::ProcessesProbed(signs),
            WorldEvent::Swept(ended) => Event::Swept(ended),
            WorldEvent::Downtime(span) => Event::Downtime(span),
            WorldEvent::Cancelled(by) => Event::Cancelled(by),
            WorldEvent::Ticked => Event::Ticked,
            WorldEvent::Pending => self.pending.take().unwrap_or(Event::Ticked),
        }
    }
}

fn cover_cancel(coverage: &mut Coverage, event: &Event, run: &Run) {
    if let Event::Cancelled(by) = event {
        coverage.cancel(*by, PhaseKind::new(&run.state().phase));
    }
}

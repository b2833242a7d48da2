//! Simulates one workflow of one seed: a loop between core and world, in the role of a supervisor.

use super::model::{Facts, Model, ModelPhase};
use super::plan::WorkflowPlan;
use super::world::WorkflowWorld;
use crate::coverage::Coverage;
use crate::fault_mix::Interval;
use crate::kill_point::{KillPoint, Kills};
use crate::oracles::{Oracle, OracleResult, Violation, ensure};
use crate::sim_run::{START, Trace};
use longhaul_core::{
    CancelSource, Moment, Now, Outcome, RunEnd, RunKey, Span, Usd, Workflow, WorkflowAction, WorkflowEvent,
    WorkflowLimits, WorkflowRecord, WorkflowStage, WorkflowStep,
};

// The largest workflow has 4 iterations of 6 phases of 12 items, each with several retries and parks.
const STEPS_MAX: u64 = 50_000;
// Parks of days, in a row, for each of many runs.
const TIME_MAX: Span = Span::from_hours(24 * 365 * 10);
const REOPENS_MAX: u32 = 2;
// A tick can have no effect if the clock was set or a limit was reached in the meantime, but not twice in a row.
const IDLE_TICKS_MAX: u32 = 2;

pub(crate) struct WorkflowSim<'a> {
    plan: &'a WorkflowPlan,
    coverage: &'a mut Coverage,
    trace: &'a mut Trace,
    world: WorkflowWorld,
    journal: Vec<(Moment, WorkflowRecord)>,
    model: Model<'a>,
    workflow: Workflow,
    replayed: Workflow,
    /// An event that precedes all others: a start, a reopening or a takeover.
    pending: Option<WorkflowEvent>,
    /// Time of the last heartbeat: a supervisor sends none before its takeover is journaled.
    heartbeat_at: Moment,
    steps: u64,
    idle_ticks: u32,
    kills: Kills,
    remaining_reopens: u32,
}

impl<'a> WorkflowSim<'a> {
    pub(crate) fn new(
        seed: u64,
        plan: &'a WorkflowPlan,
        coverage: &'a mut Coverage,
        trace: &'a mut Trace,
    ) -> WorkflowSim<'a> {
        WorkflowSim {
            plan,
            coverage,
            trace,
            world: WorkflowWorld::new(seed, &plan.mix, START),
            journal: Vec::new(),
            model: Model::new(&plan.policy),
            workflow: Workflow::new(),
            replayed: Workflow::new(),
            pending: Some(WorkflowEvent::Started),
            heartbeat_at: START,
            steps: 0,
            idle_ticks: 0,
            kills: Kills::default(),
            remaining_reopens: REOPENS_MAX,
        }
    }

    /// Returns the numbers of steps and of runs.
    pub(crate) fn run(&mut self) -> Result<(u64, u64), Violation> {
        while self.pending.is_some() || self.workflow.state().outcome().is_none() {
            let elapsed = self.world.now.since(START);
            ensure(self.steps < STEPS_MAX && elapsed < TIME_MAX, Oracle::Ends, || {
                format!("still {:?} after {} steps and {elapsed}", self.workflow.state().stage, self.steps)
            })?;
            self.steps += 1;
            let Some(event) = self.next()? else { continue };
            self.step(event)?;
            self.reopen();
        }
        self.finish()
    }

    /// Advances to the next event. Returns `None` if it has no effect on the supervisor.
    fn next(&mut self) -> Result<Option<WorkflowEvent>, Violation> {
        if let Some(event) = self.pending.take() {
            return Ok(Some(event));
        }
        let deadline = self.workflow.deadline(&self.plan.policy);
        let tick_at = deadline.map(|deadline| self.world.true_moment(deadline.at));
        match (tick_at, self.world.next_at()) {
            (Some(tick_at), world_at) if world_at.is_none_or(|world_at| tick_at <= world_at) => {
                self.coverage.count("deadline", deadline.map_or("", |deadline| deadline.kind.as_str()));
                self.world.pass_time(tick_at);
                Ok(Some(WorkflowEvent::Tick))
            }
            (_, Some(_)) => Ok(self.world.advance()),
            (_, None) => Err(Violation::new(Oracle::Ends, format!("stuck in {:?}", self.workflow.state()))),
        }
    }

    fn step(&mut self, event: WorkflowEvent) -> OracleResult {
        let kill = self.kills.draw(&mut self.world.rng, self.plan.mix.kill);
        let now = Now { at: self.world.clock(), roll: self.world.rng.bits() };
        self.trace.line(|| format!("{:>9}  {event:?}", self.world.now.since(START)));
        self.heartbeat_at = match event {
            WorkflowEvent::TakenOver { .. } => self.heartbeat_at,
            // The last heartbeat was sent before the machine slept.
            WorkflowEvent::Downtime(span) => Moment(now.at.0 - span.0),
            _ => now.at,
        };
        if kill == Some(KillPoint::BeforeStep) {
            return self.crash(KillPoint::BeforeStep);
        }
        let is_tick = event == WorkflowEvent::Tick;
        self.cover(&event);
        let step = self.workflow.step(&self.plan.policy, now, event.clone());
        self.trace.line(|| format!("{:>11}| {:?}\n{:>11}> {:?}", "", step.records, "", step.actions));
        self.check_tick(is_tick, &step)?;
        if kill == Some(KillPoint::MidAppend) {
            return self.crash(KillPoint::MidAppend);
        }
        let starts = !step.records.is_empty();
        if let WorkflowEvent::MemoryMeasured { is_enough } = event {
            self.model.memory = Some(is_enough);
        }
        ensure(starts || !self.model.must_start(&event), Oracle::Ends, || {
            "no run is live, and none starts, although memory is all that is short".to_owned()
        })?;
        let worked = (!self.world.is_clock_set()).then_some(self.world.worked);
        let facts = Facts { at: now.at, worked };
        let WorkflowStep { records, actions } = step;
        for record in records {
            self.replayed.apply(now.at, &record);
            self.model.on_record(&record, &facts, self.coverage)?;
            self.journal.push((now.at, record));
        }
        self.heartbeat_at = now.at;
        self.check_state(&facts)?;
        if kill == Some(KillPoint::AfterAppend) {
            return self.crash(KillPoint::AfterAppend);
        }
        for (index, action) in actions.iter().enumerate() {
            if index == 1 && kill == Some(KillPoint::BetweenActions) {
                return self.crash(KillPoint::BetweenActions);
            }
            self.perform(action)?;
        }
        let is_suspended = matches!(self.workflow.state().stage, WorkflowStage::Suspended { .. });
        match kill {
            Some(point @ (KillPoint::AfterActions | KillPoint::BetweenActions)) => self.crash(point),
            Some(_) | None if is_suspended => {
                self.take_over();
                Ok(())
            }
            Some(_) | None => Ok(()),
        }
    }

    fn cover(&mut self, event: &WorkflowEvent) {
        match event {
            WorkflowEvent::CancelRequested(source) => self.coverage.count("cancel", source.as_str()),
            WorkflowEvent::SuspendRequested(source) => self.coverage.count("suspend", source.as_str()),
            WorkflowEvent::MemoryMeasured { is_enough: false } => self.coverage.count("memory", "short"),
            _ => {}
        }
    }

    fn check_tick(&mut self, is_tick: bool, step: &WorkflowStep) -> OracleResult {
        let is_idle = step.records.is_empty() && step.actions.is_empty();
        self.idle_ticks = if is_tick && is_idle { self.idle_ticks + 1 } else { 0 };
        ensure(self.idle_ticks < IDLE_TICKS_MAX, Oracle::Deadline, || {
            format!("ticks without a decision in {:?}", self.workflow.state())
        })
    }

    fn check_state(&self, facts: &Facts) -> OracleResult {
        let state = self.workflow.state();
        ensure(self.replayed.state() == state, Oracle::Shadow, || {
            format!("live {state:?}\nreplayed {:?}", self.replayed.state())
        })?;
        if let Some(worked) = facts.worked {
            let counted = state.clock.at(facts.at);
            ensure(counted == worked, Oracle::Clocks, || format!("{counted} counted, {worked} worked"))?;
        }
        let committed = self.model.committed();
        let counted: Usd = [state.cost, state.reserved()].into_iter().sum();
        ensure(counted == committed, Oracle::Usage, || format!("{counted} counted, {committed} committed"))
    }

    fn perform(&mut self, action: &WorkflowAction) -> OracleResult {
        let phases = &self.model.phases;
        let phase_is = |index: usize, is: fn(&ModelPhase) -> bool| phases.get(index).is_some_and(is);
        let is_journaled = match action {
            WorkflowAction::StartRun { key, .. } => self.model.runs.get(key).is_some_and(|run| run.is_live),
            WorkflowAction::StopRun { .. } => {
                let model = &self.model;
                model.cancelled_by.or(model.suspended_by).is_some() || model.is_time_exhausted
            }
            WorkflowAction::CheckUntil => self.model.is_checking,
            WorkflowAction::Merge(phase) => phase_is(*phase, |phase| phase.is_merged),
            WorkflowAction::ListItems(phase) => phase_is(*phase, |phase| phase.is_started),
            WorkflowAction::Finish(_) | WorkflowAction::MeasureMemory => true,
        };
        ensure(is_journaled, Oracle::Journaled, || format!("{action:?} has no record"))?;
        self.world.perform(action, self.workflow.state().iteration)
    }

    fn crash(&mut self, point: KillPoint) -> OracleResult {
        self.coverage.count("kill", point.as_str());
        self.trace.line(|| format!("{:>9}  SUPERVISOR KILLED {point:?}", ""));
        self.take_over();
        self.check_state(&Facts { at: self.world.clock(), worked: None })
    }

    /// Advances the time and starts a new supervisor, which replays the journal.
    fn take_over(&mut self) {
        let idle_since = self.heartbeat_at;
        self.world.kill_supervisor();
        let down = Span(self.world.rng.log_uniform(self.plan.mix.downtime));
        self.world.pass_downtime(down);
        self.workflow = Workflow::replay(self.journal.iter().map(|(at, record)| (*at, record)));
        self.idle_ticks = 0;
        self.pending = Some(match self.workflow.state().stage {
            WorkflowStage::New => WorkflowEvent::Started,
            WorkflowStage::Running | WorkflowStage::Suspended { .. } | WorkflowStage::Finished { .. } => {
                WorkflowEvent::TakenOver { idle_since }
            }
        });
    }

    /// Reopens a finished workflow with some probability.
    fn reopen(&mut self) {
        let has_finished = self.workflow.state().outcome().is_some() && self.pending.is_none();
        if !has_finished || self.remaining_reopens == 0 || !self.world.rng.chance(self.plan.mix.reopen) {
            return;
        }
        self.remaining_reopens -= 1;
        let world = &mut self.world;
        world.kill_supervisor();
        let after = world.rng.log_uniform(Interval::new(1, 86_400_000));
        world.pass_downtime(Span(after));
        world.draw_external_events();
        let before = self.workflow.state().limits(&self.plan.policy);
        let limits = world.rng.one_in(2).then(|| WorkflowLimits {
            budget: before.budget.map(|budget| budget + Usd(world.rng.below(budget.0 + 1))),
            time: before.time.map(|time| time + Span(world.rng.below(time.0 + 1))),
        });
        let iterations_max = world
            .rng
            .one_in(2)
            .then(|| self.workflow.state().iterations_max(&self.plan.policy) + world.rng.below(3) as u32);
        let keys: Vec<RunKey> = self.workflow.state().all_items().map(|(key, _)| key).collect();
        let continued = world.continue_runs(&keys);
        self.pending = Some(WorkflowEvent::Reopened { limits, iterations_max, continued, costs: Vec::new() });
    }

    fn finish(&mut self) -> Result<(u64, u64), Violation> {
        ensure(!self.world.has_live_run(), Oracle::OneTree, || "a run outlives the workflow".to_owned())?;
        let (counted, cost) = (self.workflow.state().cost, self.world.cost());
        ensure(counted == cost, Oracle::Usage, || format!("{counted} counted, {cost} spent"))?;
        self.check_stable()?;
        Ok((self.steps, self.model.runs.len() as u64))
    }

    /// A finished workflow does not change, whatever arrives late.
    fn check_stable(&mut self) -> OracleResult {
        let before = self.workflow.state().clone();
        let mut late = vec![
            WorkflowEvent::Started,
            WorkflowEvent::Tick,
            WorkflowEvent::MemoryMeasured { is_enough: true },
            WorkflowEvent::UntilEnded { holds: Ok(false) },
            WorkflowEvent::Downtime(Span::from_secs(1)),
            WorkflowEvent::CancelRequested(CancelSource::Person),
            WorkflowEvent::SuspendRequested(CancelSource::Sigterm),
        ];
        for (key, run) in &self.model.runs {
            let end = run.end.unwrap_or(RunEnd { outcome: Outcome::DONE, cost: Usd(1), active: Span::ZERO });
            late.push(WorkflowEvent::RunEnded { key: *key, end });
        }
        for phase in 0..self.plan.policy.phases.len() {
            late.push(WorkflowEvent::ItemsListed { phase, items: Ok(vec!["late".to_owned()]) });
            late.push(WorkflowEvent::Merged { phase, problem: None });
        }
        let now = Now { at: self.world.clock() + Span::from_hours(1), roll: 0 };
        for event in late {
            let step = self.workflow.step(&self.plan.policy, now, event.clone());
            let is_unchanged = step == WorkflowStep::default() && *self.workflow.state() == before;
            ensure(is_unchanged, Oracle::Stable, || {
                format!("{event:?} changes a finished workflow: {step:?}")
            })?;
        }
        ensure(self.workflow.deadline(&self.plan.policy).is_none(), Oracle::Stable, || {
            "a finished workflow has a deadline".to_owned()
        })
    }
}

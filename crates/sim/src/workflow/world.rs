//! The world of a simulated workflow: its runs, its commands, the memory, the clock and the user.
//!
//! A run that exists in the world survives the supervisor, as its directory does. It makes progress only
//! while a supervisor drives it. The world never decides.

use super::plan::WorkflowMix;
use crate::fault_mix::Interval;
use crate::oracles::{Oracle, OracleResult, ensure};
use crate::rng::Rng;
use longhaul_core::{
    CancelSource, Limit, Moment, Outcome, OutcomeKind, RunEnd, RunKey, RunShare, Span, Usd, WorkflowAction,
    WorkflowEvent,
};
use std::collections::BTreeMap;

// A run that is stopped ends within seconds.
const STOP: Interval = Interval::new(1, 10_000);
const COMMAND: Interval = Interval::new(1, 600_000);
const MEASUREMENT: Interval = Interval::new(0, 20);
// Runs wait for minutes, and rarely for hours.
const WAIT: Interval = Interval::new(1_000, 6 * 3_600_000);
const RETRY_AFTER: Interval = Interval::new(1, 8 * 3_600_000);
const JUMP: Interval = Interval::new(1, 4 * 3_600_000);

/// An event of the world before it reaches the workflow.
#[derive(Clone, Debug)]
pub(crate) enum WorldEvent {
    /// An event of what a supervisor drives. It is lost with the supervisor.
    Driven(WorkflowEvent),
    /// A user or the system acts.
    Cancel(CancelSource),
    Suspend(CancelSource),
    Sleep(Span),
    /// The clock is set, without notice: forward if `true`.
    SetClock(bool, Span),
}

/// A run as its directory describes it.
#[derive(Clone, Debug, Default)]
struct WorldRun {
    share: RunShare,
    /// Number of its last resumption by the workflow.
    resumes: u32,
    cost: Usd,
    active: Span,
    end: Option<RunEnd>,
    is_live: bool,
    is_waiting: bool,
}

pub(crate) struct WorkflowWorld {
    pub rng: Rng,
    mix: WorkflowMix,
    seed: u64,
    /// True time. The clock may differ.
    pub now: Moment,
    /// How far the clock was set forward or back.
    forward: Span,
    back: Span,
    runs: BTreeMap<RunKey, WorldRun>,
    queue: BTreeMap<(Moment, u64), WorldEvent>,
    queued: u64,
    /// Time in which at least one run worked.
    pub worked: Span,
    lists: BTreeMap<(u32, usize), Vec<String>>,
}

impl WorkflowWorld {
    pub(crate) fn new(seed: u64, mix: &WorkflowMix, start: Moment) -> WorkflowWorld {
        let mut world = WorkflowWorld {
            rng: Rng::new(seed),
            mix: mix.clone(),
            seed,
            now: start,
            forward: Span::ZERO,
            back: Span::ZERO,
            runs: BTreeMap::new(),
            queue: BTreeMap::new(),
            queued: 0,
            worked: Span::ZERO,
            lists: BTreeMap::new(),
        };
        world.draw_external_events();
        world
    }

    /// Draws when the user and the system act from now on.
    pub(crate) fn draw_external_events(&mut self) {
        let mix = self.mix.clone();
        for _ in 0..mix.cancels {
            let source = self.rng.pick(CancelSource::ALL);
            self.queue_external(WorldEvent::Cancel(source));
        }
        for _ in 0..mix.suspends {
            let source = self.rng.pick(&[CancelSource::Sigterm, CancelSource::Sighup]);
            self.queue_external(WorldEvent::Suspend(source));
        }
        for _ in 0..mix.sleeps {
            let span = Span(self.rng.log_uniform(JUMP));
            self.queue_external(WorldEvent::Sleep(span));
        }
        for _ in 0..mix.clock_jumps {
            let (is_forward, span) = (self.rng.one_in(2), Span(self.rng.log_uniform(JUMP)));
            self.queue_external(WorldEvent::SetClock(is_forward, span));
        }
    }

    fn queue_external(&mut self, event: WorldEvent) {
        let after = self.rng.log_uniform(self.mix.external);
        self.queue_after(after, event);
    }

    fn queue_after(&mut self, millis: u64, event: WorldEvent) {
        self.queued += 1;
        self.queue.insert((self.now + Span(millis), self.queued), event);
    }

    fn drive(&mut self, interval: Interval, event: WorkflowEvent) {
        let after = self.rng.log_uniform(interval);
        self.queue_after(after, WorldEvent::Driven(event));
    }

    /// Returns what the clock shows at a true moment.
    pub(crate) fn clock(&self) -> Moment {
        Moment((self.now + self.forward).0.saturating_sub(self.back.0))
    }

    /// Returns the true moment at which the clock shows `at`, and not one that has passed.
    pub(crate) fn true_moment(&self, at: Moment) -> Moment {
        Moment((at + self.back).0.saturating_sub(self.forward.0)).max(self.now)
    }

    /// Returns whether the clock was set, so that no one can know the working time.
    pub(crate) fn is_clock_set(&self) -> bool {
        self.forward != self.back || self.mix.clock_jumps > 0
    }

    pub(crate) fn next_at(&self) -> Option<Moment> {
        self.queue.first_key_value().map(|((at, _), _)| *at)
    }

    /// Advances the time. Runs that a supervisor drives work meanwhile.
    pub(crate) fn pass_time(&mut self, to: Moment) {
        if self.runs.values().any(|run| run.is_live && !run.is_waiting) {
            self.worked = self.worked + to.since(self.now);
        }
        self.now = self.now.max(to);
    }

    /// Advances to the next event. Returns `None` if the supervisor does not notice it.
    pub(crate) fn advance(&mut self) -> Option<WorkflowEvent> {
        let ((at, _), event) = self.queue.pop_first()?;
        if let WorldEvent::Sleep(span) = event {
            return Some(self.sleep(at, span));
        }
        self.pass_time(at);
        match event {
            WorldEvent::Driven(event) => {
                let is_end = self.apply(&event);
                // An end may be reported twice, before anything else happens.
                if is_end && self.rng.one_in(16) {
                    self.queue.insert((self.now, 0), WorldEvent::Driven(event.clone()));
                }
                Some(event)
            }
            WorldEvent::Cancel(source) => Some(WorkflowEvent::CancelRequested(source)),
            WorldEvent::Suspend(source) => Some(WorkflowEvent::SuspendRequested(source)),
            WorldEvent::SetClock(is_forward, span) => {
                let offset = if is_forward { &mut self.forward } else { &mut self.back };
                *offset = *offset + span;
                None
            }
            WorldEvent::Sleep(_) => None,
        }
    }

    /// The machine sleeps: everything is delayed.
    fn sleep(&mut self, at: Moment, span: Span) -> WorkflowEvent {
        self.pass_time(at);
        self.now = self.now + span;
        let queue = std::mem::take(&mut self.queue);
        self.queue = queue.into_iter().map(|((at, index), event)| ((at + span, index), event)).collect();
        WorkflowEvent::Downtime(span)
    }

    /// Changes the run of an event. Returns whether the event ends a live run.
    fn apply(&mut self, event: &WorkflowEvent) -> bool {
        match event {
            WorkflowEvent::RunWaits { key, waits } => self.run(*key).is_waiting = *waits,
            WorkflowEvent::RunEnded { key, end } => {
                let run = self.run(*key);
                let was_live = run.is_live;
                (run.cost, run.active, run.end) = (end.cost, end.active, Some(*end));
                (run.is_live, run.is_waiting) = (false, false);
                return was_live;
            }
            _ => {}
        }
        false
    }

    fn run(&mut self, key: RunKey) -> &mut WorldRun {
        self.runs.entry(key).or_default()
    }

    /// The supervisor dies, and everything that it drives stops.
    pub(crate) fn kill_supervisor(&mut self) {
        self.queue.retain(|_, event| !matches!(event, WorldEvent::Driven(_)));
        for run in self.runs.values_mut() {
            (run.is_live, run.is_waiting) = (false, false);
        }
    }

    /// Passes time without a supervisor. Events of the user in this time reach none.
    pub(crate) fn pass_downtime(&mut self, span: Span) {
        let end = self.now + span;
        self.pass_time(end);
        self.queue.retain(|(at, _), _| *at > end);
    }

    pub(crate) fn perform(&mut self, action: &WorkflowAction, iteration: u32) -> OracleResult {
        match action {
            WorkflowAction::ListItems(phase) => {
                let items = if self.rng.chance(self.mix.list_fails) {
                    Err("exit 1".to_owned())
                } else {
                    Ok(self.list(iteration, *phase))
                };
                self.drive(COMMAND, WorkflowEvent::ItemsListed { phase: *phase, items });
            }
            WorkflowAction::MeasureMemory => {
                let is_enough = !self.rng.chance(self.mix.memory_short);
                self.drive(MEASUREMENT, WorkflowEvent::MemoryMeasured { is_enough });
            }
            WorkflowAction::StartRun { key, share, resumes } => self.start(*key, *share, *resumes)?,
            WorkflowAction::StopRun { key, source } => self.stop(*key, *source)?,
            WorkflowAction::Merge(phase) => {
                let problem = self.rng.chance(self.mix.merge_fails).then(|| "conflict".to_owned());
                self.drive(COMMAND, WorkflowEvent::Merged { phase: *phase, problem });
            }
            WorkflowAction::CheckUntil => {
                let fails = self.rng.chance(self.mix.until_fails);
                let holds = if fails {
                    Err("exit 127".to_owned())
                } else {
                    Ok(self.rng.chance(self.mix.until_holds))
                };
                self.drive(COMMAND, WorkflowEvent::UntilEnded { holds });
            }
            // The supervisor exits. Late reports of its commands may still arrive.
            WorkflowAction::Finish(_) => {}
        }
        Ok(())
    }

    /// Returns the items of a phase: those of the last list in this iteration, unless the project changed.
    fn list(&mut self, iteration: u32, phase: usize) -> Vec<String> {
        let changes = self.rng.chance(self.mix.list_changes);
        let seed = self.seed ^ (u64::from(iteration) << 32) ^ (phase as u64) << 48;
        let first = |items_max: u64| {
            let mut rng = Rng::new(seed);
            (0..rng.below(items_max + 1)).map(|index| format!("item-{index}")).collect()
        };
        let items_max = self.mix.items_max;
        let known = self.lists.entry((iteration, phase)).or_insert_with(|| first(items_max));
        if changes {
            let index = self.rng.below(1 + known.len() as u64) as usize;
            known.truncate(index);
            known.extend((0..self.rng.below(4)).map(|more| format!("other-{index}-{more}")));
        }
        known.clone()
    }

    /// Starts or resumes a run, or continues one that exists.
    fn start(&mut self, key: RunKey, share: RunShare, resumes: u32) -> OracleResult {
        let existing = self.runs.get(&key);
        ensure(existing.is_none_or(|run| !run.is_live), Oracle::OneEnd, || {
            format!("{key:?} starts while it is live")
        })?;
        ensure(resumes == 0 || existing.is_some(), Oracle::OneEnd, || {
            format!("{key:?} is resumed, but does not exist")
        })?;
        let run = self.run(key);
        let is_done = run.end.is_some_and(|end| end.outcome.kind == OutcomeKind::Done);
        if run.end.is_some() && !is_done && run.resumes < resumes {
            (run.resumes, run.end) = (resumes, None);
        }
        (run.share, run.is_live) = (share, true);
        match run.end.filter(|end| end.outcome.kind != OutcomeKind::Suspended) {
            // It ended while no supervisor ran.
            Some(end) => self.queue_after(0, WorldEvent::Driven(WorkflowEvent::RunEnded { key, end })),
            None => self.work(key),
        }
        Ok(())
    }

    /// The user resumes some runs on their own. Returns those that are done afterwards, or not finished; others fail
    /// again.
    pub(crate) fn continue_runs(&mut self, keys: &[RunKey]) -> Vec<RunKey> {
        let rng = &mut self.rng;
        let mut continued = Vec::new();
        for key in keys {
            let run = self.runs.get_mut(key);
            let failed = run.filter(|run| run.end.is_some_and(|end| end.outcome.kind != OutcomeKind::Done));
            if let Some(run) = failed.filter(|_| rng.one_in(4)) {
                if rng.one_in(3) {
                    continue;
                }
                run.end =
                    run.end.filter(|_| rng.one_in(2)).map(|end| RunEnd { outcome: Outcome::DONE, ..end });
                continued.push(*key);
            }
        }
        continued
    }

    /// Draws what a live run does until its end.
    fn work(&mut self, key: RunKey) {
        let mix = self.mix.clone();
        let run = self.run(key).clone();
        let mut work = Span(self.rng.log_uniform(mix.work));
        let mut cost = run.cost + Usd(self.rng.log_uniform(mix.cost));
        let mut outcome = self.outcome();
        if let Some(limit) = run.share.time.filter(|limit| run.active + work >= *limit) {
            work = limit - run.active;
            outcome = Outcome::from_limit(Limit::Time, None);
        }
        if let Some(limit) = run.share.budget.filter(|limit| cost >= *limit) {
            // A run exceeds its budget by the responses in flight.
            let over = if self.rng.chance(mix.overshoots) { self.rng.below(limit.0 / 20 + 1) } else { 0 };
            cost = limit.max(run.cost) + Usd(over);
            outcome = Outcome::from_limit(Limit::Budget, None);
        }
        if outcome.kind == OutcomeKind::NotStarted {
            (work, cost) = (Span::ZERO, run.cost);
        }
        let mut after = work;
        while self.rng.chance(mix.waits) && after < work + Span(4 * WAIT.max) {
            let (from, wait) = (self.rng.below(after.0 + 1), self.rng.log_uniform(WAIT));
            self.queue_after(from, WorldEvent::Driven(WorkflowEvent::RunWaits { key, waits: true }));
            self.queue_after(from + wait, WorldEvent::Driven(WorkflowEvent::RunWaits { key, waits: false }));
            after = Span(after.0.max(from) + wait);
        }
        let end = RunEnd { outcome, cost, active: run.active + work };
        self.queue_after(after.0, WorldEvent::Driven(WorkflowEvent::RunEnded { key, end }));
    }

    fn outcome(&mut self) -> Outcome {
        if self.rng.chance(self.mix.retry_later) {
            let has_time = self.rng.chance(self.mix.retry_at);
            let after = Span(self.rng.log_uniform(RETRY_AFTER));
            let retry_at = has_time.then(|| self.clock() + after);
            return Outcome { kind: OutcomeKind::RetryLater, retry_at, ..Outcome::DONE };
        }
        if self.mix.failures.is_empty() || !self.rng.chance(self.mix.fails) {
            return Outcome::DONE;
        }
        Outcome { kind: self.rng.pick(&self.mix.failures.clone()), ..Outcome::DONE }
    }

    fn stop(&mut self, key: RunKey, source: CancelSource) -> OracleResult {
        let run = self.run(key).clone();
        ensure(run.is_live, Oracle::OneEnd, || format!("{key:?} is stopped, but is not live"))?;
        let is_of = |event: &WorldEvent| match event {
            WorldEvent::Driven(
                WorkflowEvent::RunEnded { key: of, .. } | WorkflowEvent::RunWaits { key: of, .. },
            ) => *of == key,
            _ => false,
        };
        // It may end on its own at the same time.
        if run.end.is_some() || self.rng.one_in(8) {
            return Ok(());
        }
        self.queue.retain(|_, event| !is_of(event));
        let cost = run.cost + Usd(self.rng.log_uniform(self.mix.cost));
        let cost = run.share.budget.map_or(cost, |budget| cost.min(budget.max(run.cost)));
        let outcome = match source {
            CancelSource::Person | CancelSource::PersonNow => Outcome::cancelled(source),
            CancelSource::Sigterm | CancelSource::Sighup => Outcome::suspended(source),
        };
        let end = RunEnd { outcome, cost, active: run.active };
        self.drive(STOP, WorkflowEvent::RunEnded { key, end });
        Ok(())
    }

    pub(crate) fn cost(&self) -> Usd {
        self.runs.values().map(|run| run.cost).sum()
    }

    pub(crate) fn has_live_run(&self) -> bool {
        self.runs.values().any(|run| run.is_live)
    }
}

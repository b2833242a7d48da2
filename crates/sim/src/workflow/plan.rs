//! Derives the policy of a workflow and the faults of its world from a seed. Each seed omits most faults, so
//! that the others occur more often and in more combinations.

use crate::fault_mix::Interval;
use crate::rng::Rng;
use longhaul_core::{
    OutcomeKind, PhasePolicy, Reaction, Reactions, Span, Usd, WorkflowLimits, WorkflowPolicy,
};

const HOUR: u64 = 3_600_000;
/// Outcomes of a run, other than `done`, that need no limit.
const FAILURES: &[OutcomeKind] = &[
    OutcomeKind::Failed,
    OutcomeKind::OverBudget,
    OutcomeKind::OutOfTime,
    OutcomeKind::NeedsPerson,
    OutcomeKind::CheckFailed,
    OutcomeKind::NotStarted,
    OutcomeKind::Incomplete,
    OutcomeKind::Cancelled,
    OutcomeKind::Suspended,
    OutcomeKind::Bug,
];

/// Everything that a seed determines before the workflow starts.
pub(crate) struct WorkflowPlan {
    pub policy: WorkflowPolicy,
    pub mix: WorkflowMix,
}

/// The faults of a world. Chances are per million.
#[derive(Clone, Debug)]
pub(crate) struct WorkflowMix {
    /// Per step.
    pub kill: u32,
    pub downtime: Interval,
    /// Per run.
    pub fails: u32,
    pub failures: Vec<OutcomeKind>,
    pub retry_later: u32,
    pub retry_at: u32,
    pub waits: u32,
    pub overshoots: u32,
    pub cost: Interval,
    pub work: Interval,
    /// Per list of items.
    pub list_fails: u32,
    pub list_changes: u32,
    pub items_max: u64,
    pub merge_fails: u32,
    pub until_holds: u32,
    pub until_fails: u32,
    pub memory_short: u32,
    /// Per finish.
    pub reopen: u32,
    /// Number of external events, at random times in `external`.
    pub cancels: u64,
    pub suspends: u64,
    pub sleeps: u64,
    pub clock_jumps: u64,
    pub external: Interval,
}

pub(crate) fn plan(seed: u64) -> WorkflowPlan {
    let mut rng = Rng::new(!seed);
    let policy = policy(&mut rng);
    let mix = mix(&mut rng);
    WorkflowPlan { policy, mix }
}

fn policy(rng: &mut Rng) -> WorkflowPolicy {
    let count = 1 + rng.below(6) as usize;
    let phases: Vec<PhasePolicy> = (0..count).map(|index| phase(rng, index)).collect();
    let index = |rng: &mut Rng, chance: u32| rng.chance(chance).then(|| rng.below(count as u64) as usize);
    let limits = WorkflowLimits {
        budget: rng.one_in(2).then(|| Usd(rng.log_uniform(Interval::new(1_000, 100_000_000)))),
        time: rng.one_in(3).then(|| Span(rng.log_uniform(Interval::new(60_000, 24 * HOUR)))),
    };
    WorkflowPolicy {
        skipped: (0..count).filter(|_| rng.chance(50_000)).collect(),
        phases,
        iterations_max: 1 + rng.below(4) as u32,
        until_after: index(rng, 500_000),
        from: index(rng, 150_000),
        only: index(rng, 100_000),
        parallel_max: 1 + rng.below(6) as u32,
        limits,
        start_gap: Span(rng.pick(&[0, 0, 2_000, 30_000])),
    }
}

fn phase(rng: &mut Rng, index: usize) -> PhasePolicy {
    let needs = match rng.below(3) {
        0 => (0..index).filter(|_| rng.one_in(2)).collect(),
        1 => index.checked_sub(1).into_iter().collect(),
        _ => Vec::new(),
    };
    PhasePolicy {
        name: format!("phase-{index}"),
        needs,
        has_items: rng.one_in(2),
        parallel_max: 1 + rng.below(4) as u32,
        items_max: 1 + rng.below(12) as u32,
        has_worktrees: rng.one_in(4),
        budget: rng.one_in(3).then(|| Usd(rng.log_uniform(Interval::new(1_000, 10_000_000)))),
        time: rng.one_in(4).then(|| Span(rng.log_uniform(Interval::new(10_000, 4 * HOUR)))),
        reactions: reactions(rng),
    }
}

fn reactions(rng: &mut Rng) -> Reactions {
    let mut reactions = Reactions::default();
    for kind in FAILURES.iter().chain(&[OutcomeKind::RetryLater]) {
        if rng.one_in(2) {
            let reaction = match rng.below(5) {
                0 => Reaction::Stop,
                1 | 2 => Reaction::Continue,
                3 if *kind == OutcomeKind::RetryLater => Reaction::Park,
                _ => Reaction::Retry(1 + rng.below(3) as u32),
            };
            reactions.0.insert(*kind, reaction);
        }
    }
    reactions
}

fn mix(rng: &mut Rng) -> WorkflowMix {
    let rare = |rng: &mut Rng, rates: &[u32]| if rng.one_in(2) { 0 } else { rng.pick(rates) };
    let some = |rng: &mut Rng, chance: u64, max: u64| if rng.one_in(chance) { 1 + rng.below(max) } else { 0 };
    let work = Interval::new(1, rng.pick(&[60_000, HOUR, 8 * HOUR]));
    WorkflowMix {
        kill: rare(rng, &[10_000, 50_000, 300_000]),
        downtime: Interval::new(1, rng.pick(&[1_000, HOUR, 48 * HOUR])),
        fails: rare(rng, &[20_000, 100_000, 500_000]),
        failures: FAILURES.iter().copied().filter(|_| rng.one_in(3)).collect(),
        retry_later: rare(rng, &[20_000, 100_000, 900_000]),
        retry_at: rng.pick(&[0, 500_000, 1_000_000]),
        waits: rare(rng, &[100_000, 800_000]),
        overshoots: rare(rng, &[100_000, 1_000_000]),
        cost: Interval::new(1, rng.pick(&[100_000, 1_000_000, 20_000_000])),
        work,
        list_fails: rare(rng, &[50_000]),
        list_changes: rng.pick(&[0, 500_000]),
        items_max: rng.pick(&[0, 3, 12, 12]),
        merge_fails: rare(rng, &[200_000]),
        until_holds: rng.pick(&[0, 200_000, 500_000, 1_000_000]),
        until_fails: rare(rng, &[50_000]),
        memory_short: rare(rng, &[200_000, 900_000]),
        reopen: rare(rng, &[500_000, 1_000_000]),
        cancels: some(rng, 8, 2),
        suspends: some(rng, 4, 3),
        sleeps: some(rng, 4, 3),
        clock_jumps: some(rng, 8, 3),
        external: Interval::new(1, work.max.saturating_mul(4)),
    }
}

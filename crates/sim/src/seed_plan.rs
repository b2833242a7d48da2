//! Derives a policy, a fault mix and a session to start with from a seed. Each seed omits most faults, so
//! that the others occur more often and in more combinations (swarm testing).

use crate::fault_mix::{FaultMix, Interval};
use crate::rng::Rng;
use longhaul_core::{
    Backoff, Checks, Fault, HandoffSummary, Jitter, KeepGoing, Limits, OnTerminate, OutageBound, Policy,
    Preset, Review, SessionLoss, SessionPlan, Span, TimeoutAction, Usd, WrapUp, draw_uuid,
};

/// Faults that a run may survive many times.
const LASTING: &[Fault] = &[
    Fault::RateLimited,
    Fault::Overloaded,
    Fault::ServerError,
    Fault::Network,
    Fault::UsageLimit,
    Fault::Crashed,
    Fault::Interrupted,
    Fault::Stalled,
    Fault::Unfinished,
];
const HOUR: u64 = 3_600_000;

/// Everything that a seed determines before the run starts.
pub(crate) struct SeedPlan {
    pub policy: Policy,
    pub mix: FaultMix,
    pub session: SessionPlan,
    pub session_exists: bool,
}

impl SeedPlan {
    /// Returns the plan of a run that starts with a new session.
    pub(crate) fn new(policy: &Policy, mix: FaultMix, seed: u64) -> SeedPlan {
        let session = SessionPlan::New(draw_uuid(seed, 1));
        SeedPlan { policy: policy.clone(), mix, session, session_exists: false }
    }
}

pub(crate) fn plan(seed: u64) -> SeedPlan {
    let mut rng = Rng::new(!seed);
    let mut policy = policy(&mut rng);
    let mut mix = mix(&mut rng);
    let id = draw_uuid(seed, 77);
    let resumes = rng.one_in(8);
    let session_exists = resumes && !rng.one_in(8);
    // Drawn last, so that older seeds keep their meaning.
    let has_summary = !rng.one_in(4);
    let timeout = Span(rng.log_uniform(Interval::new(1_000, 120_000)));
    policy.handoff_summary = has_summary.then(|| HandoffSummary::new("haiku", timeout));
    mix.summary_fails = rng.pick(&[0, 300_000, 1_000_000]);
    mix.summary_hangs = rng.pick(&[0, 300_000]);
    if rng.one_in(4) {
        let timeout = (!rng.one_in(4)).then(|| Span(rng.log_uniform(Interval::new(1_000, HOUR))));
        let mut checks = Checks::new(vec!["true".to_owned()]);
        (checks.failures_max, checks.timeout) = (1 + rng.below(6) as u32, timeout);
        policy.checks = Some(checks);
        mix.check_fails = rng.pick(&[0, 300_000, 900_000]);
        mix.check_hangs = rng.pick(&[0, 100_000]);
    }
    if rng.one_in(2) {
        limit(&mut rng, &mut policy, &mut mix);
    }
    if rng.one_in(2) {
        policy.progress_timeout =
            (!rng.one_in(4)).then(|| Span(rng.log_uniform(Interval::new(60_000, 3 * HOUR))));
    }
    mix.busy_child = rng.pick(&[0, 0, 300_000, 1_000_000]);
    mix.no_progress = rng.pick(&[0, 0, 300_000, 1_000_000]);
    if rng.one_in(3) {
        keep_going(&mut rng, &mut policy, &mut mix);
    }
    if rng.one_in(4) {
        review(&mut rng, &mut policy, &mut mix);
    }
    if rng.one_in(16) {
        let odds = rng.log_uniform(Interval::new(10_000, 900_000)) as u32;
        mix.set_odds(Fault::InvalidResult, odds);
    }
    let session = if resumes { SessionPlan::Resume(id) } else { SessionPlan::New(id) };
    SeedPlan { policy, mix, session, session_exists }
}

/// Adds a reviewer to the checks, or makes it the only one.
fn review(rng: &mut Rng, policy: &mut Policy, mix: &mut FaultMix) {
    let failures_max = 1 + rng.below(6) as u32;
    let timeout = Span(rng.log_uniform(Interval::new(1_000, HOUR)));
    let checks = policy.checks.get_or_insert_with(|| {
        let mut checks = Checks::new(Vec::new());
        (checks.failures_max, checks.timeout) = (failures_max, None);
        checks
    });
    let review = checks.review.insert(Review::new(None));
    review.timeout = timeout;
    policy.keep_going = None;
    mix.review_fails = rng.pick(&[0, 300_000, 900_000]);
    mix.review_hangs = rng.pick(&[0, 100_000]);
    mix.review_finds = rng.pick(&[0, 300_000, 900_000]);
}

fn policy(rng: &mut Rng) -> Policy {
    let preset = rng.pick(Preset::ALL);
    let mut policy = preset.policy();
    if rng.one_in(2) {
        return policy;
    }
    let span = |rng: &mut Rng, min, max| Span(rng.log_uniform(Interval::new(min, max)));
    policy.retries_max = rng.below(8) as u32;
    policy.progress_resets_retries = !rng.one_in(3);
    policy.backoff = Backoff {
        base: span(rng, 0, 60_000),
        cap: span(rng, 0, 600_000),
        jitter: match rng.below(4) {
            0 => Jitter::None,
            1 => Jitter::Percent(rng.below(150) as u8),
            _ => Jitter::Full,
        },
    };
    policy.early_overload_cap = span(rng, 0, 60_000);
    policy.early_overload_period = span(rng, 0, 600_000);
    policy.outage_bound = match rng.below(4) {
        0 => OutageBound::Retries,
        1 => OutageBound::Time(None),
        _ => OutageBound::Time(Some(span(rng, 0, 6 * HOUR))),
    };
    policy.attempts_max = if rng.one_in(6) { 1 + rng.below(12) as u32 } else { 1_000 };
    policy.max_reset_wait = rng.one_in(3).then(|| span(rng, 1, 5 * HOUR));
    policy.reset_jitter = span(rng, 0, 60_000);
    policy.attempt_timeout = rng.one_in(3).then(|| span(rng, 1_000, 2 * HOUR));
    policy.attempt_timeout_action =
        rng.pick(&[TimeoutAction::WhileProgressing, TimeoutAction::Retry, TimeoutAction::Final]);
    policy.stall_timeout = (!rng.one_in(4)).then(|| span(rng, 1_000, HOUR));
    policy.background_wait = span(rng, 0, HOUR);
    policy.exit_timeout = span(rng, 0, 60_000);
    // A kill takes up to 20 ms in the simulation, and three kills must fit in.
    policy.stop_grace = span(rng, 100, 30_000);
    policy.on_terminate = rng.pick(&[OnTerminate::Suspend, OnTerminate::Suspend, OnTerminate::Cancel]);
    policy.allow_denials = rng.one_in(4);
    policy.session_loss = rng.pick(&[
        SessionLoss::FallBack,
        SessionLoss::FreshWithWarning,
        SessionLoss::Fresh,
        SessionLoss::SpendAttempt,
    ]);
    policy.inner_retries = rng.below(6) as u32;
    policy
}

/// Draws limits, each in some of the runs. A few runs are a whole day of work.
fn limit(rng: &mut Rng, policy: &mut Policy, mix: &mut FaultMix) {
    let sometimes = |rng: &mut Rng, min, max| rng.one_in(3).then(|| rng.log_uniform(Interval::new(min, max)));
    let limits = &mut policy.limits;
    limits.budget = sometimes(rng, 1, 2_000_000).map(Usd);
    limits.tokens = sometimes(rng, 1, 300_000);
    limits.time = sometimes(rng, 1, 2 * HOUR).map(Span);
    limits.wall = sometimes(rng, 1, 12 * HOUR).map(Span);
    limits.turns = sometimes(rng, 1, 40).map(|turns| turns as u32);
    limits.memory = sometimes(rng, 1, 1 << 40);
    policy.wrap_up = match rng.below(4) {
        0 => None,
        1 => Some(WrapUp::new(Some(Span(rng.log_uniform(Interval::new(0, HOUR)))))),
        _ => Some(WrapUp::new(None)),
    };
    mix.exceeds_memory = rng.pick(&[0, 20_000, 300_000]);
    if rng.one_in(256) {
        policy.limits = Limits::default().with(|limits| limits.time = Some(Span::from_hours(24)));
        (mix.work, mix.think) = (Interval::new(2_000, 4_000), Interval::new(500, 120_000));
    }
}

/// Draws an agent that stops on its own, before its work is done or without a done claim.
fn keep_going(rng: &mut Rng, policy: &mut Policy, mix: &mut FaultMix) {
    let keep_going = policy.keep_going.insert(KeepGoing::DEFAULT);
    keep_going.keep_improving = rng.one_in(2);
    keep_going.status_every = rng.below(4) as u32;
    keep_going.idle_stops_max = 1 + rng.below(4) as u32;
    mix.stops_early = rng.pick(&[0, 100_000, 600_000]);
    mix.claims = rng.pick(&[200_000, 700_000, 1_000_000]);
    mix.claims_early = rng.pick(&[0, 50_000, 300_000]);
    mix.finds_work = rng.pick(&[0, 300_000, 900_000]);
}

fn mix(rng: &mut Rng) -> FaultMix {
    let mut mix = FaultMix::calm();
    // Drawn later, so that older seeds keep their meaning.
    let faults: Vec<Fault> =
        Fault::ALL.iter().copied().filter(|fault| *fault != Fault::InvalidResult).collect();
    let kinds = 1 + rng.below(5);
    for _ in 0..kinds {
        // Half of the draws are lasting faults, which make a run long. Most other faults end it.
        let fault = if rng.one_in(2) { rng.pick(LASTING) } else { rng.pick(&faults) };
        mix.set_odds(fault, rng.log_uniform(Interval::new(10_000, 900_000)) as u32);
    }
    let sometimes = |rng: &mut Rng, one_in| {
        if rng.one_in(one_in) { rng.log_uniform(Interval::new(10_000, 1_000_000)) as u32 } else { 0 }
    };
    mix.faults_max = rng.log_uniform(Interval::new(2, 24)) as u32;
    mix.failed_requests_max = 400;
    mix.work = Interval::new(0, rng.log_uniform(Interval::new(2, 30)));
    mix.outage = Interval::new(1, rng.log_uniform(Interval::new(1_000, 12 * HOUR)));
    mix.reset = Interval::new(1, rng.log_uniform(Interval::new(1_000, 12 * HOUR)));
    mix.hang = Interval::new(60_000, 48 * HOUR);
    mix.portal = sometimes(rng, 2);
    mix.hint = sometimes(rng, 2);
    mix.leaves_shell = sometimes(rng, 3);
    mix.shell_starts_exchange = sometimes(rng, 2);
    mix.never_idle = sometimes(rng, 4);
    mix.exits_after_result = sometimes(rng, 4);
    mix.lingers = sometimes(rng, 6);
    mix.ignores_stops = sometimes(rng, 4);
    mix.unkillable = if rng.one_in(16) { 300_000 } else { 0 };
    mix.frozen = sometimes(rng, 8);
    mix.moved = sometimes(rng, 6);
    mix.damaged = sometimes(rng, 6);
    mix.stale = sometimes(rng, 6);
    mix.hidden = sometimes(rng, 6);
    mix.unwritable = sometimes(rng, 8);
    mix.starts_over = sometimes(rng, 12);
    mix.wrong_session = sometimes(rng, 12);
    mix.reopen = sometimes(rng, 6);
    mix.no_resources = sometimes(rng, 12);
    mix.input_closes_with_supervisor = sometimes(rng, 2);
    mix.cancel = sometimes(rng, 5);
    mix.sleep = sometimes(rng, 4);
    mix.kill = if rng.one_in(3) { rng.log_uniform(Interval::new(5_000, 200_000)) as u32 } else { 0 };
    mix.request_cost = Usd(rng.below(100_000));
    mix
}

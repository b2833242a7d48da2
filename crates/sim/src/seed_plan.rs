//! What a seed stands for: its own policy, its own mix of faults, its own beginning. Swarm testing:
//! each seed leaves most faults out, so that the others go deep.

use crate::fault_mix::{FaultMix, Interval};
use crate::rng::Rng;
use longhaul_core::{
    Backoff, CheckPolicy, Fault, Jitter, KeepGoing, Limits, OnTerminate, OutageBound, Policy, Preset,
    SessionLoss, SessionPlan, Span, TimeoutAction, Usd, WrapUp, draw_uuid,
};

/// Faults that a run survives, again and again.
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

/// Everything that a seed decides before the run starts.
pub(crate) struct SeedPlan {
    pub(crate) policy: Policy,
    pub(crate) mix: FaultMix,
    pub(crate) session: SessionPlan,
    /// Whether the user's session is there.
    pub(crate) session_exists: bool,
}

/// The plan of this seed.
pub(crate) fn plan(seed: u64) -> SeedPlan {
    let mut dice = Rng::new(!seed);
    let mut policy = policy(&mut dice);
    let mut mix = mix(&mut dice);
    let id = draw_uuid(seed, 77);
    let resumes = dice.one_in(8);
    let session_exists = resumes && !dice.one_in(8);
    // Drawn last, so that a seed means what it meant before.
    policy.summarize = !dice.one_in(4);
    policy.summary_timeout = Span(dice.magnitude(Interval::new(1_000, 120_000)));
    mix.summary_fails = dice.pick(&[0, 300_000, 1_000_000]);
    mix.summary_hangs = dice.pick(&[0, 300_000]);
    if dice.one_in(4) {
        let timeout = (!dice.one_in(4)).then(|| Span(dice.magnitude(Interval::new(1_000, HOUR))));
        policy.check = Some(CheckPolicy { failures_max: 1 + dice.below(6) as u32, timeout });
        mix.check_fails = dice.pick(&[0, 300_000, 900_000]);
        mix.check_hangs = dice.pick(&[0, 100_000]);
    }
    if dice.one_in(2) {
        limit(&mut dice, &mut policy, &mut mix);
    }
    if dice.one_in(2) {
        policy.progress_timeout =
            (!dice.one_in(4)).then(|| Span(dice.magnitude(Interval::new(60_000, 3 * HOUR))));
    }
    mix.busy_child = dice.pick(&[0, 0, 300_000, 1_000_000]);
    mix.no_progress = dice.pick(&[0, 0, 300_000, 1_000_000]);
    if dice.one_in(3) {
        keep_going(&mut dice, &mut policy, &mut mix);
    }
    let session = if resumes { SessionPlan::Resume(id) } else { SessionPlan::New(id) };
    SeedPlan { policy, mix, session, session_exists }
}

fn policy(dice: &mut Rng) -> Policy {
    let preset = dice.pick(Preset::ALL);
    let mut policy = preset.policy();
    if dice.one_in(2) {
        return policy;
    }
    let span = |dice: &mut Rng, least, most| Span(dice.magnitude(Interval::new(least, most)));
    policy.retries_max = dice.below(8) as u32;
    policy.progress_resets_retries = !dice.one_in(3);
    policy.backoff = Backoff {
        base: span(dice, 0, 60_000),
        cap: span(dice, 0, 600_000),
        jitter: match dice.below(4) {
            0 => Jitter::None,
            1 => Jitter::Percent(dice.below(150) as u8),
            _ => Jitter::Full,
        },
    };
    policy.early_overload_cap = span(dice, 0, 60_000);
    policy.early_overload_period = span(dice, 0, 600_000);
    policy.outage_bound = match dice.below(4) {
        0 => OutageBound::Retries,
        1 => OutageBound::Time(None),
        _ => OutageBound::Time(Some(span(dice, 0, 6 * HOUR))),
    };
    policy.attempts_max = if dice.one_in(6) { 1 + dice.below(12) as u32 } else { 1_000 };
    policy.max_reset_wait = dice.one_in(3).then(|| span(dice, 1, 5 * HOUR));
    policy.reset_jitter = span(dice, 0, 60_000);
    policy.attempt_timeout = dice.one_in(3).then(|| span(dice, 1_000, 2 * HOUR));
    policy.attempt_timeout_action =
        dice.pick(&[TimeoutAction::WhileProgressing, TimeoutAction::Retry, TimeoutAction::Final]);
    policy.stall_timeout = (!dice.one_in(4)).then(|| span(dice, 1_000, HOUR));
    policy.background_wait = span(dice, 0, HOUR);
    policy.exit_timeout = span(dice, 0, 60_000);
    // A kill takes up to 20 ms here; three of them must have their time.
    policy.stop_grace = span(dice, 100, 30_000);
    policy.on_terminate = dice.pick(&[OnTerminate::Suspend, OnTerminate::Suspend, OnTerminate::Cancel]);
    policy.allow_denials = dice.one_in(4);
    policy.session_loss = dice.pick(&[
        SessionLoss::FallBack,
        SessionLoss::FreshWithWarning,
        SessionLoss::Fresh,
        SessionLoss::SpendAttempt,
    ]);
    policy.inner_retries = dice.below(6) as u32;
    policy
}

/// Limits that a run may reach, each in some of the runs; and in a few of them a day of work.
fn limit(dice: &mut Rng, policy: &mut Policy, mix: &mut FaultMix) {
    let some =
        |dice: &mut Rng, least, most| dice.one_in(3).then(|| dice.magnitude(Interval::new(least, most)));
    policy.limits = Limits {
        budget: some(dice, 1, 2_000_000).map(Usd),
        tokens: some(dice, 1, 300_000),
        time: some(dice, 1, 2 * HOUR).map(Span),
        wall: some(dice, 1, 12 * HOUR).map(Span),
        turns: some(dice, 1, 40).map(|turns| turns as u32),
        memory: some(dice, 1, 1 << 40),
    };
    policy.wrap_up = match dice.below(4) {
        0 => None,
        1 => Some(WrapUp { reserve: Some(Span(dice.magnitude(Interval::new(0, HOUR)))) }),
        _ => Some(WrapUp { reserve: None }),
    };
    mix.exceeds_memory = dice.pick(&[0, 20_000, 300_000]);
    if dice.one_in(256) {
        policy.limits = Limits { time: Some(Span::from_hours(24)), ..Limits::default() };
        (mix.work, mix.think) = (Interval::new(2_000, 4_000), Interval::new(500, 120_000));
    }
}

/// An agent that stops by itself, before its work is finished or without saying so.
fn keep_going(dice: &mut Rng, policy: &mut Policy, mix: &mut FaultMix) {
    policy.keep_going = Some(KeepGoing {
        keep_improving: dice.one_in(2),
        status_every: dice.below(4) as u32,
        idle_stops_max: 1 + dice.below(4) as u32,
    });
    mix.stops_early = dice.pick(&[0, 100_000, 600_000]);
    mix.claims = dice.pick(&[200_000, 700_000, 1_000_000]);
    mix.claims_early = dice.pick(&[0, 50_000, 300_000]);
    mix.finds_work = dice.pick(&[0, 300_000, 900_000]);
}

fn mix(dice: &mut Rng) -> FaultMix {
    let mut mix = FaultMix::calm();
    let kinds = 1 + dice.below(5);
    for _ in 0..kinds {
        // Half of all draws go to the faults of the world, which make a run long; the others end most.
        let fault = if dice.one_in(2) { dice.pick(LASTING) } else { dice.pick(Fault::ALL) };
        mix.strike(fault, dice.magnitude(Interval::new(10_000, 900_000)) as u32);
    }
    let some = |dice: &mut Rng, one_in| {
        if dice.one_in(one_in) { dice.magnitude(Interval::new(10_000, 1_000_000)) as u32 } else { 0 }
    };
    mix.faults_max = dice.magnitude(Interval::new(2, 24)) as u32;
    mix.failed_requests_max = 400;
    mix.work = Interval::new(0, dice.magnitude(Interval::new(2, 30)));
    mix.outage = Interval::new(1, dice.magnitude(Interval::new(1_000, 12 * HOUR)));
    mix.reset = Interval::new(1, dice.magnitude(Interval::new(1_000, 12 * HOUR)));
    mix.hang = Interval::new(60_000, 48 * HOUR);
    mix.portal = some(dice, 2);
    mix.hinted = some(dice, 2);
    mix.shell = some(dice, 3);
    mix.notified = some(dice, 2);
    mix.never_idle = some(dice, 4);
    mix.exits_after_result = some(dice, 4);
    mix.lingers = some(dice, 6);
    mix.ignores_stops = some(dice, 4);
    mix.unkillable = if dice.one_in(16) { 300_000 } else { 0 };
    mix.frozen = some(dice, 8);
    mix.moved = some(dice, 6);
    mix.damaged = some(dice, 6);
    mix.stale = some(dice, 6);
    mix.hidden = some(dice, 6);
    mix.unwritable = some(dice, 8);
    mix.starts_over = some(dice, 12);
    mix.wrong_session = some(dice, 12);
    mix.reopen = some(dice, 6);
    mix.no_resources = some(dice, 12);
    mix.input_ends_with_supervisor = some(dice, 2);
    mix.cancel = some(dice, 5);
    mix.sleep = some(dice, 4);
    mix.kill = if dice.one_in(3) { dice.magnitude(Interval::new(5_000, 200_000)) as u32 } else { 0 };
    mix.request_cost = Usd(dice.below(100_000));
    mix
}

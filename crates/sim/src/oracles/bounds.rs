//! Checks that another attempt follows if and only if the policy allows it. The counts are independent of the
//! core, and the rule is restated from the documentation.

use super::{Oracle, OracleResult, ensure};
use crate::fault_mix::FAULTS;
use longhaul_core::{
    AfterAttempt, ApiError, Evidence, Fault, Moment, OutageBound, Policy, SessionLoss, Span, TimeoutAction,
};

// A run tolerates responses from other servers for this long before it needs a person.
const MALFORMED_SPAN_MAX: Span = Span::from_mins(10);

/// How much of its policy's bounds a run has used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bounds {
    /// Failures since the last progress that resets retries.
    pub failures: u32,
    /// Waits for a server since that progress.
    pub waits: u32,
    /// Start of these waits.
    pub outage_started_at: Option<Moment>,
    /// Malformed responses since that progress.
    malformed_responses: u32,
    /// Parks since that progress.
    pub parks: u32,
    /// Start of the first park since any progress.
    parked_since: Option<Moment>,
    /// Faults with one allowed retry that was already made.
    faults_retried_once: [bool; FAULTS],
    /// Faults for which a new session was started since the last progress.
    faults_with_new_session: [bool; FAULTS],
    /// Nudges for a missing answer, and for a truncated one since the last progress.
    nudges: [u32; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// A fault of a server: by time or by a count.
    Server,
    UsageLimit,
    Retries,
    /// As retries, after longer waits.
    RetriesSlowly,
    /// One retry in a run, which also counts as a failure.
    Once,
    /// The same, after a longer wait.
    OnceSlowly,
    /// One fork or new session without progress, which also counts as a failure.
    Fork,
    Timeout,
    SessionLost,
    /// One new session without progress.
    NewSession,
    /// Two nudges of this kind.
    Nudge(usize),
    /// The agent's own limit is final, unless the run's limit is higher.
    AgentLimit,
    Final,
}

pub(super) fn bound(fault: Fault, has_worked: bool, has_answered: bool) -> Bound {
    match fault {
        Fault::AgentMissing | Fault::AgentUnusable if has_worked => Bound::Retries,
        Fault::ModelUnknown if has_answered => Bound::RetriesSlowly,
        Fault::RateLimited | Fault::Overloaded | Fault::ServerError | Fault::Network => Bound::Server,
        Fault::UsageLimit => Bound::UsageLimit,
        Fault::Crashed | Fault::Interrupted | Fault::Stalled => Bound::Retries,
        Fault::OutOfMemory | Fault::InvalidResult | Fault::Unknown => Bound::OnceSlowly,
        Fault::AttemptTimeout => Bound::Timeout,
        Fault::SessionLost => Bound::SessionLost,
        Fault::SessionExists => Bound::Once,
        Fault::BadRequest => Bound::Fork,
        Fault::ContextFull => Bound::NewSession,
        Fault::Unfinished => Bound::Nudge(0),
        Fault::OutputLimit => Bound::Nudge(1),
        Fault::TurnLimit | Fault::AgentBudget => Bound::AgentLimit,
        Fault::Permission
        | Fault::SessionBusy
        | Fault::GuardLapsed
        | Fault::Auth
        | Fault::Billing
        | Fault::ModelUnknown
        | Fault::Refused
        | Fault::AgentMissing
        | Fault::AgentUnusable => Bound::Final,
    }
}

/// Inputs of a bound, other than the counts.
pub(crate) struct AttemptCase<'a> {
    pub policy: &'a Policy,
    pub evidence: &'a Evidence,
    pub now: Moment,
    pub fault: Fault,
    /// Moment of the next attempt, or of the earliest retry after the run.
    pub next_at: Option<Moment>,
    pub attempt: u32,
    /// Number of attempts before the run was resumed.
    pub attempts_before: u32,
    pub session_open: bool,
    /// Whether an attempt before this one has used anything.
    pub has_history: bool,
    /// Whether the model has answered since the run was started or resumed.
    pub has_answered: bool,
    /// Whether a session with a handoff prompt was started, and none with only the task.
    pub can_drop_handoff: bool,
}

impl AttemptCase<'_> {
    pub(super) fn bound(&self) -> Bound {
        let has_worked = self.session_open || self.has_history;
        bound(self.fault, self.attempt > self.attempts_before + 1 && has_worked, self.has_answered)
    }
}

impl Bounds {
    pub(crate) fn on_progress(&mut self, policy: &Policy) {
        self.parked_since = None;
        if policy.progress_resets_retries {
            let Bounds { faults_retried_once, nudges: [of_answers, _], .. } = *self;
            *self = Bounds { faults_retried_once, nudges: [of_answers, 0], ..Bounds::default() };
        }
    }

    /// Returns the retries that count against `retries_max` for this fault.
    pub(crate) fn retries_used(&self, policy: &Policy, fault: Fault) -> u32 {
        match policy.outage_bound {
            OutageBound::Retries => self.failures + self.waits,
            OutageBound::Time(_) if bound(fault, false, false) == Bound::Server => self.waits,
            OutageBound::Time(_) => self.failures,
        }
    }

    fn is_exhausted(&self, case: &AttemptCase<'_>) -> bool {
        let AttemptCase { policy, fault, .. } = *case;
        let exhausted_retries = self.retries_used(policy, fault) >= policy.retries_max;
        let reset = case.evidence.rate_limit.and_then(|limit| limit.resets_at);
        let waits_too_long = case.next_at.zip(policy.max_reset_wait).is_some_and(|(at, wait_max)| {
            reset.is_some_and(|reset| reset > case.now && at >= reset) && at.since(case.now) > wait_max
        });
        waits_too_long
            || match case.bound() {
                Bound::Server => {
                    let malformed = is_malformed(case.evidence)
                        && self.malformed_responses >= 1
                        && self.outage_age(case.now) >= MALFORMED_SPAN_MAX;
                    let started_at = self.outage_started_at.unwrap_or(case.now);
                    malformed
                        || match policy.outage_bound {
                            OutageBound::Retries => exhausted_retries,
                            OutageBound::Time(limit) => limit
                                .zip(case.next_at)
                                .is_some_and(|(limit, at)| at.since(started_at) > limit),
                        }
                }
                // A window whose reset is known is waited for each time. Without a reset, all waits together count.
                Bound::UsageLimit => policy.max_reset_wait.zip(case.next_at).is_some_and(|(wait_max, at)| {
                    let is_known = reset.is_some_and(|reset| reset > case.now);
                    let since = self.parked_since.filter(|_| !is_known).unwrap_or(case.now);
                    at.since(since) > wait_max
                }),
                Bound::Retries | Bound::RetriesSlowly => exhausted_retries,
                Bound::OnceSlowly => self.faults_retried_once[fault as usize] || exhausted_retries,
                Bound::Once => self.faults_retried_once[fault as usize],
                Bound::Fork => self.faults_with_new_session[fault as usize],
                Bound::Timeout => match policy.attempt_timeout_action {
                    TimeoutAction::Final => true,
                    TimeoutAction::WhileProgressing => !case.evidence.made_progress,
                    TimeoutAction::Retry => exhausted_retries,
                },
                Bound::SessionLost => {
                    let is_first = case.attempt <= 1 && case.evidence.usage.is_empty();
                    match policy.session_loss {
                        SessionLoss::SpendAttempt => exhausted_retries,
                        SessionLoss::FallBack => is_first || self.has_new_session(case),
                        SessionLoss::FreshWithWarning | SessionLoss::Fresh => {
                            !is_first && self.has_new_session(case)
                        }
                    }
                }
                Bound::NewSession => self.has_new_session(case),
                Bound::Nudge(kind) => self.nudges[kind] >= 2 || !case.session_open,
                Bound::AgentLimit => {
                    let limits = policy.limits;
                    let is_set = if fault == Fault::TurnLimit {
                        limits.turns.is_some()
                    } else {
                        limits.budget.is_some()
                    };
                    !(is_set && case.evidence.made_progress)
                }
                Bound::Final => true,
            }
    }

    fn has_new_session(&self, case: &AttemptCase<'_>) -> bool {
        self.faults_with_new_session[case.fault as usize] && !case.can_drop_handoff
    }

    pub(crate) fn check(&self, case: &AttemptCase<'_>, next: &AfterAttempt) -> OracleResult {
        let exhausted = self.is_exhausted(case);
        match next {
            AfterAttempt::Attempt { .. } => ensure(!exhausted, Oracle::Bounds, || {
                format!("another attempt after {}, which the policy forbids: {self:?}", case.fault)
            }),
            AfterAttempt::Check => {
                ensure(false, Oracle::Bounds, || format!("work that failed by {} is checked", case.fault))
            }
            AfterAttempt::Finish(outcome) => ensure(exhausted, Oracle::Bounds, || {
                format!(
                    "{} after {}, although the policy allows another attempt: {self:?}",
                    outcome.kind, case.fault
                )
            }),
        }
    }

    pub(crate) fn count(&mut self, case: &AttemptCase<'_>) {
        let fault = case.fault;
        match case.bound() {
            Bound::Server => {
                self.waits += 1;
                self.outage_started_at.get_or_insert(case.now);
                self.malformed_responses += u32::from(is_malformed(case.evidence));
                self.faults_with_new_session[Fault::SessionLost as usize] = false;
            }
            Bound::Retries | Bound::RetriesSlowly | Bound::Timeout | Bound::AgentLimit => self.failures += 1,
            Bound::Once | Bound::OnceSlowly => {
                self.failures += 1;
                self.faults_retried_once[fault as usize] = true;
            }
            Bound::Fork => {
                self.failures += 1;
                self.faults_with_new_session[fault as usize] = true;
            }
            Bound::SessionLost if case.policy.session_loss == SessionLoss::SpendAttempt => self.failures += 1,
            Bound::SessionLost | Bound::NewSession => self.faults_with_new_session[fault as usize] = true,
            Bound::Nudge(kind) => self.nudges[kind] += 1,
            Bound::UsageLimit => self.on_park(case.now),
            Bound::Final => {}
        }
    }

    /// A usage limit is an answer: it ends an outage.
    pub(crate) fn on_park(&mut self, now: Moment) {
        self.parks += 1;
        self.parked_since.get_or_insert(now);
        (self.outage_started_at, self.malformed_responses) = (None, 0);
    }

    /// The time without requests is no part of an outage.
    pub(crate) fn add_downtime(&mut self, span: Span) {
        self.outage_started_at = self.outage_started_at.map(|at| at + span);
    }

    pub(crate) fn outage_age(&self, now: Moment) -> Span {
        self.outage_started_at.map_or(Span::ZERO, |started_at| now.since(started_at))
    }
}

fn is_malformed(evidence: &Evidence) -> bool {
    evidence.result.is_some_and(|result| result.api_error == Some(ApiError::Malformed))
}

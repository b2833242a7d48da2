//! An own count of what a run has used of its policy's bounds, and the rule, written anew from the
//! documentation, of when one more attempt is allowed.

use super::{Oracle, OracleResult, ensure};
use crate::fault_mix::FAULTS;
use longhaul_core::{
    AfterAttempt, ApiError, Evidence, Fault, Moment, OutageBound, Policy, SessionLoss, Span, TimeoutAction,
};

// Something else than the API may answer for this long before it takes a person.
const MALFORMED_PATIENCE: Span = Span::from_mins(10);

/// What a run has used of its bounds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bounds {
    /// Failures since the last progress that forgives.
    pub(crate) failures: u32,
    /// Waits against a server since then.
    pub(crate) waits: u32,
    /// When these waits began.
    pub(crate) outage_started_at: Option<Moment>,
    /// Answers since then that came from something else than the API.
    malformed: u32,
    /// Parks since then.
    pub(crate) parks: u32,
    /// Faults that had their one further try.
    once: [bool; FAULTS],
    /// Faults since the last progress that cost a session.
    restarted: [bool; FAULTS],
    /// Pushes for a missing and for a cut answer.
    nudges: [u32; 2],
}

/// What a bound may depend on besides the count.
pub(crate) struct AttemptCase<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) evidence: &'a Evidence,
    pub(crate) now: Moment,
    pub(crate) fault: Fault,
    /// When the next attempt is to start, or would have.
    pub(crate) next_at: Option<Moment>,
    pub(crate) attempt: u32,
    pub(crate) progressed: bool,
    pub(crate) session_open: bool,
    /// Whether a new session was told the record of the work, in vain, and none the task alone.
    pub(crate) plainer: bool,
}

impl AttemptCase<'_> {
    /// Whether the model said nothing in the attempt.
    fn is_silent(&self) -> bool {
        self.evidence.usage.messages + self.evidence.usage.truncated_messages == 0
    }
}

impl Bounds {
    /// The attempt made progress.
    pub(crate) fn progress(&mut self, policy: &Policy) {
        if policy.progress_resets_retries {
            self.failures = 0;
            self.waits = 0;
            self.outage_started_at = None;
            self.malformed = 0;
            self.parks = 0;
            self.restarted = [false; FAULTS];
        }
    }

    /// Retries that count against `retries_max` for this fault.
    pub(crate) fn used(&self, policy: &Policy, fault: Fault) -> u32 {
        match policy.outage_bound {
            OutageBound::Retries => self.failures + self.waits,
            OutageBound::Time(_) if is_server(fault) => self.waits,
            OutageBound::Time(_) => self.failures,
        }
    }

    /// Whether the policy forbids one more attempt.
    fn exhausted(&self, case: &AttemptCase<'_>) -> bool {
        let AttemptCase { policy, fault, .. } = *case;
        let spent = self.used(policy, fault) >= policy.retries_max;
        let reset = case.evidence.rate_limit.and_then(|limit| limit.resets_at);
        let waits_too_long = case.next_at.zip(policy.max_reset_wait).is_some_and(|(at, longest)| {
            reset.is_some_and(|reset| reset > case.now && at >= reset) && at.since(case.now) > longest
        });
        waits_too_long
            || match fault {
                Fault::RateLimited | Fault::Overloaded | Fault::ServerError | Fault::Network => {
                    let malformed = is_malformed(case.evidence)
                        && self.malformed >= 1
                        && self.wall_age(case.now) >= MALFORMED_PATIENCE;
                    let began = self.outage_started_at.unwrap_or(case.now);
                    malformed
                        || match policy.outage_bound {
                            OutageBound::Retries => spent,
                            OutageBound::Time(None) => false,
                            OutageBound::Time(Some(limit)) => {
                                case.next_at.is_some_and(|at| at.since(began) > limit)
                            }
                        }
                }
                Fault::UsageLimit => policy
                    .max_reset_wait
                    .is_some_and(|longest| case.next_at.is_some_and(|at| at.since(case.now) > longest)),
                Fault::Crashed | Fault::Interrupted | Fault::Stalled => spent,
                Fault::OutOfMemory | Fault::Unknown => self.once[fault as usize] || spent,
                Fault::AttemptTimeout => match policy.attempt_timeout_action {
                    TimeoutAction::Final => true,
                    TimeoutAction::WhileProgressing => !case.progressed,
                    TimeoutAction::Retry => spent,
                },
                Fault::SessionLost => match policy.session_loss {
                    SessionLoss::SpendAttempt => spent,
                    SessionLoss::FallBack => {
                        case.attempt <= 1 && case.is_silent() || self.has_restarted(case)
                    }
                    SessionLoss::FreshWithWarning | SessionLoss::Fresh => {
                        !(case.attempt <= 1 && case.is_silent()) && self.has_restarted(case)
                    }
                },
                Fault::SessionExists | Fault::BadRequest => self.once[fault as usize],
                Fault::ContextFull => self.has_restarted(case),
                Fault::Unfinished => self.nudges[0] >= 2 || !case.session_open,
                Fault::OutputLimit => self.nudges[1] >= 2 || !case.session_open,
                Fault::Permission
                | Fault::SessionBusy
                | Fault::GuardLapsed
                | Fault::Auth
                | Fault::Billing
                | Fault::ModelUnknown
                | Fault::Refused
                | Fault::AgentMissing
                | Fault::AgentUnusable => true,
                // The agent's own limit is final unless the run's own reaches further.
                Fault::TurnLimit => !(policy.limits.turns.is_some() && case.progressed),
                Fault::AgentBudget => !(policy.limits.budget.is_some() && case.progressed),
            }
    }

    fn has_restarted(&self, case: &AttemptCase<'_>) -> bool {
        self.restarted[case.fault as usize] && !case.plainer
    }

    /// One more attempt if and only if the policy allows it.
    pub(crate) fn check(&self, case: &AttemptCase<'_>, next: &AfterAttempt) -> OracleResult {
        let exhausted = self.exhausted(case);
        match next {
            AfterAttempt::Attempt { .. } => ensure(!exhausted, Oracle::Bounds, || {
                format!("one more attempt after {}, which the policy forbids: {self:?}", case.fault)
            }),
            AfterAttempt::Check => {
                ensure(false, Oracle::Bounds, || format!("work that failed by {} is judged", case.fault))
            }
            AfterAttempt::Finish(outcome) => ensure(exhausted, Oracle::Bounds, || {
                format!(
                    "{} after {}, and the policy allows one more attempt: {self:?}",
                    outcome.kind, case.fault
                )
            }),
        }
    }

    /// One more attempt was decided.
    pub(crate) fn count(&mut self, case: &AttemptCase<'_>) {
        let fault = case.fault;
        match fault {
            Fault::RateLimited | Fault::Overloaded | Fault::ServerError | Fault::Network => {
                self.waits += 1;
                self.outage_started_at.get_or_insert(case.now);
                self.malformed += u32::from(is_malformed(case.evidence));
            }
            Fault::Crashed | Fault::Interrupted | Fault::Stalled | Fault::AttemptTimeout => {
                self.failures += 1
            }
            Fault::OutOfMemory | Fault::Unknown | Fault::SessionExists | Fault::BadRequest => {
                self.failures += 1;
                self.once[fault as usize] = true;
            }
            Fault::SessionLost if case.policy.session_loss == SessionLoss::SpendAttempt => self.failures += 1,
            Fault::SessionLost | Fault::ContextFull => self.restarted[fault as usize] = true,
            Fault::Unfinished => self.nudges[0] += 1,
            Fault::OutputLimit => self.nudges[1] += 1,
            Fault::UsageLimit => self.parks += 1,
            Fault::Permission
            | Fault::SessionBusy
            | Fault::GuardLapsed
            | Fault::Auth
            | Fault::Billing
            | Fault::ModelUnknown
            | Fault::Refused
            | Fault::AgentMissing
            | Fault::AgentUnusable => {}
            Fault::TurnLimit | Fault::AgentBudget => self.failures += 1,
        }
    }

    /// How old the present wall is.
    pub(crate) fn wall_age(&self, now: Moment) -> Span {
        self.outage_started_at.map_or(Span::ZERO, |began| now.since(began))
    }
}

/// Whether the fault is a server's, which time bounds and not a count.
pub(crate) fn is_server(fault: Fault) -> bool {
    matches!(fault, Fault::RateLimited | Fault::Overloaded | Fault::ServerError | Fault::Network)
}

fn is_malformed(evidence: &Evidence) -> bool {
    evidence.result.is_some_and(|result| result.api_error == Some(ApiError::Malformed))
}

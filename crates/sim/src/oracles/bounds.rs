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
    /// Faults with one allowed retry that was already made.
    faults_retried_once: [bool; FAULTS],
    /// Faults for which a new session was started since the last progress.
    faults_with_new_session: [bool; FAULTS],
    /// Nudges for a missing and for a truncated answer.
    nudges: [u32; 2],
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
    pub made_progress: bool,
    pub session_open: bool,
    /// Whether a session with a handoff prompt was started, and none with only the task.
    pub can_drop_handoff: bool,
}

impl AttemptCase<'_> {
    /// Returns whether the model produced no message in the attempt.
    fn is_silent(&self) -> bool {
        self.evidence.usage.messages + self.evidence.usage.truncated_messages == 0
    }
}

impl Bounds {
    /// Resets the counts after progress.
    pub(crate) fn on_progress(&mut self, policy: &Policy) {
        if policy.progress_resets_retries {
            self.failures = 0;
            self.waits = 0;
            self.outage_started_at = None;
            self.malformed_responses = 0;
            self.parks = 0;
            self.faults_with_new_session = [false; FAULTS];
        }
    }

    /// Returns the retries that count against `retries_max` for this fault.
    pub(crate) fn retries_used(&self, policy: &Policy, fault: Fault) -> u32 {
        match policy.outage_bound {
            OutageBound::Retries => self.failures + self.waits,
            OutageBound::Time(_) if is_server(fault) => self.waits,
            OutageBound::Time(_) => self.failures,
        }
    }

    /// Returns whether the policy forbids another attempt.
    fn is_exhausted(&self, case: &AttemptCase<'_>) -> bool {
        let AttemptCase { policy, fault, .. } = *case;
        let exhausted_retries = self.retries_used(policy, fault) >= policy.retries_max;
        let reset = case.evidence.rate_limit.and_then(|limit| limit.resets_at);
        let waits_too_long = case.next_at.zip(policy.max_reset_wait).is_some_and(|(at, wait_max)| {
            reset.is_some_and(|reset| reset > case.now && at >= reset) && at.since(case.now) > wait_max
        });
        waits_too_long
            || match fault {
                Fault::RateLimited | Fault::Overloaded | Fault::ServerError | Fault::Network => {
                    let malformed = is_malformed(case.evidence)
                        && self.malformed_responses >= 1
                        && self.outage_age(case.now) >= MALFORMED_SPAN_MAX;
                    let started_at = self.outage_started_at.unwrap_or(case.now);
                    malformed
                        || match policy.outage_bound {
                            OutageBound::Retries => exhausted_retries,
                            OutageBound::Time(None) => false,
                            OutageBound::Time(Some(limit)) => {
                                case.next_at.is_some_and(|at| at.since(started_at) > limit)
                            }
                        }
                }
                Fault::UsageLimit => policy
                    .max_reset_wait
                    .is_some_and(|wait_max| case.next_at.is_some_and(|at| at.since(case.now) > wait_max)),
                Fault::Crashed | Fault::Interrupted | Fault::Stalled => exhausted_retries,
                Fault::OutOfMemory | Fault::Unknown => {
                    self.faults_retried_once[fault as usize] || exhausted_retries
                }
                Fault::AttemptTimeout => match policy.attempt_timeout_action {
                    TimeoutAction::Final => true,
                    TimeoutAction::WhileProgressing => !case.made_progress,
                    TimeoutAction::Retry => exhausted_retries,
                },
                Fault::SessionLost => match policy.session_loss {
                    SessionLoss::SpendAttempt => exhausted_retries,
                    SessionLoss::FallBack => {
                        case.attempt <= 1 && case.is_silent() || self.has_new_session(case)
                    }
                    SessionLoss::FreshWithWarning | SessionLoss::Fresh => {
                        !(case.attempt <= 1 && case.is_silent()) && self.has_new_session(case)
                    }
                },
                Fault::SessionExists | Fault::BadRequest => self.faults_retried_once[fault as usize],
                Fault::ContextFull => self.has_new_session(case),
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
                // The agent's own limit is final, unless the run's limit is higher.
                Fault::TurnLimit => !(policy.limits.turns.is_some() && case.made_progress),
                Fault::AgentBudget => !(policy.limits.budget.is_some() && case.made_progress),
            }
    }

    fn has_new_session(&self, case: &AttemptCase<'_>) -> bool {
        self.faults_with_new_session[case.fault as usize] && !case.can_drop_handoff
    }

    /// Checks that another attempt follows if and only if the policy allows it.
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

    /// Counts a decided attempt.
    pub(crate) fn count(&mut self, case: &AttemptCase<'_>) {
        let fault = case.fault;
        match fault {
            Fault::RateLimited | Fault::Overloaded | Fault::ServerError | Fault::Network => {
                self.waits += 1;
                self.outage_started_at.get_or_insert(case.now);
                self.malformed_responses += u32::from(is_malformed(case.evidence));
            }
            Fault::Crashed | Fault::Interrupted | Fault::Stalled | Fault::AttemptTimeout => {
                self.failures += 1
            }
            Fault::OutOfMemory | Fault::Unknown | Fault::SessionExists | Fault::BadRequest => {
                self.failures += 1;
                self.faults_retried_once[fault as usize] = true;
            }
            Fault::SessionLost if case.policy.session_loss == SessionLoss::SpendAttempt => self.failures += 1,
            Fault::SessionLost | Fault::ContextFull => self.faults_with_new_session[fault as usize] = true,
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

    /// Returns the age of the current outage.
    pub(crate) fn outage_age(&self, now: Moment) -> Span {
        self.outage_started_at.map_or(Span::ZERO, |started_at| now.since(started_at))
    }
}

/// Returns whether this is a fault of a server, which is bounded by time instead of a count.
pub(crate) fn is_server(fault: Fault) -> bool {
    matches!(fault, Fault::RateLimited | Fault::Overloaded | Fault::ServerError | Fault::Network)
}

fn is_malformed(evidence: &Evidence) -> bool {
    evidence.result.is_some_and(|result| result.api_error == Some(ApiError::Malformed))
}

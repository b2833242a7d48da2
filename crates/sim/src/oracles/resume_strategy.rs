//! Checks that the history of a conversation reaches an attempt by the right resume strategy. No strategy is
//! used twice for the same reason, and no session is resumed without an inspection.

use super::facts::Facts;
use super::{Oracle, OracleResult, ensure};
use longhaul_core::{
    AttemptEnd, AttemptPlan, Event, Fault, Record, ResumeStrategy, SessionFileState, SessionPlan,
    StrategyReason,
};

#[derive(Clone, Debug, Default)]
pub(crate) struct StrategyWatch {
    /// Result of the current attempt's last inspection.
    inspected_state: Option<SessionFileState>,
    /// Strategy of the current attempt.
    chosen: Option<ResumeStrategy>,
    relocated: bool,
    repaired: bool,
    handed_off: bool,
    started_fresh: bool,
    /// Whether the model ever produced a message.
    pub(crate) has_history: bool,
}

impl StrategyWatch {
    pub(crate) fn receive(&mut self, event: &Event) {
        if let Event::SessionInspected(found) = event {
            self.inspected_state = Some(*found);
        }
    }

    /// Returns whether the inspected session cannot be resumed.
    pub(crate) fn is_lost(&self, facts: &Facts) -> bool {
        let forks = facts.plan.as_ref().is_some_and(|plan| matches!(plan.session, SessionPlan::Fork { .. }));
        match self.inspected_state {
            Some(SessionFileState::Missing | SessionFileState::Empty) => true,
            Some(SessionFileState::Elsewhere) => self.relocated && !forks,
            _ => false,
        }
    }

    /// Returns whether a session with a handoff prompt was started, and none with only the task.
    pub(crate) fn can_drop_handoff(&self) -> bool {
        self.handed_off && !self.started_fresh
    }

    pub(crate) fn on_record(&mut self, record: &Record, facts: &Facts) -> OracleResult {
        match record {
            Record::RunReopened { .. } => {
                let has_history = self.has_history;
                *self = StrategyWatch { has_history, ..StrategyWatch::default() };
            }
            Record::AttemptStarted { .. } => (self.inspected_state, self.chosen) = (None, None),
            Record::ResumeStrategyChosen { strategy, reason } => {
                let expected = self.expected(*reason, facts);
                ensure(expected == Some(*strategy), Oracle::Strategies, || {
                    format!("{strategy:?} for {reason:?}, not {expected:?}: {self:?}")
                })?;
                self.chosen = Some(*strategy);
                self.set_tried(*strategy, true);
            }
            Record::ProgressMade { resets_retries: true } => {
                (self.relocated, self.repaired, self.handed_off, self.started_fresh) =
                    (false, false, false, false);
            }
            Record::AttemptEnded(AttemptEnd { usage, fault, .. }) => {
                self.has_history |= !usage.is_empty();
                let without_agent = matches!(fault, Some(Fault::AgentMissing | Fault::AgentUnusable));
                if let Some(strategy) = self.chosen.filter(|_| without_agent) {
                    self.set_tried(strategy, false);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn set_tried(&mut self, strategy: ResumeStrategy, tried: bool) {
        match strategy {
            ResumeStrategy::Relocate => self.relocated = tried,
            ResumeStrategy::Repair => self.repaired = tried,
            ResumeStrategy::Handoff => self.handed_off = tried,
            ResumeStrategy::Fresh => self.started_fresh = tried,
            ResumeStrategy::AsIs | ResumeStrategy::Fork => {}
        }
    }

    /// Returns the strategy that the documentation requires.
    fn expected(&self, reason: StrategyReason, facts: &Facts) -> Option<ResumeStrategy> {
        let plan = facts.plan.as_ref()?;
        let found = match reason {
            StrategyReason::SessionFile(found) => Some(found),
            StrategyReason::Fault(_) | StrategyReason::NeverOpened => None,
        };
        match &plan.session {
            _ if self.inspected_state != found || self.is_lost(facts) => None,
            SessionPlan::New(_) if reason == StrategyReason::NeverOpened => Some(ResumeStrategy::Fresh),
            SessionPlan::New(_) if self.has_history && !self.handed_off => Some(ResumeStrategy::Handoff),
            SessionPlan::New(_) => Some(ResumeStrategy::Fresh),
            SessionPlan::Fork { .. } => Some(ResumeStrategy::Fork),
            SessionPlan::Resume(_) => match self.inspected_state? {
                SessionFileState::Elsewhere => Some(ResumeStrategy::Relocate),
                SessionFileState::Damaged | SessionFileState::Stale if !self.repaired => {
                    Some(ResumeStrategy::Repair)
                }
                SessionFileState::Ready | SessionFileState::Damaged | SessionFileState::Stale => {
                    Some(ResumeStrategy::AsIs)
                }
                SessionFileState::Empty | SessionFileState::Missing => None,
            },
        }
    }

    pub(crate) fn check_spawn(&self, plan: &AttemptPlan) -> OracleResult {
        let inspected = match &plan.session {
            SessionPlan::New(_) => true,
            SessionPlan::Resume(_) => matches!(
                plan.strategy,
                Some(ResumeStrategy::AsIs | ResumeStrategy::Relocate | ResumeStrategy::Repair)
            ),
            SessionPlan::Fork { .. } => plan.strategy == Some(ResumeStrategy::Fork),
        };
        ensure(inspected, Oracle::Strategies, || format!("the session of {plan:?} was not inspected"))
    }
}

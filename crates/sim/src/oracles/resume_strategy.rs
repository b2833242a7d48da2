//! Whether the history of a conversation reaches an attempt by the right rung: one for what was found, none
//! twice for the same reason, and no session resumed that nobody looked for.

use super::{Oracle, OracleResult, ensure};
use longhaul_core::{
    AttemptPlan, Event, Record, ResumeStrategy, SessionFileState, SessionPlan, StrategyReason,
};

/// What was found and tried, counted anew.
#[derive(Clone, Debug, Default)]
pub(crate) struct StrategyWatch {
    /// What the last look in the present attempt found.
    found: Option<SessionFileState>,
    plan: Option<AttemptPlan>,
    placed: bool,
    repaired: bool,
    seeded: bool,
    plain: bool,
    /// Whether the model ever said anything.
    spoken: bool,
}

impl StrategyWatch {
    /// Takes in an event before the run does.
    pub(crate) fn hear(&mut self, event: &Event) {
        if let Event::SessionInspected(found) = event {
            self.found = Some(*found);
        }
    }

    /// Whether what was found cannot be continued.
    pub(crate) fn is_lost(&self) -> bool {
        let forks = self.plan.as_ref().is_some_and(|plan| matches!(plan.session, SessionPlan::Fork { .. }));
        match self.found {
            Some(SessionFileState::Missing | SessionFileState::Empty) => true,
            Some(SessionFileState::Elsewhere) => self.placed && !forks,
            Some(SessionFileState::Ready | SessionFileState::Damaged | SessionFileState::Stale) | None => {
                false
            }
        }
    }

    /// Whether a new session was told the record of the work, in vain, and none the task alone.
    pub(crate) fn has_plainer(&self) -> bool {
        self.seeded && !self.plain
    }

    pub(crate) fn take(&mut self, record: &Record) -> OracleResult {
        match record {
            Record::RunReopened { .. } => {
                let spoken = self.spoken;
                *self = StrategyWatch { spoken, ..StrategyWatch::default() };
            }
            Record::AttemptStarted { plan, .. } => (self.found, self.plan) = (None, Some(plan.clone())),
            Record::ResumeStrategyChosen { strategy: rung, reason: because, .. } => {
                let right = self.right(*because);
                ensure(right == Some(*rung), Oracle::Ladder, || {
                    format!("{rung:?} because of {because:?}, not {right:?}: {self:?}")
                })?;
                match rung {
                    ResumeStrategy::Relocate => self.placed = true,
                    ResumeStrategy::Repair => self.repaired = true,
                    ResumeStrategy::Handoff => self.seeded = true,
                    ResumeStrategy::Fresh => self.plain = true,
                    ResumeStrategy::AsIs | ResumeStrategy::Fork => {}
                }
            }
            Record::ProgressMade { resets_retries: true, .. } => {
                (self.placed, self.repaired, self.seeded, self.plain) = (false, false, false, false);
            }
            Record::AttemptEnded { usage: tally, .. } => {
                self.spoken |= tally.messages + tally.truncated_messages > 0
            }
            Record::ProgressMade { resets_retries: false, .. }
            | Record::RunStarted { .. }
            | Record::SummaryStarted { .. }
            | Record::SummaryStopOrdered { .. }
            | Record::SummaryEnded { .. }
            | Record::AttemptSpawned { .. }
            | Record::SessionOpened { .. }
            | Record::LimitReached { .. }
            | Record::PromptSent { .. }
            | Record::CheckStarted { .. }
            | Record::CheckStopOrdered { .. }
            | Record::AgentStopped { .. }
            | Record::CheckEnded { .. }
            | Record::InputClosed { .. }
            | Record::StallDeferred { .. }
            | Record::Recovered { .. }
            | Record::StopOrdered { .. }
            | Record::Downtime { .. }
            | Record::Swept { .. }
            | Record::CancelRequested { .. }
            | Record::SuspendOrdered { .. }
            | Record::Suspended { .. }
            | Record::RunFinished { .. } => {}
        }
        Ok(())
    }

    /// The rung that the documentation asks for.
    fn right(&self, reason: StrategyReason) -> Option<ResumeStrategy> {
        let plan = self.plan.as_ref()?;
        let found = match reason {
            StrategyReason::SessionFile(found) => Some(found),
            StrategyReason::Fault(_) | StrategyReason::NeverOpened => None,
        };
        match &plan.session {
            _ if self.found != found || self.is_lost() => None,
            SessionPlan::New(_) if reason == StrategyReason::NeverOpened => Some(ResumeStrategy::Fresh),
            SessionPlan::New(_) if self.spoken && !self.seeded => Some(ResumeStrategy::Handoff),
            SessionPlan::New(_) => Some(ResumeStrategy::Fresh),
            SessionPlan::Fork { .. } => Some(ResumeStrategy::Fork),
            SessionPlan::Resume(_) => match self.found? {
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

    /// A process is about to start on this plan.
    pub(crate) fn check_spawn(&self, plan: &AttemptPlan) -> OracleResult {
        let looked = match &plan.session {
            SessionPlan::New(_) => true,
            SessionPlan::Resume(_) => matches!(
                plan.strategy,
                Some(ResumeStrategy::AsIs | ResumeStrategy::Relocate | ResumeStrategy::Repair)
            ),
            SessionPlan::Fork { .. } => plan.strategy == Some(ResumeStrategy::Fork),
        };
        ensure(looked, Oracle::Ladder, || format!("nobody looked for the session of {plan:?}"))
    }
}

//! Whether the history of a conversation reaches an attempt by the right rung: one for what was found, none
//! twice for the same reason, and no session resumed that nobody looked for.

use super::{Oracle, Verdict, ensure};
use longhaul_core::{Because, Event, Record, Rung, SessionFound, SessionPlan, SpawnPlan};

/// What was found and tried, counted anew.
#[derive(Clone, Debug, Default)]
pub(crate) struct LadderWatch {
    /// What the last look in the present attempt found.
    found: Option<SessionFound>,
    plan: Option<SpawnPlan>,
    placed: bool,
    repaired: bool,
    seeded: bool,
    plain: bool,
    /// Whether the model ever said anything.
    spoken: bool,
}

impl LadderWatch {
    /// Takes in an event before the run does.
    pub(crate) fn hear(&mut self, event: &Event) {
        if let Event::Inspected(found) = event {
            self.found = Some(*found);
        }
    }

    /// Whether what was found cannot be continued.
    pub(crate) fn is_lost(&self) -> bool {
        let forks = self.plan.as_ref().is_some_and(|plan| matches!(plan.session, SessionPlan::Fork { .. }));
        match self.found {
            Some(SessionFound::Missing | SessionFound::Empty) => true,
            Some(SessionFound::Elsewhere) => self.placed && !forks,
            Some(SessionFound::Ready | SessionFound::Damaged | SessionFound::Behind) | None => false,
        }
    }

    /// Whether a new session was told the record of the work, in vain, and none the task alone.
    pub(crate) fn has_plainer(&self) -> bool {
        self.seeded && !self.plain
    }

    pub(crate) fn take(&mut self, record: &Record) -> Verdict {
        match record {
            Record::RunReopened { .. } => {
                let spoken = self.spoken;
                *self = LadderWatch { spoken, ..LadderWatch::default() };
            }
            Record::AttemptStarted { plan, .. } => (self.found, self.plan) = (None, Some(plan.clone())),
            Record::RungTaken { rung, because, .. } => {
                let right = self.right(*because);
                ensure(right == Some(*rung), Oracle::Ladder, || {
                    format!("{rung:?} because of {because:?}, not {right:?}: {self:?}")
                })?;
                match rung {
                    Rung::Place => self.placed = true,
                    Rung::Repair => self.repaired = true,
                    Rung::Seed => self.seeded = true,
                    Rung::Fresh => self.plain = true,
                    Rung::Resume | Rung::Fork => {}
                }
            }
            Record::Progressed { forgives: true, .. } => {
                (self.placed, self.repaired, self.seeded, self.plain) = (false, false, false, false);
            }
            Record::AttemptEnded { tally, .. } => self.spoken |= tally.messages + tally.cut_messages > 0,
            Record::Progressed { forgives: false, .. }
            | Record::RunStarted { .. }
            | Record::CondenseOrdered { .. }
            | Record::CondenseStopped { .. }
            | Record::Condensed { .. }
            | Record::AttemptSpawned { .. }
            | Record::SessionOpened { .. }
            | Record::LimitReached { .. }
            | Record::Said { .. }
            | Record::CheckOrdered { .. }
            | Record::CheckStopped { .. }
            | Record::Stopped { .. }
            | Record::Checked { .. }
            | Record::InputEnded { .. }
            | Record::SilenceExcused { .. }
            | Record::Recovered { .. }
            | Record::StopOrdered { .. }
            | Record::Downtime { .. }
            | Record::Swept { .. }
            | Record::CancelOrdered { .. }
            | Record::SuspendOrdered { .. }
            | Record::Suspended { .. }
            | Record::RunFinished { .. } => {}
        }
        Ok(())
    }

    /// The rung that the documentation asks for.
    fn right(&self, because: Because) -> Option<Rung> {
        let plan = self.plan.as_ref()?;
        let found = match because {
            Because::Found(found) => Some(found),
            Because::Fault(_) | Because::NeverOpened => None,
        };
        match &plan.session {
            _ if self.found != found || self.is_lost() => None,
            SessionPlan::New(_) if because == Because::NeverOpened => Some(Rung::Fresh),
            SessionPlan::New(_) if self.spoken && !self.seeded => Some(Rung::Seed),
            SessionPlan::New(_) => Some(Rung::Fresh),
            SessionPlan::Fork { .. } => Some(Rung::Fork),
            SessionPlan::Resume(_) => match self.found? {
                SessionFound::Elsewhere => Some(Rung::Place),
                SessionFound::Damaged | SessionFound::Behind if !self.repaired => Some(Rung::Repair),
                SessionFound::Ready | SessionFound::Damaged | SessionFound::Behind => Some(Rung::Resume),
                SessionFound::Empty | SessionFound::Missing => None,
            },
        }
    }

    /// A process is about to start on this plan.
    pub(crate) fn check_spawn(&self, plan: &SpawnPlan) -> Verdict {
        let looked = match &plan.session {
            SessionPlan::New(_) => true,
            SessionPlan::Resume(_) => matches!(plan.rung, Some(Rung::Resume | Rung::Place | Rung::Repair)),
            SessionPlan::Fork { .. } => plan.rung == Some(Rung::Fork),
        };
        ensure(looked, Oracle::Ladder, || format!("nobody looked for the session of {plan:?}"))
    }
}

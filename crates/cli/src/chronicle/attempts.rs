//! A run's attempts, as its records tell them.

use longhaul_core::{
    Because, Condensed, Continuity, Fault, Moment, Next, Questions, Record, Rung, Say, SessionPlan, Silence,
    Span, SpawnPlan, StopLevel, StopWhy, Tally, TurnResult,
};

/// A record, and when its step was taken: not every record says so itself.
pub type Told<'a> = (Moment, &'a Record);

/// One attempt.
#[derive(Clone, Debug)]
pub struct Attempt {
    pub number: u32,
    pub session: SessionPlan,
    /// What the agent is told at its start.
    pub say: Say,
    pub ordered: Moment,
    /// When its process was there; nothing if none was.
    pub spawned: Option<Moment>,
    /// How the history of the conversation reached it; nothing where there was none.
    pub rung: Option<Rung>,
    pub because: Option<Because>,
    /// What came of asking a model for a summary of older work; nothing if none was asked.
    pub summary: Option<(Condensed, Tally)>,
    /// Whether a turn or a tool call was completed.
    pub progressed: bool,
    /// How long nothing ran in its course.
    pub slept: Span,
    /// Why it was stopped by us first, if it was.
    pub stopped: Option<StopWhy>,
    /// What was heard and seen of it, if it was stopped because it stalled.
    pub silence: Option<Silence>,
    /// Whether it had to be killed.
    pub killed: bool,
    /// How often it was silent for too long while something of it worked.
    pub excused: u32,
    pub ended: Option<Ended>,
    /// How many processes had to be ended that it left behind.
    pub left_behind: u32,
    /// When nothing was left of it.
    pub swept: Option<Moment>,
    /// How long the run then waited with no process resident; nothing as long as it does.
    pub waited: Option<Span>,
}

/// The end of an attempt.
#[derive(Clone, Debug)]
pub struct Ended {
    pub at: Moment,
    pub fault: Option<Fault>,
    pub result: Option<TurnResult>,
    pub tally: Tally,
    pub denied: u32,
    pub questions: Questions,
    pub continuity: Option<Continuity>,
    pub next: Next,
}

impl Attempt {
    fn ordered(at: Moment, plan: &SpawnPlan) -> Attempt {
        Attempt {
            number: plan.attempt,
            session: plan.session.clone(),
            say: plan.say,
            ordered: at,
            spawned: None,
            rung: None,
            because: None,
            summary: None,
            progressed: false,
            slept: Span::ZERO,
            stopped: None,
            silence: None,
            killed: false,
            excused: 0,
            ended: None,
            left_behind: 0,
            swept: None,
            waited: None,
        }
    }

    /// When it began: with its process, or else with the order.
    pub fn began(&self) -> Moment {
        self.spawned.unwrap_or(self.ordered)
    }

    /// How long it took until `at`, without what was slept through.
    pub fn took(&self, at: Moment) -> Span {
        at.since(self.began()) - self.slept
    }

    /// How long was to be waited after it; nothing where no attempt was to follow.
    pub fn planned(&self) -> Option<Span> {
        let ended = self.ended.as_ref()?;
        match &ended.next {
            Next::Attempt { at, .. } => Some(at.since(ended.at)),
            Next::Check | Next::Finish(_) => None,
        }
    }

    fn end_wait(&mut self, at: Moment) {
        if self.planned().is_some() && self.waited.is_none() {
            self.waited = self.swept.map(|swept| at.since(swept));
        }
    }
}

/// The attempts that these records tell of, in their order.
pub fn attempts_of<'a>(told: impl IntoIterator<Item = Told<'a>>) -> Vec<Attempt> {
    let mut attempts: Vec<Attempt> = Vec::new();
    for (at, record) in told {
        if let Record::AttemptStarted { plan, .. } = record {
            if let Some(before) = attempts.last_mut() {
                before.end_wait(at);
            }
            attempts.push(Attempt::ordered(at, plan));
        } else if let Some(attempt) = attempts.last_mut() {
            attempt.take(at, record);
        }
    }
    attempts
}

impl Attempt {
    /// Takes in a record that follows its order.
    fn take(&mut self, at: Moment, record: &Record) {
        match record {
            Record::RungTaken { rung, because, .. } => {
                (self.rung, self.because) = (Some(*rung), Some(*because));
            }
            Record::Condensed { outcome, tally, .. } => self.summary = Some((*outcome, *tally)),
            Record::AttemptSpawned { at, .. } => self.spawned = Some(*at),
            Record::Progressed { .. } => self.progressed = true,
            Record::StopOrdered { why, level, silence, .. } => {
                self.stopped.get_or_insert(*why);
                // A harder stop looks no more.
                self.silence = self.silence.or(*silence);
                self.killed |= *level == StopLevel::Kill;
            }
            Record::SilenceExcused { .. } => self.excused += 1,
            Record::Downtime { span } if self.ended.is_none() && self.spawned.is_some() => {
                self.slept = self.slept + *span;
            }
            Record::AttemptEnded {
                at, fault, tally, result, denied, questions, continuity, next, ..
            } => {
                self.ended = Some(Ended {
                    at: *at,
                    fault: *fault,
                    result: *result,
                    tally: *tally,
                    denied: *denied,
                    questions: *questions,
                    continuity: *continuity,
                    next: next.clone(),
                });
            }
            Record::Swept { at, ended } => {
                self.swept.get_or_insert(*at);
                self.left_behind += ended;
            }
            Record::Suspended { .. } | Record::RunFinished { .. } => self.end_wait(at),
            Record::RunStarted { .. }
            | Record::RunReopened { .. }
            | Record::AttemptStarted { .. }
            | Record::CondenseOrdered { .. }
            | Record::CondenseStopped { .. }
            | Record::SessionOpened { .. }
            | Record::LimitReached { .. }
            | Record::Stopped { .. }
            | Record::Said { .. }
            | Record::InputEnded { .. }
            | Record::Recovered { .. }
            | Record::Downtime { .. }
            | Record::CheckOrdered { .. }
            | Record::CheckStopped { .. }
            | Record::Checked { .. }
            | Record::SuspendOrdered { .. }
            | Record::CancelOrdered { .. } => {}
        }
    }
}

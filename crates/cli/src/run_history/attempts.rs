//! A run's attempts, as its records tell them.

use longhaul_core::{
    AfterAttempt, AgentResult, AttemptPlan, Continuity, Fault, Moment, PromptKind, Questions, Record,
    ResumeStrategy, SessionPlan, Span, StallReport, StopCause, StopLevel, StrategyReason, SummaryResult,
    Usage,
};

/// A record, and when its step was taken: not every record says so itself.
pub type RecordAt<'a> = (Moment, &'a Record);

/// One attempt.
#[derive(Clone, Debug)]
pub struct AttemptHistory {
    pub number: u32,
    pub session: SessionPlan,
    /// What the agent is told at its start.
    pub say: PromptKind,
    pub ordered: Moment,
    /// When its process was there; nothing if none was.
    pub spawned: Option<Moment>,
    /// How the history of the conversation reached it; nothing where there was none.
    pub strategy: Option<ResumeStrategy>,
    pub reason: Option<StrategyReason>,
    /// What came of asking a model for a summary of older work; nothing if none was asked.
    pub summary: Option<(SummaryResult, Usage)>,
    /// Whether a turn or a tool call was completed.
    pub progressed: bool,
    /// How long nothing ran in its course.
    pub slept: Span,
    /// Why it was stopped by us first, if it was.
    pub stop_cause: Option<StopCause>,
    /// What was heard and seen of it, if it was stopped because it stalled.
    pub stall: Option<StallReport>,
    /// Whether it had to be killed.
    pub killed: bool,
    /// How often it was silent for too long while something of it worked.
    pub deferrals: u32,
    pub end: Option<AttemptEnd>,
    /// How many processes had to be ended that it left behind.
    pub leftover_processes: u32,
    /// When nothing was left of it.
    pub swept: Option<Moment>,
    /// How long the run then waited with no process resident; nothing as long as it does.
    pub waited: Option<Span>,
}

/// The end of an attempt.
#[derive(Clone, Debug)]
pub struct AttemptEnd {
    pub at: Moment,
    pub fault: Option<Fault>,
    pub result: Option<AgentResult>,
    pub usage: Usage,
    pub denied_calls: u32,
    pub questions: Questions,
    pub continuity: Option<Continuity>,
    pub next: AfterAttempt,
}

impl AttemptHistory {
    fn ordered(at: Moment, plan: &AttemptPlan) -> AttemptHistory {
        AttemptHistory {
            number: plan.attempt,
            session: plan.session.clone(),
            say: plan.prompt,
            ordered: at,
            spawned: None,
            strategy: None,
            reason: None,
            summary: None,
            progressed: false,
            slept: Span::ZERO,
            stop_cause: None,
            stall: None,
            killed: false,
            deferrals: 0,
            end: None,
            leftover_processes: 0,
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
        let ended = self.end.as_ref()?;
        match &ended.next {
            AfterAttempt::Attempt { at, .. } => Some(at.since(ended.at)),
            AfterAttempt::Check | AfterAttempt::Finish(_) => None,
        }
    }

    fn end_wait(&mut self, at: Moment) {
        if self.planned().is_some() && self.waited.is_none() {
            self.waited = self.swept.map(|swept| at.since(swept));
        }
    }
}

/// The attempts that these records tell of, in their order.
pub fn attempts_of<'a>(told: impl IntoIterator<Item = RecordAt<'a>>) -> Vec<AttemptHistory> {
    let mut attempts: Vec<AttemptHistory> = Vec::new();
    for (at, record) in told {
        if let Record::AttemptStarted { plan, .. } = record {
            if let Some(before) = attempts.last_mut() {
                before.end_wait(at);
            }
            attempts.push(AttemptHistory::ordered(at, plan));
        } else if let Some(attempt) = attempts.last_mut() {
            attempt.take(at, record);
        }
    }
    attempts
}

impl AttemptHistory {
    /// Takes in a record that follows its order.
    fn take(&mut self, at: Moment, record: &Record) {
        match record {
            Record::ResumeStrategyChosen { strategy: rung, reason: because, .. } => {
                (self.strategy, self.reason) = (Some(*rung), Some(*because));
            }
            Record::SummaryEnded { result: outcome, usage: tally, .. } => {
                self.summary = Some((*outcome, *tally))
            }
            Record::AttemptSpawned { at, .. } => self.spawned = Some(*at),
            Record::ProgressMade { .. } => self.progressed = true,
            Record::StopOrdered { cause: why, level, stall: silence, .. } => {
                self.stop_cause.get_or_insert(*why);
                // A harder stop looks no more.
                self.stall = self.stall.or(*silence);
                self.killed |= *level == StopLevel::Kill;
            }
            Record::StallDeferred { .. } => self.deferrals += 1,
            Record::Downtime { duration: span } if self.end.is_none() && self.spawned.is_some() => {
                self.slept = self.slept + *span;
            }
            Record::AttemptEnded {
                at,
                fault,
                usage: tally,
                result,
                denied_calls: denied,
                questions,
                continuity,
                next,
                ..
            } => {
                self.end = Some(AttemptEnd {
                    at: *at,
                    fault: *fault,
                    result: *result,
                    usage: *tally,
                    denied_calls: *denied,
                    questions: *questions,
                    continuity: *continuity,
                    next: next.clone(),
                });
            }
            Record::Swept { at, stopped_processes: ended } => {
                self.swept.get_or_insert(*at);
                self.leftover_processes += ended;
            }
            Record::Suspended { .. } | Record::RunFinished { .. } => self.end_wait(at),
            Record::RunStarted { .. }
            | Record::RunReopened { .. }
            | Record::AttemptStarted { .. }
            | Record::SummaryStarted { .. }
            | Record::SummaryStopOrdered { .. }
            | Record::SessionOpened { .. }
            | Record::LimitReached { .. }
            | Record::AgentStopped { .. }
            | Record::PromptSent { .. }
            | Record::InputClosed { .. }
            | Record::Recovered { .. }
            | Record::Downtime { .. }
            | Record::CheckStarted { .. }
            | Record::CheckStopOrdered { .. }
            | Record::CheckEnded { .. }
            | Record::SuspendOrdered { .. }
            | Record::CancelRequested { .. } => {}
        }
    }
}

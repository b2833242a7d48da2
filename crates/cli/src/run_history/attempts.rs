//! Reconstructs a run's attempts from its records.

use longhaul_core::{
    AfterAttempt, AgentResult, AttemptPlan, Continuity, Fault, Moment, PromptKind, Questions, Record,
    ResumeStrategy, SessionPlan, Span, StallReport, StopCause, StopLevel, StrategyReason, SummaryResult,
    Usage,
};

/// A record with the time of its step, because not every record contains a time.
pub type RecordAt<'a> = (Moment, &'a Record);

/// One attempt.
#[derive(Clone, Debug)]
pub struct AttemptHistory {
    pub number: u32,
    pub session: SessionPlan,
    /// Prompt that the agent starts with.
    pub say: PromptKind,
    pub ordered: Moment,
    /// When its process started. `None` if there was none.
    pub spawned: Option<Moment>,
    /// How the conversation's history reached it. `None` if there was no history.
    pub strategy: Option<ResumeStrategy>,
    pub reason: Option<StrategyReason>,
    /// Result of summarizing older work. `None` if no summary was requested.
    pub summary: Option<(SummaryResult, Usage)>,
    /// Whether a turn or a tool call was completed.
    pub progressed: bool,
    /// Downtime during the attempt.
    pub slept: Span,
    /// Why Longhaul first stopped it.
    pub stop_cause: Option<StopCause>,
    /// Observations that led to the stop, if it stalled.
    pub stall: Option<StallReport>,
    /// Whether it had to be killed.
    pub killed: bool,
    /// How often it was silent for too long while its processes were busy.
    pub deferrals: u32,
    pub end: Option<AttemptEnd>,
    /// Number of leftover processes that had to be stopped.
    pub leftover_processes: u32,
    /// When its last process was gone.
    pub swept: Option<Moment>,
    /// How long the run then waited with no process running. `None` while it still waits.
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

    /// Returns the start of its process, or of the attempt if it has no process.
    pub fn began(&self) -> Moment {
        self.spawned.unwrap_or(self.ordered)
    }

    /// Returns its duration until `at`, without downtime.
    pub fn took(&self, at: Moment) -> Span {
        at.since(self.began()) - self.slept
    }

    /// Returns the planned wait after it, or `None` if no attempt follows.
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

/// Returns the attempts in these records, in order.
pub fn attempts_of<'a>(records: impl IntoIterator<Item = RecordAt<'a>>) -> Vec<AttemptHistory> {
    let mut attempts: Vec<AttemptHistory> = Vec::new();
    for (at, record) in records {
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
    /// Applies a record that follows the start of the attempt.
    fn take(&mut self, at: Moment, record: &Record) {
        match record {
            Record::ResumeStrategyChosen { strategy, reason, .. } => {
                (self.strategy, self.reason) = (Some(*strategy), Some(*reason));
            }
            Record::SummaryEnded { result: outcome, usage, .. } => self.summary = Some((*outcome, *usage)),
            Record::AttemptSpawned { at, .. } => self.spawned = Some(*at),
            Record::ProgressMade { .. } => self.progressed = true,
            Record::StopOrdered { cause, level, stall, .. } => {
                self.stop_cause.get_or_insert(*cause);
                // A harder stop has no report of its own.
                self.stall = self.stall.or(*stall);
                self.killed |= *level == StopLevel::Kill;
            }
            Record::StallDeferred { .. } => self.deferrals += 1,
            Record::Downtime { duration: span } if self.end.is_none() && self.spawned.is_some() => {
                self.slept = self.slept + *span;
            }
            Record::AttemptEnded {
                at,
                fault,
                usage,
                result,
                denied_calls,
                questions,
                continuity,
                next,
                ..
            } => {
                self.end = Some(AttemptEnd {
                    at: *at,
                    fault: *fault,
                    result: *result,
                    usage: *usage,
                    denied_calls: *denied_calls,
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

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
    pub prompt: PromptKind,
    /// When it was started, before its process.
    pub started_at: Moment,
    /// When its process started. `None` if there was none.
    pub spawned_at: Option<Moment>,
    /// How the conversation's history reached it. `None` if there was no history.
    pub strategy: Option<ResumeStrategy>,
    pub reason: Option<StrategyReason>,
    /// Result of summarizing older work. `None` if no summary was requested.
    pub summary: Option<(SummaryResult, Usage)>,
    /// Whether a turn or a tool call was completed.
    pub made_progress: bool,
    /// Downtime during the attempt.
    pub downtime: Span,
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
    pub swept_at: Option<Moment>,
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
    fn new(at: Moment, plan: &AttemptPlan) -> AttemptHistory {
        AttemptHistory {
            number: plan.attempt,
            session: plan.session.clone(),
            prompt: plan.prompt,
            started_at: at,
            spawned_at: None,
            strategy: None,
            reason: None,
            summary: None,
            made_progress: false,
            downtime: Span::ZERO,
            stop_cause: None,
            stall: None,
            killed: false,
            deferrals: 0,
            end: None,
            leftover_processes: 0,
            swept_at: None,
            waited: None,
        }
    }

    /// Returns the start of its process, or of the attempt if it has no process.
    pub fn agent_started_at(&self) -> Moment {
        self.spawned_at.unwrap_or(self.started_at)
    }

    /// Returns its duration until `at`, without downtime.
    pub fn duration(&self, at: Moment) -> Span {
        at.since(self.agent_started_at()) - self.downtime
    }

    /// Returns the planned wait after it, or `None` if no attempt follows.
    pub fn planned_wait(&self) -> Option<Span> {
        let ended = self.end.as_ref()?;
        match &ended.next {
            AfterAttempt::Attempt { at, .. } => Some(at.since(ended.at)),
            AfterAttempt::Check | AfterAttempt::Finish(_) => None,
        }
    }

    fn end_wait(&mut self, at: Moment) {
        if self.planned_wait().is_some() && self.waited.is_none() {
            self.waited = self.swept_at.map(|swept_at| at.since(swept_at));
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
            attempts.push(AttemptHistory::new(at, plan));
        } else if let Some(attempt) = attempts.last_mut() {
            attempt.apply(at, record);
        }
    }
    attempts
}

impl AttemptHistory {
    /// Applies a record that follows the start of the attempt.
    fn apply(&mut self, at: Moment, record: &Record) {
        match record {
            Record::ResumeStrategyChosen { strategy, reason, .. } => {
                (self.strategy, self.reason) = (Some(*strategy), Some(*reason));
            }
            Record::SummaryEnded { result: outcome, usage, .. } => self.summary = Some((*outcome, *usage)),
            Record::AttemptSpawned { at, .. } => self.spawned_at = Some(*at),
            Record::ProgressMade { .. } => self.made_progress = true,
            Record::StopOrdered { cause, level, stall, .. } => {
                self.stop_cause.get_or_insert(*cause);
                // A harder stop has no report of its own.
                self.stall = self.stall.or(*stall);
                self.killed |= *level == StopLevel::Kill;
            }
            Record::StallDeferred { .. } => self.deferrals += 1,
            Record::Downtime { duration: span } if self.end.is_none() && self.spawned_at.is_some() => {
                self.downtime = self.downtime + *span;
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
                self.swept_at.get_or_insert(*at);
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

//! One attempt of a run, as its records describe it.

use super::WaitHistory;
use crate::{
    AfterAttempt, AttemptEnd, AttemptPlan, Fault, Moment, PromptKind, Remedy, ResumeStrategy, SessionId,
    SessionPlan, Span, StallReport, StopCause, StopLevel, StrategyReason, SummaryResult, Usage,
};

/// One attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptHistory {
    /// Number of the attempt, starting at 1.
    pub number: u32,
    /// Session that it was planned for.
    pub session: SessionPlan,
    /// Session that the agent opened. `None` if it opened none.
    pub opened_session: Option<SessionId>,
    /// Prompt that the agent starts with.
    pub prompt: PromptKind,
    /// When it was started, before its process.
    pub started_at: Moment,
    /// When its process started. `None` if there was none.
    pub spawned_at: Option<Moment>,
    /// How the conversation's history reached it. `None` if there was no history.
    pub strategy: Option<ResumeStrategy>,
    /// Reason for the strategy.
    pub reason: Option<StrategyReason>,
    /// Number of results before the wrap-up was requested. `None` if it was not requested.
    pub wrap_up_after_results: Option<u32>,
    /// Summary of older work for it. `None` if none was requested or it has not ended.
    pub summary: Option<SummaryHistory>,
    /// Usage of the reviews of its work. It belongs to the run, but it is not part of its own usage.
    pub review_usage: Usage,
    /// Whether a turn or a tool call was completed.
    pub made_progress: bool,
    /// Downtime since its process started, or since its start if it has no process.
    pub downtime: Span,
    /// Stops that Longhaul ordered, in order. [`AttemptHistory::stop_cause`] finds the one that ended the attempt.
    pub stops: Vec<StopOrder>,
    /// Number of times that it was silent for too long while its processes were busy.
    pub deferrals: u32,
    /// When it ended. `None` if it is running.
    pub ended_at: Option<Moment>,
    /// Its end. `None` if it is running.
    pub end: Option<AttemptEnd>,
    /// Number of leftover processes that had to be stopped.
    pub leftover_processes: u32,
    /// Waits for the next attempt, in order. A suspension splits a wait.
    pub waits: Vec<WaitHistory>,
    /// When the summary of older work started, moved by the downtime since.
    pub(super) summary_started_at: Option<Moment>,
}

/// An order to stop the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopOrder {
    /// Time of the order.
    pub at: Moment,
    /// Reason for the stop.
    pub cause: StopCause,
    /// Level of the stop.
    pub level: StopLevel,
    /// Observations of the stall, if the agent counts as stalled. A harder stop has none of its own.
    pub stall: Option<StallReport>,
}

/// A summary of older work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SummaryHistory {
    /// End of the summary.
    pub ended_at: Moment,
    /// Duration of the summary, without downtime.
    pub duration: Span,
    /// Result of the summary.
    pub result: SummaryResult,
    /// Usage of the summary. It belongs to the run and is listed with the attempt that the summary was for, but
    /// it is not part of that attempt's own usage.
    pub usage: Usage,
}

impl AttemptHistory {
    pub(super) fn new(at: Moment, plan: &AttemptPlan) -> AttemptHistory {
        AttemptHistory {
            number: plan.attempt,
            session: plan.session.clone(),
            opened_session: None,
            prompt: plan.prompt,
            started_at: at,
            spawned_at: None,
            strategy: plan.strategy,
            reason: None,
            wrap_up_after_results: matches!(plan.prompt, PromptKind::WrapUp(_)).then_some(0),
            summary: None,
            review_usage: Usage::default(),
            made_progress: false,
            downtime: Span::ZERO,
            stops: Vec::new(),
            deferrals: 0,
            ended_at: None,
            end: None,
            leftover_processes: 0,
            waits: Vec::new(),
            summary_started_at: None,
        }
    }

    /// Ends the summary of older work and returns it. A second summary adds its usage to that of the first.
    pub(super) fn end_summary(&mut self, at: Moment, result: SummaryResult, usage: Usage) -> SummaryHistory {
        let duration = at.since(self.summary_started_at.unwrap_or(at));
        let summary = SummaryHistory { ended_at: at, duration, result, usage };
        let before = self.summary.map(|before| before.usage).unwrap_or_default();
        self.summary = Some(SummaryHistory { usage: before.plus(usage), ..summary });
        summary
    }

    /// Returns the session that it worked on: the opened one, or else the planned one.
    pub fn session_id(&self) -> &SessionId {
        self.opened_session.as_ref().unwrap_or(self.session.id())
    }

    /// Returns the start of its process, or of the attempt if it has no process.
    pub fn agent_started_at(&self) -> Moment {
        self.spawned_at.unwrap_or(self.started_at)
    }

    /// Returns its duration until its end, or until `at` if it is running, without downtime.
    pub fn duration(&self, at: Moment) -> Span {
        self.ended_at.unwrap_or(at).since(self.agent_started_at()) - self.downtime
    }

    /// Returns its fault, or `None` if it succeeded or is running.
    pub fn fault(&self) -> Option<Fault> {
        self.end.as_ref()?.fault
    }

    /// Returns the reason why Longhaul ended it: the cause of the first stop, whose escalations follow, or
    /// [`StopCause::WrapUp`] if it completed its wrap-up. `None` if Longhaul did not end it.
    ///
    /// A stop is not the reason if the work was done before it took effect, and neither is the interrupt before a wrap-up
    /// if another stop followed, or if the agent received the wrap-up prompt.
    pub fn stop_cause(&self) -> Option<StopCause> {
        let succeeded = self.end.as_ref().filter(|end| end.fault.is_none());
        let is_accepted = succeeded.is_some_and(AttemptEnd::is_accepted);
        let is_too_late = |cause: StopCause| {
            is_accepted && !matches!(cause, StopCause::DidNotExit | StopCause::BackgroundStopped)
        };
        let causes = || self.stops.iter().map(|stop| stop.cause).filter(|cause| !is_too_late(*cause));
        let is_wrap_up = match self.wrap_up_after_results {
            Some(_) => succeeded.is_some() && !is_accepted,
            None => succeeded.is_none() && causes().next().is_some(),
        };
        causes().find(|cause| *cause != StopCause::WrapUp).or(is_wrap_up.then_some(StopCause::WrapUp))
    }

    /// Returns the observations that led to its stop. `None` if it did not stall.
    pub fn stall(&self) -> Option<StallReport> {
        self.stops.iter().find_map(|stop| stop.stall)
    }

    /// Returns how long it was idle before it was stopped for a stall. Zero if it did not stall.
    pub fn stalled_for(&self) -> Span {
        let stop = self.stops.iter().find_map(|stop| Some((stop.cause, stop.stall?)));
        stop.map_or(Span::ZERO, |(cause, stall)| stall.idle_for(cause))
    }

    /// Returns whether it had to be killed.
    pub fn is_killed(&self) -> bool {
        self.stops.iter().any(|stop| stop.level == StopLevel::Kill)
    }

    /// Returns the remedy for its fault. `None` if no attempt follows.
    pub fn remedy(&self) -> Option<Remedy> {
        let AfterAttempt::Attempt { remedy, .. } = self.end.as_ref()?.next else { return None };
        Some(remedy)
    }

    /// Returns the planned wait after it, with the sweep. `None` if no attempt follows.
    pub fn planned_wait(&self) -> Option<Span> {
        let AfterAttempt::Attempt { at, .. } = &self.end.as_ref()?.next else { return None };
        Some(at.since(self.ended_at?))
    }

    /// Returns how long the run waited after it, as of `at`.
    pub fn waited(&self, at: Moment) -> Span {
        self.waits.iter().map(|wait| wait.duration(at)).fold(Span::ZERO, |sum, wait| sum + wait)
    }

    /// Returns how long the run waited after it, or `None` if it did not wait or the wait has not ended.
    pub fn completed_wait(&self) -> Option<Span> {
        let ended_at = self.waits.last()?.ended_at?;
        Some(self.waited(ended_at))
    }

    /// Returns whether no attempt followed its last wait, which has ended.
    pub fn is_wait_cut_short(&self) -> bool {
        self.waits.last().is_some_and(|wait| wait.cut_short)
    }

    /// Returns its own usage, without that of its summary and its reviews. It is empty until the attempt ends.
    pub fn usage(&self) -> Usage {
        self.end.as_ref().map(|end| end.usage).unwrap_or_default()
    }

    /// Returns its usage with that of its summary and its reviews. The sum over all attempts is the usage of
    /// the run.
    pub fn total_usage(&self) -> Usage {
        let summary = self.summary.map(|summary| summary.usage).unwrap_or_default();
        summary.plus(self.usage()).plus(self.review_usage)
    }
}

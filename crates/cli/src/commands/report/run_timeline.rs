//! Renders the attempts, the timeline and the lost time of a run from its history. Pure.

use crate::output::phrases;
use longhaul_core::{
    AttemptHistory, Dollars, Fault, HistoryEventKind, Moment, Outcome, Phase, ResumeStrategy, Rfc3339,
    RunHistory, Span, StopCause, StrategyReason, Usd, word_enum,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// A run's history over time.
#[derive(Debug, Default)]
pub struct RunTimeline {
    /// Attempts, oldest first.
    pub attempts: Vec<TimelineAttempt>,
    /// Activity over time. Gaps are at most a few milliseconds.
    pub timeline: Vec<TimelineSlice>,
    pub lost_time: BTreeMap<LostTimeCause, LostTime>,
    pub outcome: Option<Outcome>,
    /// Duration so far, without the time between finish and resume.
    pub wall: Span,
    /// Time spent working.
    pub active: Span,
}

/// One attempt.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TimelineAttempt {
    /// Number of the attempt, starting at 1.
    pub number: u32,
    /// When the attempt started.
    pub started_at: Rfc3339,
    /// When the attempt ended.
    pub ended_at: Option<Rfc3339>,
    /// Duration without sleep of the machine. `None` if the attempt is running.
    #[serde(rename = "duration_ms")]
    pub duration: Option<Span>,
    /// How the conversation's history reached the attempt.
    pub strategy: Option<ResumeStrategy>,
    /// Why that strategy was chosen.
    pub reason: Option<StrategyReason>,
    /// Fault that ended the attempt.
    pub fault: Option<Fault>,
    /// Why the attempt was first stopped, if it was.
    pub stop_cause: Option<StopCause>,
    /// How long the run waited afterwards for the next attempt.
    #[serde(rename = "waited_ms")]
    pub waited: Span,
    /// Cost reported by the agent, without a summary of older work for this attempt.
    #[serde(rename = "reported_cost_usd")]
    pub cost: Dollars,
    /// Cost estimated by Longhaul, in addition to the reported cost.
    #[serde(rename = "estimated_cost_usd")]
    pub estimated_cost: Dollars,
    /// Cost of a summary of older work for this attempt. The cost of the run includes it.
    #[serde(rename = "summary_cost_usd")]
    pub summary_cost: Dollars,
    /// Cost of the reviews of this attempt's work. The cost of the run includes it.
    #[serde(rename = "review_cost_usd")]
    pub review_cost: Dollars,
}

impl TimelineAttempt {
    /// Describes how the attempt ended, or that it is running, for people.
    pub fn ending(&self) -> &'static str {
        match (self.fault, self.stop_cause, self.ended_at) {
            (Some(fault), stop_cause, _) => phrases::attempt_cause(fault, stop_cause),
            (None, _, None) => "running",
            (None, Some(cause), Some(_)) => phrases::stopped_success(cause),
            (None, None, Some(_)) => "exited on its own",
        }
    }
}

/// A slice of the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TimelineSlice {
    /// Activity of the run.
    pub kind: SliceKind,
    /// Fault that caused it.
    pub fault: Option<Fault>,
    /// Start of the slice.
    pub from: Rfc3339,
    /// End of the slice.
    pub to: Rfc3339,
}

word_enum! {
    // The order is that of a legend.
    /// Activity of a run.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum SliceKind {
        /// An attempt that did not fail.
        Working = "working",
        /// An attempt that failed.
        Failed = "failed",
        /// Waiting for the next attempt. No process is running.
        Waiting = "waiting",
        /// A check is running.
        Checking = "checking",
        /// The machine slept, or no supervisor was running.
        Downtime = "downtime",
        /// The run was finished and later resumed.
        Finished = "finished",
    }
}

impl SliceKind {
    pub fn label(self) -> &'static str {
        match self {
            SliceKind::Working => "an attempt that did not fail",
            SliceKind::Failed => "an attempt that failed",
            SliceKind::Waiting => "waiting for the next attempt",
            SliceKind::Checking => "a check",
            SliceKind::Downtime => "the machine slept, or there was no supervisor",
            SliceKind::Finished => "between finish and resume",
        }
    }

    /// Returns the text for a line with the duration of each kind.
    pub fn brief(self) -> &'static str {
        match self {
            SliceKind::Working => "worked",
            SliceKind::Failed => "failed attempts",
            SliceKind::Waiting => "waited",
            SliceKind::Checking => "checked",
            SliceKind::Downtime => "asleep or without supervisor",
            SliceKind::Finished => "finished",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LostTimeCause {
    Fault(Fault),
    /// Pauses between attempts without a fault.
    BetweenAttempts,
    /// No supervisor was running, and no agent.
    Unsupervised,
    /// The machine slept, or no supervisor was running: the journal does not distinguish the two.
    Downtime,
}

impl LostTimeCause {
    pub fn as_str(self) -> &'static str {
        match self {
            LostTimeCause::Fault(fault) => fault.as_str(),
            LostTimeCause::BetweenAttempts => "between_attempts",
            LostTimeCause::Unsupervised => "unsupervised",
            LostTimeCause::Downtime => "downtime",
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            LostTimeCause::Fault(fault) => fault.describe(),
            LostTimeCause::BetweenAttempts => "pauses between attempts",
            LostTimeCause::Unsupervised => "the run had no supervisor",
            LostTimeCause::Downtime => "the machine slept, or the run was suspended or had no supervisor",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostTime {
    /// Time lost between attempts.
    pub waiting: Span,
    /// Time lost in attempts without progress, and in stalls that ended one.
    pub wasted: Span,
}

impl LostTime {
    pub fn total(self) -> Span {
        self.waiting + self.wasted
    }
}

impl RunTimeline {
    /// Renders the history of a run. An unfinished run is taken to continue until `until`.
    pub fn new(history: &RunHistory, until: Moment) -> RunTimeline {
        let state = history.state();
        if state.phase == Phase::New {
            // The clocks have not started.
            return RunTimeline::default();
        }
        let outcome = state.outcome();
        let until = if outcome.is_some() { state.finished_at } else { until };
        RunTimeline {
            attempts: history.attempts().iter().map(|attempt| TimelineAttempt::new(attempt, until)).collect(),
            timeline: slices(history, until),
            lost_time: lost_time(history, until),
            outcome,
            wall: state.clocks.wall(until),
            active: state.active(until),
        }
    }
}

impl TimelineAttempt {
    fn new(attempt: &AttemptHistory, until: Moment) -> TimelineAttempt {
        let usage = attempt.usage();
        TimelineAttempt {
            number: attempt.number,
            started_at: attempt.started_at.into(),
            ended_at: attempt.ended_at.map(Rfc3339),
            duration: attempt.ended_at.map(|at| attempt.duration(at)),
            strategy: attempt.strategy,
            reason: attempt.reason,
            fault: attempt.fault(),
            stop_cause: attempt.stop_cause(),
            waited: attempt.waited(until),
            cost: usage.reported_cost.into(),
            estimated_cost: usage.estimated_cost.into(),
            summary_cost: attempt.summary.map_or(Usd::ZERO, |summary| summary.usage.total_cost()).into(),
            review_cost: attempt.review_usage.total_cost().into(),
        }
    }
}

/// Returns the activity of a run until `until`, in order.
fn slices(history: &RunHistory, until: Moment) -> Vec<TimelineSlice> {
    let slice = |kind, fault, from: Moment, to: Option<Moment>| TimelineSlice {
        kind,
        fault,
        from: from.into(),
        to: to.unwrap_or(until).into(),
    };
    let attempts = history.attempts().iter().map(|attempt| {
        let kind = if attempt.fault().is_some() { SliceKind::Failed } else { SliceKind::Working };
        slice(kind, attempt.fault(), attempt.started_at, attempt.ended_at)
    });
    let waits = history.waits().map(|wait| slice(SliceKind::Waiting, wait.fault, wait.from, wait.ended_at));
    let checks = history
        .checks()
        .iter()
        .map(|check| slice(SliceKind::Checking, None, check.started_at, check.ended_at));
    let finished = history.events().iter().filter_map(|event| {
        let HistoryEventKind::Reopened { finished, .. } = event.kind else { return None };
        Some(slice(SliceKind::Finished, None, before(event.at, finished), Some(event.at)))
    });
    let mut slices: Vec<TimelineSlice> = attempts.chain(waits).chain(checks).chain(finished).collect();
    for (end, duration, _) in downtimes(history, until) {
        insert(&mut slices, slice(SliceKind::Downtime, None, before(end, duration), Some(end)));
    }
    slices.retain(|slice| slice.to > slice.from);
    slices.sort_by_key(|slice| slice.from);
    slices
}

/// Inserts downtime. It splits the slice in which it ended, but never starts before that slice.
fn insert(slices: &mut Vec<TimelineSlice>, downtime: TimelineSlice) {
    let is_split = |slice: &&mut TimelineSlice| slice.from < downtime.to && downtime.to <= slice.to;
    let Some(split) = slices.iter_mut().find(is_split) else { return slices.push(downtime) };
    let whole = *split;
    let from = downtime.from.max(whole.from);
    split.to = from;
    slices.extend([TimelineSlice { from, ..downtime }, TimelineSlice { from: downtime.to, ..whole }]);
}

/// Returns the end, the duration and the cause of each downtime until `until`. Downtime during a wait counts as waiting.
fn downtimes(history: &RunHistory, until: Moment) -> impl Iterator<Item = (Moment, Span, LostTimeCause)> {
    history.events().iter().filter_map(move |event| {
        if let HistoryEventKind::Downtime { duration, in_wait: false, unsupervised } = event.kind {
            let cause = if unsupervised { LostTimeCause::Unsupervised } else { LostTimeCause::Downtime };
            return Some((event.at, duration, cause));
        }
        let HistoryEventKind::Suspended { until: continued_at, .. } = event.kind else { return None };
        let end = continued_at.unwrap_or(until);
        Some((end, end.since(event.at), LostTimeCause::Downtime))
    })
}

fn lost_time(history: &RunHistory, until: Moment) -> BTreeMap<LostTimeCause, LostTime> {
    let mut lost_time: BTreeMap<LostTimeCause, LostTime> = BTreeMap::new();
    let mut lose = |cause, lost: LostTime| {
        let sum = lost_time.entry(cause).or_default();
        (sum.waiting, sum.wasted) = (sum.waiting + lost.waiting, sum.wasted + lost.wasted);
    };
    for wait in history.waits() {
        let cause = wait.fault.map_or(LostTimeCause::BetweenAttempts, LostTimeCause::Fault);
        lose(cause, LostTime { waiting: wait.duration(until), ..LostTime::default() });
    }
    for (_, duration, cause) in downtimes(history, until) {
        lose(cause, LostTime { waiting: duration, ..LostTime::default() });
    }
    for attempt in history.attempts() {
        let Some(fault) = attempt.fault() else { continue };
        // An attempt without progress is lost entirely; otherwise only its final silence is lost.
        let wasted = if attempt.made_progress { attempt.stalled_for() } else { attempt.duration(until) };
        lose(LostTimeCause::Fault(fault), LostTime { wasted, ..LostTime::default() });
    }
    lost_time.retain(|_, lost| lost.total() > Span::ZERO);
    lost_time
}

fn before(at: Moment, span: Span) -> Moment {
    Moment(at.0.saturating_sub(span.0))
}

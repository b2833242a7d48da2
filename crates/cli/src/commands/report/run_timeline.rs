//! Derives a run's attempts, timeline and lost time by replaying its journal. Pure.

use crate::output::phrases;
use longhaul_core::{
    Fault, Moment, Outcome, Phase, Record, ResumeStrategy, Run, Span, StopCause, StrategyReason, Usage, Usd,
};
use longhaul_store::History;
use serde::Serialize;
use std::collections::BTreeMap;

/// A run's history over time.
#[derive(Debug, Default)]
pub struct RunTimeline {
    /// Attempts, oldest first.
    pub attempts: Vec<TimelineAttempt>,
    /// Activity over time. Gaps are at most a few milliseconds.
    pub timeline: Vec<TimelineSlice>,
    /// Time lost, by cause.
    pub lost_time: BTreeMap<LostTimeCause, LostTime>,
    /// Outcome, if the run is finished.
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
    #[serde(serialize_with = "super::data::stamp")]
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub started_at: Moment,
    /// When the attempt ended.
    #[serde(serialize_with = "super::data::stamp_or_null")]
    #[cfg_attr(test, schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    pub ended_at: Option<Moment>,
    /// How the conversation's history reached the attempt.
    pub strategy: Option<ResumeStrategy>,
    /// Why that strategy was chosen.
    pub reason: Option<StrategyReason>,
    /// Fault that ended the attempt.
    pub fault: Option<Fault>,
    /// Why the attempt was stopped, if it was.
    pub stop_cause: Option<StopCause>,
    /// How long the run waited afterwards for the next attempt.
    #[serde(rename = "waited_ms")]
    pub waited: Span,
    /// Cost reported by the vendor, including a summary of older work for this attempt.
    #[serde(rename = "reported_cost_usd", serialize_with = "super::data::dollars")]
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Dollars"))]
    pub cost: Usd,
    /// Cost estimated by Longhaul, in addition to the reported cost.
    #[serde(rename = "estimated_cost_usd", serialize_with = "super::data::dollars")]
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Dollars"))]
    pub estimated_cost: Usd,
}

impl TimelineAttempt {
    /// Describes how the attempt ended, or that it is running, for people.
    pub fn ending(&self) -> &'static str {
        match (self.fault, self.stop_cause, self.ended_at) {
            (Some(fault), stop_cause, _) => phrases::attempt_cause(fault, stop_cause),
            (None, _, None) => "running",
            (None, Some(cause), Some(_)) => stop_text(cause),
            (None, None, Some(_)) => "exited on its own",
        }
    }
}

fn stop_text(cause: StopCause) -> &'static str {
    match cause {
        StopCause::Stalled | StopCause::NoProgress => "stopped: it stalled",
        StopCause::TimedOut => "stopped: it timed out",
        StopCause::AuthRejected => "stopped: the credentials were rejected",
        StopCause::WrongSession => "stopped: it opened the wrong session",
        StopCause::WrapUp | StopCause::LimitReached => "stopped by a limit",
        StopCause::MemoryLimit => "stopped: it used too much memory",
        StopCause::Suspended => "interrupted to suspend the run",
        StopCause::DidNotExit => "finished, but did not exit",
        StopCause::BackgroundStopped => "finished; its background work was stopped",
        StopCause::Cancelled => "stopped: cancelled",
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
    #[serde(serialize_with = "super::data::stamp")]
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub from: Moment,
    /// End of the slice.
    #[serde(serialize_with = "super::data::stamp")]
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub to: Moment,
}

/// Activity of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SliceKind {
    /// An attempt that did not fail.
    Working,
    /// An attempt that failed.
    Failed,
    /// Waiting for the next attempt. No process is running.
    Waiting,
    /// A check is running.
    Checking,
    /// The machine slept, or no supervisor was running.
    Downtime,
    /// The run was finished and later resumed.
    Finished,
}

impl SliceKind {
    /// All kinds, in the order of a legend.
    pub const ALL: &'static [SliceKind] = &[
        SliceKind::Working,
        SliceKind::Failed,
        SliceKind::Waiting,
        SliceKind::Checking,
        SliceKind::Downtime,
        SliceKind::Finished,
    ];

    /// Returns the text for a legend.
    pub fn label(self) -> &'static str {
        match self {
            SliceKind::Working => "an attempt that did not fail",
            SliceKind::Failed => "an attempt that failed",
            SliceKind::Waiting => "waiting for the next attempt",
            SliceKind::Checking => "a check",
            SliceKind::Downtime => "the machine slept, or there was no supervisor",
            SliceKind::Finished => "finished, until it was resumed",
        }
    }
}

impl SliceKind {
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

/// A cause of lost time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LostTimeCause {
    /// A fault.
    Fault(Fault),
    /// Pauses between attempts without a fault.
    BetweenAttempts,
    /// No supervisor was running, and no agent.
    Unsupervised,
    /// The machine slept, or no supervisor was running: the journal does not distinguish the two.
    Downtime,
}

impl LostTimeCause {
    /// Returns the wire word.
    pub fn as_str(self) -> &'static str {
        match self {
            LostTimeCause::Fault(fault) => fault.as_str(),
            LostTimeCause::BetweenAttempts => "between_attempts",
            LostTimeCause::Unsupervised => "unsupervised",
            LostTimeCause::Downtime => "downtime",
        }
    }

    /// Returns the label for people.
    pub fn label(self) -> &'static str {
        match self {
            LostTimeCause::Fault(fault) => phrases::fault_text(fault),
            LostTimeCause::BetweenAttempts => "pauses between attempts",
            LostTimeCause::Unsupervised => "the run had no supervisor",
            LostTimeCause::Downtime => "the machine slept, or the run had no supervisor",
        }
    }
}

/// Time lost to one cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostTime {
    /// Time lost between attempts.
    pub waiting: Span,
    /// Time lost in attempts without progress, and in stalls that ended one.
    pub wasted: Span,
}

impl LostTime {
    /// Returns the sum of both.
    pub fn total(self) -> Span {
        self.waiting + self.wasted
    }
}

impl RunTimeline {
    /// Builds the timeline of a run. An unfinished run is taken to continue until `until`.
    pub fn new(history: &History, until: Moment) -> RunTimeline {
        let mut builder = RunTimelineBuilder::default();
        for entry in &history.entries {
            for record in &entry.records {
                builder.apply(entry.at, record);
            }
        }
        builder.end(until)
    }
}

/// Builds a timeline, record by record.
#[derive(Default)]
struct RunTimelineBuilder {
    run: Run,
    timeline: RunTimeline,
    /// The slice that has not ended.
    open: Option<TimelineSlice>,
    /// Sleep reported by the previous record, and when it was recorded.
    slept: Option<(Moment, Span)>,
    /// Silence of the current attempt when it was stopped for a stall.
    silent: Span,
}

impl RunTimelineBuilder {
    /// Applies a record of a step taken at `step_at`.
    fn apply(&mut self, step_at: Moment, record: &Record) {
        let state = self.run.state();
        let (clocks, fault, ended) = (state.clocks, state.fault, state.finished_at);
        let (attempt_started_at, made_progress) = (state.attempt_started_at, state.made_progress);
        let waited = matches!(state.phase, Phase::Waiting { .. });
        self.run.apply(record);
        let now = self.run.state().clocks;
        let waiting = now.waiting - clocks.waiting;
        let slept = now.downtime - clocks.downtime;
        self.lose_waiting(LostTimeCause::Downtime, slept);
        let before = self.slept.take();
        self.wait(fault, waiting);
        match record {
            Record::AttemptStarted { at, plan } => {
                self.start(SliceKind::Working, None, *at);
                self.silent = Span::ZERO;
                self.timeline.attempts.push(TimelineAttempt {
                    number: plan.attempt,
                    started_at: *at,
                    ended_at: None,
                    strategy: None,
                    reason: None,
                    fault: None,
                    stop_cause: None,
                    waited: Span::ZERO,
                    cost: Usd::ZERO,
                    estimated_cost: Usd::ZERO,
                });
            }
            Record::ResumeStrategyChosen { strategy, reason, .. } => {
                if let Some(last) = self.timeline.attempts.last_mut() {
                    (last.strategy, last.reason) = (Some(*strategy), Some(*reason));
                }
            }
            Record::StopOrdered { cause, stall, .. } => {
                self.silent = stall.map_or(self.silent, |stall| match cause {
                    StopCause::NoProgress => stall.no_progress_for,
                    StopCause::Stalled
                    | StopCause::TimedOut
                    | StopCause::AuthRejected
                    | StopCause::WrongSession
                    | StopCause::WrapUp
                    | StopCause::LimitReached
                    | StopCause::MemoryLimit
                    | StopCause::DidNotExit
                    | StopCause::Suspended
                    | StopCause::BackgroundStopped
                    | StopCause::Cancelled => stall.silent_for,
                });
                if let Some(last) = self.timeline.attempts.last_mut() {
                    last.stop_cause = Some(*cause);
                }
            }
            Record::SummaryEnded { usage, .. } => self.spend(*usage),
            Record::AttemptEnded { at, fault, usage, .. } => {
                self.spend(*usage);
                self.end_attempt(*at, *fault, attempt_started_at, made_progress);
            }
            Record::Swept { at, .. } => {
                if matches!(self.run.state().phase, Phase::Waiting { .. }) {
                    self.start(SliceKind::Waiting, self.run.state().fault, *at);
                }
            }
            Record::CheckStarted { at } => self.start(SliceKind::Checking, None, *at),
            Record::CheckEnded { at, .. } | Record::RunFinished { at, .. } => self.close(*at),
            Record::RunReopened { at, .. } => {
                self.start(SliceKind::Finished, None, ended);
                self.close(*at);
            }
            // Sleep during a wait counts as waiting.
            Record::Downtime { duration: span } if !waited => {
                self.slept = Some((step_at, slept));
                self.sleep(step_at, *span);
            }
            // A new supervisor first records how long nothing ran. That downtime was recorded as sleep.
            Record::Recovered { last_record_at: Some(last), .. } => {
                if let Some((_, slept)) = before.filter(|(at, _)| at > last) {
                    let downtime = self.lost_to(LostTimeCause::Downtime);
                    downtime.waiting = downtime.waiting - slept;
                    self.lose_waiting(LostTimeCause::Unsupervised, slept);
                }
            }
            Record::Recovered { last_record_at: None, .. }
            | Record::Downtime { .. }
            | Record::RunStarted { .. }
            | Record::SummaryStarted { .. }
            | Record::SummaryStopOrdered { .. }
            | Record::AttemptSpawned { .. }
            | Record::SessionOpened { .. }
            | Record::ProgressMade { .. }
            | Record::LimitReached { .. }
            | Record::AgentStopped { .. }
            | Record::PromptSent { .. }
            | Record::InputClosed { .. }
            | Record::StallDeferred { .. }
            | Record::CheckStopOrdered { .. }
            | Record::SuspendOrdered { .. }
            | Record::Suspended { .. }
            | Record::CancelRequested { .. } => {}
        }
    }

    fn end_attempt(&mut self, at: Moment, fault: Option<Fault>, started_at: Moment, made_progress: bool) {
        self.close(at);
        let Some(last) = self.timeline.attempts.last_mut() else { return };
        (last.ended_at, last.fault) = (Some(at), fault);
        let Some(fault) = fault else { return };
        let attempt_start = last.started_at;
        // Sleep of the machine may have split the attempt into several slices.
        for slice in self.timeline.timeline.iter_mut().rev().take_while(|slice| slice.from >= attempt_start) {
            if slice.kind == SliceKind::Working {
                (slice.kind, slice.fault) = (SliceKind::Failed, Some(fault));
            }
        }
        let wasted = if made_progress { self.silent } else { at.since(started_at) };
        let lost = self.lost_to(LostTimeCause::Fault(fault));
        lost.wasted = lost.wasted + wasted;
    }

    fn spend(&mut self, usage: Usage) {
        if let Some(last) = self.timeline.attempts.last_mut() {
            last.cost += usage.reported_cost;
            last.estimated_cost += usage.estimated_cost;
        }
    }

    /// Adds a wait for the next attempt, after an attempt with this fault.
    fn wait(&mut self, fault: Option<Fault>, span: Span) {
        self.lose_waiting(fault.map_or(LostTimeCause::BetweenAttempts, LostTimeCause::Fault), span);
        if let Some(last) = self.timeline.attempts.last_mut() {
            last.waited = last.waited + span;
        }
    }

    fn lose_waiting(&mut self, cause: LostTimeCause, span: Span) {
        let lost = self.lost_to(cause);
        lost.waiting = lost.waiting + span;
    }

    fn lost_to(&mut self, cause: LostTimeCause) -> &mut LostTime {
        self.timeline.lost_time.entry(cause).or_default()
    }

    /// Starts a slice and closes the open one.
    fn start(&mut self, kind: SliceKind, fault: Option<Fault>, at: Moment) {
        self.close(at);
        self.open = Some(TimelineSlice { kind, fault, from: at, to: at });
    }

    /// Closes the open slice.
    fn close(&mut self, at: Moment) {
        if let Some(open) = self.open.take()
            && at > open.from
        {
            self.timeline.timeline.push(TimelineSlice { to: at, ..open });
        }
    }

    /// Splits the open slice: a sleep of this length ended at `at`.
    fn sleep(&mut self, at: Moment, span: Span) {
        let Some(open) = self.open else { return };
        let from = Moment(at.0.saturating_sub(span.0)).max(open.from);
        self.start(SliceKind::Downtime, None, from);
        self.start(open.kind, open.fault, at);
    }

    fn end(mut self, until: Moment) -> RunTimeline {
        let state = self.run.state();
        self.timeline.outcome = state.outcome();
        let until = if self.timeline.outcome.is_some() { state.finished_at } else { until };
        if state.phase == Phase::New {
            // The clocks have not started.
            return self.timeline;
        }
        (self.timeline.wall, self.timeline.active) = (state.clocks.wall(until), state.active(until));
        // The wait so far counts as lost time.
        if let Phase::Waiting { since, .. } = state.phase {
            let fault = state.fault;
            self.wait(fault, until.since(since));
        }
        self.close(until);
        self.timeline.lost_time.retain(|_, lost| lost.total() > Span::ZERO);
        self.timeline
    }
}

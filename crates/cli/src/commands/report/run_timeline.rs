//! What a run did with its time: its attempts, a timeline, and what was lost and to what. Made of its journal alone, by
//! replaying it; pure.

use crate::output::phrases;
use longhaul_core::{
    Fault, Moment, Outcome, Phase, Record, ResumeStrategy, Run, Span, StopCause, StrategyReason, Usage, Usd,
};
use longhaul_store::History;
use serde::Serialize;
use std::collections::BTreeMap;

/// A run by its journal.
#[derive(Debug, Default)]
pub struct RunTimeline {
    /// Its attempts, the first one first.
    pub attempts: Vec<TimelineAttempt>,
    /// What it did when, without gaps but for those of a few milliseconds.
    pub timeline: Vec<TimelineSlice>,
    /// What kept it from working.
    pub lost_time: BTreeMap<LostTimeCause, LostTime>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// How long it took so far, without the time in which it was over.
    pub wall: Span,
    /// How long it worked.
    pub active: Span,
}

/// One attempt.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TimelineAttempt {
    /// Which one, from 1.
    pub number: u32,
    /// When it was ordered.
    #[serde(serialize_with = "super::data::stamp")]
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub started_at: Moment,
    /// When it was over.
    #[serde(serialize_with = "super::data::stamp_or_null")]
    #[cfg_attr(test, schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    pub ended_at: Option<Moment>,
    /// How the history of the conversation reached it.
    pub strategy: Option<ResumeStrategy>,
    /// Why by that one.
    pub reason: Option<StrategyReason>,
    /// Why it failed.
    pub fault: Option<Fault>,
    /// Why it was stopped, if it was.
    pub stop_cause: Option<StopCause>,
    /// How long the run then waited for the next one.
    #[serde(rename = "waited_ms")]
    pub waited: Span,
    /// What the vendor stated that it cost, a summary of older work for it included.
    #[serde(rename = "stated_cost_usd", serialize_with = "super::data::dollars")]
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Dollars"))]
    pub cost: Usd,
    /// What we priced besides.
    #[serde(rename = "estimated_cost_usd", serialize_with = "super::data::dollars")]
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Dollars"))]
    pub estimated_cost: Usd,
}

impl TimelineAttempt {
    /// How it ended, or that it did not, in words for people.
    pub fn ending(&self) -> &'static str {
        match (self.fault, self.stop_cause, self.ended_at) {
            (Some(fault), stopped, _) => phrases::cause_of(fault, stopped),
            (None, _, None) => "not over",
            (None, Some(why), Some(_)) => stopped(why),
            (None, None, Some(_)) => "ended by itself",
        }
    }
}

fn stopped(why: StopCause) -> &'static str {
    match why {
        StopCause::Stalled | StopCause::NoProgress => "stopped: it stalled",
        StopCause::TimedOut => "stopped: it had its time",
        StopCause::AuthRejected => "stopped: the credentials were rejected",
        StopCause::WrongSession => "stopped: it had opened another session",
        StopCause::WrapUp | StopCause::LimitReached => "stopped by a limit",
        StopCause::MemoryLimit => "stopped: it used too much memory",
        StopCause::Suspended => "interrupted to suspend the run",
        StopCause::DidNotExit => "finished, and did not end by itself",
        StopCause::BackgroundStopped => "finished; its background work was stopped",
        StopCause::Cancelled => "stopped: cancelled",
    }
}

/// A part of the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TimelineSlice {
    /// What the run did.
    pub kind: SliceKind,
    /// Why, if for a fault.
    pub fault: Option<Fault>,
    /// From when.
    #[serde(serialize_with = "super::data::stamp")]
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub from: Moment,
    /// Until when.
    #[serde(serialize_with = "super::data::stamp")]
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub to: Moment,
}

/// What a run does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SliceKind {
    /// An attempt, which did not fail.
    Working,
    /// An attempt that failed.
    Failed,
    /// Nothing is resident; the next attempt has its time.
    Waiting,
    /// The work is judged.
    Checking,
    /// The machine slept, or nobody supervised it.
    Asleep,
    /// It was over, until somebody let it go on.
    Over,
}

impl SliceKind {
    /// Every kind, in the order of a legend.
    pub const ALL: &'static [SliceKind] = &[
        SliceKind::Working,
        SliceKind::Failed,
        SliceKind::Waiting,
        SliceKind::Checking,
        SliceKind::Asleep,
        SliceKind::Over,
    ];

    /// For a legend.
    pub fn label(self) -> &'static str {
        match self {
            SliceKind::Working => "an attempt works",
            SliceKind::Failed => "an attempt that failed",
            SliceKind::Waiting => "waiting for the next attempt",
            SliceKind::Checking => "the work is checked",
            SliceKind::Asleep => "the machine slept, or nobody supervised",
            SliceKind::Over => "over, until somebody resumed it",
        }
    }
}

impl SliceKind {
    /// For a line that says how long each was.
    pub fn brief(self) -> &'static str {
        match self {
            SliceKind::Working => "worked",
            SliceKind::Failed => "failed attempts",
            SliceKind::Waiting => "waited",
            SliceKind::Checking => "checked",
            SliceKind::Asleep => "asleep or unattended",
            SliceKind::Over => "was over",
        }
    }
}

/// What keeps a run from working.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LostTimeCause {
    /// A fault.
    Fault(Fault),
    /// The pauses between attempts of which none had failed.
    BetweenAttempts,
    /// Nobody supervised it, and nothing ran.
    Unsupervised,
    /// The machine slept; or nobody supervised it, by a journal that does not tell the two apart.
    Asleep,
}

impl LostTimeCause {
    /// The wire word.
    pub fn as_str(self) -> &'static str {
        match self {
            LostTimeCause::Fault(fault) => fault.word(),
            LostTimeCause::BetweenAttempts => "between_attempts",
            LostTimeCause::Unsupervised => "unsupervised",
            LostTimeCause::Asleep => "asleep",
        }
    }

    /// The same for people.
    pub fn label(self) -> &'static str {
        match self {
            LostTimeCause::Fault(fault) => phrases::fault_text(fault),
            LostTimeCause::BetweenAttempts => "pauses between attempts",
            LostTimeCause::Unsupervised => "nobody supervised the run",
            LostTimeCause::Asleep => "the machine slept, or nobody supervised the run",
        }
    }
}

/// Time that was lost to one cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostTime {
    /// Between attempts.
    pub waiting: Span,
    /// In attempts that came to nothing, and in silences that ended one.
    pub wasted: Span,
}

impl LostTime {
    /// All of it.
    pub fn total(self) -> Span {
        self.waiting + self.wasted
    }
}

impl RunTimeline {
    /// The story of a run that goes on until `until`, if it is not over.
    pub fn new(history: &History, until: Moment) -> RunTimeline {
        let mut teller = RunTimelineBuilder::default();
        for entry in &history.entries {
            for record in &entry.records {
                teller.take(entry.at, record);
            }
        }
        teller.end(until)
    }
}

/// A story that is being told, record by record.
#[derive(Default)]
struct RunTimelineBuilder {
    run: Run,
    timeline: RunTimeline,
    /// The part of the timeline that is not over.
    open: Option<TimelineSlice>,
    /// What was slept through by the last record, and when that was said.
    slept: Option<(Moment, Span)>,
    /// For how long the present attempt was silent when it was stopped for that.
    silent: Span,
}

impl RunTimelineBuilder {
    /// Takes in a record of a step that was taken then.
    fn take(&mut self, step_at: Moment, record: &Record) {
        let state = self.run.state();
        let (clocks, fault, ended) = (state.clocks, state.fault, state.finished_at);
        let attempt = (state.attempt_started_at, state.made_progress);
        let waited = matches!(state.phase, Phase::Waiting { .. });
        self.run.apply(record);
        let now = self.run.state().clocks;
        let waiting = now.waiting - clocks.waiting;
        let slept = now.downtime - clocks.downtime;
        self.lose_waiting(LostTimeCause::Asleep, slept);
        let before = self.slept.take();
        self.wait(fault, waiting);
        match record {
            Record::AttemptStarted { at, plan } => {
                self.begin(SliceKind::Working, None, *at);
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
            Record::ResumeStrategyChosen { strategy: rung, reason: because, .. } => {
                if let Some(last) = self.timeline.attempts.last_mut() {
                    (last.strategy, last.reason) = (Some(*rung), Some(*because));
                }
            }
            Record::StopOrdered { cause: why, stall, .. } => {
                self.silent = stall.map_or(self.silent, |stall| match why {
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
                    last.stop_cause = Some(*why);
                }
            }
            Record::SummaryEnded { usage: tally, .. } => self.spend(*tally),
            Record::AttemptEnded { at, fault, usage: tally, .. } => {
                self.spend(*tally);
                self.end_attempt(*at, *fault, attempt);
            }
            Record::Swept { at, .. } => {
                if matches!(self.run.state().phase, Phase::Waiting { .. }) {
                    self.begin(SliceKind::Waiting, self.run.state().fault, *at);
                }
            }
            Record::CheckStarted { at } => self.begin(SliceKind::Checking, None, *at),
            Record::CheckEnded { at, .. } | Record::RunFinished { at, .. } => self.close(*at),
            Record::RunReopened { at, .. } => {
                self.begin(SliceKind::Over, None, ended);
                self.close(*at);
            }
            // What is slept during a wait is part of the wait.
            Record::Downtime { duration: span } if !waited => {
                self.slept = Some((step_at, slept));
                self.sleep(step_at, *span);
            }
            // What a new supervisor is told first is for how long nothing ran.
            Record::Recovered { last_record_at: Some(last), .. } => {
                if let Some((_, slept)) = before.filter(|(at, _)| at > last) {
                    let asleep = self.lost_to(LostTimeCause::Asleep);
                    asleep.waiting = asleep.waiting - slept;
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

    fn end_attempt(&mut self, at: Moment, fault: Option<Fault>, (began, progressed): (Moment, bool)) {
        self.close(at);
        let Some(last) = self.timeline.attempts.last_mut() else { return };
        (last.ended_at, last.fault) = (Some(at), fault);
        let Some(fault) = fault else { return };
        let ordered = last.started_at;
        // All its parts: it may have been interrupted by a sleep of the machine.
        for slice in self.timeline.timeline.iter_mut().rev().take_while(|slice| slice.from >= ordered) {
            if slice.kind == SliceKind::Working {
                (slice.kind, slice.fault) = (SliceKind::Failed, Some(fault));
            }
        }
        let wasted = if progressed { self.silent } else { at.since(began) };
        let lost = self.lost_to(LostTimeCause::Fault(fault));
        lost.wasted = lost.wasted + wasted;
    }

    fn spend(&mut self, usage: Usage) {
        if let Some(last) = self.timeline.attempts.last_mut() {
            last.cost += usage.reported_cost;
            last.estimated_cost += usage.estimated_cost;
        }
    }

    /// It waited so long for another attempt, after one with this fault.
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

    /// Something else begins.
    fn begin(&mut self, kind: SliceKind, fault: Option<Fault>, at: Moment) {
        self.close(at);
        self.open = Some(TimelineSlice { kind, fault, from: at, to: at });
    }

    /// What was under way ends.
    fn close(&mut self, at: Moment) {
        if let Some(open) = self.open.take()
            && at > open.from
        {
            self.timeline.timeline.push(TimelineSlice { to: at, ..open });
        }
    }

    /// What is under way was interrupted until then.
    fn sleep(&mut self, at: Moment, span: Span) {
        let Some(open) = self.open else { return };
        let from = Moment(at.0.saturating_sub(span.0)).max(open.from);
        self.begin(SliceKind::Asleep, None, from);
        self.begin(open.kind, open.fault, at);
    }

    fn end(mut self, until: Moment) -> RunTimeline {
        let state = self.run.state();
        self.timeline.outcome = state.outcome();
        let until = if self.timeline.outcome.is_some() { state.finished_at } else { until };
        if state.phase == Phase::New {
            // Its clocks have not begun.
            return self.timeline;
        }
        (self.timeline.wall, self.timeline.active) = (state.clocks.wall(until), state.active(until));
        // A wait that is under way has cost its time, too.
        if let Phase::Waiting { since, .. } = state.phase {
            let fault = state.fault;
            self.wait(fault, until.since(since));
        }
        self.close(until);
        self.timeline.lost_time.retain(|_, lost| lost.total() > Span::ZERO);
        self.timeline
    }
}

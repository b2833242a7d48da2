//! The events of a run that reports mention, in order.

use super::{StopOrder, SummaryHistory};
use crate::{
    CancelSource, CheckResult, Clocks, Limit, LimitThreshold, Moment, Outcome, PromptKind, RecoveryFinding,
    ResumeRequest, ReviewResult, SettingChange, Span, StallReport, Usage,
};

/// A noteworthy event of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryEvent {
    /// Time of the event.
    pub at: Moment,
    /// Number of the current or last attempt; 0 before the first.
    pub attempt: u32,
    /// The event.
    pub kind: HistoryEventKind,
}

/// The kind of a noteworthy event. Records without a kind here only change the attempt or the state.
#[derive(Clone, Debug, PartialEq)]
pub enum HistoryEventKind {
    /// The attempt started. [`RunHistory::attempt`](crate::RunHistory::attempt) returns its details.
    AttemptStarted,
    /// The process of the attempt started.
    AttemptSpawned,
    /// A summary of older work for the attempt ended.
    SummaryEnded(SummaryHistory),
    /// The agent received a prompt in its open session.
    PromptSent(PromptKind),
    /// The agent stopped on its own.
    AgentStopped {
        /// Whether it claimed that the work is done.
        claimed_done: bool,
    },
    /// The agent is being stopped, or stopped harder.
    StopOrdered(StopOrder),
    /// The agent was silent for too long while its processes were busy.
    StallDeferred(StallReport),
    /// The run reached a threshold of a limit.
    LimitReached {
        /// Limit that was reached.
        limit: Limit,
        /// Threshold that was reached.
        threshold: LimitThreshold,
    },
    /// The attempt ended.
    AttemptEnded,
    /// A check ended.
    CheckEnded {
        /// Number of the check, starting at 1.
        check: u32,
        /// Result of the check.
        result: CheckResult,
        /// Duration of the check, without downtime.
        duration: Span,
    },
    /// A reviewer process ended.
    ReviewEnded {
        /// Number of its check, starting at 1.
        check: u32,
        /// Result of the review.
        result: ReviewResult,
        /// Duration of the process, without downtime.
        duration: Span,
        /// Usage of the process.
        usage: Usage,
        /// Time at which the reviewer is started again. `None` if it is not.
        retry_at: Option<Moment>,
    },
    /// Nothing of the run was running. The event is the end of that time.
    Downtime {
        /// Length of the downtime.
        duration: Span,
        /// Whether the run was waiting. The downtime then counts as part of the wait.
        in_wait: bool,
        /// Whether a new supervisor found that nothing ran since the last record of the dead one. If not, the
        /// machine slept, or the journal does not distinguish the two.
        unsupervised: bool,
    },
    /// A new supervisor took over the run.
    Recovered {
        /// Finding of the new supervisor.
        finding: RecoveryFinding,
        /// Longest possible time without a supervisor. `None` if the dead one had written no record.
        unsupervised: Option<Span>,
        /// Part of that time in which nothing ran. The event before this one states it as downtime.
        idle: Span,
        /// Settings that the user changed.
        changes: Vec<SettingChange>,
    },
    /// The user or a signal cancelled the run.
    CancelRequested(CancelSource),
    /// A signal suspends the run.
    SuspendOrdered(CancelSource),
    /// The run is suspended.
    Suspended {
        /// Signal.
        source: CancelSource,
        /// When a new supervisor continued the run. `None` if it is still suspended.
        until: Option<Moment>,
    },
    /// The user resumed the finished run.
    Reopened {
        /// The user's request.
        request: ResumeRequest,
        /// Settings that the user changed.
        changes: Vec<SettingChange>,
        /// Time since the run finished.
        finished: Span,
    },
    /// The run finished.
    Finished {
        /// Outcome of the run.
        outcome: Outcome,
        /// Clocks of the run at that time.
        clocks: Clocks,
        /// Usage of the run at that time.
        usage: Usage,
    },
}

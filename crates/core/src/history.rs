//! The history of a run: one fold of its records into attempts, waits, checks, outages and events.
//!
//! Every report of a run renders this fold, so no two reports disagree. It decides nothing: [`Run`] decides,
//! and the history contains it.

mod attempt;
mod event;
mod fold;
mod period;

pub use attempt::{AttemptHistory, StopOrder, SummaryHistory};
pub use event::{HistoryEvent, HistoryEventKind};
pub use period::{CheckHistory, OutageHistory, ReviewHistory, WaitHistory};

use crate::{Moment, Phase, Record, ResumeRequest, Run, State, Usage};

/// The history of a run up to its last record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunHistory {
    run: Run,
    attempts: Vec<AttemptHistory>,
    checks: Vec<CheckHistory>,
    outages: Vec<OutageHistory>,
    events: Vec<HistoryEvent>,
}

impl RunHistory {
    /// Folds records, each with the time of its step.
    pub fn new<'a>(records: impl IntoIterator<Item = (Moment, &'a Record)>) -> RunHistory {
        let mut history = RunHistory::default();
        for (at, record) in records {
            history.apply(at, record);
        }
        history
    }

    /// Returns the run as its records describe it.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Returns the state of the run. Its clocks and its usage are the totals of every report.
    pub fn state(&self) -> &State {
        self.run.state()
    }

    /// Returns when the run started, or `None` if it has not started.
    pub fn started_at(&self) -> Option<Moment> {
        Some(self.state().clocks.started).filter(|started| *started > Moment(0))
    }

    /// Returns the attempts, oldest first.
    pub fn attempts(&self) -> &[AttemptHistory] {
        &self.attempts
    }

    /// Returns the attempt with this number, or `None` if it has not started.
    pub fn attempt(&self, number: u32) -> Option<&AttemptHistory> {
        // Numbers ascend.
        let index = self.attempts.binary_search_by_key(&number, |attempt| attempt.number).ok()?;
        self.attempts.get(index)
    }

    /// Returns the waits for a next attempt, oldest first.
    pub fn waits(&self) -> impl Iterator<Item = &WaitHistory> {
        self.attempts.iter().flat_map(|attempt| &attempt.waits)
    }

    /// Returns the current wait, or `None` if the run does not wait.
    pub fn current_wait(&self) -> Option<WaitHistory> {
        let Phase::Waiting { since, until, .. } = self.state().phase else { return None };
        Some(WaitHistory {
            from: since,
            until,
            ended_at: None,
            cut_short: false,
            fault: self.state().wait_fault(),
        })
    }

    /// Returns the checks, oldest first. Check `n` has index `n - 1`.
    pub fn checks(&self) -> &[CheckHistory] {
        &self.checks
    }

    /// Returns the outages of the API, oldest first.
    pub fn outages(&self) -> &[OutageHistory] {
        &self.outages
    }

    /// Returns the noteworthy events, oldest first.
    pub fn events(&self) -> &[HistoryEvent] {
        &self.events
    }

    /// Returns the prompts with which the user resumed the run before attempt `number`, oldest first.
    pub fn follow_ups(&self, number: u32) -> Vec<String> {
        let earlier = self.events.iter().filter(|event| event.attempt < number);
        let prompts = earlier.filter_map(|event| {
            let HistoryEventKind::Reopened { request: ResumeRequest::Prompt(text), .. } = &event.kind else {
                return None;
            };
            Some(text.clone())
        });
        prompts.collect()
    }

    /// Returns the usage since the user last resumed the finished run, or since the start, with the summaries
    /// of older work.
    pub fn usage_since_reopen(&self) -> Usage {
        let before = self.state().attempts_before;
        let attempts = self.attempts.iter().filter(|attempt| attempt.number > before);
        attempts.map(AttemptHistory::total_usage).fold(Usage::default(), Usage::plus)
    }
}

#[cfg(test)]
mod tests;

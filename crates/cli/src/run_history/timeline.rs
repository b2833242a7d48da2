//! Renders a run's history as a timeline. Repeated events share one entry; routine events have none.

use super::attempt_files::AttemptFiles;
use super::entry::{AttemptsEnded, TimelineEntry, TimelineEvent, WorkDone};
use crate::output::phrases;
use longhaul_core::{
    AfterAttempt, AttemptHistory, HistoryEvent, HistoryEventKind, Moment, PromptKind, ResumeStrategy,
    Rfc3339, RunHistory, Span, StallReport, StrategyReason,
};
use std::collections::BTreeMap;

pub fn timeline(history: &RunHistory, files: &BTreeMap<u32, AttemptFiles>) -> Vec<TimelineEntry> {
    let mut builder = TimelineBuilder { history, files, entries: Vec::new() };
    history.events().iter().for_each(|event| builder.add(event));
    builder.on_watchdog_stop(history.state().attempts(), None);
    fold(builder.entries)
}

struct TimelineBuilder<'a> {
    history: &'a RunHistory,
    files: &'a BTreeMap<u32, AttemptFiles>,
    entries: Vec<TimelineEntry>,
}

impl TimelineBuilder<'_> {
    fn push(&mut self, at: Moment, kind: TimelineEvent) {
        let elapsed_ms = at.since(self.history.started_at().unwrap_or(at));
        self.entries.push(TimelineEntry { kind, at: at.into(), until: at.into(), elapsed_ms });
    }

    fn add(&mut self, event: &HistoryEvent) {
        let HistoryEvent { at, attempt, kind } = event;
        let (at, attempt) = (*at, *attempt);
        let history = self.history.attempt(attempt);
        let timeline_event = match kind {
            HistoryEventKind::AttemptStarted => return self.add_attempt_start(at, history),
            HistoryEventKind::AgentStopped { claimed_done } => {
                return self.add_stop(at, attempt, u32::from(*claimed_done));
            }
            HistoryEventKind::PromptSent(prompt) => return self.add_prompt(at, attempt, *prompt),
            HistoryEventKind::StallDeferred(stall) => return self.add_deferral(at, attempt, *stall),
            // The start and end entries of an attempt include these details, and a takeover its downtime.
            HistoryEventKind::AttemptSpawned
            | HistoryEventKind::StopOrdered(_)
            | HistoryEventKind::SuspendOrdered(_)
            | HistoryEventKind::Downtime { unsupervised: true, .. } => return,
            HistoryEventKind::Downtime { duration, unsupervised: false, .. } => {
                TimelineEvent::Downtime { duration_ms: *duration }
            }
            HistoryEventKind::Reopened { request, changes, finished } => TimelineEvent::Reopened {
                request: request.clone(),
                finished_ms: *finished,
                changes: changes.clone(),
            },
            HistoryEventKind::SummaryEnded(summary) => TimelineEvent::Summary {
                attempt,
                result: summary.result,
                duration_ms: summary.duration,
                total_cost_usd: summary.usage.total_cost().into(),
            },
            HistoryEventKind::LimitReached { limit, threshold } => {
                TimelineEvent::LimitReached { attempt, limit: *limit, threshold: *threshold }
            }
            HistoryEventKind::Recovered { finding, unsupervised, idle, changes } => {
                self.on_watchdog_stop(attempt, Some(at));
                TimelineEvent::Recovered {
                    attempt,
                    finding: *finding,
                    disk_was_full: self.files.get(&attempt).is_some_and(|files| files.disk_was_full),
                    unsupervised_ms: *unsupervised,
                    idle_ms: *idle,
                    changes: changes.clone(),
                }
            }
            HistoryEventKind::AttemptEnded => {
                self.on_watchdog_stop(attempt, Some(at));
                let files = self.files.get(&attempt);
                let Some(ended) = history.and_then(|history| attempt_end(history, files)) else { return };
                TimelineEvent::AttemptEnded(Box::new(ended))
            }
            HistoryEventKind::CheckEnded { check, result, duration } => {
                TimelineEvent::CheckEnded { check: *check, result: *result, duration_ms: *duration }
            }
            HistoryEventKind::ReviewEnded { check, result, duration, usage, retry_at } => {
                TimelineEvent::ReviewEnded {
                    check: *check,
                    result: *result,
                    duration_ms: *duration,
                    total_cost_usd: usage.total_cost().into(),
                    retry_at: retry_at.map(Rfc3339),
                }
            }
            HistoryEventKind::CancelRequested(source) => {
                let last_wait = history.and_then(|attempt| attempt.waits.last());
                let in_wait = last_wait.is_some_and(|wait| wait.ended_at.is_none_or(|ended| ended >= at));
                TimelineEvent::Cancelled { source: *source, in_wait }
            }
            HistoryEventKind::Suspended { source, .. } => TimelineEvent::Suspended { source: *source },
            HistoryEventKind::Finished { outcome, clocks, usage } => TimelineEvent::Finished {
                outcome: *outcome,
                attempts: attempt,
                wall_ms: clocks.wall(at),
                waiting_ms: clocks.waiting,
                downtime_ms: clocks.downtime,
                total_cost_usd: usage.total_cost().into(),
            },
        };
        self.push(at, timeline_event);
    }

    fn add_attempt_start(&mut self, at: Moment, attempt: Option<&AttemptHistory>) {
        let Some(attempt) = attempt else { return };
        if self.entries.is_empty() {
            self.push(at, TimelineEvent::Started { session: attempt.session.clone() });
        }
        let AttemptHistory { number, strategy, reason, prompt, .. } = *attempt;
        self.push(at, TimelineEvent::AttemptStarted { attempt: number, strategy, reason, prompt });
    }

    /// Returns the event of the last entry and the time of its last occurrence.
    fn last(&mut self) -> Option<(&mut TimelineEvent, &mut Rfc3339)> {
        self.entries.last_mut().map(|entry| (&mut entry.kind, &mut entry.until))
    }

    fn add_deferral(&mut self, at: Moment, attempt: u32, stall: StallReport) {
        if let Some((TimelineEvent::StallDeferred { times, stall: last, .. }, until)) = self.last() {
            *times += 1;
            (*last, *until) = (stall, at.into());
        } else {
            self.push(at, TimelineEvent::StallDeferred { attempt, times: 1, stall });
        }
    }

    fn add_stop(&mut self, at: Moment, attempt: u32, claims: u32) {
        if let Some((TimelineEvent::AgentStopped { stops, done_claims, .. }, until)) = self.last() {
            (*stops, *done_claims, *until) = (*stops + 1, *done_claims + claims, at.into());
        } else {
            self.push(at, TimelineEvent::AgentStopped { attempt, stops: 1, done_claims: claims, prompts: 0 });
        }
    }

    fn add_prompt(&mut self, at: Moment, attempt: u32, prompt: PromptKind) {
        if matches!(prompt, PromptKind::KeepGoing(_) | PromptKind::ConfirmDone)
            && let Some((TimelineEvent::AgentStopped { prompts, .. }, until)) = self.last()
        {
            (*prompts, *until) = (*prompts + 1, at.into());
        } else {
            self.push(at, TimelineEvent::PromptSent { attempt, prompt });
        }
    }

    /// Adds the stop of this attempt by a watchdog, if there was one before `end`.
    fn on_watchdog_stop(&mut self, attempt: u32, end: Option<Moment>) {
        let is_added = |entry: &TimelineEntry| matches!(entry.kind, TimelineEvent::WatchdogStopped { attempt: number, .. } if number == attempt);
        let stop = self.files.get(&attempt).and_then(|files| files.watchdog_stop);
        let Some(stop) = stop.filter(|_| !self.entries.iter().any(is_added)) else { return };
        let at = end.map_or(stop.at.0, |end| end.min(stop.at.0));
        let (silent_ms, processes_stopped) = (stop.silent_ms, stop.processes_stopped);
        self.push(at, TimelineEvent::WatchdogStopped { attempt, silent_ms, processes_stopped });
    }
}

/// Describes the end of this attempt, or returns `None` if it has not ended.
pub fn attempt_end(attempt: &AttemptHistory, files: Option<&AttemptFiles>) -> Option<AttemptsEnded> {
    let ended = attempt.end.as_ref()?;
    let exit = files.and_then(|files| files.exit);
    let start_error = files.and_then(|files| files.start_error.as_deref());
    let waited_ms = attempt.completed_wait();
    let waiting_until = match &ended.next {
        AfterAttempt::Attempt { at, .. } if waited_ms.is_none() => Some(Rfc3339(*at)),
        AfterAttempt::Attempt { .. } | AfterAttempt::Check | AfterAttempt::Finish(_) => None,
    };
    let work = WorkDone {
        turns: ended.usage.turns,
        tool_calls: files.and_then(|files| files.tool_calls),
        duration_ms: attempt.duration(attempt.ended_at?),
        total_cost_usd: ended.usage.total_cost().into(),
        estimated_cost_usd: ended.usage.estimated_cost.into(),
    };
    Some(AttemptsEnded {
        attempt: attempt.number,
        last_attempt: attempt.number,
        since: attempt.agent_started_at().into(),
        fault: ended.fault,
        evidence: phrases::evidence(attempt, exit, start_error),
        result: ended.result,
        exit,
        stop_cause: attempt.stop_cause(),
        killed: attempt.is_killed(),
        work,
        leftover_processes: attempt.leftover_processes,
        denied_calls: ended.denied_calls,
        questions: ended.questions.answered,
        background_stopped: files.map(|files| files.background_stopped.clone()).unwrap_or_default(),
        remedy: attempt.remedy(),
        planned_wait_ms: attempt.planned_wait(),
        waited_ms,
        waiting_until,
        wait_cut_short: attempt.is_wait_cut_short(),
        check_follows: ended.next == AfterAttempt::Check,
        claimed_done: ended.is_accepted(),
    })
}

/// Merges entries: a plain start with the end of the same attempt, and consecutive attempts that ended with
/// the same fault and without progress.
fn fold(entries: Vec<TimelineEntry>) -> Vec<TimelineEntry> {
    let mut folded: Vec<TimelineEntry> = Vec::new();
    for entry in entries {
        if let TimelineEvent::AttemptEnded(ended) = &entry.kind {
            if folded.last().and_then(is_plain_start) == Some(ended.attempt) {
                folded.pop();
            }
            if let Some(TimelineEntry { kind: TimelineEvent::AttemptEnded(before), until, .. }) =
                folded.last_mut()
                && is_same_outage(before, ended)
            {
                before.add(ended);
                // Until the run continued.
                *until = Rfc3339(entry.until.0 + ended.waited_ms.unwrap_or_default());
                continue;
            }
        }
        folded.push(entry);
    }
    // The entry for the start of the run covers the first attempt.
    folded.retain(|entry| is_plain_start(entry) != Some(1));
    folded
}

/// Returns the number of the attempt if the entry only says that it started, with its whole history.
fn is_plain_start(entry: &TimelineEntry) -> Option<u32> {
    let TimelineEvent::AttemptStarted { attempt, strategy, reason, prompt } = entry.kind else {
        return None;
    };
    let is_whole =
        matches!(strategy, None | Some(ResumeStrategy::AsIs)) || reason == Some(StrategyReason::NeverOpened);
    (is_whole && !matches!(prompt, PromptKind::WrapUp(_))).then_some(attempt)
}

/// Returns whether an attempt ended with the same fault as the previous one, and neither did any work.
fn is_same_outage(before: &AttemptsEnded, after: &AttemptsEnded) -> bool {
    let key = |ended: &AttemptsEnded| (ended.fault, ended.remedy, ended.evidence.clone());
    let is_idle = |ended: &AttemptsEnded| ended.work.turns == 0 && ended.work.tool_calls.unwrap_or(0) == 0;
    before.fault.is_some()
        && before.remedy.is_some()
        && key(before) == key(after)
        && is_idle(before)
        && is_idle(after)
}

impl AttemptsEnded {
    fn add(&mut self, next: &AttemptsEnded) {
        let sum = |one: Option<Span>, other: Option<Span>| {
            one.into_iter().chain(other).reduce(|one, other| one + other)
        };
        self.last_attempt = next.last_attempt;
        (self.result, self.exit) = (next.result, next.exit);
        self.killed |= next.killed;
        self.work = self.work.plus(next.work);
        self.leftover_processes += next.leftover_processes;
        self.denied_calls += next.denied_calls;
        self.questions += next.questions;
        self.background_stopped.extend(next.background_stopped.iter().cloned());
        self.planned_wait_ms = sum(self.planned_wait_ms, next.planned_wait_ms);
        self.waited_ms = sum(self.waited_ms, next.waited_ms);
        self.waiting_until = next.waiting_until;
        self.wait_cut_short = next.wait_cut_short;
        self.check_follows = next.check_follows;
        self.claimed_done = next.claimed_done;
    }
}

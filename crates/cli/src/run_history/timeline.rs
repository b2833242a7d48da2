//! Converts records to a timeline. Repeated events share one entry; routine events have none.

use super::attempt_files::AttemptFiles;
use super::attempts::{AttemptEnd, AttemptHistory, RecordAt};
use super::entry::{AttemptsEnded, TimelineEntry, TimelineEvent, WorkDone};
use crate::output::phrases;
use longhaul_core::{
    AfterAttempt, Moment, OutcomeKind, PromptKind, Record, RecoveryFinding, ResumeStrategy, Run,
    SettingChange, Span, StrategyReason, Usage,
};
use std::collections::BTreeMap;

/// Builds the timeline of a run from its records, its attempts, and their files.
pub fn timeline(
    records: &[RecordAt<'_>],
    attempts: &[AttemptHistory],
    files: &BTreeMap<u32, AttemptFiles>,
) -> Vec<TimelineEntry> {
    let mut builder = TimelineBuilder {
        attempts,
        files,
        run: Run::new(),
        entries: Vec::new(),
        started: records.first().map_or(Moment(0), |(at, _)| *at),
        phase_started_at: Moment(0),
        checks: 0,
        finished: None,
    };
    for (at, record) in records {
        builder.run.apply(record);
        builder.add(*at, record);
    }
    builder.on_watchdog_stop(builder.run.state().attempts(), None);
    fold(builder.entries)
}

struct TimelineBuilder<'a> {
    attempts: &'a [AttemptHistory],
    files: &'a BTreeMap<u32, AttemptFiles>,
    /// The run so far.
    run: Run,
    entries: Vec<TimelineEntry>,
    started: Moment,
    /// When the current check or summary started.
    phase_started_at: Moment,
    checks: u32,
    /// When the run finished, if it did.
    finished: Option<Moment>,
}

impl TimelineBuilder<'_> {
    fn push(&mut self, at: Moment, kind: TimelineEvent) {
        self.entries.push(TimelineEntry { kind, at, until: at, elapsed_ms: at.since(self.started) });
    }

    fn add(&mut self, at: Moment, record: &Record) {
        let attempt = self.run.state().attempts();
        match record {
            Record::RunStarted { .. } => self.started = at,
            Record::RunReopened { request, changes, .. } => {
                let finished_ms = self.finished.map_or(Span::ZERO, |finished| at.since(finished));
                self.push(
                    at,
                    TimelineEvent::Reopened {
                        request: request.clone(),
                        finished_ms,
                        changes: changes.clone(),
                    },
                );
            }
            Record::AttemptStarted { plan, .. } if self.entries.is_empty() => {
                self.push(at, TimelineEvent::Started { session: plan.session.clone() });
                self.add_attempt_start(at, attempt);
            }
            Record::AttemptStarted { .. } => self.add_attempt_start(at, attempt),
            Record::SummaryStarted { .. } | Record::CheckStarted { .. } => self.phase_started_at = at,
            Record::SummaryEnded { result: outcome, usage, .. } => {
                let (duration_ms, total_cost_usd) =
                    (at.since(self.phase_started_at), usage.total_cost().as_dollars());
                self.push(
                    at,
                    TimelineEvent::Summary { attempt, result: *outcome, duration_ms, total_cost_usd },
                );
            }
            Record::LimitReached { limit, threshold, .. } => {
                self.push(at, TimelineEvent::LimitReached { attempt, limit: *limit, threshold: *threshold });
            }
            Record::AgentStopped { claimed_done, .. } => self.add_stop(at, attempt, u32::from(*claimed_done)),
            Record::PromptSent { prompt, .. } => self.add_prompt(at, attempt, *prompt),
            Record::StallDeferred { stall, .. } => {
                if let Some(TimelineEntry {
                    kind: TimelineEvent::StallDeferred { times, stall: last, .. },
                    until,
                    ..
                }) = self.entries.last_mut()
                {
                    *times += 1;
                    (*last, *until) = (*stall, at);
                } else {
                    self.push(at, TimelineEvent::StallDeferred { attempt, times: 1, stall: *stall });
                }
            }
            Record::Recovered { at, finding, last_record_at: last_at, changes } => {
                self.add_takeover(*at, attempt, *finding, changes, *last_at);
            }
            Record::Downtime { duration: span } => {
                self.push(at, TimelineEvent::Downtime { duration_ms: *span })
            }
            Record::AttemptEnded { .. } => {
                self.on_watchdog_stop(attempt, Some(at));
                let history = self.attempts.iter().find(|history| history.number == attempt);
                let files = self.files.get(&attempt);
                if let Some(ended) = history.and_then(|history| attempt_end(history, files)) {
                    self.push(at, TimelineEvent::AttemptEnded(Box::new(ended)));
                }
            }
            Record::CheckEnded { result, .. } => {
                self.checks += 1;
                let duration_ms = at.since(self.phase_started_at);
                self.push(at, TimelineEvent::CheckEnded { check: self.checks, result: *result, duration_ms });
            }
            Record::CancelRequested { source, .. } => {
                self.push(at, TimelineEvent::Cancelled { source: *source })
            }
            Record::Suspended { source, .. } => self.push(at, TimelineEvent::Suspended { source: *source }),
            Record::RunFinished { outcome, .. } => {
                self.finished = Some(at);
                let state = self.run.state();
                let kind = TimelineEvent::Finished {
                    outcome: *outcome,
                    attempts: state.attempts(),
                    wall_ms: state.clocks.wall(at),
                    waiting_ms: state.clocks.waiting,
                    downtime_ms: state.clocks.downtime,
                    total_cost_usd: state.usage.total_cost().as_dollars(),
                };
                self.push(at, kind);
            }
            // The start and end entries of an attempt include these details.
            Record::ResumeStrategyChosen { .. }
            | Record::SummaryStopOrdered { .. }
            | Record::AttemptSpawned { .. }
            | Record::SessionOpened { .. }
            | Record::ProgressMade { .. }
            | Record::InputClosed { .. }
            | Record::StopOrdered { .. }
            | Record::SuspendOrdered { .. }
            | Record::CheckStopOrdered { .. }
            | Record::Swept { .. } => {}
        }
    }

    fn add_attempt_start(&mut self, at: Moment, number: u32) {
        let Some(attempt) = self.attempts.iter().find(|history| history.number == number) else { return };
        let AttemptHistory { strategy, reason, prompt, .. } = *attempt;
        self.push(at, TimelineEvent::AttemptStarted { attempt: number, strategy, reason, prompt });
    }

    /// Adds a takeover. Downtime that was recorded just before becomes part of it.
    fn add_takeover(
        &mut self,
        at: Moment,
        attempt: u32,
        finding: RecoveryFinding,
        changes: &[SettingChange],
        last_at: Option<Moment>,
    ) {
        let downtime = self.entries.pop_if(|entry| {
            matches!(entry.kind, TimelineEvent::Downtime { .. })
                && last_at.is_some_and(|last| entry.at > last)
        });
        let idle_ms = match downtime {
            Some(TimelineEntry { kind: TimelineEvent::Downtime { duration_ms: ms }, .. }) => ms,
            Some(_) | None => Span::ZERO,
        };
        let unsupervised_ms = last_at.map(|last| at.since(last));
        self.on_watchdog_stop(attempt, Some(at));
        self.push(
            at,
            TimelineEvent::Recovered {
                attempt,
                finding,
                unsupervised_ms,
                idle_ms,
                changes: changes.to_vec(),
            },
        );
    }

    fn add_stop(&mut self, at: Moment, attempt: u32, claims: u32) {
        if let Some(TimelineEntry {
            kind: TimelineEvent::AgentStopped { stops, done_claims, .. },
            until,
            ..
        }) = self.entries.last_mut()
        {
            (*stops, *done_claims, *until) = (*stops + 1, *done_claims + claims, at);
        } else {
            self.push(at, TimelineEvent::AgentStopped { attempt, stops: 1, done_claims: claims, prompts: 0 });
        }
    }

    fn add_prompt(&mut self, at: Moment, attempt: u32, prompt: PromptKind) {
        match (prompt, self.entries.last_mut()) {
            (
                PromptKind::KeepGoing(_) | PromptKind::ConfirmDone,
                Some(TimelineEntry { kind: TimelineEvent::AgentStopped { prompts, .. }, until, .. }),
            ) => (*prompts, *until) = (*prompts + 1, at),
            (
                PromptKind::Task
                | PromptKind::TaskAfterLoss(_)
                | PromptKind::FollowUp
                | PromptKind::Continue(_)
                | PromptKind::Nudge(_)
                | PromptKind::WrapUp(_)
                | PromptKind::LimitRaised(_)
                | PromptKind::CheckFailed(_)
                | PromptKind::KeepGoing(_)
                | PromptKind::ConfirmDone,
                _,
            ) => self.push(at, TimelineEvent::PromptSent { attempt, prompt }),
        }
    }

    /// Adds the stop of this attempt by a watchdog, if there was one before `end`.
    fn on_watchdog_stop(&mut self, attempt: u32, end: Option<Moment>) {
        let is_added = |entry: &TimelineEntry| matches!(entry.kind, TimelineEvent::WatchdogStopped { attempt: number, .. } if number == attempt);
        let stop = self.files.get(&attempt).and_then(|files| files.watchdog_stop);
        let Some(stop) = stop.filter(|_| !self.entries.iter().any(is_added)) else { return };
        let at = end.map_or(stop.at, |end| end.min(stop.at));
        let (silent_ms, processes_stopped) = (stop.silent_ms, stop.processes_stopped);
        self.push(at, TimelineEvent::WatchdogStopped { attempt, silent_ms, processes_stopped });
    }
}

/// Describes the end of this attempt, or returns `None` if it has not ended.
pub fn attempt_end(attempt: &AttemptHistory, files: Option<&AttemptFiles>) -> Option<AttemptsEnded> {
    let ended = attempt.end.as_ref()?;
    let exit = files.and_then(|files| files.exit);
    let remedy = match &ended.next {
        AfterAttempt::Attempt { remedy, .. } => Some(*remedy),
        AfterAttempt::Check | AfterAttempt::Finish(_) => None,
    };
    let waiting_until = match &ended.next {
        AfterAttempt::Attempt { at, .. } if attempt.waited.is_none() => Some(*at),
        AfterAttempt::Attempt { .. } | AfterAttempt::Check | AfterAttempt::Finish(_) => None,
    };
    let work = WorkDone {
        turns: ended.usage.turns,
        tool_calls: files.and_then(|files| files.tool_calls),
        ..work(attempt.duration(ended.at), ended.usage)
    };
    Some(AttemptsEnded {
        attempt: attempt.number,
        last_attempt: attempt.number,
        since: attempt.agent_started_at(),
        fault: ended.fault,
        evidence: phrases::evidence(attempt, exit),
        result: ended.result,
        exit,
        stop_cause: attempt.stop_cause,
        killed: attempt.killed,
        work,
        leftover_processes: attempt.leftover_processes,
        denied_calls: ended.denied_calls,
        questions: ended.questions.answered,
        background_stopped: files.map(|files| files.background_stopped.clone()).unwrap_or_default(),
        remedy,
        planned_wait_ms: attempt.planned_wait(),
        waited_ms: attempt.waited,
        waiting_until,
        check_follows: ended.next == AfterAttempt::Check,
        claimed_done: is_accepted(ended),
    })
}

fn work(duration_ms: Span, usage: Usage) -> WorkDone {
    let (total, estimated) = (usage.total_cost().as_dollars(), usage.estimated_cost.as_dollars());
    WorkDone { duration_ms, total_cost_usd: total, estimated_cost_usd: estimated, ..WorkDone::default() }
}

/// Returns whether the attempt ended with an accepted done claim.
fn is_accepted(ended: &AttemptEnd) -> bool {
    match &ended.next {
        AfterAttempt::Check => true,
        AfterAttempt::Finish(outcome) => outcome.kind == OutcomeKind::Done,
        AfterAttempt::Attempt { .. } => false,
    }
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
                *until = entry.until + ended.waited_ms.unwrap_or_default();
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
    /// Adds the next attempt of the same outage.
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
        self.check_follows = next.check_follows;
        self.claimed_done = next.claimed_done;
    }
}

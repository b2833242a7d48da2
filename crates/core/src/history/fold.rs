//! Applies records to the history of a run. Every record applies to every history, as in [`Run`](crate::Run).

use super::{
    AttemptHistory, CheckHistory, HistoryEvent, HistoryEventKind, OutageHistory, ReviewHistory, RunHistory,
    StopOrder,
};
use crate::{Moment, PromptKind, Record, Span, Usage};

impl RunHistory {
    /// Applies one record of a step that was decided at `at`. Returns the event that the record adds, or `None`
    /// if it adds none.
    pub fn apply(&mut self, at: Moment, record: &Record) -> Option<&HistoryEvent> {
        let (wait, outage) = (self.current_wait(), self.state().outage_started_at);
        let (finished_at, downtime) = (self.state().finished_at, self.state().clocks.downtime);
        self.run.apply(at, record);
        self.add_downtime(self.state().clocks.downtime - downtime);
        if self.current_wait() != wait {
            self.update_waits(at, record);
        }
        self.update_outages(at, outage, record);
        let kind = self.update(at, finished_at, record)?;
        self.events.push(HistoryEvent { at, attempt: self.state().attempts(), kind });
        self.events.last()
    }

    /// Updates everything but waits and outages. `finished_at` is the last finish before this record.
    fn update(&mut self, at: Moment, finished_at: Moment, record: &Record) -> Option<HistoryEventKind> {
        Some(match record {
            Record::RunStarted
            | Record::SummaryStopOrdered { .. }
            | Record::InputClosed
            | Record::CheckStopOrdered { .. } => return None,
            Record::AttemptStarted { plan } => {
                self.attempts.push(AttemptHistory::new(at, plan));
                HistoryEventKind::AttemptStarted
            }
            Record::ResumeStrategyChosen { strategy, reason } => {
                let attempt = self.attempts.last_mut()?;
                (attempt.strategy, attempt.reason) = (Some(*strategy), Some(*reason));
                return None;
            }
            Record::SummaryStarted => {
                self.attempts.last_mut()?.summary_started_at = Some(at);
                return None;
            }
            Record::SummaryEnded { result, usage } => {
                let summary = self.attempts.last_mut()?.end_summary(at, *result, *usage);
                HistoryEventKind::SummaryEnded(summary)
            }
            Record::AttemptSpawned { .. } => {
                let attempt = self.attempts.last_mut()?;
                (attempt.spawned_at, attempt.downtime) = (Some(at), Span::ZERO);
                HistoryEventKind::AttemptSpawned
            }
            Record::SessionOpened { session } => {
                self.attempts.last_mut()?.opened_session = Some(session.clone());
                return None;
            }
            Record::ProgressMade { .. } => {
                self.attempts.last_mut()?.made_progress = true;
                return None;
            }
            Record::LimitReached { limit, threshold, .. } => {
                HistoryEventKind::LimitReached { limit: *limit, threshold: *threshold }
            }
            Record::AgentStopped { claimed_done, .. } => {
                HistoryEventKind::AgentStopped { claimed_done: *claimed_done }
            }
            Record::PromptSent { prompt, results, .. } => {
                if matches!(prompt, PromptKind::WrapUp(_)) {
                    self.attempts.last_mut()?.wrap_up_after_results.get_or_insert(*results);
                }
                HistoryEventKind::PromptSent(*prompt)
            }
            Record::StopOrdered { cause, level, stall } => {
                let order = StopOrder { at, cause: *cause, level: *level, stall: *stall };
                self.attempts.last_mut()?.stops.push(order);
                HistoryEventKind::StopOrdered(order)
            }
            Record::StallDeferred { stall, .. } => {
                self.attempts.last_mut()?.deferrals += 1;
                HistoryEventKind::StallDeferred(*stall)
            }
            Record::Recovered { finding, last_record_at, changes } => HistoryEventKind::Recovered {
                finding: *finding,
                unsupervised: last_record_at.map(|last| at.since(last)),
                idle: self.on_recovered(at, *last_record_at),
                changes: changes.clone(),
            },
            Record::Downtime { duration } => HistoryEventKind::Downtime {
                duration: *duration,
                in_wait: self.current_wait().is_some(),
                unsupervised: false,
            },
            Record::AttemptEnded(end) => {
                let attempt = self.attempts.last_mut()?;
                (attempt.ended_at, attempt.end) = (Some(at), Some(end.clone()));
                HistoryEventKind::AttemptEnded
            }
            Record::Swept { stopped_processes } => {
                let attempt = self.attempts.last_mut()?;
                attempt.leftover_processes = attempt.leftover_processes.saturating_add(*stopped_processes);
                return None;
            }
            Record::CheckStarted => {
                self.checks.push(CheckHistory {
                    started_at: at,
                    ended_at: None,
                    downtime: Span::ZERO,
                    result: None,
                    review: None,
                });
                return None;
            }
            Record::ReviewStarted { .. } => {
                let number = self.state().reviews;
                let check = self.checks.last_mut()?;
                let before = check.review.map_or((0, Usage::default()), |last| (last.processes, last.usage));
                check.review = Some(ReviewHistory {
                    number,
                    processes: before.0 + 1,
                    started_at: at,
                    downtime: Span::ZERO,
                    result: None,
                    usage: before.1,
                });
                return None;
            }
            Record::ReviewEnded { result, usage, retry_at } => {
                if let Some(attempt) = self.attempts.last_mut() {
                    attempt.review_usage = attempt.review_usage.plus(*usage);
                }
                let check = self.state().checks;
                let review = self.checks.last_mut()?.review.as_mut()?;
                (review.result, review.usage) = (Some(*result), review.usage.plus(*usage));
                let duration = at.since(review.started_at) - review.downtime;
                HistoryEventKind::ReviewEnded {
                    check,
                    result: *result,
                    duration,
                    usage: *usage,
                    retry_at: *retry_at,
                }
            }
            Record::CheckEnded { result } => {
                let check = self.checks.last_mut()?;
                (check.ended_at, check.result) = (Some(at), Some(*result));
                let duration = at.since(check.started_at) - check.downtime;
                HistoryEventKind::CheckEnded { check: self.state().checks, result: *result, duration }
            }
            Record::CancelRequested { source } => HistoryEventKind::CancelRequested(*source),
            Record::SuspendOrdered { source } => HistoryEventKind::SuspendOrdered(*source),
            Record::Suspended { source } => HistoryEventKind::Suspended { source: *source, until: None },
            Record::RunReopened { request, changes } => HistoryEventKind::Reopened {
                request: request.clone(),
                changes: changes.clone(),
                finished: at.since(finished_at),
            },
            Record::RunFinished { outcome } => HistoryEventKind::Finished {
                outcome: *outcome,
                clocks: self.state().clocks,
                usage: self.state().usage,
            },
        })
    }

    /// Ends the previous wait and starts the current one, if there are any.
    fn update_waits(&mut self, at: Moment, record: &Record) {
        let current = self.current_wait();
        let Some(attempt) = self.attempts.last_mut() else { return };
        if let Some(last) = attempt.waits.last_mut().filter(|wait| wait.ended_at.is_none()) {
            last.ended_at = Some(at);
            last.cut_short = !matches!(record, Record::AttemptStarted { .. } | Record::ReviewStarted { .. });
        }
        attempt.waits.extend(current);
    }

    /// Starts or ends an outage. `before` is the start of the outage before this record.
    fn update_outages(&mut self, at: Moment, before: Option<Moment>, record: &Record) {
        match (before, self.state().outage_started_at) {
            (None, Some(from)) => self.outages.push(OutageHistory { from, until: None }),
            // To resume a run ends no outage.
            (Some(_), None) if !matches!(record, Record::RunReopened { .. }) => {
                if let Some(outage) = self.outages.last_mut() {
                    outage.until = Some(at);
                }
            }
            (Some(_), None | Some(_)) | (None, None) => {}
        }
    }

    /// Adds downtime to the attempt, the summary, the check and the review that it interrupted.
    fn add_downtime(&mut self, downtime: Span) {
        if let Some(attempt) = self.attempts.last_mut().filter(|attempt| attempt.end.is_none()) {
            attempt.downtime = attempt.downtime + downtime;
            attempt.summary_started_at = attempt.summary_started_at.map(|started_at| started_at + downtime);
        }
        if let Some(check) = self.checks.last_mut().filter(|check| check.ended_at.is_none()) {
            check.downtime = check.downtime + downtime;
            if let Some(review) = &mut check.review {
                review.downtime = review.downtime + downtime;
            }
        }
    }

    /// Ends the current suspension. Returns the downtime that the new supervisor recorded just before, after
    /// the last record of the dead one.
    fn on_recovered(&mut self, at: Moment, last_record_at: Option<Moment>) -> Span {
        let Some(last) = self.events.last_mut() else { return Span::ZERO };
        if let HistoryEventKind::Suspended { until, .. } = &mut last.kind {
            *until = Some(at);
        }
        if let HistoryEventKind::Downtime { duration, unsupervised, .. } = &mut last.kind
            && last_record_at.is_some_and(|last_record_at| last.at > last_record_at)
        {
            *unsupervised = true;
            return *duration;
        }
        Span::ZERO
    }
}

//! From records to a timeline: an entry for each thing that mattered, one for what was the same many times, none for
//! what every run does.

use super::attempts::{Attempt, Ended, Told};
use super::entry::{AttemptEnded, Entry, What, Work};
use super::facts::Facts;
use crate::output::words;
use longhaul_core::{
    Because, Moment, Next, OutcomeKind, Record, Remains, Run, Rung, Say, SettingChange, Span, Tally,
};
use std::collections::BTreeMap;

/// The timeline of the run that these records tell of. `attempts` are its attempts, `facts` what is known of them
/// besides.
pub fn timeline(told: &[Told<'_>], attempts: &[Attempt], facts: &BTreeMap<u32, Facts>) -> Vec<Entry> {
    let mut teller = Teller {
        attempts,
        facts,
        run: Run::new(),
        entries: Vec::new(),
        started: told.first().map_or(Moment(0), |(at, _)| *at),
        ordered: Moment(0),
        checks: 0,
        over: None,
    };
    for (at, record) in told {
        teller.run.apply(record);
        teller.tell(*at, record);
    }
    teller.tell_orphaned(teller.run.state().attempts(), None);
    fold(teller.entries)
}

struct Teller<'a> {
    attempts: &'a [Attempt],
    facts: &'a BTreeMap<u32, Facts>,
    /// The run so far.
    run: Run,
    entries: Vec<Entry>,
    started: Moment,
    /// When a check or a summary was ordered.
    ordered: Moment,
    checks: u32,
    /// Since when the run was over, if it was.
    over: Option<Moment>,
}

impl Teller<'_> {
    fn push(&mut self, at: Moment, what: What) {
        self.entries.push(Entry { what, at, until: at, elapsed_ms: at.since(self.started) });
    }

    fn tell(&mut self, at: Moment, record: &Record) {
        let attempt = self.run.state().attempts();
        match record {
            Record::RunStarted { .. } => self.started = at,
            Record::RunReopened { ask, changes, .. } => {
                let over_ms = self.over.map_or(Span::ZERO, |over| at.since(over));
                self.push(at, What::Reopened { ask: ask.clone(), over_ms, changes: changes.clone() });
            }
            Record::AttemptStarted { plan, .. } if self.entries.is_empty() => {
                self.push(at, What::Began { session: plan.session.clone() });
                self.begin(at, attempt);
            }
            Record::AttemptStarted { .. } => self.begin(at, attempt),
            Record::CondenseOrdered { .. } | Record::CheckOrdered { .. } => self.ordered = at,
            Record::Condensed { outcome, tally, .. } => {
                let (took_ms, total_cost_usd) = (at.since(self.ordered), tally.money().dollars());
                self.push(at, What::Summary { attempt, outcome: *outcome, took_ms, total_cost_usd });
            }
            Record::LimitReached { limit, reach, .. } => {
                self.push(at, What::LimitReached { attempt, limit: *limit, reach: *reach });
            }
            Record::Stopped { claimed, .. } => self.stop(at, attempt, u32::from(*claimed)),
            Record::Said { say, .. } => self.say(at, attempt, *say),
            Record::SilenceExcused { silence, .. } => {
                if let Some(Entry {
                    what: What::SilenceExcused { times, silence: last, .. }, until, ..
                }) = self.entries.last_mut()
                {
                    *times += 1;
                    (*last, *until) = (*silence, at);
                } else {
                    self.push(at, What::SilenceExcused { attempt, times: 1, silence: *silence });
                }
            }
            Record::Recovered { at, remains, last_at, changes } => {
                self.recover((*at, attempt), (*remains, changes), *last_at);
            }
            Record::Downtime { span } => self.push(at, What::Downtime { ms: *span }),
            Record::AttemptEnded { .. } => {
                self.tell_orphaned(attempt, Some(at));
                let known = self.attempts.iter().find(|known| known.number == attempt);
                let facts = self.facts.get(&attempt);
                if let Some(what) = known.and_then(|known| ending(known, facts)) {
                    self.push(at, What::AttemptEnded(Box::new(what)));
                }
            }
            Record::Checked { result, .. } => {
                self.checks += 1;
                let took_ms = at.since(self.ordered);
                self.push(at, What::Checked { check: self.checks, result: *result, took_ms });
            }
            Record::CancelOrdered { by, .. } => self.push(at, What::Cancelled { by: *by }),
            Record::Suspended { by, .. } => self.push(at, What::Suspended { by: *by }),
            Record::RunFinished { outcome, .. } => {
                self.over = Some(at);
                let state = self.run.state();
                let what = What::Over {
                    outcome: *outcome,
                    attempts: state.attempts(),
                    wall_ms: state.clocks.wall(at),
                    waiting_ms: state.clocks.waiting,
                    downtime_ms: state.clocks.downtime,
                    total_cost_usd: state.tally.money().dollars(),
                };
                self.push(at, what);
            }
            // How it began is told with its order, how it was stopped and what it left with its end.
            Record::RungTaken { .. }
            | Record::CondenseStopped { .. }
            | Record::AttemptSpawned { .. }
            | Record::SessionOpened { .. }
            | Record::Progressed { .. }
            | Record::InputEnded { .. }
            | Record::StopOrdered { .. }
            | Record::SuspendOrdered { .. }
            | Record::CheckStopped { .. }
            | Record::Swept { .. } => {}
        }
    }

    fn begin(&mut self, at: Moment, number: u32) {
        let Some(attempt) = self.attempts.iter().find(|known| known.number == number) else { return };
        let Attempt { rung, because, say, .. } = *attempt;
        self.push(at, What::AttemptBegan { attempt: number, rung, because, say });
    }

    /// A new supervisor is there. What it was told first, for how long nothing ran, is a part of that.
    fn recover(
        &mut self,
        (at, attempt): (Moment, u32),
        (remains, changes): (Remains, &[SettingChange]),
        last_at: Option<Moment>,
    ) {
        let slept = self.entries.pop_if(|entry| {
            matches!(entry.what, What::Downtime { .. }) && last_at.is_some_and(|last| entry.at > last)
        });
        let idle_ms = match slept {
            Some(Entry { what: What::Downtime { ms }, .. }) => ms,
            Some(_) | None => Span::ZERO,
        };
        let unsupervised_ms = last_at.map(|last| at.since(last));
        self.tell_orphaned(attempt, Some(at));
        self.push(
            at,
            What::Recovered { attempt, remains, unsupervised_ms, idle_ms, changes: changes.to_vec() },
        );
    }

    fn stop(&mut self, at: Moment, attempt: u32, claimed: u32) {
        if let Some(Entry { what: What::Stops { stops, claims, .. }, until, .. }) = self.entries.last_mut() {
            (*stops, *claims, *until) = (*stops + 1, *claims + claimed, at);
        } else {
            self.push(at, What::Stops { attempt, stops: 1, claims: claimed, told: 0 });
        }
    }

    fn say(&mut self, at: Moment, attempt: u32, say: Say) {
        match (say, self.entries.last_mut()) {
            (Say::KeepGoing(_) | Say::Confirm, Some(Entry { what: What::Stops { told, .. }, until, .. })) => {
                (*told, *until) = (*told + 1, at)
            }
            (
                Say::Task
                | Say::TaskAgain(_)
                | Say::Asked
                | Say::Continue(_)
                | Say::Nudge(_)
                | Say::WrapUp(_)
                | Say::More(_)
                | Say::CheckFailed(_)
                | Say::KeepGoing(_)
                | Say::Confirm,
                _,
            ) => self.push(at, What::Told { attempt, say }),
        }
    }

    /// That a watchdog ended this attempt, where one did before `end`.
    fn tell_orphaned(&mut self, attempt: u32, end: Option<Moment>) {
        let told = |entry: &Entry| matches!(entry.what, What::Orphaned { attempt: of, .. } if of == attempt);
        let orphaned = self.facts.get(&attempt).and_then(|facts| facts.orphaned);
        let Some(orphaned) = orphaned.filter(|_| !self.entries.iter().any(told)) else { return };
        let at = end.map_or(orphaned.at, |end| end.min(orphaned.at));
        let (silent_ms, processes_ended) = (orphaned.silent_ms, orphaned.processes_ended);
        self.push(at, What::Orphaned { attempt, silent_ms, processes_ended });
    }
}

/// How this attempt ended, if it has; `facts` is what is known of it besides its records.
pub fn ending(attempt: &Attempt, facts: Option<&Facts>) -> Option<AttemptEnded> {
    let ended = attempt.ended.as_ref()?;
    let exit = facts.and_then(|facts| facts.exit);
    let remedy = match &ended.next {
        Next::Attempt { remedy, .. } => Some(*remedy),
        Next::Check | Next::Finish(_) => None,
    };
    let waits_until = match &ended.next {
        Next::Attempt { at, .. } if attempt.waited.is_none() => Some(*at),
        Next::Attempt { .. } | Next::Check | Next::Finish(_) => None,
    };
    let work = Work {
        turns: ended.tally.turns,
        tool_calls: facts.and_then(|facts| facts.tool_calls),
        ..work(attempt.took(ended.at), ended.tally)
    };
    Some(AttemptEnded {
        attempt: attempt.number,
        last_attempt: attempt.number,
        since: attempt.began(),
        fault: ended.fault,
        evidence: words::evidence(attempt, exit),
        result: ended.result,
        exit,
        stopped: attempt.stopped,
        killed: attempt.killed,
        work,
        left_behind: attempt.left_behind,
        denied: ended.denied,
        questions: ended.questions.answered,
        background_stopped: facts.map(|facts| facts.background_stopped.clone()).unwrap_or_default(),
        remedy,
        planned_ms: attempt.planned(),
        waited_ms: attempt.waited,
        waits_until,
        checks: ended.next == Next::Check,
        finished: is_finished(ended),
    })
}

fn work(took_ms: Span, tally: Tally) -> Work {
    let (total, estimated) = (tally.money().dollars(), tally.cost_estimated.dollars());
    Work { took_ms, total_cost_usd: total, estimated_cost_usd: estimated, ..Work::default() }
}

/// Whether the agent's word that the work is done was what ended the attempt.
fn is_finished(ended: &Ended) -> bool {
    match &ended.next {
        Next::Check => true,
        Next::Finish(outcome) => outcome.kind == OutcomeKind::Done,
        Next::Attempt { .. } => false,
    }
}

/// Makes one entry of what belongs together: an attempt that began as every other, with its end; attempts in a row that
/// ended alike and came no further.
fn fold(entries: Vec<Entry>) -> Vec<Entry> {
    let mut folded: Vec<Entry> = Vec::new();
    for entry in entries {
        if let What::AttemptEnded(ended) = &entry.what {
            if folded.last().and_then(plainly_begun) == Some(ended.attempt) {
                folded.pop();
            }
            if let Some(Entry { what: What::AttemptEnded(before), until, .. }) = folded.last_mut()
                && is_same_wall(before, ended)
            {
                before.take(ended);
                // Until the run went on.
                *until = entry.until + ended.waited_ms.unwrap_or_default();
                continue;
            }
        }
        folded.push(entry);
    }
    // The first one is told by the beginning of the run, whatever followed.
    folded.retain(|entry| plainly_begun(entry) != Some(1));
    folded
}

/// The attempt of which an entry says no more than that it began, as those do that lost nothing of the conversation.
fn plainly_begun(entry: &Entry) -> Option<u32> {
    let What::AttemptBegan { attempt, rung, because, say } = entry.what else { return None };
    let is_whole = matches!(rung, None | Some(Rung::Resume)) || because == Some(Because::NeverOpened);
    (is_whole && !matches!(say, Say::WrapUp(_))).then_some(attempt)
}

/// Whether an attempt ended as the one before, and nothing was done in either.
fn is_same_wall(before: &AttemptEnded, after: &AttemptEnded) -> bool {
    let key = |ended: &AttemptEnded| (ended.fault, ended.remedy, ended.evidence.clone());
    let is_idle = |ended: &AttemptEnded| ended.work.turns == 0 && ended.work.tool_calls.unwrap_or(0) == 0;
    before.fault.is_some()
        && before.remedy.is_some()
        && key(before) == key(after)
        && is_idle(before)
        && is_idle(after)
}

impl AttemptEnded {
    /// Takes in the next one of the same wall.
    fn take(&mut self, next: &AttemptEnded) {
        let sum = |one: Option<Span>, other: Option<Span>| {
            one.into_iter().chain(other).reduce(|one, other| one + other)
        };
        self.last_attempt = next.last_attempt;
        (self.result, self.exit) = (next.result, next.exit);
        self.killed |= next.killed;
        self.work = self.work.plus(next.work);
        self.left_behind += next.left_behind;
        self.denied += next.denied;
        self.questions += next.questions;
        self.background_stopped.extend(next.background_stopped.iter().cloned());
        self.planned_ms = sum(self.planned_ms, next.planned_ms);
        self.waited_ms = sum(self.waited_ms, next.waited_ms);
        self.waits_until = next.waits_until;
        self.checks = next.checks;
        self.finished = next.finished;
    }
}

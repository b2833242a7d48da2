//! The only place where a run changes. Total: any record applies to any state, and a journal of an
//! older version loads for ever.

use super::{FaultSet, Phase, Reached, Run, Seen, Stage, State};
use crate::ladder::history_of;
use crate::{
    ApiError, Checked, Condensed, Fault, Moment, Next, Nudge, Push, Reach, Record, Remedy, RungSet, Say,
    SpawnPlan, StopLevel, StopWhy, Tally,
};

impl Run {
    /// Takes in one record.
    pub fn apply(&mut self, record: &Record) {
        match record {
            Record::AttemptStarted { at, .. } | Record::AttemptSpawned { at, .. } => {
                self.seen = Seen::afresh(*at)
            }
            Record::Downtime { span } => self.seen.slept(*span),
            Record::Said { at, .. } => self.seen.spoken_to(*at),
            // From now on it is in the run's own tally.
            Record::AttemptEnded { at, .. } => self.seen = Seen::afresh(*at),
            Record::RunStarted { .. }
            | Record::RunReopened { .. }
            | Record::RungTaken { .. }
            | Record::CondenseOrdered { .. }
            | Record::CondenseStopped { .. }
            | Record::Condensed { .. }
            | Record::SessionOpened { .. }
            | Record::Progressed { .. }
            | Record::LimitReached { .. }
            | Record::Stopped { .. }
            | Record::InputEnded { .. }
            | Record::StopOrdered { .. }
            | Record::SilenceExcused { .. }
            | Record::Recovered { .. }
            | Record::Swept { .. }
            | Record::CheckOrdered { .. }
            | Record::CheckStopped { .. }
            | Record::Checked { .. }
            | Record::CancelOrdered { .. }
            | Record::SuspendOrdered { .. }
            | Record::Suspended { .. }
            | Record::RunFinished { .. } => {}
        }
        self.state.apply(record);
    }
}

impl State {
    fn apply(&mut self, record: &Record) {
        match record {
            Record::RunStarted { at } => self.clocks.started = *at,
            Record::RunReopened { at, .. } => self.reopen(*at),
            Record::AttemptStarted { at, plan } => {
                self.end_wait(*at);
                self.phase = Phase::Launching;
                self.inherited |= plan.attempt == 1 && history_of(&plan.session).is_some();
                self.plan = Some(plan.clone());
                self.tell(plan.say);
                self.turns_before = 0;
                self.attempt_began = *at;
                self.proc = None;
                self.progressed = false;
                self.excused_until = None;
                self.input_ended = false;
                self.kills = 0;
                self.result = None;
            }
            Record::RungTaken { rung, .. } => {
                self.rungs = self.rungs.with(*rung);
                if let Some(plan) = &mut self.plan {
                    plan.rung = Some(*rung);
                }
            }
            Record::CondenseOrdered { at } => self.phase = Phase::Condensing { since: *at, stopped: None },
            Record::CondenseStopped { why, .. } => {
                if let Phase::Condensing { stopped, .. } = &mut self.phase {
                    *stopped = Some(*why);
                }
            }
            Record::Condensed { outcome, tally, .. } => {
                self.tally = self.tally.plus(*tally);
                self.phase = Phase::Launching;
                if let Some(plan) = &mut self.plan {
                    plan.left.money = plan.left.money.map(|money| money.less(tally.money()));
                    plan.condensed = *outcome == Condensed::Written;
                }
            }
            Record::AttemptSpawned { at, proc } => {
                // Between the order and the start a supervisor may have been dead for hours.
                self.attempt_began = *at;
                self.proc = Some(*proc);
                if self.phase == Phase::Launching {
                    self.phase = Phase::Live;
                }
            }
            Record::SessionOpened { session, .. } => self.session = Some(session.clone()),
            Record::Progressed { forgives, .. } => {
                self.progressed = true;
                if *forgives {
                    self.streak = 0;
                    self.wall_began = None;
                    self.wall_waits = 0;
                    self.malformed = 0;
                    self.parks = 0;
                    self.restarted = FaultSet::default();
                    self.rungs = RungSet::default();
                }
            }
            Record::LimitReached { limit, reach, turns, .. } => {
                self.turns_before = *turns;
                let stage = match reach {
                    Reach::Reserve => Stage::Due,
                    Reach::All => Stage::Over,
                };
                self.reached = Some(Reached { limit: *limit, stage });
            }
            Record::Stopped { claimed, workspace, turns, background, .. } => {
                self.turns_before = *turns;
                self.stop(*claimed, *workspace);
                if *background > 0 {
                    // Work continues, wherever it writes its files.
                    self.idle_stops = 0;
                }
            }
            Record::Said { say, turns, .. } => {
                self.turns_before = *turns;
                self.tell(*say);
                self.phase = Phase::Live;
            }
            Record::InputEnded { at } => {
                self.input_ended = true;
                if self.phase == Phase::Live {
                    self.phase = Phase::Closing { since: *at };
                }
            }
            Record::SilenceExcused { until, .. } => self.excused_until = Some(*until),
            Record::Recovered { at, .. } => self.recover(*at),
            Record::StopOrdered { at, why, level, .. } => {
                self.phase = Phase::Stopping { since: *at, why: *why, level: *level };
                self.kills += u32::from(*level == StopLevel::Kill);
            }
            Record::Downtime { span } => {
                self.attempt_began = self.attempt_began + *span;
                self.excused_until = self.excused_until.map(|until| until + *span);
                // Sleep during a wait is part of the wait.
                if !matches!(self.phase, Phase::Waiting { .. }) {
                    self.clocks.downtime = self.clocks.downtime + *span;
                }
                if let Phase::Closing { since }
                | Phase::Stopping { since, .. }
                | Phase::Checking { since, .. }
                | Phase::Condensing { since, .. } = &mut self.phase
                {
                    *since = *since + *span;
                }
            }
            Record::AttemptEnded { at, fault, tally, result, denied, questions, evidence, next, .. } => {
                self.proc = None;
                self.denied = self.denied.saturating_add(*denied);
                self.questions = self.questions.plus(*questions);
                self.fault = *fault;
                self.startup = evidence.as_ref().and_then(|evidence| evidence.startup);
                self.result = *result;
                self.tally = Tally::plus(self.tally, *tally);
                if let (Some(fault), Next::Attempt { remedy, plan, .. }) = (*fault, next) {
                    self.count(fault, *remedy, plan, *at);
                }
                self.phase = Phase::Sweeping { next: next.clone() };
            }
            Record::Swept { at, .. } => {
                if let Phase::Sweeping { next: Next::Attempt { at: until, plan, .. } } = &self.phase {
                    self.phase = Phase::Waiting { since: *at, until: *until, plan: plan.clone() };
                }
            }
            Record::CheckOrdered { at } => {
                self.checks += 1;
                self.phase = Phase::Checking { since: *at, stopped: None };
            }
            Record::CheckStopped { why, .. } => {
                if let Phase::Checking { stopped, .. } = &mut self.phase {
                    *stopped = Some(*why);
                }
            }
            Record::Checked { result, .. } => self.checks_failed += u32::from(*result != Checked::Passed),
            Record::CancelOrdered { by, .. } => self.cancel = Some(*by),
            Record::SuspendOrdered { by, .. } => self.suspend = Some(*by),
            Record::Suspended { at, by } => {
                self.end_wait(*at);
                let then = Box::new(std::mem::take(&mut self.phase));
                self.phase = Phase::Suspended { since: *at, by: *by, then };
            }
            Record::RunFinished { at, outcome } => {
                self.end_wait(*at);
                self.ended = *at;
                self.phase = Phase::Over { outcome: *outcome };
            }
        }
    }

    /// A new supervisor continues the run. One that was suspended returns to its phase before: nothing of it ran since.
    fn recover(&mut self, at: Moment) {
        self.suspend = None;
        if let Phase::Suspended { since, then, .. } = &mut self.phase {
            self.clocks.downtime = self.clocks.downtime + at.since(*since);
            self.phase = std::mem::take(&mut **then);
            if let Phase::Waiting { since, .. } = &mut self.phase {
                *since = at;
            }
        }
        // A check that was stopped for the suspension runs again.
        if let Phase::Checking { since, stopped: stopped @ Some(StopWhy::Suspended) } = &mut self.phase {
            (*since, *stopped) = (at, None);
        }
    }

    /// The agent stopped by itself.
    fn stop(&mut self, claimed: bool, workspace: Option<u64>) {
        let unchanged = workspace.is_some() && workspace == self.workspace;
        self.stops += 1;
        self.claims = if claimed { self.claims + 1 } else { 0 };
        self.idle_stops = if unchanged { self.idle_stops + 1 } else { 0 };
        self.workspace = workspace;
    }

    /// The agent hears this.
    fn tell(&mut self, say: Say) {
        self.warned |= matches!(say, Say::KeepGoing(Push { last: true, .. }));
        if let (Say::WrapUp(_), Some(reached)) = (say, &mut self.reached) {
            reached.stage = Stage::Told;
            self.wrap_ups += 1;
        }
    }

    /// A person decided that the run goes on: what bounded it before was spent on another decision.
    fn reopen(&mut self, at: Moment) {
        self.reopened = self.reopened.saturating_add(1);
        self.used_before = self.tally;
        self.attempts_before = self.attempts();
        self.clocks.over = self.clocks.over + at.since(self.ended);
        self.cancel = None;
        self.suspend = None;
        self.reached = None;
        self.wrap_ups = 0;
        self.checks_failed = 0;
        self.claims = 0;
        self.idle_stops = 0;
        self.warned = false;
        self.streak = 0;
        self.wall_began = None;
        self.wall_waits = 0;
        self.malformed = 0;
        self.parks = 0;
        self.nudges_finish = 0;
        self.nudges_smaller = 0;
        self.once = FaultSet::default();
        self.restarted = FaultSet::default();
        self.rungs = RungSet::default();
    }

    fn end_wait(&mut self, at: Moment) {
        if let Phase::Waiting { since, .. } = self.phase {
            self.clocks.waiting = self.clocks.waiting + at.since(since);
        }
    }

    /// Counts one more try against whatever bounds tries of this kind.
    fn count(&mut self, fault: Fault, remedy: Remedy, plan: &SpawnPlan, at: Moment) {
        match remedy {
            Remedy::WaitOut => {
                self.wall_began.get_or_insert(at);
                self.wall_waits += 1;
                if self.result.is_some_and(|result| result.api_error == Some(ApiError::Malformed)) {
                    self.malformed += 1;
                }
            }
            Remedy::Park => self.parks += 1,
            // The signal ended this attempt: it did not fail.
            Remedy::Resume if fault == Fault::Interrupted && self.suspend.is_some() => {}
            Remedy::Resume | Remedy::ResumeWhileProgressing | Remedy::ResumeWithinLimit => self.streak += 1,
            Remedy::KeepGoing => {}
            Remedy::ResumeOnce | Remedy::RetryOnce | Remedy::OtherSession | Remedy::ResumeExisting => {
                self.streak += 1;
                self.once = self.once.with(fault);
            }
            Remedy::NextRung | Remedy::FreshSession => self.restarted = self.restarted.with(fault),
            Remedy::Nudge(Nudge::Finish) => self.nudges_finish += 1,
            Remedy::Nudge(Nudge::SmallerSteps) => self.nudges_smaller += 1,
            Remedy::End | Remedy::EndUnlessAllowed => {}
        }
        // A session that is left behind is never resumed again.
        if self.session.as_ref().is_some_and(|session| session != plan.session.id()) {
            self.session = None;
        }
    }
}

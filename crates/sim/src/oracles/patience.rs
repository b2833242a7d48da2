//! Whether a working agent is left alone and a hanging one is not: judged from what the agent said
//! and when, by an own account of it.

use super::{Oracle, Verdict, ensure};
use longhaul_core::{Event, Moment, Notice, Policy, Record, SessionId, Span, StopWhy};

/// What the present process has said.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patience {
    live: bool,
    closing_since: Option<Moment>,
    stopping: bool,
    began: Moment,
    heard_at: Moment,
    /// When a new supervisor began to read the stream anew.
    recovered_at: Moment,
    halted: bool,
    swollen: bool,
    tools: u32,
    shells: u32,
    settled_at: Option<Moment>,
    idle: bool,
    rejections: u32,
    rejection: u32,
    /// The session that the attempt was to open, and whether it opened another.
    ordered: Option<SessionId>,
    other_session: bool,
}

impl Patience {
    /// Takes in an event before the run does.
    pub(crate) fn hear(&mut self, now: Moment, event: &Event, policy: &Policy) -> Verdict {
        match event {
            Event::Noticed(notice) => {
                self.overdue(now, policy)?;
                self.note(now, notice);
            }
            Event::Recovered(_) => self.begin_listening(now),
            // What a sleep means is told by its record, which a kill may take with it.
            Event::Suspended(_) | Event::Ticked => {}
            Event::Started(_)
            | Event::Reopened(_)
            | Event::Inspected(_)
            | Event::Condensed(_)
            | Event::Checked(_)
            | Event::Spawned(_)
            | Event::SpawnFailed(_)
            | Event::Exited(_)
            | Event::Swept(_)
            | Event::Cancelled(_) => self.overdue(now, policy)?,
        }
        Ok(())
    }

    fn begin_listening(&mut self, now: Moment) {
        let Patience { live, closing_since, stopping, began, .. } = *self;
        *self = Patience {
            ordered: self.ordered.take(),
            live,
            closing_since,
            stopping,
            began,
            heard_at: now,
            recovered_at: now,
            ..Patience::default()
        };
    }

    fn sleep(&mut self, span: Span) {
        self.began = self.began + span;
        self.heard_at = self.heard_at + span;
        self.settled_at = self.settled_at.map(|at| at + span);
        self.closing_since = self.closing_since.map(|at| at + span);
    }

    fn note(&mut self, now: Moment, notice: &Notice) {
        if *notice == Notice::Swollen {
            self.swollen = true;
            return;
        }
        self.halted = *notice == Notice::Halted;
        if self.halted {
            return;
        }
        self.heard_at = self.heard_at.max(now);
        match notice {
            Notice::SessionOpened(session) => {
                self.other_session |= self.ordered.as_ref().is_some_and(|ordered| ordered != session);
            }
            Notice::TurnBegan => (self.settled_at, self.idle) = (None, false),
            Notice::ToolBegan => {
                (self.settled_at, self.idle) = (None, false);
                self.tools += 1;
            }
            Notice::ToolEnded => self.tools = self.tools.saturating_sub(1),
            Notice::TurnEnded(_) => (self.settled_at, self.tools) = (Some(now), 0),
            Notice::Idled => self.idle = true,
            Notice::BackgroundChanged(shells) => {
                self.shells = *shells;
                self.idle = false;
            }
            Notice::Retrying { attempt, status, delay } => {
                self.heard_at = self.heard_at.max(now + *delay);
                if *status == Some(401) && *attempt != self.rejection {
                    self.rejection = *attempt;
                    self.rejections += 1;
                }
            }
            Notice::Stirred
            | Notice::Used(_)
            | Notice::RateLimitChanged(_)
            | Notice::Swollen
            | Notice::Halted => {}
        }
    }

    /// Something that should have been decided before now was not.
    fn overdue(&self, now: Moment, policy: &Policy) -> Verdict {
        // What is told again is told before anything can be decided.
        if !self.live || self.stopping || now == self.recovered_at {
            return Ok(());
        }
        let silent = self.settled_at.is_none() && (self.tools == 0 || self.halted);
        let hangs = policy.stall_timeout.is_some_and(|stall| now > self.heard_at + stall);
        ensure(!silent || !hangs, Oracle::Patience, || {
            format!("silent for {} and left alone", now.since(self.heard_at))
        })?;
        let lingers = match (self.settled_at, self.closing_since) {
            (Some(at), None) if self.shells > 0 => now > at + policy.background_wait,
            (Some(_), None) => now > self.heard_at + policy.linger,
            (Some(at), Some(since)) => now > at.max(since).max(self.heard_at) + policy.linger,
            (None, _) => false,
        };
        ensure(!lingers, Oracle::Patience, || "its work is over, and it is left running".to_owned())?;
        let late = policy.attempt_timeout.is_some_and(|timeout| now > self.began + timeout);
        ensure(!late || self.closing_since.is_some(), Oracle::Patience, || {
            "the attempt outlives its timeout".to_owned()
        })?;
        ensure(self.rejections < 2, Oracle::Patience, || "rejected twice and left to try on".to_owned())
    }

    /// Takes in a record: a stop needs its reason.
    pub(crate) fn take(&mut self, record: &Record, policy: &Policy) -> Verdict {
        match record {
            Record::AttemptStarted { at, plan } => {
                let ordered = Some(plan.session.id().clone());
                *self = Patience { began: *at, heard_at: *at, ordered, ..Patience::default() };
            }
            Record::AttemptSpawned { at, .. } => (self.live, self.heard_at, self.began) = (true, *at, *at),
            Record::InputEnded { at } => {
                self.may_end_input(*at, policy)?;
                if !self.stopping {
                    self.closing_since = Some(*at);
                }
            }
            Record::StopOrdered { at, why, .. } => {
                if !self.stopping {
                    self.may_stop(*at, *why, policy)?;
                }
                self.stopping = true;
            }
            Record::Said { at, .. } => {
                self.stopping = false;
                (self.settled_at, self.idle) = (None, false);
                (self.rejections, self.rejection) = (0, 0);
                self.heard_at = self.heard_at.max(*at);
            }
            Record::AttemptEnded { .. } => self.live = false,
            Record::Suspended { span } => self.sleep(*span),
            Record::RunStarted { .. }
            | Record::RunReopened { .. }
            | Record::RungTaken { .. }
            | Record::CondenseOrdered { .. }
            | Record::CondenseStopped { .. }
            | Record::Condensed { .. }
            | Record::SessionOpened { .. }
            | Record::Progressed { .. }
            | Record::CheckOrdered { .. }
            | Record::CheckStopped { .. }
            | Record::Checked { .. }
            | Record::LimitReached { .. }
            | Record::Swept { .. }
            | Record::CancelOrdered { .. }
            | Record::RunFinished { .. } => {}
        }
        Ok(())
    }

    fn may_end_input(&self, at: Moment, policy: &Policy) -> Verdict {
        let over = self.settled_at.is_some() && self.shells == 0;
        let quiet = self.idle || at >= self.heard_at + policy.linger;
        ensure(self.stopping || over && quiet, Oracle::Patience, || {
            format!("its input ends while it works: {self:?}")
        })
    }

    fn may_stop(&self, at: Moment, why: StopWhy, policy: &Policy) -> Verdict {
        let silence = at.since(self.heard_at);
        let may = match why {
            StopWhy::Stalled => {
                (self.tools == 0 || self.halted)
                    && self.settled_at.is_none()
                    && policy.stall_timeout.is_some_and(|stall| silence >= stall)
            }
            StopWhy::AttemptTimeout => {
                policy.attempt_timeout.is_some_and(|timeout| at >= self.began + timeout)
            }
            StopWhy::AuthRejected => self.rejections >= 2,
            StopWhy::Memory => self.swollen,
            // Those who count say whether it was time.
            StopWhy::Reserve | StopWhy::LimitReached => self.settled_at.is_none(),
            StopWhy::OtherSession => self.other_session,
            StopWhy::Lingered => match (self.settled_at, self.closing_since) {
                (Some(_), Some(since)) => at >= since + policy.linger,
                (Some(settled), None) => {
                    // Those who count say whether a limit ends it sooner.
                    let limited = policy.limits.are_set();
                    self.shells > 0 && (limited || at >= settled + policy.background_wait)
                }
                (None, _) => false,
            },
            StopWhy::Cancelled => true,
        };
        ensure(may, Oracle::Patience, || format!("stopped as {why:?} without the reason: {self:?}"))
    }
}

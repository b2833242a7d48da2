//! Whether sessions are used as they should be: opened under a fresh id, resumed when open, and
//! never resumed once left behind.

use super::{Oracle, OracleResult, ensure};
use crate::world::EndedAttempt;
use longhaul_core::{
    AfterAttempt, AttemptPlan, Continuity, Fault, PromptKind, Remedy, SessionId, SessionPlan,
};

/// The sessions of one run, as they truly were.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionWatch {
    /// Ids that were given to new sessions, and by which attempt.
    used: Vec<(SessionId, u32)>,
    /// The open session that the work is in.
    line: Option<SessionId>,
    leftover_processes: Vec<SessionId>,
}

impl SessionWatch {
    pub(crate) fn clear(&mut self) {
        self.used.clear();
        self.line = None;
        self.leftover_processes.clear();
    }

    /// Whether there is an open session that the work is in.
    pub(crate) fn is_open(&self) -> bool {
        self.line.is_some()
    }

    /// A process is about to start on this plan.
    pub(crate) fn check_spawn(&mut self, plan: &AttemptPlan) -> OracleResult {
        match &plan.session {
            SessionPlan::New(id) | SessionPlan::Fork { to: id, .. } => {
                let again = self.used.iter().any(|(used, attempt)| used == id && *attempt != plan.attempt);
                self.used.push((id.clone(), plan.attempt));
                ensure(!again, Oracle::Sessions, || format!("a second session under the id {id}"))
            }
            SessionPlan::Resume(id) => {
                ensure(!self.leftover_processes.contains(id), Oracle::Sessions, || {
                    format!("session {id} is resumed, and was left behind")
                })
            }
        }
    }

    /// An attempt on this plan ended; its session, if it opened that, is the line of work.
    pub(crate) fn take_end(&mut self, plan: &AttemptPlan, ended: &EndedAttempt) {
        if ended.evidence.session.as_ref() == Some(plan.session.id()) {
            self.line = ended.evidence.session.clone();
        }
    }

    /// What follows uses the right session and says the right thing.
    pub(crate) fn check_next(
        &mut self,
        before: &AttemptPlan,
        fault: Fault,
        continuity: Option<Continuity>,
        next: &AfterAttempt,
    ) -> OracleResult {
        let AfterAttempt::Attempt { remedy, plan, .. } = next else { return Ok(()) };
        if matches!(plan.prompt, PromptKind::WrapUp(_)) {
            let right = self.line.as_ref().is_none_or(|line| resumes(plan, line));
            return ensure(right, Oracle::Sessions, || {
                format!("the work of {:?} is to be saved in {plan:?}", self.line)
            });
        }
        let right = match remedy {
            Remedy::WaitOut
            | Remedy::Park
            | Remedy::Resume
            | Remedy::ResumeOnce
            | Remedy::RetryOnce
            | Remedy::ResumeWithinLimit
            | Remedy::ResumeWhileProgressing => match &self.line {
                Some(line) => {
                    let silent_for = continuity == Some(Continuity::Unchanged)
                        && !matches!(before.prompt, PromptKind::Continue(_));
                    let say = if silent_for { before.prompt } else { PromptKind::Continue(fault) };
                    resumes(plan, line) && plan.prompt == say
                }
                None => alike(&before.session, &plan.session) && plan.prompt == before.prompt,
            },
            Remedy::Nudge(nudge) => {
                self.line.as_ref().is_some_and(|line| resumes(plan, line))
                    && plan.prompt == PromptKind::Nudge(*nudge)
            }
            // It is asked for by no fault.
            Remedy::KeepGoing => false,
            Remedy::ResumeExisting => resumes(plan, before.session.id()) && plan.prompt == before.prompt,
            Remedy::ReplaceLostSession | Remedy::ReplaceFullSession => {
                self.leave();
                let told = matches!(plan.prompt, PromptKind::Task | PromptKind::TaskAfterLoss(_));
                matches!(plan.session, SessionPlan::New(_)) && told
            }
            Remedy::TryFork => match self.leave() {
                Some(line) => matches!(&plan.session, SessionPlan::Fork { from, .. } if *from == line),
                None => matches!(plan.session, SessionPlan::New(_)),
            },
            Remedy::End | Remedy::EndUnlessAllowed => false,
        };
        ensure(right, Oracle::Sessions, || {
            format!("{remedy:?} goes on with {plan:?}, the line is {:?}", self.line)
        })
    }

    /// A run whose agent stopped by itself goes on where it was.
    pub(crate) fn check_kept_going(&self, plan: &AttemptPlan) -> OracleResult {
        let told =
            matches!(plan.prompt, PromptKind::KeepGoing(_) | PromptKind::ConfirmDone | PromptKind::WrapUp(_));
        let right = told && self.line.as_ref().is_some_and(|line| resumes(plan, line));
        ensure(right, Oracle::Sessions, || format!("kept going with {plan:?}, the line is {:?}", self.line))
    }

    /// A run that was over goes on where it was.
    pub(crate) fn check_reopened(&self, plan: &AttemptPlan) -> OracleResult {
        let right = match &self.line {
            Some(line) => resumes(plan, line),
            None => matches!(plan.session, SessionPlan::New(_)),
        };
        ensure(right, Oracle::Sessions, || format!("reopened with {plan:?}, the line is {:?}", self.line))
    }

    fn leave(&mut self) -> Option<SessionId> {
        let line = self.line.take();
        self.leftover_processes.extend(line.clone());
        line
    }
}

fn resumes(plan: &AttemptPlan, session: &SessionId) -> bool {
    matches!(&plan.session, SessionPlan::Resume(id) if id == session)
}

/// The same order again; what was to be new is new again.
fn alike(before: &SessionPlan, after: &SessionPlan) -> bool {
    match (before, after) {
        (SessionPlan::New(_), SessionPlan::New(_)) => true,
        (SessionPlan::Resume(before), SessionPlan::Resume(after)) => before == after,
        (SessionPlan::Fork { from: before, .. }, SessionPlan::Fork { from: after, .. }) => before == after,
        (SessionPlan::New(_) | SessionPlan::Resume(_) | SessionPlan::Fork { .. }, _) => false,
    }
}

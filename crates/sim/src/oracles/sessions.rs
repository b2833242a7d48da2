//! Checks the use of sessions: each is opened with a new id, resumed if open, and never resumed after it was
//! abandoned.

use super::{Oracle, OracleResult, ensure};
use crate::world::EndedAttempt;
use longhaul_core::{
    AfterAttempt, AttemptPlan, Continuity, Fault, PromptKind, Remedy, SessionId, SessionPlan,
};

#[derive(Clone, Debug, Default)]
pub(crate) struct SessionWatch {
    /// Ids of new sessions, with the attempt that used them.
    used: Vec<(SessionId, u32)>,
    /// The open session that contains the work.
    current: Option<SessionId>,
    abandoned: Vec<SessionId>,
    /// Session that the last attempt planned.
    planned: Option<SessionPlan>,
}

impl SessionWatch {
    /// Returns whether a session with the work is open.
    pub(crate) fn is_open(&self) -> bool {
        self.current.is_some()
    }

    pub(crate) fn check_spawn(&mut self, plan: &AttemptPlan) -> OracleResult {
        match &plan.session {
            SessionPlan::New(id) | SessionPlan::Fork { to: id, .. } => {
                let is_reused =
                    self.used.iter().any(|(used, attempt)| used == id && *attempt != plan.attempt);
                self.used.push((id.clone(), plan.attempt));
                ensure(!is_reused, Oracle::Sessions, || format!("a second session with the id {id}"))
            }
            SessionPlan::Resume(id) => ensure(!self.abandoned.contains(id), Oracle::Sessions, || {
                format!("session {id} is resumed, but was abandoned")
            }),
        }
    }

    /// Records the end of an attempt. If the attempt opened its session, that session now contains the work.
    pub(crate) fn on_attempt_ended(&mut self, plan: &AttemptPlan, ended: &EndedAttempt) {
        self.planned = Some(plan.session.clone());
        if ended.evidence.session.as_ref() == Some(plan.session.id()) {
            self.current = ended.evidence.session.clone();
        }
    }

    /// Checks that the next attempt uses the right session and the right prompt.
    pub(crate) fn check_next(
        &mut self,
        before: &AttemptPlan,
        fault: Fault,
        continuity: Option<Continuity>,
        next: &AfterAttempt,
    ) -> OracleResult {
        let AfterAttempt::Attempt { remedy, plan, .. } = next else { return Ok(()) };
        if matches!(plan.prompt, PromptKind::WrapUp(_)) {
            let correct = self.current.as_ref().is_none_or(|current| resumes(plan, current));
            return ensure(correct, Oracle::Sessions, || {
                format!("{plan:?} wraps up, but the work is in {:?}", self.current)
            });
        }
        let correct = match remedy {
            Remedy::WaitOut
            | Remedy::Park
            | Remedy::Resume
            | Remedy::ResumeOnce
            | Remedy::RetryOnce
            | Remedy::ResumeWithinLimit
            | Remedy::ResumeWhileProgressing => match &self.current {
                Some(current) => {
                    let is_repeated = continuity == Some(Continuity::Unchanged)
                        && !matches!(before.prompt, PromptKind::Continue(_));
                    let prompt = if is_repeated { before.prompt } else { PromptKind::Continue(fault) };
                    resumes(plan, current) && plan.prompt == prompt
                }
                None => is_equivalent(&before.session, &plan.session) && plan.prompt == before.prompt,
            },
            Remedy::Nudge(nudge) => {
                self.current.as_ref().is_some_and(|current| resumes(plan, current))
                    && plan.prompt == PromptKind::Nudge(*nudge)
            }
            // No fault leads to this remedy.
            Remedy::KeepGoing => false,
            Remedy::ResumeExisting => resumes(plan, before.session.id()) && plan.prompt == before.prompt,
            Remedy::ReplaceLostSession | Remedy::ReplaceFullSession => {
                self.abandon();
                let has_prompt = matches!(plan.prompt, PromptKind::Task | PromptKind::TaskAfterLoss(_));
                matches!(plan.session, SessionPlan::New(_)) && has_prompt
            }
            Remedy::TryFork => match self.abandon() {
                Some(current) => matches!(&plan.session, SessionPlan::Fork { from, .. } if *from == current),
                None => matches!(plan.session, SessionPlan::New(_)),
            },
            Remedy::End | Remedy::EndUnlessAllowed => false,
        };
        ensure(correct, Oracle::Sessions, || {
            format!("{remedy:?} continues with {plan:?}, but the work is in {:?}", self.current)
        })
    }

    pub(crate) fn check_keep_going(&self, plan: &AttemptPlan) -> OracleResult {
        let has_prompt =
            matches!(plan.prompt, PromptKind::KeepGoing(_) | PromptKind::ConfirmDone | PromptKind::WrapUp(_));
        let correct = has_prompt && self.current.as_ref().is_some_and(|current| resumes(plan, current));
        ensure(correct, Oracle::Sessions, || {
            format!("keep-going continues with {plan:?}, but the work is in {:?}", self.current)
        })
    }

    /// Checks that a resumed run continues the same session, or repeats the plan if no session was opened.
    pub(crate) fn check_reopened(&mut self, plan: &AttemptPlan, fault: Option<Fault>) -> OracleResult {
        // The run ended before an attempt replaced the session.
        if let Some(SessionPlan::Resume(planned)) = &self.planned {
            self.abandoned.retain(|abandoned| abandoned != planned);
        }
        let correct = match (&self.current, &self.planned) {
            (Some(current), _) => resumes(plan, current),
            (None, Some(planned)) if fault != Some(Fault::SessionLost) => {
                is_equivalent(planned, &plan.session)
            }
            (None, _) => matches!(plan.session, SessionPlan::New(_)),
        };
        ensure(correct, Oracle::Sessions, || {
            format!("the run is resumed with {plan:?}, but the work is in {:?}", self.current)
        })
    }

    fn abandon(&mut self) -> Option<SessionId> {
        let current = self.current.take();
        self.abandoned.extend(current.clone());
        current
    }
}

fn resumes(plan: &AttemptPlan, session: &SessionId) -> bool {
    matches!(&plan.session, SessionPlan::Resume(id) if id == session)
}

/// Returns whether both plans request the same session, or both a new one.
fn is_equivalent(before: &SessionPlan, after: &SessionPlan) -> bool {
    match (before, after) {
        (SessionPlan::New(_), SessionPlan::New(_)) => true,
        (SessionPlan::Resume(before), SessionPlan::Resume(after)) => before == after,
        (SessionPlan::Fork { from: before, .. }, SessionPlan::Fork { from: after, .. }) => before == after,
        (SessionPlan::New(_) | SessionPlan::Resume(_) | SessionPlan::Fork { .. }, _) => false,
    }
}

//! Wraps a judge and persists each answer before returning it, so that every answer is paid for once. Asking
//! the same question again returns the stored answer.
//!
//! The question includes the playbook, so a changed playbook makes a different question.

use super::Worker;
use super::failpoints::{Failpoint, pass};
use super::transcript::hash_text;
use crate::database::{Item, JudgeKind, JudgeRequest, LearningDb};
use crate::diagnostics::{self, Diagnostics};
use crate::judge::Clock;
use crate::judging::JudgeQuestion;
use crate::{Judge, JudgeError, JudgeReply};
use async_trait::async_trait;
use jiff::tz::TimeZone;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(super) struct RecordedJudge<'a> {
    judge: &'a dyn Judge,
    kind: JudgeKind,
    clock: &'a dyn Clock,
    item: &'a Item,
    slice: i64,
    question: JudgeQuestion,
    answers: Mutex<AnswerCache>,
}

struct AnswerCache {
    learning: LearningDb,
    /// Number of times each question was asked. The same question is repeated if its answer was unusable.
    requests: BTreeMap<i64, usize>,
}

impl<'a> RecordedJudge<'a> {
    pub(super) fn new(
        worker: &'a Worker<'_>,
        learning: LearningDb,
        item: &'a Item,
        slice: i64,
        question: JudgeQuestion,
    ) -> RecordedJudge<'a> {
        let answers = Mutex::new(AnswerCache { learning, requests: BTreeMap::new() });
        RecordedJudge {
            judge: worker.judge,
            kind: worker.kind,
            clock: worker.clock,
            item,
            slice,
            question,
            answers,
        }
    }

    fn lock_answers(&self) -> MutexGuard<'_, AnswerCache> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the diagnostics of the item's project.
    fn diagnostics(&self) -> Diagnostics {
        Diagnostics::in_project(&self.item.queued.project, TimeZone::system())
    }

    /// Returns the stored answer to this question for the current number of requests.
    fn stored_answer(&self, prompt: i64) -> Option<JudgeReply> {
        let mut answers = self.lock_answers();
        let count = answers.requests.entry(prompt).or_default();
        let index = *count;
        *count += 1;
        // An answer that cannot be read is requested again.
        answers.learning.answers(self.slice, self.question, prompt).ok()?.into_iter().nth(index)
    }
}

#[async_trait]
impl Judge for RecordedJudge<'_> {
    async fn ask(&self, prompt: &str) -> Result<JudgeReply, JudgeError> {
        let hash = hash_text(prompt);
        if let Some(reply) = self.stored_answer(hash) {
            return Ok(reply);
        }
        pass(Failpoint::Asking);
        let (diagnostics, names) = (self.diagnostics(), diagnostics::QuestionNames::new(self.question));
        let result = self.judge.ask_observed(prompt, &diagnostics.request_observer(names)).await;
        if let Ok(reply) = &result {
            diagnostics.write_answer(self.clock.now().at, names, names.answer, prompt, &reply.text);
        }
        let answers = self.lock_answers();
        let request = JudgeRequest {
            at: self.clock.now().at,
            project: &self.item.queued.project,
            slice: Some(self.slice),
            question: self.question,
            judge: self.kind,
            model: self.judge.model(),
            prompt: hash,
            result: result.as_ref(),
        };
        // If the record cannot be written, the result cannot either, and the worker reports that error.
        let _ = answers.learning.record_request(&request);
        if result.is_ok() {
            let _ = answers.learning.clear_backoff(self.kind, &self.item.queued.destination);
            pass(Failpoint::Answered);
        }
        result
    }

    fn model(&self) -> &str {
        self.judge.model()
    }

    fn prompt_tokens_max(&self) -> u64 {
        self.judge.prompt_tokens_max()
    }
}

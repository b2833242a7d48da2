//! Wraps a judge and persists each answer before returning it, so that every answer is paid for once. Asking
//! the same question again returns the stored answer.
//!
//! The question includes the playbook, so a changed playbook makes a different question.

use super::Worker;
use super::transcript::hash_text;
use crate::database::{Item, JudgeRequest, LearningDb};
use crate::diagnostics::Diagnostics;
use crate::failpoints::{Failpoint, pass};
use crate::judge::{Clock, RequestObserver};
use crate::judging::JudgeQuestion;
use crate::{Judge, JudgeError, JudgeReply};
use async_trait::async_trait;
use jiff::tz::TimeZone;
use longhaul_store::DatabaseError;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(super) struct RecordedJudge<'a> {
    judge: &'a dyn Judge,
    clock: &'a dyn Clock,
    item: &'a Item,
    slice: i64,
    question: JudgeQuestion,
    answers: Mutex<AnswerCache>,
}

struct AnswerCache {
    /// A separate connection, because it writes while the worker waits.
    learning: LearningDb,
    /// Number of times each question was asked. The same question is repeated if its answer was unusable.
    requests: BTreeMap<i64, usize>,
}

impl<'a> RecordedJudge<'a> {
    pub(super) fn new(
        worker: &'a Worker<'_>,
        item: &'a Item,
        slice: i64,
        question: JudgeQuestion,
    ) -> Result<RecordedJudge<'a>, DatabaseError> {
        let learning = LearningDb::open(worker.paths)?;
        let answers = Mutex::new(AnswerCache { learning, requests: BTreeMap::new() });
        Ok(RecordedJudge { judge: worker.judge, clock: worker.clock, item, slice, question, answers })
    }

    fn lock_answers(&self) -> MutexGuard<'_, AnswerCache> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
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
    async fn ask(&self, prompt: &str, _observer: RequestObserver<'_>) -> Result<JudgeReply, JudgeError> {
        let hash = hash_text(prompt);
        if let Some(reply) = self.stored_answer(hash) {
            return Ok(reply);
        }
        pass(Failpoint::Asking);
        let queued = &self.item.queued;
        let diagnostics = Diagnostics::in_project(&queued.project, TimeZone::system());
        let question = self.question;
        let result =
            self.judge.ask(prompt, &|at, event| diagnostics.write_request(at, question, event)).await;
        if let Ok(reply) = &result {
            diagnostics.write_answer(self.clock.now().at, question, None, prompt, &reply.text);
        }
        let answers = self.lock_answers();
        let request = JudgeRequest {
            at: self.clock.now().at,
            project: &queued.project,
            slice: Some(self.slice),
            question: self.question,
            judge: queued.judge,
            model: self.judge.model(),
            prompt: hash,
            result: result.as_ref(),
        };
        // If the record cannot be written, the result cannot either, and the worker reports that error.
        let _ = answers.learning.record_request(&request);
        if result.is_ok() {
            let _ = answers.learning.clear_pause(queued.judge, &queued.destination);
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

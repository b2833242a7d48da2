//! A judge of whom each answer is written down before anybody reads it, so that it is paid for once: whoever asks the same
//! again gets the answer that there was. A question shows the playbook: if that has changed in between, it is another one.

use super::Worker;
use super::failpoints::{Failpoint, pass};
use super::transcript::hash_of;
use crate::database::{Item, JudgeKind, JudgeRequest, LearningDb};
use crate::diagnostics::{self, Diagnostics};
use crate::judge::Clock;
use crate::judging::JudgeQuestion;
use crate::{Judge, JudgeError, Reply};
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
    kept: Mutex<AnswerCache>,
}

struct AnswerCache {
    learning: LearningDb,
    /// How often each question was asked: the same one is asked again where its answer was of no use.
    requests: BTreeMap<i64, usize>,
}

impl<'a> RecordedJudge<'a> {
    pub(super) fn new(
        worker: &'a Worker<'_>,
        (learning, item): (LearningDb, &'a Item),
        (slice, what): (i64, JudgeQuestion),
    ) -> RecordedJudge<'a> {
        let kept = Mutex::new(AnswerCache { learning, requests: BTreeMap::new() });
        RecordedJudge {
            judge: worker.judge,
            kind: worker.kind,
            clock: worker.clock,
            item,
            slice,
            question: what,
            kept,
        }
    }

    fn kept(&self) -> MutexGuard<'_, AnswerCache> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What leaves texts in the item's project.
    fn diagnostics(&self) -> Diagnostics {
        Diagnostics::of_project(&self.item.queued.project, TimeZone::system())
    }

    /// The answer that was given to this question when it was asked as often as it is now.
    fn known(&self, prompt: i64) -> Option<Reply> {
        let mut kept = self.kept();
        let asked = kept.requests.entry(prompt).or_default();
        let place = *asked;
        *asked += 1;
        // What cannot be read is asked again.
        kept.learning.answers(self.slice, self.question, prompt).ok()?.into_iter().nth(place)
    }
}

#[async_trait]
impl Judge for RecordedJudge<'_> {
    async fn ask(&self, prompt: &str) -> Result<Reply, JudgeError> {
        let hash = hash_of(prompt);
        if let Some(reply) = self.known(hash) {
            return Ok(reply);
        }
        pass(Failpoint::Asking);
        let (diagnostics, of) = (self.diagnostics(), diagnostics::Asked::new(self.question));
        let result = self.judge.ask_observed(prompt, &diagnostics.request_observer(of)).await;
        if let Ok(reply) = &result {
            diagnostics.answered(self.clock.now().at, of, of.answer, prompt, &reply.text);
        }
        let kept = self.kept();
        let asked = JudgeRequest {
            at: self.clock.now().at,
            project: &self.item.queued.project,
            slice: Some(self.slice),
            question: self.question,
            judge: self.kind,
            model: self.judge.model(),
            prompt: hash,
            result: result.as_ref(),
        };
        // Where it cannot be written down, what comes of it cannot either, and the worker says so then.
        let _ = kept.learning.asked(&asked);
        if result.is_ok() {
            let _ = kept.learning.answered(self.kind, &self.item.queued.destination);
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

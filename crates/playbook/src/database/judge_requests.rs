//! Records the questions to judges, with their answers and cost.

use super::LearningDb;
use super::queue::JudgeKind;
use crate::judging::JudgeQuestion;
use crate::{JudgeError, JudgeReply};
use longhaul_core::{Moment, Tokens, Usd};
use longhaul_store::DatabaseError;
use rusqlite::params;
use std::path::Path;

/// A question that was sent to a judge.
#[derive(Clone, Copy, Debug)]
pub struct JudgeRequest<'a> {
    /// When the answer or the error arrived.
    pub at: Moment,
    /// Project of the question.
    pub project: &'a Path,
    /// Slice that the question is about.
    pub slice: Option<i64>,
    /// Kind of question.
    pub question: JudgeQuestion,
    /// Judge that received it.
    pub judge: JudgeKind,
    /// Requested model. The answer names the model that gave it.
    pub model: &'a str,
    /// Hash of the prompt.
    pub prompt: i64,
    /// Answer or error.
    pub result: Result<&'a JudgeReply, &'a JudgeError>,
}

impl LearningDb {
    /// Records a question with its answer. The record is on disk when this returns.
    ///
    /// # Errors
    /// Returns [`DatabaseError`] if the database cannot be written.
    pub fn record_request(&self, request: &JudgeRequest<'_>) -> Result<(), DatabaseError> {
        let reply = request.result.ok();
        let Tokens { input, output, cache_read, cache_write } =
            reply.map_or_else(Tokens::default, |reply| reply.tokens);
        let sql = "INSERT INTO judge_requests (at, project, slice, question, judge, model, input, output, cache_read, cache_write, cost,
                                      fault, prompt, answer)
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        self.database.query(|db| {
            let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
            db.execute(
                sql,
                params![
                    number(request.at.0),
                    request.project.to_string_lossy(),
                    request.slice,
                    request.question.as_str(),
                    request.judge.as_str(),
                    reply.map_or(request.model, |reply| &reply.model),
                    number(input),
                    number(output),
                    number(cache_read),
                    number(cache_write),
                    reply.and_then(|reply| reply.cost).map(|Usd(cost)| number(cost)),
                    request.result.err().map(|error| error.fault.as_str()),
                    request.prompt,
                    // A question without a slice is never repeated, so its answer is not stored.
                    request.slice.and(reply).map(|reply| &reply.text),
                ],
            )
            .map(drop)
        })
    }

    /// Returns the stored answers to this question, oldest first, for reuse when it is repeated.
    pub(crate) fn answers(
        &self,
        slice: i64,
        question: JudgeQuestion,
        prompt: i64,
    ) -> Result<Vec<JudgeReply>, DatabaseError> {
        let sql = "SELECT answer, model, input, output, cache_read, cache_write, cost FROM judge_requests
                   WHERE slice = ? AND question = ? AND prompt = ? AND answer IS NOT NULL ORDER BY id";
        self.database.query(|db| {
            let mut statement = db.prepare(sql)?;
            let answers = statement.query_map(params![slice, question.as_str(), prompt], |row| {
                let number = |index| row.get::<_, i64>(index).map(i64::cast_unsigned);
                Ok(JudgeReply {
                    text: row.get(0)?,
                    model: row.get(1)?,
                    tokens: Tokens {
                        input: number(2)?,
                        output: number(3)?,
                        cache_read: number(4)?,
                        cache_write: number(5)?,
                    },
                    cost: row.get::<_, Option<i64>>(6)?.map(|cost| Usd(cost.cast_unsigned())),
                })
            });
            answers?.collect()
        })
    }
}

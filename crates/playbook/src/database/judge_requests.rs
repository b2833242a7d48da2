//! Records the questions to judges, with their answers and cost.

use super::queue::JudgeKind;
use super::status::rows;
use super::{LearningDb, moment, number};
use crate::judging::JudgeQuestion;
use crate::{JudgeError, JudgeReply};
use longhaul_core::{Moment, Tokens, Usd};
use longhaul_store::DatabaseError;
use rusqlite::{Row, params};
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

/// A billed answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeCost {
    /// When it arrived.
    pub at: Moment,
    /// Project of the question.
    pub project: String,
    /// Model that answered.
    pub model: String,
    /// Tokens used.
    pub tokens: Tokens,
    /// Cost by the price table, or `None` if the model has no price.
    pub cost: Option<Usd>,
}

impl LearningDb {
    /// Records a question with its answer. The record is on disk when this returns.
    pub fn record_request(&self, request: &JudgeRequest<'_>) -> Result<(), DatabaseError> {
        let reply = request.result.ok();
        let tokens = reply.map_or_else(Tokens::default, |reply| reply.tokens);
        let sql =
            "INSERT INTO judge_requests (at, project, slice, question, judge, model, input, output, cache_read,
                                                cache_write, cost, fault, prompt, answer)
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        self.database.query(|db| {
            let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
            db.execute(
                sql,
                params![
                    number(request.at.0),
                    request.project.to_string_lossy(),
                    request.slice,
                    <&str>::from(request.question),
                    request.judge.as_str(),
                    reply.map_or(request.model, |reply| &reply.model),
                    number(tokens.input),
                    number(tokens.output),
                    number(tokens.cache_read),
                    number(tokens.cache_write),
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
        let sql = "SELECT input, output, cache_read, cache_write, cost, answer, model FROM judge_requests
                   WHERE slice = ? AND question = ? AND prompt = ? AND answer IS NOT NULL ORDER BY id";
        self.database.query(|db| {
            rows(db, sql, params![slice, <&str>::from(question), prompt], |row| {
                let (tokens, cost) = (tokens(row)?, cost(row)?);
                Ok(JudgeReply { text: row.get(5)?, model: row.get(6)?, tokens, cost })
            })
        })
    }

    /// Returns every billed answer since this moment. Answers from Claude Code are excluded, because their
    /// runs count them.
    pub fn judge_costs(&self, since: Moment) -> Result<Vec<JudgeCost>, DatabaseError> {
        let sql =
            "SELECT input, output, cache_read, cache_write, cost, at, project, model FROM judge_requests
                   WHERE at >= ? AND fault IS NULL AND judge = 'api' ORDER BY at, id";
        self.database.query(|db| {
            rows(db, sql, [i64::try_from(since.0).unwrap_or(i64::MAX)], |row| {
                let (tokens, cost) = (tokens(row)?, cost(row)?);
                Ok(JudgeCost { at: moment(row, 5)?, project: row.get(6)?, model: row.get(7)?, tokens, cost })
            })
        })
    }
}

/// Reads the tokens in the first four columns.
fn tokens(row: &Row<'_>) -> rusqlite::Result<Tokens> {
    Ok(Tokens {
        input: number(row, 0)?,
        output: number(row, 1)?,
        cache_read: number(row, 2)?,
        cache_write: number(row, 3)?,
    })
}

fn cost(row: &Row<'_>) -> rusqlite::Result<Option<Usd>> {
    Ok(row.get::<_, Option<i64>>(4)?.map(|cost| Usd(cost.cast_unsigned())))
}

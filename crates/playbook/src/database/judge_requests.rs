//! What judges were asked, what they answered, and what that cost.

use super::queue::JudgeKind;
use super::{LearningDb, LearningError};
use crate::judging::JudgeQuestion;
use crate::{JudgeError, Reply};
use longhaul_core::{Moment, Tokens, Usd};
use rusqlite::params;
use std::path::Path;

/// A question that was asked.
#[derive(Clone, Copy, Debug)]
pub struct JudgeRequest<'a> {
    /// When its answer came, or nothing did.
    pub at: Moment,
    /// The project that it was asked for.
    pub project: &'a Path,
    /// The slice that it was asked for.
    pub slice: Option<i64>,
    /// What was asked for.
    pub question: JudgeQuestion,
    /// Who was asked.
    pub judge: JudgeKind,
    /// The model that was asked for; the answer says itself whose it is.
    pub model: &'a str,
    /// A hash of the question.
    pub prompt: i64,
    /// What came of it.
    pub result: Result<&'a Reply, &'a JudgeError>,
}

impl LearningDb {
    /// Writes down that a question was asked, with its answer, on disk when this returns.
    ///
    /// # Errors
    /// [`LearningError`].
    pub fn asked(&self, asked: &JudgeRequest<'_>) -> Result<(), LearningError> {
        let reply = asked.result.ok();
        let Tokens { input, output, cache_read, cache_write } =
            reply.map_or_else(Tokens::default, |reply| reply.tokens);
        let sql = "INSERT INTO asked (at, project, slice, what, judge, model, input, output, cache_read, cache_write, cost,
                                      fault, prompt, answer)
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        self.known(|db| {
            let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
            db.execute(
                sql,
                params![
                    number(asked.at.0),
                    asked.project.to_string_lossy(),
                    asked.slice,
                    asked.question.as_str(),
                    asked.judge.as_str(),
                    reply.map_or(asked.model, |reply| &reply.model),
                    number(input),
                    number(output),
                    number(cache_read),
                    number(cache_write),
                    reply.and_then(|reply| reply.cost).map(|Usd(cost)| number(cost)),
                    asked.result.err().map(|error| error.fault.word()),
                    asked.prompt,
                    // Nobody asks again for what has no slice.
                    asked.slice.and(reply).map(|reply| &reply.text),
                ],
            )
            .map(drop)
        })
    }

    /// The answers to this question that are kept, the first one first: whoever asks again reads them.
    pub(crate) fn answers(
        &self,
        slice: i64,
        what: JudgeQuestion,
        prompt: i64,
    ) -> Result<Vec<Reply>, LearningError> {
        let sql = "SELECT answer, model, input, output, cache_read, cache_write, cost FROM asked
                   WHERE slice = ? AND what = ? AND prompt = ? AND answer IS NOT NULL ORDER BY id";
        self.known(|db| {
            let mut statement = db.prepare(sql)?;
            let answers = statement.query_map(params![slice, what.as_str(), prompt], |row| {
                let number = |place| row.get::<_, i64>(place).map(i64::cast_unsigned);
                Ok(Reply {
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

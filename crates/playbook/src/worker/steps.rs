//! Defines the steps that a worker delegates: asking the judge and changing the playbook.

use crate::database::{Item, LearningDb};
use crate::judging::{Reflection, ReflectionResult};
use crate::worker::transcript::hash_text;
use crate::{Judge, JudgeError};
use async_trait::async_trait;
use longhaul_core::Moment;
use longhaul_store::DatabaseError;
use serde_json::Value;
use std::collections::BTreeSet;

/// The slice that a step works on.
#[derive(Clone, Copy, Debug)]
pub struct StepInput<'a> {
    /// Queue item.
    pub item: &'a Item,
    /// Row id of the slice.
    pub slice: i64,
    /// Whole lines of the transcript, or empty if another worker has stored the reflection.
    pub bytes: &'a [u8],
    /// When the worker took the slice.
    pub at: Moment,
    pub(super) judged: &'a BTreeSet<i64>,
}

impl StepInput<'_> {
    /// Returns whether the row of this id was judged before, in any transcript.
    pub fn is_judged(&self, row: &str) -> bool {
        self.judged.contains(&hash_text(row))
    }
}

/// The steps from a slice to an updated playbook. Each answer is on disk before the next step starts.
#[async_trait]
pub trait WorkerSteps: Send + Sync {
    /// Asks what helped.
    async fn reflect(
        &self,
        subject: &StepInput<'_>,
        judge: &dyn Judge,
    ) -> Result<ReflectionResult, StepError>;

    /// Asks how to change the playbook.
    async fn curate(
        &self,
        subject: &StepInput<'_>,
        reflection: &Reflection,
        judge: &dyn Judge,
    ) -> Result<Vec<Value>, StepError>;

    /// Changes the playbook at most once per slice, even if called again, and returns a short summary. After
    /// an error it is unchanged.
    fn learn(
        &self,
        learning: &mut LearningDb,
        subject: &StepInput<'_>,
        reflection: &Reflection,
        operations: &[Value],
    ) -> Result<String, StepError>;
}

/// Why a step failed.
#[derive(Debug)]
pub enum StepError {
    /// The judge did not answer.
    Judge(JudgeError),
    /// There is nothing to judge, for this reason.
    Nothing(&'static str),
    /// It cannot be done now, for a reason other than the judge.
    Later(String),
    /// It can never be done.
    Never(String),
    /// The learning database failed.
    Database(DatabaseError),
}

impl StepError {
    pub(super) const NO_MESSAGES: StepError = StepError::Nothing("it contains no messages");
}

impl From<DatabaseError> for StepError {
    fn from(error: DatabaseError) -> StepError {
        StepError::Database(error)
    }
}

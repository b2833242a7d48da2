//! What a worker has others do: ask, and change the playbook.

use crate::database::{Item, LearningDb};
use crate::judging::{Reflection, ReflectionResult};
use crate::worker::transcript::hash_of;
use crate::{Judge, JudgeError};
use async_trait::async_trait;
use longhaul_core::Moment;
use serde_json::Value;
use std::collections::BTreeSet;

/// A slice in a worker's hands.
#[derive(Clone, Copy, Debug)]
pub struct StepInput<'a> {
    /// What was queued.
    pub item: &'a Item,
    /// The slice's number.
    pub slice: i64,
    /// Its bytes: whole lines of its transcript; none where another worker has had it reflected on.
    pub bytes: &'a [u8],
    /// When the worker took it up.
    pub at: Moment,
    pub(super) judged: &'a BTreeSet<i64>,
}

impl StepInput<'_> {
    /// Whether the row of this id was judged before, in this transcript or in another one.
    pub fn is_judged(&self, row: &str) -> bool {
        self.judged.contains(&hash_of(row))
    }
}

/// The steps from a slice to a playbook that knows it. Each answer is on disk before the next step is made.
#[async_trait]
pub trait WorkerSteps: Send + Sync {
    /// Asks what helped.
    async fn reflect(
        &self,
        subject: &StepInput<'_>,
        judge: &dyn Judge,
    ) -> Result<ReflectionResult, StepError>;

    /// Asks what the playbook should say.
    async fn curate(
        &self,
        subject: &StepInput<'_>,
        reflection: &Reflection,
        judge: &dyn Judge,
    ) -> Result<Vec<Value>, StepError>;

    /// Changes the playbook, once for each slice however often it is called, and says what came of it in a few words.
    ///
    /// # Errors
    /// [`StepError`].
    fn learn(
        &self,
        learning: &mut LearningDb,
        subject: &StepInput<'_>,
        reflection: &Reflection,
        operations: &[Value],
    ) -> Result<String, StepError>;
}

/// Why a step was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepError {
    /// There is no answer.
    Judge(JudgeError),
    /// There is nothing to judge: nobody said anything.
    Nothing,
    /// It is for something else than the judge that it cannot be made now.
    Later(String),
    /// It will never be made.
    Never(String),
}

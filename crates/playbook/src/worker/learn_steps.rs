//! Implements the steps of a worker: the reflector, the curator, and the playbook of the item's project.

use super::steps::{StepError, StepInput, WorkerSteps};
use crate::database::{Revision, RevisionCause};
use crate::file::{ChangeOutcome, ChangeResult};
use crate::judging::{self, Excerpt, JudgingError, Reflection, ReflectionResult};
use crate::points;
use crate::templates::Templates;
use crate::{FileError, Judge, LearningDb, LearningPaths, Playbook, PlaybookFile};
use async_trait::async_trait;
use serde_json::Value;
use std::fs;
use std::io::ErrorKind;

/// The default steps of a worker.
pub struct LearnSteps {
    /// Paths of the learning data.
    pub paths: LearningPaths,
    /// Prompts for the judges.
    pub templates: Templates,
    /// Minimum similarity of duplicates.
    pub threshold: f64,
}

#[async_trait]
impl WorkerSteps for LearnSteps {
    async fn reflect(
        &self,
        subject: &StepInput<'_>,
        judge: &dyn Judge,
    ) -> Result<ReflectionResult, StepError> {
        let slice = Excerpt::new(subject.bytes, |row| subject.is_judged(row));
        let slice = slice.map_err(|error| {
            let path = subject.item.queued.transcript.display();
            StepError::Never(format!("cannot read {path}: {error}; {}", error.hint))
        })?;
        if slice.is_empty() {
            return Err(StepError::NO_MESSAGES);
        }
        let playbook = self.playbook(subject)?;
        judging::reflect(judge, &slice, &playbook, &self.templates).await.map_err(judging_error)
    }

    async fn curate(
        &self,
        subject: &StepInput<'_>,
        reflection: &Reflection,
        judge: &dyn Judge,
    ) -> Result<Vec<Value>, StepError> {
        let playbook = self.playbook(subject)?;
        judging::curate(judge, reflection, &playbook, &self.templates).await.map_err(judging_error)
    }

    fn learn(
        &self,
        learning: &mut LearningDb,
        subject: &StepInput<'_>,
        reflection: &Reflection,
        operations: &[Value],
    ) -> Result<String, StepError> {
        let file = file(subject)?;
        let changed =
            file.change(learning, &RevisionCause::SliceRow(subject.slice), subject.at, |playbook| {
                points::apply(playbook, &reflection.tags, operations, self.threshold)
            });
        changed.map(|changed| summary(&changed)).map_err(|error| file_error(&error))
    }
}

impl LearnSteps {
    /// Returns the playbook that the judges see. For a damaged file it is the state that the next change
    /// starts from.
    fn playbook(&self, subject: &StepInput<'_>) -> Result<Playbook, StepError> {
        let file = file(subject)?;
        match file.read() {
            Ok(loaded) => Ok(loaded.playbook),
            Err(FileError::Damaged { .. }) => {
                let last = LearningDb::open(&self.paths)
                    .and_then(|learning| learning.last_revisions(&file.project()))
                    .map_err(|error| StepError::Later(format!("{error}; {}", error.hint())))?;
                Ok(last.0.as_ref().map(Revision::playbook).unwrap_or_default())
            }
            Err(error) => Err(file_error(&error)),
        }
    }
}

/// Returns the playbook file. A project that was removed has none and will hardly return, which is detected
/// before any question is asked.
fn file(subject: &StepInput<'_>) -> Result<PlaybookFile, StepError> {
    let project = &subject.item.queued.project;
    let is_gone = match fs::metadata(project) {
        Ok(metadata) => !metadata.is_dir(),
        Err(cause) => matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    };
    if is_gone {
        return Err(StepError::Never(format!("{} is no longer a directory", project.display())));
    }
    Ok(PlaybookFile::in_project(project))
}

fn judging_error(error: JudgingError) -> StepError {
    match error {
        JudgingError::Judge(error) => StepError::Judge(error),
        JudgingError::Never(_) => StepError::Never(error.to_string()),
    }
}

/// Any reason why the playbook cannot be changed now. The answers of the judges are already recorded.
fn file_error(error: &FileError) -> StepError {
    StepError::Later(format!("{error}; {}", error.hint()))
}

fn summary(changed: &ChangeResult) -> String {
    let ChangeResult { outcome, changes, damaged_copy, warnings, .. } = changed;
    let mut summary = match outcome {
        ChangeOutcome::Saved | ChangeOutcome::AlreadyApplied => changes.summary_line(),
        ChangeOutcome::Unchanged => "no new points".to_owned(),
    };
    if let Some(path) = damaged_copy {
        summary += &format!("; the damaged playbook is kept as {}", path.display());
    }
    for warning in warnings {
        summary += &format!("; {warning}");
    }
    summary
}

#[cfg(test)]
mod tests {
    use super::file;
    use crate::database::{Item, JudgeKind, Queued, QueuedEvent};
    use crate::worker::{StepError, StepInput};
    use longhaul_core::Moment;
    use std::collections::BTreeSet;
    use std::fs;

    #[test]
    fn missing_project_has_no_playbook() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::write(dir.path().join("file"), "").expect("a file");
        let check = |name: &str, is_usable: bool| {
            let queued = Queued {
                project: dir.path().join(name),
                session: None,
                transcript: dir.path().join("one"),
                event: QueuedEvent::SessionEnd,
                reason: None,
                judge: JudgeKind::Api,
                destination: "http://api".to_owned(),
            };
            let item = Item { id: 1, queued, tries: 0 };
            let judged = BTreeSet::new();
            let subject = StepInput { item: &item, slice: 1, bytes: b"", at: Moment(0), judged: &judged };
            match file(&subject) {
                Ok(file) => assert!(is_usable && file.path().starts_with(dir.path()), "{name}"),
                Err(error) => {
                    assert!(!is_usable && matches!(error, StepError::Never(_)), "{name}: {error:?}")
                }
            }
        };
        check("", true);
        check("gone", false);
        check("file", false);
        check("file/within", false);
    }
}

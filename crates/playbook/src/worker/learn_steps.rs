//! The steps of a worker as they are: the reflector, the curator, and the playbook of the item's project.

use super::steps::{StepError, StepInput, WorkerSteps};
use crate::database::RevisionCause;
use crate::file::{Changed, Outcome};
use crate::judge::RetryAdvice;
use crate::judging::{self, Excerpt, JudgingError, Reflection, ReflectionResult, Templates};
use crate::points::{self, Similarity};
use crate::{FileError, Judge, JudgeError, LearningDb, LearningPaths, Playbook, PlaybookFile};
use async_trait::async_trait;
use longhaul_core::Fault;
use serde_json::Value;
use std::fs;
use std::io::ErrorKind;

/// What is asked, and what is made of the answers.
pub struct LearnSteps {
    /// Where states of playbooks are kept.
    pub paths: LearningPaths,
    /// What the judges are told.
    pub templates: Templates,
    /// By what two points are known to say the same.
    pub similarity: Box<dyn Similarity + Send + Sync>,
    /// How alike they must be.
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
            StepError::Never(format!("read {path}: {error}; {}", error.hint()))
        })?;
        if slice.is_empty() {
            return Err(StepError::Nothing);
        }
        let playbook = self.playbook(subject)?;
        judging::reflect(judge, &slice, &playbook, &self.templates).await.map_err(of_judging)
    }

    async fn curate(
        &self,
        subject: &StepInput<'_>,
        reflection: &Reflection,
        judge: &dyn Judge,
    ) -> Result<Vec<Value>, StepError> {
        let playbook = self.playbook(subject)?;
        let curation = judging::curate(judge, reflection, &playbook, &self.templates).await;
        curation.map(|curation| curation.operations).map_err(of_judging)
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
                points::apply(playbook, reflection, operations, &*self.similarity, self.threshold)
            });
        changed.map(|changed| said(&changed)).map_err(|error| of_file(&error))
    }
}

impl LearnSteps {
    /// The playbook as the judges see it. Of a damaged one it is what the next change goes on from.
    fn playbook(&self, subject: &StepInput<'_>) -> Result<Playbook, StepError> {
        let file = file(subject)?;
        match file.read() {
            Ok(found) => Ok(found.playbook),
            Err(FileError::Damaged { .. }) => {
                let last = LearningDb::open(&self.paths)
                    .and_then(|learning| learning.last_saves(&file.project()))
                    .map_err(|error| StepError::Later(format!("{error}; {}", error.hint())))?;
                let text = last.0.and_then(|save| save.content);
                Ok(text.and_then(|text| Playbook::read(&text).ok()).unwrap_or_default().0)
            }
            Err(error) => Err(of_file(&error)),
        }
    }
}

/// Where the playbook is. A project that is gone has no place for one, and will hardly come back: that is known before
/// anything is asked.
fn file(subject: &StepInput<'_>) -> Result<PlaybookFile, StepError> {
    let project = &subject.item.queued.project;
    let is_gone = match fs::metadata(project) {
        Ok(found) => !found.is_dir(),
        Err(cause) => matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    };
    if is_gone {
        let why = "its project is no directory any more; when it is back, `longhaul playbook learn --failed` learns from it";
        return Err(StepError::Never(format!("use {}: {why}", project.display())));
    }
    Ok(PlaybookFile::of_project(project))
}

fn of_judging(error: JudgingError) -> StepError {
    let with_hint = |error: &JudgingError| {
        let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
        format!("{error}{hint}")
    };
    match error {
        JudgingError::Judge(error) => StepError::Judge(error),
        // The same templates are for everything that is queued.
        JudgingError::Template(_) => {
            let (fault, then) = (Fault::BadRequest, RetryAdvice::NeedsPerson);
            StepError::Judge(JudgeError { fault, retry: then, message: with_hint(&error), requests: 0 })
        }
        // Of one transcript, and of one project's playbook.
        JudgingError::UnusableAnswer { .. } | JudgingError::NoRoom { .. } => {
            StepError::Never(with_hint(&error))
        }
    }
}

/// Whatever keeps a playbook from being changed now: its judges have answered, and their answers are kept.
fn of_file(error: &FileError) -> StepError {
    StepError::Later(format!("{error}; {}", error.hint()))
}

/// What came of it, in a few words.
fn said(changed: &Changed) -> String {
    let Changed { outcome, changes: told, damaged_copy: set_aside, warnings: noticed, .. } = changed;
    let mut said = match outcome {
        Outcome::Saved | Outcome::Already => told.summary_line(),
        Outcome::Unchanged => "nothing that the playbook did not say".to_owned(),
    };
    if let Some(path) = set_aside {
        said += &format!("; the damaged playbook is kept as {}", path.display());
    }
    for odd in noticed {
        said += &format!("; {odd}");
    }
    said
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
    fn a_project_that_is_gone_has_no_playbook() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::write(dir.path().join("file"), "").expect("a file");
        let check = |name: &str, is_there: bool| {
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
                Ok(file) => assert!(is_there && file.path().starts_with(dir.path()), "{name}"),
                Err(error) => assert!(!is_there && matches!(error, StepError::Never(_)), "{name}: {error:?}"),
            }
        };
        check("", true);
        check("gone", false);
        check("file", false);
        check("file/within", false);
    }
}

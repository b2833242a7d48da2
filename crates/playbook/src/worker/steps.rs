//! Learns from one slice: asks the reflector and the curator, and applies their answers to the playbook.

use super::recorded_judge::RecordedJudge;
use super::transcript::{self, hash_text, row_hashes};
use super::{Worker, WorkerEvent, unreadable};
use crate::database::{Item, Revision, RevisionCause, Slice, SliceState};
use crate::failpoints::{Failpoint, pass};
use crate::file::{ChangeOutcome, ChangeResult};
use crate::judging::{self, Excerpt, JudgeQuestion, JudgingError, Reflection};
use crate::points;
use crate::templates::Templates;
use crate::{FileError, JudgeError, LearningDb, Playbook, PlaybookFile};
use longhaul_store::DatabaseError;
use serde_json::Value;
use std::fs;
use std::io::ErrorKind;

/// The rules of learning.
pub struct LearnRules {
    /// Prompts for the judges.
    pub templates: Templates,
    /// Minimum similarity of duplicates.
    pub threshold: f64,
}

/// Why a step failed.
#[derive(Debug)]
pub(super) enum StepError {
    Judge(JudgeError),
    /// There is nothing to judge, for this reason.
    Nothing(&'static str),
    /// The agent has not answered. The next item of the transcript starts with this slice.
    Unanswered,
    /// It cannot be done now, for a reason other than the judge.
    Later(String),
    Never(String),
    Database(DatabaseError),
}

impl From<DatabaseError> for StepError {
    fn from(error: DatabaseError) -> StepError {
        StepError::Database(error)
    }
}

impl From<JudgingError> for StepError {
    fn from(error: JudgingError) -> StepError {
        match error {
            JudgingError::Judge(error) => StepError::Judge(error),
            JudgingError::Never(_) => StepError::Never(error.to_string()),
        }
    }
}

impl Worker<'_> {
    /// Processes a slice from its state until the playbook is updated. Returns a summary. A slice with a
    /// reflection is not read again, because the file may have changed.
    pub(super) async fn process_slice(
        &self,
        learning: &mut LearningDb,
        item: &Item,
        slice: &Slice,
    ) -> Result<String, StepError> {
        let taken_at = self.clock.now().at;
        let reflection = match &slice.reflection {
            Some(reflection) => reflection.clone(),
            None if slice.state == SliceState::Started => self.reflect(learning, item, slice).await?,
            None => return Err(StepError::Never("the stored reflection has an unknown format".to_owned())),
        };
        let operations = match &slice.operations {
            Some(operations) => operations.clone(),
            None => self.curate(learning, item, slice, &reflection).await?,
        };
        let cause = RevisionCause::SliceRow(slice.id);
        let changed = playbook_file(item)?.change(learning, &cause, taken_at, |playbook| {
            points::apply(playbook, &reflection.tags, &operations, self.rules.threshold)
        });
        pass(Failpoint::Saved);
        changed.map(|changed| summary(&changed)).map_err(|error| file_error(&error))
    }

    /// Asks the reflector about the rows that were not judged before, in any transcript.
    async fn reflect(
        &self,
        learning: &mut LearningDb,
        item: &Item,
        slice: &Slice,
    ) -> Result<Reflection, StepError> {
        // Before any question is paid for.
        playbook_file(item)?.check_link().map_err(|error| file_error(&error))?;
        let path = &item.queued.transcript;
        let bytes =
            transcript::read(path, slice.part).map_err(|cause| StepError::Never(unreadable(path, &cause)))?;
        let rows = row_hashes(&bytes);
        let judged = learning.judged_rows(&rows)?;
        let excerpt = Excerpt::new(&bytes, |row| judged.contains(&hash_text(row)))
            .map_err(|error| StepError::Never(format!("{}; {}", unreadable(path, &error), error.hint)))?;
        if excerpt.is_empty() {
            return Err(StepError::Nothing("it contains no messages"));
        }
        if !excerpt.has_answer() {
            return Err(StepError::Unanswered);
        }
        let playbook = current_playbook(learning, item)?;
        let judge = RecordedJudge::new(self, item, slice.id, JudgeQuestion::Reflector)?;
        let reflected = judging::reflect(&judge, &excerpt, &playbook, &self.rules.templates).await?;
        learning.store_reflection(slice, &reflected, &rows)?;
        pass(Failpoint::Reflected);
        (self.on_event)(WorkerEvent::Reflected(item));
        Ok(reflected.reflection)
    }

    async fn curate(
        &self,
        learning: &mut LearningDb,
        item: &Item,
        slice: &Slice,
        reflection: &Reflection,
    ) -> Result<Vec<Value>, StepError> {
        let playbook = current_playbook(learning, item)?;
        let judge = RecordedJudge::new(self, item, slice.id, JudgeQuestion::Curator)?;
        let operations = judging::curate(&judge, reflection, &playbook, &self.rules.templates).await?;
        learning.store_operations(slice, &operations)?;
        pass(Failpoint::Curated);
        if !reflection.is_empty() {
            (self.on_event)(WorkerEvent::Curated(item));
        }
        Ok(operations)
    }
}

/// Returns the playbook that the judges see. For a damaged file it is the state that the next change starts
/// from.
fn current_playbook(learning: &LearningDb, item: &Item) -> Result<Playbook, StepError> {
    let file = playbook_file(item)?;
    match file.read() {
        Ok(loaded) => Ok(loaded.playbook),
        Err(FileError::Damaged { .. }) => {
            let (last, _) = learning.last_revisions(&file.project())?;
            Ok(last.as_ref().map(Revision::playbook).unwrap_or_default())
        }
        Err(error) => Err(file_error(&error)),
    }
}

/// Returns the playbook file. A project that was removed has none and will hardly return, which is detected
/// before any question is asked.
fn playbook_file(item: &Item) -> Result<PlaybookFile, StepError> {
    let project = &item.queued.project;
    let is_gone = match fs::metadata(project) {
        Ok(metadata) => !metadata.is_dir(),
        Err(cause) => matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    };
    if is_gone {
        return Err(StepError::Never(format!("{} is no longer a directory", project.display())));
    }
    Ok(PlaybookFile::in_project(project))
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
    use super::{StepError, playbook_file};
    use crate::database::{Item, JudgeKind, Queued, QueuedEvent};
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
            match playbook_file(&Item { id: 1, queued, tries: 0 }) {
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

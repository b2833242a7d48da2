//! Determines the current state of a playbook, after completing the change of a writer that was killed.

use super::target::{Lock, Target, back_up_damaged};
use super::{FileError, LoadedPlaybook, PlaybookFile};
use crate::database::{Revision, RevisionCause};
use crate::points::{ChangeSummary, ReadError};
use crate::{LearningDb, Playbook, Point, PointId};
use longhaul_core::Moment;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

// Writing a playbook takes less; a file that still grows after a second is not a playbook.
const RETRY_DELAY: Duration = Duration::from_millis(50);
const RETRIES_MAX: u32 = 20;

/// The content of a file, which may be missing.
pub(super) enum FileContent {
    Readable(Box<LoadedPlaybook>),
    Damaged { bytes: Vec<u8>, cause: String },
}

/// The state of a playbook before a change, as seen by the owner of the lock.
pub(super) struct LockedPlaybook {
    pub(super) target: Target,
    pub(super) lock: Lock,
    pub(super) project: String,
    /// Text of the file. For a damaged file it is the last saved text, for a missing file that of an empty
    /// playbook.
    pub(super) text: String,
    pub(super) playbook: Playbook,
    pub(super) warnings: Vec<String>,
    /// Bytes of the file, damaged or not, or `None` if there is no file.
    pub(super) bytes: Option<Vec<u8>>,
    pub(super) damaged_copy: Option<PathBuf>,
    pub(super) last: Option<Revision>,
}

impl LockedPlaybook {
    /// Returns whether another program changed the file since the last recorded revision.
    pub(super) fn has_external_change(&self) -> bool {
        match self.last.as_ref() {
            Some(last) => last.content.as_ref() != Some(&self.text),
            None => self.text != Playbook::default().text(),
        }
    }

    /// Returns the revision that another program wrote since the last recorded one.
    pub(super) fn external_revision(&self, at: Moment) -> Option<Revision> {
        if !self.has_external_change() {
            return None;
        }
        let last_playbook = self.last.as_ref().map(Revision::playbook).unwrap_or_default();
        Some(Revision {
            id: 0,
            at,
            cause: RevisionCause::External,
            before: self.last.as_ref().map(|last| last.after.clone()),
            after: self.playbook.last_updated.clone().unwrap_or_default(),
            content: Some(self.text.clone()),
            written: true,
            changes: ChangeSummary::diff(&last_playbook, &self.playbook),
        })
    }
}

pub(super) fn read_content(target: &Target) -> Result<FileContent, FileError> {
    let Some(bytes) = target.bytes()? else { return Ok(FileContent::Readable(Box::default())) };
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let cause = format!("byte {} is not UTF-8", error.utf8_error().valid_up_to());
            return Ok(FileContent::Damaged { bytes: error.into_bytes(), cause });
        }
    };
    match Playbook::read(&text) {
        Ok((playbook, warnings)) => {
            let loaded = LoadedPlaybook { text: Some(text), playbook, warnings };
            Ok(FileContent::Readable(Box::new(loaded)))
        }
        Err(ReadError::Newer { version }) => Err(FileError::Newer { path: target.path.clone(), version }),
        Err(ReadError::Damaged(cause)) => Ok(FileContent::Damaged { cause, bytes: text.into_bytes() }),
    }
}

/// Reads a file as [`read_content`] does, once it stops changing. Other programs write it in several steps.
fn read_stable(target: &Target) -> Result<FileContent, FileError> {
    let mut last = read_content(target)?;
    for _ in 0..RETRIES_MAX {
        let FileContent::Damaged { bytes, .. } = &last else { break };
        sleep(RETRY_DELAY);
        let now = read_content(target)?;
        let is_same = matches!(&now, FileContent::Damaged { bytes: now, .. } if now == bytes);
        last = now;
        if is_same {
            break;
        }
    }
    Ok(last)
}

/// Returns whether the file is certainly a playbook. Any other object parses as an empty one.
fn is_playbook(content: &FileContent) -> bool {
    let FileContent::Readable(loaded) = content else { return false };
    let text = loaded.text.as_deref().unwrap_or_default();
    let whole: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap_or_default();
    ["sections", "key_points"].iter().any(|key| !whole[key].is_null())
}

impl PlaybookFile {
    /// Fails if a change would, because of the file's links.
    pub fn check_link(&self) -> Result<(), FileError> {
        let target = self.target()?;
        if target.is_outside { self.may_change(&target, &read_stable(&target)?) } else { Ok(()) }
    }

    /// Fails if links lead out of the project, as in dotfile repositories, unless their target is already a
    /// playbook. Otherwise an untrusted repository could link to any file of the user.
    fn may_change(&self, target: &Target, content: &FileContent) -> Result<(), FileError> {
        if target.is_outside && !is_playbook(content) {
            return Err(FileError::Outside { path: self.path.clone(), leads_to: target.path.clone() });
        }
        Ok(())
    }

    /// Locks the playbook and returns its current state, after completing an interrupted change.
    pub(super) fn lock(&self, learning: &LearningDb) -> Result<LockedPlaybook, FileError> {
        self.check_link()?;
        let target = self.target()?;
        let lock = target.lock()?;
        let project = self.project();
        let mut content = read_stable(&target)?;
        self.may_change(&target, &content)?;
        let (mut last, prior) = learning.last_revisions(&project)?;
        let mut damaged_copy = None;
        if let FileContent::Damaged { bytes, .. } = &content {
            damaged_copy = Some(back_up_damaged(&self.path, bytes)?);
        }
        if let Some(revision) = last.as_mut().filter(|revision| !revision.written) {
            match write_result(revision, prior.as_ref(), &content) {
                WriteResult::Written => learning.mark_written(revision.id)?,
                WriteResult::NotWritten => {
                    let text = revision.content.clone().unwrap_or_default();
                    if target.prepare(&lock, &text)?.replace_target()? {
                        learning.mark_written(revision.id)?;
                    }
                    content = read_content(&target)?;
                }
                WriteResult::Superseded => {
                    learning.delete_revision(revision.id)?;
                    last = prior;
                }
            }
        }
        let (text, bytes, warnings) = match content {
            FileContent::Readable(loaded) => {
                let bytes = loaded.text.clone().map(String::into_bytes);
                (loaded.text, bytes, loaded.warnings)
            }
            FileContent::Damaged { cause, bytes } => {
                let text = last.as_ref().and_then(|last| last.content.clone());
                (text, Some(bytes), vec![format!("the file is damaged: {cause}")])
            }
        };
        let text = text.unwrap_or_else(|| Playbook::default().text());
        let (playbook, _) = Playbook::read(&text).unwrap_or_default();
        Ok(LockedPlaybook { target, lock, project, text, playbook, warnings, bytes, damaged_copy, last })
    }
}

enum WriteResult {
    /// The file was written.
    Written,
    /// The file was not written and is unchanged.
    NotWritten,
    /// The file was not written, and another program has changed it since. The record is deleted.
    Superseded,
}

fn write_result(revision: &Revision, prior: Option<&Revision>, content: &FileContent) -> WriteResult {
    // A damaged file has a backup, and the database has the intended content.
    let FileContent::Readable(loaded) = content else { return WriteResult::NotWritten };
    let LoadedPlaybook { text: Some(text), playbook, .. } = &**loaded else {
        // Either there was no file before, or it was removed.
        let had_file = prior.is_some_and(|prior| !prior.after.is_empty());
        return if had_file { WriteResult::Written } else { WriteResult::NotWritten };
    };
    let stamp = playbook.last_updated.as_deref();
    if revision.content.as_ref() == Some(text) || stamp == Some(&revision.after) {
        WriteResult::Written
    } else if prior.and_then(|prior| prior.content.as_ref()) == Some(text) {
        WriteResult::NotWritten
    } else if stamp != revision.before.as_deref() && is_seen(revision, prior, playbook) {
        // Another program read the saved file and then wrote its own version.
        WriteResult::Written
    } else {
        WriteResult::Superseded
    }
}

/// Returns whether any point has its state from this revision and differs from the previous one.
fn is_seen(revision: &Revision, prior: Option<&Revision>, now: &Playbook) -> bool {
    let (before, after) = (prior.map(Revision::playbook).unwrap_or_default(), revision.playbook());
    let names: BTreeSet<&PointId> =
        [&before, &after].into_iter().flat_map(Playbook::points).map(|(_, point)| &point.name).collect();
    let content = |point: &Point| (point.text.clone(), point.helpful, point.harmful);
    names.into_iter().any(|name| {
        let [before, after, now] = [&before, &after, now].map(|playbook| playbook.point(name).map(content));
        after != before && after == now
    })
}

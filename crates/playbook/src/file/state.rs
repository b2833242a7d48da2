//! Determines the current state of a playbook, after completing the change of a writer that was killed.

use super::target::{Lock, Target, back_up_damaged};
use super::{FileError, PlaybookFile};
use crate::database::Revision;
use crate::points::ReadError;
use crate::{LearningDb, Playbook, Point, PointId};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

// Writing a playbook takes less; a file that still grows after a second is not a playbook.
const RETRY_DELAY: Duration = Duration::from_millis(50);
const RETRIES_MAX: u32 = 20;

/// The content of a file.
pub(super) enum FileContent {
    Missing,
    Playbook { text: String, playbook: Box<Playbook>, warnings: Vec<String> },
    Damage { bytes: Vec<u8>, cause: String },
}

/// The state of a playbook before a change, as seen by the owner of the lock.
pub(super) struct State {
    /// Text of the file. For a damaged file it is the last saved text, for a missing file that of an empty
    /// playbook.
    pub(super) text: String,
    /// Parsed content.
    pub(super) playbook: Playbook,
    /// Warnings about conversions and irregularities.
    pub(super) warnings: Vec<String>,
    /// Bytes of the file, damaged or not, or `None` if there is no file.
    pub(super) bytes: Option<Vec<u8>>,
    /// Backup of a damaged file.
    pub(super) damaged_copy: Option<PathBuf>,
    /// Last recorded revision.
    pub(super) last: Option<Revision>,
}

impl State {
    /// Returns whether another program changed the file since the last recorded revision.
    pub(super) fn has_external_change(&self) -> bool {
        match self.last.as_ref() {
            Some(last) => last.content.as_ref() != Some(&self.text),
            None => self.text != Playbook::default().text(),
        }
    }
}

/// Reads and parses a file.
pub(super) fn read_content(target: &Target) -> Result<FileContent, FileError> {
    let Some(bytes) = target.bytes()? else { return Ok(FileContent::Missing) };
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let cause = format!("byte {} is not UTF-8", error.utf8_error().valid_up_to());
            return Ok(FileContent::Damage { bytes: error.into_bytes(), cause });
        }
    };
    match Playbook::read(&text) {
        Ok((playbook, warnings)) => {
            Ok(FileContent::Playbook { text, playbook: Box::new(playbook), warnings })
        }
        Err(ReadError::Newer { version }) => Err(FileError::Newer { path: target.path.clone(), version }),
        Err(error @ (ReadError::NotJson { .. } | ReadError::NotAPlaybook { .. })) => {
            Ok(FileContent::Damage { cause: error.to_string(), bytes: text.into_bytes() })
        }
    }
}

/// Reads a file as [`read_content`] does, once it stops changing. Other programs write it in several steps.
fn read_stable(target: &Target) -> Result<FileContent, FileError> {
    let mut last = read_content(target)?;
    for _ in 0..RETRIES_MAX {
        let FileContent::Damage { bytes, .. } = &last else { break };
        sleep(RETRY_DELAY);
        let now = read_content(target)?;
        let is_same = matches!(&now, FileContent::Damage { bytes: now, .. } if now == bytes);
        last = now;
        if is_same {
            break;
        }
    }
    Ok(last)
}

/// Returns whether the file is certainly a playbook. Any other object parses as an empty one.
fn is_playbook(content: &FileContent) -> bool {
    let FileContent::Playbook { text, .. } = content else { return false };
    let whole: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap_or_default();
    ["sections", "key_points"].iter().any(|key| !whole[key].is_null())
}

impl PlaybookFile {
    /// Locks the playbook and returns its target. If links lead out of the project, as in dotfile
    /// repositories, the target must already be a playbook. Otherwise an untrusted repository could link to
    /// any file of the user.
    pub(super) fn lock_target(&self) -> Result<(Target, Lock), FileError> {
        let target = self.target()?;
        if target.is_outside {
            self.may_change(&target, &read_stable(&target)?)?;
        }
        let lock = target.lock()?;
        Ok((target, lock))
    }

    fn may_change(&self, target: &Target, content: &FileContent) -> Result<(), FileError> {
        if target.is_outside && !is_playbook(content) {
            return Err(FileError::Outside { path: self.path.clone(), leads_to: target.path.clone() });
        }
        Ok(())
    }

    /// Returns the current state of the playbook, after completing an interrupted change.
    pub(super) fn state(
        &self,
        learning: &LearningDb,
        target: &Target,
        lock: &Lock,
    ) -> Result<State, FileError> {
        let project = self.project();
        let mut content = read_stable(target)?;
        self.may_change(target, &content)?;
        let (mut last, prior) = learning.last_revisions(&project)?;
        let mut damaged_copy = None;
        if let FileContent::Damage { bytes, .. } = &content {
            damaged_copy = Some(back_up_damaged(&self.path, bytes)?);
        }
        if let Some(revision) = last.as_mut().filter(|revision| !revision.written) {
            match write_result(revision, prior.as_ref(), &content) {
                WriteResult::Written => learning.mark_written(revision.id)?,
                WriteResult::NotWritten => {
                    let text = revision.content.clone().unwrap_or_default();
                    if target.prepare(lock, &text)?.replace_target()? {
                        learning.mark_written(revision.id)?;
                    }
                    content = read_content(target)?;
                }
                WriteResult::Superseded => {
                    learning.delete_revision(revision.id)?;
                    last = prior;
                }
            }
        }
        let (text, bytes, warnings) = match content {
            FileContent::Playbook { text, warnings, .. } => {
                (Some(text.clone()), Some(text.into_bytes()), warnings)
            }
            FileContent::Missing => (None, None, Vec::new()),
            FileContent::Damage { cause, bytes } => {
                let text = last.as_ref().and_then(|last| last.content.clone());
                (text, Some(bytes), vec![format!("the file is damaged: {cause}")])
            }
        };
        let text = text.unwrap_or_else(|| Playbook::default().text());
        let (playbook, _) = Playbook::read(&text).unwrap_or_default();
        Ok(State { text, playbook, warnings, bytes, damaged_copy, last })
    }
}

/// What happened to a revision that is not recorded as written.
enum WriteResult {
    /// The file was written.
    Written,
    /// The file was not written and is unchanged.
    NotWritten,
    /// The file was not written, and another program has changed it since. The record is deleted.
    Superseded,
}

fn write_result(revision: &Revision, prior: Option<&Revision>, content: &FileContent) -> WriteResult {
    let (text, playbook) = match content {
        // The damaged file has a backup, and the database has the intended content.
        FileContent::Damage { .. } => return WriteResult::NotWritten,
        // Either there was no file before, or it was removed.
        FileContent::Missing if prior.is_none_or(|prior| prior.after.is_empty()) => {
            return WriteResult::NotWritten;
        }
        FileContent::Missing => return WriteResult::Written,
        FileContent::Playbook { text, playbook, .. } => (text, playbook),
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
    let read = |revision: Option<&Revision>| {
        let text = revision.and_then(|revision| revision.content.as_deref());
        text.and_then(|text| Playbook::read(text).ok()).unwrap_or_default().0
    };
    let (before, after) = (read(prior), read(Some(revision)));
    let names: BTreeSet<&PointId> =
        [&before, &after].into_iter().flat_map(Playbook::points).map(|(_, point)| &point.name).collect();
    let content = |point: &Point| (point.text.clone(), point.helpful, point.harmful);
    names.into_iter().any(|name| {
        let [before, after, now] = [&before, &after, now].map(|playbook| playbook.point(name).map(content));
        after != before && after == now
    })
}

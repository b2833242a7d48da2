//! Determines the current state of a playbook, after completing the change of a writer that was killed.

use super::target::{Lock, Place, set_aside};
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
pub(super) enum Held {
    Nothing,
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
    /// Conversions from older formats and oddities.
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
    pub(super) fn is_found(&self) -> bool {
        match self.last.as_ref() {
            Some(last) => last.content.as_ref() != Some(&self.text),
            None => self.text != Playbook::default().text(),
        }
    }
}

/// Reads and parses a file.
pub(super) fn held(target: &Place) -> Result<Held, FileError> {
    let Some(bytes) = target.bytes()? else { return Ok(Held::Nothing) };
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let cause = format!("byte {} is no UTF-8", error.utf8_error().valid_up_to());
            return Ok(Held::Damage { bytes: error.into_bytes(), cause });
        }
    };
    match Playbook::read(&text) {
        Ok((playbook, warnings)) => Ok(Held::Playbook { text, playbook: Box::new(playbook), warnings }),
        Err(ReadError::Newer { version }) => Err(FileError::Newer { path: target.path.clone(), version }),
        Err(error @ (ReadError::NotJson { .. } | ReadError::NotAPlaybook { .. })) => {
            Ok(Held::Damage { cause: error.to_string(), bytes: text.into_bytes() })
        }
    }
}

/// Reads a file as [`held`] does, once it stops changing. Other programs write it in several steps.
fn at_rest(target: &Place) -> Result<Held, FileError> {
    let mut last = held(target)?;
    for _ in 0..RETRIES_MAX {
        let Held::Damage { bytes, .. } = &last else { break };
        sleep(RETRY_DELAY);
        let now = held(target)?;
        let is_same = matches!(&now, Held::Damage { bytes: now, .. } if now == bytes);
        last = now;
        if is_same {
            break;
        }
    }
    Ok(last)
}

/// Returns whether the file is certainly a playbook. Any other object parses as an empty one.
fn is_playbook(held: &Held) -> bool {
    let Held::Playbook { text, .. } = held else { return false };
    let whole: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap_or_default();
    ["sections", "key_points"].iter().any(|key| !whole[key].is_null())
}

impl PlaybookFile {
    /// Locks the playbook and returns its target. If links lead out of the project, as in dotfile
    /// repositories, the target must already be a playbook. Otherwise an untrusted repository could link to
    /// any file of the user.
    pub(super) fn locked(&self) -> Result<(Place, Lock), FileError> {
        let target = self.target()?;
        if target.is_outside {
            self.may_change(&target, &at_rest(&target)?)?;
        }
        let lock = target.lock()?;
        Ok((target, lock))
    }

    fn may_change(&self, target: &Place, held: &Held) -> Result<(), FileError> {
        if target.is_outside && !is_playbook(held) {
            return Err(FileError::Outside { path: self.path.clone(), leads_to: target.path.clone() });
        }
        Ok(())
    }

    /// Returns the current state of the playbook, after completing an interrupted change.
    pub(super) fn state(
        &self,
        learning: &LearningDb,
        target: &Place,
        lock: &Lock,
    ) -> Result<State, FileError> {
        let project = self.project();
        let mut held = at_rest(target)?;
        self.may_change(target, &held)?;
        let (mut last, prior) = learning.last_saves(&project)?;
        let mut damaged_copy = None;
        if let Held::Damage { bytes, .. } = &held {
            damaged_copy = Some(set_aside(&self.path, bytes)?);
        }
        if let Some(save) = last.as_mut().filter(|save| !save.written) {
            match save_result(save, prior.as_ref(), &held) {
                SaveResult::Placed => learning.is_placed(save.id)?,
                SaveResult::Lost => {
                    let text = save.content.clone().unwrap_or_default();
                    if target.prepare(lock, &text)?.put()? {
                        learning.is_placed(save.id)?;
                    }
                    held = self::held(target)?;
                }
                SaveResult::Overtaken => {
                    learning.take_back(save.id)?;
                    last = prior;
                }
            }
        }
        let (text, bytes, warnings) = match held {
            Held::Playbook { text, warnings, .. } => (Some(text.clone()), Some(text.into_bytes()), warnings),
            Held::Nothing => (None, None, Vec::new()),
            Held::Damage { cause, bytes } => {
                let text = last.as_ref().and_then(|last| last.content.clone());
                (text, Some(bytes), vec![format!("the file is damaged: {cause}")])
            }
        };
        let text = text.unwrap_or_else(|| Playbook::default().text());
        let (playbook, _) = Playbook::read(&text).unwrap_or_default();
        Ok(State { text, playbook, warnings, bytes, damaged_copy, last })
    }
}

/// The result of a save whose writer did not record it.
enum SaveResult {
    /// The file was written.
    Placed,
    /// The file was not written and is unchanged.
    Lost,
    /// The file was not written, and another program has changed it since. The save is dropped.
    Overtaken,
}

fn save_result(save: &Revision, prior: Option<&Revision>, held: &Held) -> SaveResult {
    let (text, playbook) = match held {
        // The damaged file has a backup, and its intended content is known.
        Held::Damage { .. } => return SaveResult::Lost,
        // Either there was no file before, or it was removed.
        Held::Nothing if prior.is_none_or(|prior| prior.after.is_empty()) => return SaveResult::Lost,
        Held::Nothing => return SaveResult::Placed,
        Held::Playbook { text, playbook, .. } => (text, playbook),
    };
    let stamp = playbook.last_updated.as_deref();
    if save.content.as_ref() == Some(text) || stamp == Some(&save.after) {
        SaveResult::Placed
    } else if prior.and_then(|prior| prior.content.as_ref()) == Some(text) {
        SaveResult::Lost
    } else if stamp != save.before.as_deref() && is_seen(save, prior, playbook) {
        // Another program read the saved file and then wrote its own version.
        SaveResult::Placed
    } else {
        SaveResult::Overtaken
    }
}

/// Returns whether any point has its state in this revision rather than that in the one before.
fn is_seen(save: &Revision, prior: Option<&Revision>, now: &Playbook) -> bool {
    let read = |save: Option<&Revision>| {
        let text = save.and_then(|save| save.content.as_deref());
        text.and_then(|text| Playbook::read(text).ok()).unwrap_or_default().0
    };
    let (before, after) = (read(prior), read(Some(save)));
    let names: BTreeSet<&PointId> =
        [&before, &after].into_iter().flat_map(Playbook::points).map(|(_, point)| &point.name).collect();
    let content = |point: &Point| (point.text.clone(), point.helpful, point.harmful);
    names.into_iter().any(|name| {
        let [before, after, now] = [&before, &after, now].map(|playbook| playbook.point(name).map(content));
        after != before && after == now
    })
}

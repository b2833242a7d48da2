//! What a playbook is at this moment: what the file says, after what a writer that was killed had begun is brought to its
//! end.

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

// A playbook is written in less; one that is still growing after a second is no playbook.
const LOOK: Duration = Duration::from_millis(50);
const LOOKS_MAX: u32 = 20;

/// What a file holds.
pub(super) enum Held {
    Nothing,
    Playbook { text: String, playbook: Box<Playbook>, warnings: Vec<String> },
    Damage { bytes: Vec<u8>, cause: String },
}

/// A playbook that is about to be changed, by whoever has the lock.
pub(super) struct State {
    /// The text of the file; for a damaged one the last that we saved, for one that is not there that of an empty one.
    pub(super) text: String,
    /// What it says.
    pub(super) playbook: Playbook,
    /// What was taken over or is odd about it.
    pub(super) warnings: Vec<String>,
    /// The file as it is, damaged or not; nothing if there is none.
    pub(super) bytes: Option<Vec<u8>>,
    /// Where a damaged file is kept.
    pub(super) damaged_copy: Option<PathBuf>,
    /// The last save.
    pub(super) last: Option<Revision>,
}

impl State {
    /// Whether it is not what we saved last: somebody else has written it since.
    pub(super) fn is_found(&self) -> bool {
        match self.last.as_ref() {
            Some(last) => last.content.as_ref() != Some(&self.text),
            None => self.text != Playbook::default().text(),
        }
    }
}

/// What a file holds.
pub(super) fn held(place: &Place) -> Result<Held, FileError> {
    let Some(bytes) = place.bytes()? else { return Ok(Held::Nothing) };
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let cause = format!("byte {} is no UTF-8", error.utf8_error().valid_up_to());
            return Ok(Held::Damage { bytes: error.into_bytes(), cause });
        }
    };
    match Playbook::read(&text) {
        Ok((playbook, warnings)) => Ok(Held::Playbook { text, playbook: Box::new(playbook), warnings }),
        Err(ReadError::Newer { version }) => Err(FileError::Newer { path: place.path.clone(), version }),
        Err(error @ (ReadError::NotJson { .. } | ReadError::NotAPlaybook { .. })) => {
            Ok(Held::Damage { cause: error.to_string(), bytes: text.into_bytes() })
        }
    }
}

/// The same, once nobody is in the middle of writing it: other programs write it bit by bit.
fn at_rest(place: &Place) -> Result<Held, FileError> {
    let mut last = held(place)?;
    for _ in 0..LOOKS_MAX {
        let Held::Damage { bytes, .. } = &last else { break };
        sleep(LOOK);
        let now = held(place)?;
        let is_same = matches!(&now, Held::Damage { bytes: now, .. } if now == bytes);
        last = now;
        if is_same {
            break;
        }
    }
    Ok(last)
}

/// Whether it is a playbook beyond doubt: any other object is read as an empty one.
fn is_playbook(held: &Held) -> bool {
    let Held::Playbook { text, .. } = held else { return false };
    let whole: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap_or_default();
    ["sections", "key_points"].iter().any(|key| !whole[key].is_null())
}

impl PlaybookFile {
    /// The right to change the playbook, with the place where it is. Where links lead out of the project, as people link their
    /// files, only what is a playbook already is changed: a repository may come from anybody, with a link to any file of
    /// whoever works in it.
    pub(super) fn locked(&self) -> Result<(Place, Lock), FileError> {
        let place = self.place()?;
        if place.is_outside {
            self.may_change(&place, &at_rest(&place)?)?;
        }
        let lock = place.lock()?;
        Ok((place, lock))
    }

    fn may_change(&self, place: &Place, held: &Held) -> Result<(), FileError> {
        if place.is_outside && !is_playbook(held) {
            return Err(FileError::Outside { path: self.path.clone(), leads_to: place.path.clone() });
        }
        Ok(())
    }

    /// What the playbook is, settled.
    pub(super) fn state(
        &self,
        learning: &LearningDb,
        place: &Place,
        lock: &Lock,
    ) -> Result<State, FileError> {
        let project = self.project();
        let mut held = at_rest(place)?;
        self.may_change(place, &held)?;
        let (mut last, prior) = learning.last_saves(&project)?;
        let mut kept = None;
        if let Held::Damage { bytes, .. } = &held {
            kept = Some(set_aside(&self.path, bytes)?);
        }
        if let Some(save) = last.as_mut().filter(|save| !save.written) {
            match became(save, prior.as_ref(), &held) {
                Became::Placed => learning.is_placed(save.id)?,
                Became::Lost => {
                    let text = save.content.clone().unwrap_or_default();
                    if place.prepare(lock, &text)?.put()? {
                        learning.is_placed(save.id)?;
                    }
                    held = self::held(place)?;
                }
                Became::Overtaken => {
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
        Ok(State { text, playbook, warnings, bytes, damaged_copy: kept, last })
    }
}

/// What became of a save whose writer did not say.
enum Became {
    /// It was put into the file.
    Placed,
    /// It was not, and the file is as it was before.
    Lost,
    /// It was not, and somebody has changed the file since: it is as if it had not been made.
    Overtaken,
}

fn became(save: &Revision, prior: Option<&Revision>, held: &Held) -> Became {
    let (text, playbook) = match held {
        // What is damaged is kept beside, and we know what it should be.
        Held::Damage { .. } => return Became::Lost,
        // There was none before, or somebody removed it.
        Held::Nothing if prior.is_none_or(|prior| prior.after.is_empty()) => return Became::Lost,
        Held::Nothing => return Became::Placed,
        Held::Playbook { text, playbook, .. } => (text, playbook),
    };
    let stamp = playbook.last_updated.as_deref();
    if save.content.as_ref() == Some(text) || stamp == Some(&save.after) {
        Became::Placed
    } else if prior.and_then(|prior| prior.content.as_ref()) == Some(text) {
        Became::Lost
    } else if stamp != save.before.as_deref() && is_seen(save, prior, playbook) {
        // Another program read it, and wrote its own.
        Became::Placed
    } else {
        Became::Overtaken
    }
}

/// Whether any point is as this save, and not the one before it, has it.
fn is_seen(save: &Revision, prior: Option<&Revision>, now: &Playbook) -> bool {
    let read = |save: Option<&Revision>| {
        let text = save.and_then(|save| save.content.as_deref());
        text.and_then(|text| Playbook::read(text).ok()).unwrap_or_default().0
    };
    let (before, after) = (read(prior), read(Some(save)));
    let names: BTreeSet<&PointId> =
        [&before, &after].into_iter().flat_map(Playbook::points).map(|(_, point)| &point.name).collect();
    let said = |point: &Point| (point.text.clone(), point.helpful, point.harmful);
    names.into_iter().any(|name| {
        let [before, after, now] = [&before, &after, now].map(|playbook| playbook.point(name).map(said));
        after != before && after == now
    })
}

//! What a worker tells a person who waits for it.

use super::command;
use crate::failure::Failure;
use crate::output;
use crate::output::clock::coming;
use crate::output::words::bytes;
use longhaul_playbook::LearningPlace;
use longhaul_playbook::hooks::note;
use longhaul_playbook::learning::{Item, JudgeKind};
use longhaul_playbook::worker::Happening;
use std::path::Path;

/// Tells it on stderr.
pub struct Progress {
    pub quiet: bool,
    /// Who judges.
    pub kind: JudgeKind,
}

impl Progress {
    pub fn tell(&self, happening: Happening<'_>) {
        // What a person must do is said to the quietest.
        if self.quiet && !matches!(happening, Happening::NeedsPerson { .. }) {
            return;
        }
        match happening {
            Happening::Began(item, slice) => {
                let length = bytes(slice.part.ends.saturating_sub(slice.part.begins));
                output::talk(&format!("{}: judging {length}", name(item)));
            }
            Happening::Reflected(item) => {
                output::talk(&format!("{}: the reflector has answered", name(item)))
            }
            Happening::Curated(item) => output::talk(&format!("{}: the curator has answered", name(item))),
            Happening::Learnt(item, what) => output::talk(&format!("{}: learnt: {what}", name(item))),
            Happening::Empty(item, why) => output::talk(&format!("{}: nothing to learn: {why}", name(item))),
            Happening::Failed(item, why) => output::warn(&format!("{}: {why}", name(item)), None),
            Happening::Waits(item, until, why) => {
                output::talk(&format!("{}: {why}; it waits until {}", name(item), coming(until)));
            }
            Happening::NeedsPerson { why, .. } => {
                let hint = format!("what is queued is kept; `{}` goes on with it", command(self.kind));
                output::complain(why, Some(&hint));
            }
            Happening::SetAside(path) => say_set_aside(path),
        }
    }
}

/// Puts down what a person should know of, where nobody hears it. What fails or waits is found in the queue.
pub fn put_down(place: &LearningPlace, happening: Happening<'_>) {
    let what = match happening {
        Happening::NeedsPerson { why, is_news: true } => why.to_owned(),
        Happening::SetAside(path) => {
            format!("what was queued was damaged, and is kept as {}", path.display())
        }
        Happening::NeedsPerson { is_news: false, .. }
        | Happening::Began(..)
        | Happening::Reflected(_)
        | Happening::Curated(_)
        | Happening::Learnt(..)
        | Happening::Empty(..)
        | Happening::Failed(..)
        | Happening::Waits(..) => return,
    };
    put_down_words(place, &what);
}

/// Puts down why a worker left that nobody hears.
pub fn put_down_failure(place: &LearningPlace, failure: &Failure) {
    let hint = failure.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    put_down_words(place, &format!("{}{hint}", failure.error));
}

fn put_down_words(place: &LearningPlace, what: &str) {
    // Whoever cannot write even this has other things to worry about.
    let _ = note(place, output::now(), "learn", what);
}

/// Says that the database was damaged.
pub fn say_set_aside(path: &Path) {
    let warning = format!("what was queued was damaged, and is kept as {}", path.display());
    output::warn(
        &warning,
        Some("name the transcripts that were in it to `longhaul playbook learn`; playbooks are whole"),
    );
}

fn name(item: &Item) -> String {
    name_of(&item.queued.transcript)
}

/// A transcript, as it is told of while it is learnt from.
pub fn name_of(transcript: &Path) -> String {
    transcript
        .file_name()
        .map_or_else(|| transcript.display().to_string(), |name| name.to_string_lossy().into_owned())
}

//! What a worker tells a person who waits for it.

use super::command;
use crate::failure::Failure;
use crate::output;
use crate::output::phrases::bytes;
use crate::output::time::coming;
use longhaul_playbook::LearningPaths;
use longhaul_playbook::database::{Item, JudgeKind};
use longhaul_playbook::hooks::note;
use longhaul_playbook::worker::WorkerEvent;
use std::path::Path;

/// Tells it on stderr.
pub struct Progress {
    pub quiet: bool,
    /// Who judges.
    pub kind: JudgeKind,
}

impl Progress {
    pub fn tell(&self, happening: WorkerEvent<'_>) {
        // What a person must do is said to the quietest.
        if self.quiet && !matches!(happening, WorkerEvent::NeedsPerson { .. }) {
            return;
        }
        match happening {
            WorkerEvent::Began(item, slice) => {
                let length = bytes(slice.part.ends.saturating_sub(slice.part.begins));
                output::print_status(&format!("{}: judging {length}", name(item)));
            }
            WorkerEvent::Reflected(item) => {
                output::print_status(&format!("{}: the reflector has answered", name(item)))
            }
            WorkerEvent::Curated(item) => {
                output::print_status(&format!("{}: the curator has answered", name(item)))
            }
            WorkerEvent::Learned(item, what) => {
                output::print_status(&format!("{}: learnt: {what}", name(item)))
            }
            WorkerEvent::Empty(item, why) => {
                output::print_status(&format!("{}: nothing to learn: {why}", name(item)))
            }
            WorkerEvent::Failed(item, why) => output::print_warning(&format!("{}: {why}", name(item)), None),
            WorkerEvent::Waits(item, until, why) => {
                output::print_status(&format!("{}: {why}; it waits until {}", name(item), coming(until)));
            }
            WorkerEvent::NeedsPerson { reason: why, .. } => {
                let hint = format!("what is queued is kept; `{}` goes on with it", command(self.kind));
                output::print_error(why, Some(&hint));
            }
            WorkerEvent::SetAside(path) => say_set_aside(path),
        }
    }
}

/// Puts down what a person should know of, where nobody hears it. What fails or waits is found in the queue.
pub fn log_event(place: &LearningPaths, happening: WorkerEvent<'_>) {
    let what = match happening {
        WorkerEvent::NeedsPerson { reason: why, is_news: true } => why.to_owned(),
        WorkerEvent::SetAside(path) => {
            format!("what was queued was damaged, and is kept as {}", path.display())
        }
        WorkerEvent::NeedsPerson { is_news: false, .. }
        | WorkerEvent::Began(..)
        | WorkerEvent::Reflected(_)
        | WorkerEvent::Curated(_)
        | WorkerEvent::Learned(..)
        | WorkerEvent::Empty(..)
        | WorkerEvent::Failed(..)
        | WorkerEvent::Waits(..) => return,
    };
    put_down_words(place, &what);
}

/// Puts down why a worker left that nobody hears.
pub fn put_down_failure(place: &LearningPaths, failure: &Failure) {
    let hint = failure.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    put_down_words(place, &format!("{}{hint}", failure.error));
}

fn put_down_words(place: &LearningPaths, what: &str) {
    // Whoever cannot write even this has other things to worry about.
    let _ = note(place, output::now(), "learn", what);
}

/// Says that the database was damaged.
pub fn say_set_aside(path: &Path) {
    let warning = format!("what was queued was damaged, and is kept as {}", path.display());
    output::print_warning(
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

//! Reports the progress of a worker to people.

use super::command;
use crate::commands::playbook::project::warn_damaged_database;
use crate::failure::Failure;
use crate::output;
use crate::output::phrases::bytes;
use longhaul_playbook::LearningPaths;
use longhaul_playbook::database::{Item, JudgeKind, LearnResult};
use longhaul_playbook::hooks::log_error;
use longhaul_playbook::worker::WorkerEvent;
use std::path::Path;

pub fn print_event(judge: JudgeKind, event: WorkerEvent<'_>) {
    let name = |item: &Item| name_of(&item.queued.transcript);
    let print = |item: &Item, text: &str| output::print_status(&format!("{}: {text}", name(item)));
    match event {
        WorkerEvent::Started(item, slice) => {
            let length = bytes(slice.part.end.saturating_sub(slice.part.start));
            print(item, &format!("judging {length}"));
        }
        WorkerEvent::Reflected(item) => print(item, "the reflector has answered"),
        WorkerEvent::Curated(item) => print(item, "the curator has answered"),
        WorkerEvent::Finished(item, LearnResult::Learned, text) => print(item, &format!("learned: {text}")),
        WorkerEvent::Finished(item, LearnResult::Empty, reason) => {
            print(item, &format!("nothing to learn: {reason}"));
        }
        WorkerEvent::Finished(item, LearnResult::Failed, reason) => {
            output::print_warning(&format!("{}: {reason}", name(item)), None);
        }
        // The judge may be paused for longer than the item. The result of the command says until when.
        WorkerEvent::Waits(item, _, reason) => print(item, &format!("{reason}; it waits")),
        WorkerEvent::NeedsPerson { reason, .. } => {
            let hint = format!("the queue is kept; `{}` continues", command(judge));
            output::print_error(reason, Some(&hint));
        }
        WorkerEvent::DatabaseDamaged(path) => warn_damaged_database(path),
    }
}

/// Logs an event of a background worker that a person should know. Failures and waits are recorded in the
/// queue.
pub fn log_event(paths: &LearningPaths, event: WorkerEvent<'_>) {
    let message = match event {
        WorkerEvent::NeedsPerson { reason, is_news: true } => reason.to_owned(),
        WorkerEvent::DatabaseDamaged(path) => {
            format!("the queue was damaged; it is kept as {}", path.display())
        }
        WorkerEvent::NeedsPerson { is_news: false, .. }
        | WorkerEvent::Started(..)
        | WorkerEvent::Reflected(_)
        | WorkerEvent::Curated(_)
        | WorkerEvent::Finished(..)
        | WorkerEvent::Waits(..) => return,
    };
    log_message(paths, &message);
}

pub fn log_failure(paths: &LearningPaths, failure: &Failure) {
    let hint = failure.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    log_message(paths, &format!("{}{hint}", failure.error));
}

fn log_message(paths: &LearningPaths, message: &str) {
    // If even this write fails, no channel is left to report it.
    let _ = log_error(paths, output::now(), "learn", message);
}

pub fn name_of(transcript: &Path) -> String {
    transcript
        .file_name()
        .map_or_else(|| transcript.display().to_string(), |name| name.to_string_lossy().into_owned())
}

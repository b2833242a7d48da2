//! Queues a transcript whose extraction failed.

use super::source::Source;
use crate::run_learning::destination;
use crate::{open_home, output};
use longhaul_playbook::database::{JudgeKind, Queued, QueuedEvent};
use longhaul_playbook::{LearningDb, LearningPaths, retain_transcript};
use std::path::PathBuf;

/// Queues a transcript and prints the result. A transcript from stdin is saved to a file first.
pub fn queue(source: &Source, project: PathBuf) {
    match try_queue(source, project) {
        Ok(path) => {
            output::print_status(&format!(
                "queued: `longhaul playbook learn` learns from {}",
                path.display()
            ));
        }
        Err((error, hint)) => {
            output::print_error(&format!("cannot queue the transcript: {error}"), Some(&hint));
        }
    }
}

fn try_queue(source: &Source, project: PathBuf) -> Result<PathBuf, (String, String)> {
    let home = open_home::open().map_err(|failure| (failure.error, failure.hint.unwrap_or_default()))?;
    let paths = LearningPaths::in_home(home.path());
    let transcript = match &source.path {
        Some(path) => path.clone(),
        None => retain_transcript(&paths, &source.bytes).map_err(|error| {
            let hint = error.hint().unwrap_or_else(|| "check for free disk space".to_owned());
            (error.to_string(), hint)
        })?,
    };
    let queued = Queued {
        project: std::path::absolute(&project).unwrap_or(project),
        session: None,
        transcript: transcript.clone(),
        event: QueuedEvent::Manual,
        reason: None,
        judge: JudgeKind::Api,
        destination: destination(),
    };
    LearningDb::open(&paths)
        .and_then(|learning| learning.enqueue(output::now(), &queued))
        .map_err(|error| (error.to_string(), error.hint().to_owned()))?;
    Ok(transcript)
}

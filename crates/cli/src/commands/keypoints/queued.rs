//! A transcript that nothing was learnt from is queued, so that it is not forgotten.

use super::source::Source;
use crate::learning::destination;
use crate::{home, output};
use longhaul_playbook::learning::{Event, JudgeKind, Queued};
use longhaul_playbook::{Learning, LearningPlace, keep};
use std::path::PathBuf;

/// Queues it, and says so. One that came over stdin is kept first.
pub fn queue(source: &Source, project: PathBuf) {
    match try_queue(source, project) {
        Ok(path) => {
            output::talk(&format!("queued: `longhaul playbook learn` learns from {}", path.display()));
        }
        Err((error, hint)) => {
            output::complain(&format!("queue the transcript: {error}"), Some(&hint));
        }
    }
}

fn try_queue(source: &Source, project: PathBuf) -> Result<PathBuf, (String, String)> {
    let home = home::open().map_err(|failure| (failure.error, failure.hint.unwrap_or_default()))?;
    let place = LearningPlace::in_home(home.path());
    let transcript = match &source.path {
        Some(path) => path.clone(),
        None => keep(&place, &source.bytes).map_err(|error| {
            let hint = error.hint().unwrap_or_else(|| "see whether the disk is full".to_owned());
            (error.to_string(), hint)
        })?,
    };
    let queued = Queued {
        project: std::path::absolute(&project).unwrap_or(project),
        session: None,
        transcript: transcript.clone(),
        event: Event::Asked,
        reason: None,
        judge: JudgeKind::Api,
        destination: destination(),
    };
    Learning::open(&place)
        .and_then(|learning| learning.enqueue(output::now(), &queued))
        .map_err(|error| (error.to_string(), error.hint()))?;
    Ok(transcript)
}

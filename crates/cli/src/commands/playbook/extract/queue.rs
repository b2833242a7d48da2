//! Queues a transcript whose extraction failed.

use super::source::Source;
use crate::commands::playbook::learn::WorkerTarget;
use crate::failure::Failure;
use crate::run_learning::destination;
use crate::{open_home, output};
use longhaul_playbook::database::JudgeKind;
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
        Err(Failure { error, hint, .. }) => {
            output::print_error(&format!("cannot queue the transcript: {error}"), hint.as_deref());
        }
    }
}

fn try_queue(source: &Source, project: PathBuf) -> Result<PathBuf, Failure> {
    let paths = LearningPaths::in_home(open_home::open()?.path());
    let transcript = match &source.path {
        Some(path) => path.clone(),
        None => retain_transcript(&paths, &source.bytes).map_err(|error| {
            let hint = error.hint().unwrap_or_else(|| "check for free disk space".to_owned());
            Failure::not_started(error.to_string(), hint, None)
        })?,
    };
    let project = std::path::absolute(&project).unwrap_or(project);
    let target = WorkerTarget { home: paths, kind: JudgeKind::Api, destination: destination() };
    let queued = target.queued(&project, transcript.clone());
    LearningDb::open(&target.home)?.enqueue(output::now(), &queued)?;
    Ok(transcript)
}

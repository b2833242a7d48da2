//! `longhaul playbook extract`: asks a model what one transcript teaches.
//!
//! Always prints a result. An empty result is explained on stderr and by the exit code, and its transcript is
//! queued.

mod request;
mod source;

use super::current_project;
use super::learn::WorkerTarget;
use crate::api_judge;
use crate::args::playbook::ExtractArgs;
use crate::args::{GlobalArgs, OutputFormat};
use crate::failure::{Failure, USAGE};
use crate::hints::Hint;
use crate::run_learning::destination;
use crate::{open_home, output};
use longhaul_playbook::database::JudgeKind;
use longhaul_playbook::keypoints::{Extraction, NewPoint};
use longhaul_playbook::{LearningDb, LearningPaths, retain_transcript};
use source::Source;
use std::path::PathBuf;

pub fn extract(global: &GlobalArgs, args: &ExtractArgs) -> u8 {
    let (extraction, code) = match Source::read(args) {
        Ok(source) => learn(args, &source),
        Err(failure) => failed(&failure),
    };
    // The default is the format that hooks read.
    match global.output_format.unwrap_or(OutputFormat::Json) {
        OutputFormat::Text => output::print_text(&text(&extraction)),
        format => output::print_json(format, &extraction),
    }
    code
}

/// Returns the lessons of a transcript and the exit code. If they cannot be extracted now, the transcript is
/// queued.
fn learn(args: &ExtractArgs, source: &Source) -> (Extraction, u8) {
    let project = match project(source) {
        Ok(project) => project,
        Err(failure) => return failed(&failure),
    };
    let settings = api_judge::settings();
    match request::ask(args, source, &project, &settings) {
        Ok(extraction) => (extraction, 0),
        Err(failure) => {
            let result = failed(&failure);
            // The caller must correct a usage error.
            if !args.no_queue && failure.exit_code != USAGE {
                queue(source, project);
            }
            result
        }
    }
}

fn project(source: &Source) -> Result<PathBuf, Failure> {
    let run_directory =
        source.run_directory.clone().filter(|_| std::env::var_os("CLAUDE_PROJECT_DIR").is_none());
    run_directory.map_or_else(current_project, Ok)
}

fn failed(failure: &Failure) -> (Extraction, u8) {
    output::print_error(&failure.error, failure.hint.as_deref());
    (Extraction::default(), failure.exit_code)
}

fn text(extraction: &Extraction) -> String {
    let Extraction { new_key_points, evaluations, operations } = extraction;
    let points = new_key_points.iter().map(|point| match point {
        NewPoint::Text(text) => format!("new: {text}\n"),
        NewPoint::WithSection { text, section: None } => format!("new: {text}\n"),
        NewPoint::WithSection { text, section: Some(section) } => format!("new: {text} ({section})\n"),
    });
    let evaluations = evaluations.iter().map(|evaluation| match &evaluation.justification {
        Some(justification) => format!("{}: {} ({justification})\n", evaluation.name, evaluation.rating),
        None => format!("{}: {}\n", evaluation.name, evaluation.rating),
    });
    let operations = operations.iter().flatten().map(|operation| format!("operation: {operation}\n"));
    let lines: String = points.chain(operations).chain(evaluations).collect();
    if lines.is_empty() { "nothing new\n".to_owned() } else { lines }
}

/// Queues a transcript and prints the result. A transcript from stdin is saved to a file first.
fn queue(source: &Source, project: PathBuf) {
    match try_queue(source, project) {
        Ok(path) => {
            let path = path.display();
            output::print_status(&format!("queued: `longhaul playbook learn` learns from {path}"));
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
            Failure::not_started(error.to_string(), hint)
        })?,
    };
    let project = std::path::absolute(&project).unwrap_or(project);
    let target = WorkerTarget { home: paths, kind: JudgeKind::Api, destination: destination() };
    let queued = target.queued(&project, transcript.clone());
    LearningDb::open(&target.home)?.enqueue(output::now(), &queued)?;
    Ok(transcript)
}

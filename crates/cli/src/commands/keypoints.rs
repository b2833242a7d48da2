//! `longhaul keypoints`: what one transcript teaches. Whatever happens, a result is printed; an empty one is explained on
//! stderr and by the exit code, and its transcript is queued.

mod asking;
mod queued;
mod source;

use super::playbook::of_here;
use crate::api_judge;
use crate::args::keypoints::{ExtractArgs, KeypointsArgs, KeypointsCommand};
use crate::args::{GlobalArgs, OutputFormat};
use crate::failure::{Failure, USAGE};
use crate::output;
use longhaul_playbook::keypoints::{Extraction, NewPoint};
use source::Source;
use std::path::PathBuf;

/// Carries out the command and returns its exit code.
pub fn keypoints(global: &GlobalArgs, args: &KeypointsArgs) -> Result<u8, Failure> {
    match &args.command {
        KeypointsCommand::Extract(args) => Ok(extract(global, args)),
    }
}

fn extract(global: &GlobalArgs, args: &ExtractArgs) -> u8 {
    let (extraction, code) = match Source::read(args) {
        Ok(source) => learn(global, args, &source),
        Err(failure) => failed(&failure),
    };
    // The form that the hooks read, unless a person asks for another.
    match global.output_format {
        Some(OutputFormat::Text) => output::print_text(&text(&extraction)),
        Some(OutputFormat::Json | OutputFormat::StreamJson) | None => output::print_json(&extraction),
    }
    code
}

/// What a transcript teaches that can be read, and the exit code. What cannot be had now is queued.
fn learn(global: &GlobalArgs, args: &ExtractArgs, source: &Source) -> (Extraction, u8) {
    let project = match project(source) {
        Ok(project) => project,
        Err(failure) => return failed(&failure),
    };
    let settings = api_judge::settings();
    match asking::ask(global, args, source, &project, &settings) {
        Ok(extraction) => (extraction, 0),
        Err(failure) => {
            let said = failed(&failure);
            // Who is called wrongly is called again.
            if !args.no_queue && failure.exit_code != USAGE {
                queued::queue(source, project);
            }
            said
        }
    }
}

/// The directory whose playbook it is about.
fn project(source: &Source) -> Result<PathBuf, Failure> {
    let of_run = source.run_directory.clone().filter(|_| std::env::var_os("CLAUDE_PROJECT_DIR").is_none());
    of_run.map_or_else(of_here, Ok)
}

fn failed(failure: &Failure) -> (Extraction, u8) {
    output::print_error(&failure.error, failure.hint.as_deref());
    (Extraction::default(), failure.exit_code)
}

fn text(extraction: &Extraction) -> String {
    let Extraction { new_key_points, evaluations, operations } = extraction;
    let points = new_key_points.iter().map(|point| match point {
        NewPoint::Text(text) => format!("new: {text}\n"),
        NewPoint::Placed { text, section: None } => format!("new: {text}\n"),
        NewPoint::Placed { text, section: Some(section) } => format!("new: {text} ({section})\n"),
    });
    let rated = evaluations.iter().map(|one| match &one.justification {
        Some(justification) => format!("{}: {} ({justification})\n", one.name, one.rating),
        None => format!("{}: {}\n", one.name, one.rating),
    });
    let operations = operations.iter().flatten().map(|operation| format!("operation: {operation}\n"));
    let told: String = points.chain(operations).chain(rated).collect();
    if told.is_empty() { "nothing new\n".to_owned() } else { told }
}

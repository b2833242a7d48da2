//! `longhaul playbook inject`: prints what a session would be told of the playbook.

use super::project;
use crate::args::playbook::InjectArgs;
use crate::args::{GlobalArgs, OutputFormat};
use crate::failure::Failure;
use crate::output;
use longhaul_playbook::judging::TemplatesError;
use longhaul_playbook::points::{self, Injection};
use longhaul_playbook::{FileError, PlaybookFile};
use serde::Serialize;

/// What is printed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InjectOutput {
    /// What a session would be told; nothing where there is nothing to tell.
    text: Option<String>,
    /// How many points are in it.
    points: usize,
    /// How many are not, for want of room.
    omitted: usize,
}

/// Carries out the command and returns its exit code.
pub fn inject(global: &GlobalArgs, args: &InjectArgs) -> Result<u8, Failure> {
    let told = print_playbook(&project::file(&args.project)?, &args.prompt, args.max_tokens)
        .map_err(|untold| Failure::not_started(untold.content, untold.hint, None))?;
    let (points, omitted) = told.as_ref().map_or((0, 0), |told| (told.points, told.omitted));
    let text = told.map(|told| told.text);
    match output::format(global) {
        OutputFormat::Text => output::print_text(&text.unwrap_or_default()),
        OutputFormat::Json | OutputFormat::StreamJson => {
            output::print_json(&InjectOutput { text, points, omitted });
        }
    }
    Ok(0)
}

/// What a session is told of this playbook at this prompt; nothing where there is none, or nothing in it.
pub fn print_playbook(
    playbook: &PlaybookFile,
    prompt: &str,
    max_tokens: Option<u64>,
) -> Result<Option<Injection>, InjectError> {
    let found = playbook.read()?;
    Ok(points::inject(&found.playbook, prompt, max_tokens, &project::templates())?)
}

/// Why nothing can be told.
#[derive(Debug)]
pub struct InjectError {
    pub content: String,
    pub hint: String,
}

impl From<FileError> for InjectError {
    fn from(error: FileError) -> InjectError {
        InjectError { content: error.to_string(), hint: error.hint() }
    }
}

impl From<TemplatesError> for InjectError {
    fn from(error: TemplatesError) -> InjectError {
        InjectError { content: error.to_string(), hint: error.hint() }
    }
}

//! `longhaul playbook inject`: prints the part of the playbook that a session would receive.

use super::project;
use crate::args::playbook::InjectArgs;
use crate::args::{GlobalArgs, OutputFormat};
use crate::failure::Failure;
use crate::output;
use longhaul_playbook::judging::TemplatesError;
use longhaul_playbook::points::{self, Injection};
use longhaul_playbook::{FileError, PlaybookFile};
use serde::Serialize;

/// Output of the command.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InjectOutput {
    /// Text that a session would receive. `None` if there is none.
    text: Option<String>,
    /// Number of points in the text.
    points: usize,
    /// Number of points omitted for lack of room.
    omitted: usize,
}

/// Runs the command and returns its exit code.
pub fn inject(global: &GlobalArgs, args: &InjectArgs) -> Result<u8, Failure> {
    let injection = injection_for_prompt(&project::file(&args.project)?, &args.prompt, args.max_tokens)
        .map_err(|error| Failure::not_started(error.message, error.hint, None))?;
    let (points, omitted) =
        injection.as_ref().map_or((0, 0), |injection| (injection.points, injection.omitted));
    let text = injection.map(|injection| injection.text);
    match output::format(global) {
        OutputFormat::Text => output::print_text(&text.unwrap_or_default()),
        OutputFormat::Json | OutputFormat::StreamJson => {
            output::print_json(&InjectOutput { text, points, omitted });
        }
    }
    Ok(0)
}

/// Returns the part of this playbook that a session receives for this prompt, or `None` if the playbook is
/// missing or empty.
pub fn injection_for_prompt(
    playbook: &PlaybookFile,
    prompt: &str,
    max_tokens: Option<u64>,
) -> Result<Option<Injection>, InjectError> {
    let loaded = playbook.read()?;
    Ok(points::inject(&loaded.playbook, prompt, max_tokens, &project::templates())?)
}

/// Why a playbook cannot be injected.
#[derive(Debug)]
pub struct InjectError {
    pub message: String,
    pub hint: String,
}

impl From<FileError> for InjectError {
    fn from(error: FileError) -> InjectError {
        InjectError { message: error.to_string(), hint: error.hint() }
    }
}

impl From<TemplatesError> for InjectError {
    fn from(error: TemplatesError) -> InjectError {
        InjectError { message: error.to_string(), hint: error.hint() }
    }
}

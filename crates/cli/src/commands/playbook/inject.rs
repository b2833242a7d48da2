//! `longhaul playbook inject`: prints the part of the playbook that a session would receive, without the limit of
//! hooks.

use super::project;
use crate::args::GlobalArgs;
use crate::args::playbook::InjectArgs;
use crate::failure::Failure;
use crate::output;
use longhaul_playbook::PlaybookFile;
use longhaul_playbook::points::{self, Injection, TextSize};
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

pub fn inject(global: &GlobalArgs, args: &InjectArgs) -> Result<u8, Failure> {
    let limit = TextSize::limit(args.max_tokens);
    let injection = injection_for_prompt(&project::file(&args.project)?, &args.prompt, limit)?;
    let (points, omitted) =
        injection.as_ref().map_or((0, 0), |injection| (injection.points, injection.omitted));
    let text = injection.map(|injection| injection.text);
    let injected = InjectOutput { text, points, omitted };
    output::print_output(global, &injected, || injected.text.clone().unwrap_or_default());
    Ok(0)
}

/// Returns the part of this playbook that a session receives for this prompt, or `None` if the playbook is
/// missing or empty.
pub fn injection_for_prompt(
    playbook: &PlaybookFile,
    prompt: &str,
    limit: TextSize,
) -> Result<Option<Injection>, Failure> {
    let loaded = playbook.read()?;
    Ok(points::inject(&loaded.playbook, prompt, limit, &project::templates())?)
}

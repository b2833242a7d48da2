//! `longhaul export`: packs a run into one file.

use crate::args::{ExportArgs, GlobalArgs, OutputFormat};
use crate::failure::Failure;
use crate::open_home;
use crate::output::envelope_text::grouped;
use crate::output::{self, print_status};
use longhaul::find_agent::AgentError;
use longhaul::transfer::{
    Exported, Manifest, SessionEntry, TransferError, Workspace, WorkspaceOmitted, export as pack,
};
use longhaul_core::{Fault, OutcomeKind, RunId};
use longhaul_store::OsText;
use serde::Serialize;
use std::path::PathBuf;

// As many as fit a line or two.
const NAMES_MAX: usize = 8;

/// What is printed. Keys are only ever added.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExportOutput<'a> {
    /// Where the run is now, too.
    file: String,
    /// The size of the file.
    bytes: u64,
    /// The run that is in the file.
    run: ExportedRun<'a>,
    /// The agent's sessions that the run has worked on.
    sessions: &'a [SessionEntry],
    /// The state of the workspace; nothing if it is not in the file.
    workspace: Option<&'a Workspace>,
}

/// The run that is in the file.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ExportedRun<'a> {
    /// Its id.
    id: &'a RunId,
    /// How it ended; nothing if it has not.
    outcome: Option<OutcomeKind>,
}

/// Carries out the command and returns its exit code.
pub fn export(global: &GlobalArgs, args: &ExportArgs) -> Result<u8, Failure> {
    let home = open_home::locate()?;
    let dir = open_home::find_run(&home, &args.run)?;
    let to = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.longhaul", dir.id())));
    let exported = pack(&home, &dir, &to, args.force).map_err(failure)?;
    print(&exported, output::format(global));
    if !global.quiet {
        for line in remarks(&exported) {
            print_status(&line);
        }
    }
    Ok(0)
}

fn print(exported: &Exported, format: OutputFormat) {
    let Exported { file, bytes, manifest, outcome, .. } = exported;
    let text = match format {
        OutputFormat::Text => {
            format!("File: {} ({} bytes)\nRun: {}\n", file.display(), grouped(*bytes), manifest.run)
        }
        OutputFormat::Json | OutputFormat::StreamJson => {
            let run = ExportedRun { id: &manifest.run, outcome: outcome.map(|outcome| outcome.kind) };
            output::pretty(&ExportOutput {
                file: file.display().to_string(),
                bytes: *bytes,
                run,
                sessions: &manifest.sessions,
                workspace: manifest.workspace.as_ref(),
            })
        }
    };
    output::print_text(&text);
}

/// What a person should know of the file.
fn remarks(exported: &Exported) -> Vec<String> {
    let Exported { manifest, outcome, no_workspace, .. } = exported;
    let cwd = manifest.cwd.as_path().display();
    let mut remarks = Vec::new();
    remarks.extend(no_workspace.map(|why| {
        let why = match why {
            WorkspaceOmitted::NotInGit => format!("git does not have {cwd}"),
            WorkspaceOmitted::Gone => format!("{cwd} is gone"),
        };
        format!("the workspace is not in the file: {why}; bring it along yourself, and import with --as-is")
    }));
    remarks.extend(left_out(manifest));
    if outcome.is_none() {
        for session in manifest.sessions.iter().filter(|session| !session.found) {
            remarks.push(format!("session {} was not found, and is not in the file", session.id));
        }
        remarks.push(format!(
            "the run should go on in one place only: once it is imported, end it here by `longhaul cancel {}`",
            manifest.run
        ));
    }
    remarks
}

/// What the file does not have of the workspace, besides what git ignores.
pub fn left_out(manifest: &Manifest) -> Vec<String> {
    let Some(workspace) = &manifest.workspace else { return Vec::new() };
    let named = |paths: &[OsText]| {
        let names = paths.iter().take(NAMES_MAX).map(|path| path.as_path().display().to_string());
        let more = paths.len().checked_sub(NAMES_MAX + 1).map(|more| format!("{} more", more + 1));
        names.chain(more).collect::<Vec<_>>().join(", ")
    };
    let mut remarks = Vec::new();
    if !workspace.omitted.is_empty() {
        let names = named(&workspace.omitted);
        remarks.push(format!("not in the file, being repositories of their own: {names}"));
    }
    if !workspace.filtered.is_empty() {
        let names = named(&workspace.filtered);
        remarks.push(format!("in the file only as git's filters make them: {names}"));
    }
    remarks
}

/// What a run that could not be moved is to the person who wanted it.
pub fn failure(error: TransferError) -> Failure {
    let mut fault = None;
    if let TransferError::Agent(agent) = &error {
        fault = Some(match agent {
            AgentError::NotFound { .. } | AgentError::Missing(_) => Fault::AgentMissing,
            AgentError::NotExecutable(_) => Fault::AgentUnusable,
        });
    }
    let (hint, message) = (error.hint(), error.to_string());
    let failure =
        if error.is_usage() { Failure::usage(message, "") } else { Failure::not_started(message, "", fault) };
    Failure { hint, ..failure }
}

//! `longhaul export`: packs a run or a workflow into one file.

use crate::args::{ExportArgs, GlobalArgs};
use crate::failure::Failure;
use crate::hints::Hint;
use crate::open_home::{self, RunOrWorkflow};
use crate::output::envelope_text::grouped;
use crate::output::phrases::first_paths;
use crate::output::{self, print_status};
use longhaul::transfer::{
    Exported, Manifest, SessionEntry, TransferError, WorkspaceManifest, WorkspaceOmitted, export as pack,
    export_workflow,
};
use longhaul_core::{OutcomeKind, RunId};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Output of the command. JSON keys are only added, never removed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExportOutput<'a> {
    /// Path of the file.
    file: String,
    /// Size of the file.
    bytes: u64,
    /// The exported run. `None` for a workflow.
    run: Option<ExportedRun<'a>>,
    /// The exported workflow. `None` for a run.
    workflow: Option<ExportedWorkflow<'a>>,
    /// Sessions that the runs have worked on.
    sessions: &'a [SessionEntry],
    /// State of the workspace. `None` if the file does not contain it.
    workspace: Option<&'a WorkspaceManifest>,
}

/// The exported run.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ExportedRun<'a> {
    /// Id of the run.
    id: &'a RunId,
    /// Outcome. `None` if the run is not finished.
    outcome: Option<OutcomeKind>,
}

/// The exported workflow.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ExportedWorkflow<'a> {
    /// Id of the workflow.
    id: &'a RunId,
    /// Outcome. `None` if the workflow is not finished.
    outcome: Option<OutcomeKind>,
    /// Ids of its runs.
    runs: &'a [RunId],
}

pub fn export(global: &GlobalArgs, args: &ExportArgs) -> Result<u8, Failure> {
    if args.output.as_deref() == Some(Path::new("-")) {
        return Err(Failure::usage("cannot export to stdout", "name a file with --output"));
    }
    let parent = args.output.as_deref().and_then(Path::parent).filter(|dir| !dir.as_os_str().is_empty());
    if let (Some(file), Some(dir)) = (&args.output, parent.filter(|dir| !dir.is_dir())) {
        let error = format!("cannot write {}: there is no directory {}", file.display(), dir.display());
        return Err(Failure::usage(error, "create the directory, or name another file with --output"));
    }
    let home = open_home::locate()?;
    let to = |id: &RunId| args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{id}.longhaul")));
    let exported = match open_home::find_target(&home, &args.run)? {
        RunOrWorkflow::Run(dir) => pack(&home, &dir, &to(dir.id()), args.force)?,
        RunOrWorkflow::Workflow(dir) => export_workflow(&home, &dir, &to(dir.id()), args.force)?,
    };
    print(&exported, global);
    notes(&exported).iter().for_each(|line| print_status(line));
    Ok(0)
}

fn print(exported: &Exported, global: &GlobalArgs) {
    let Exported { file, bytes, manifest, outcome, .. } = exported;
    let (id, outcome) = (&manifest.run, outcome.map(|outcome| outcome.kind));
    let runs = manifest.workflow_runs.as_deref();
    let printed = ExportOutput {
        file: file.display().to_string(),
        bytes: *bytes,
        run: runs.is_none().then_some(ExportedRun { id, outcome }),
        workflow: runs.map(|runs| ExportedWorkflow { id, outcome, runs }),
        sessions: &manifest.sessions,
        workspace: manifest.workspace.as_ref(),
    };
    output::print_output(global, &printed, || {
        let subject = match runs {
            Some(runs) => format!("Workflow: {id} ({} runs)", runs.len()),
            None => format!("Run: {id}"),
        };
        format!("File: {} ({} bytes)\n{subject}\n", printed.file, grouped(*bytes))
    });
}

fn notes(exported: &Exported) -> Vec<String> {
    let Exported { manifest, outcome, no_workspace, .. } = exported;
    let cwd = manifest.cwd.as_path().display();
    let mut notes = Vec::new();
    notes.extend(no_workspace.map(|reason| {
        let reason = match reason {
            WorkspaceOmitted::NotInGit => format!("{cwd} is not in a git repository"),
            WorkspaceOmitted::Missing => format!("{cwd} no longer exists"),
        };
        format!(
            "the workspace is not in the file: {reason}; copy it yourself, and import with --use-existing"
        )
    }));
    notes.extend(omission_notes(manifest));
    if outcome.is_none_or(|outcome| outcome.kind != OutcomeKind::Done) {
        for session in manifest.sessions.iter().filter(|session| !session.found) {
            notes.push(format!("session {} was not found, and is not in the file", session.id));
        }
    }
    if outcome.is_none() {
        notes.push(format!(
            "continue it in one place only: after importing it, run `longhaul cancel {}` here",
            manifest.run
        ));
    }
    notes
}

/// Returns notes on the parts of the workspace that the file lacks, except ignored files.
pub fn omission_notes(manifest: &Manifest) -> Vec<String> {
    let Some(workspace) = &manifest.workspace else { return Vec::new() };
    let mut notes = Vec::new();
    if !workspace.omitted.is_empty() {
        let names = first_paths(&workspace.omitted);
        notes.push(format!("not in the file, because they are separate repositories: {names}"));
    }
    if !workspace.filtered.is_empty() {
        let names = first_paths(&workspace.filtered);
        notes.push(format!("in the file only in the form that git's filters produce: {names}"));
    }
    notes
}

impl From<TransferError> for Failure {
    fn from(error: TransferError) -> Failure {
        let hint = match &error {
            TransferError::Store(error) => open_home::hint(error),
            error => error.hint(),
        };
        let message = error.to_string();
        let failure = match error {
            TransferError::Agent(agent) => Failure { error: message, ..agent.into() },
            error if error.is_usage() => Failure::usage(message, ""),
            _ => Failure::not_started(message, ""),
        };
        Failure { hint, ..failure }
    }
}

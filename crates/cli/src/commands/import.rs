//! `longhaul import`: adds a run that was exported on another machine.

use super::export::omission_notes;
use crate::args::{GlobalArgs, ImportArgs};
use crate::failure::Failure;
use crate::open_home;
use crate::output::{self, print_status};
use longhaul::transfer::{ImportDestination, ImportReport, SessionEntry, WorkspaceMatch, import as unpack};
use longhaul_core::{OutcomeKind, RunId};
use serde::Serialize;

/// Output of the command. JSON keys are only added, never removed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ImportOutput<'a> {
    /// The imported run.
    run: ImportedRun<'a>,
    /// Working directory of the agent.
    cwd: String,
    /// State of the workspace.
    workspace: WorkspaceMatch,
    /// Sessions that the run has worked on.
    sessions: &'a [SessionEntry],
    /// Command that continues or shows the run.
    next: String,
}

/// The imported run.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ImportedRun<'a> {
    /// Id of the run.
    id: &'a RunId,
    /// Run directory.
    dir: String,
    /// Outcome. `None` if the run is not finished.
    outcome: Option<OutcomeKind>,
}

pub fn import(global: &GlobalArgs, args: &ImportArgs) -> Result<u8, Failure> {
    // The import creates the home if needed.
    let home = open_home::locate()?;
    let destination = ImportDestination {
        into: &args.into,
        use_existing: args.use_existing,
        allow_large: args.allow_large,
        agent_path: args.agent_path.as_deref(),
    };
    let imported = unpack(&home, &args.file, destination)?;
    print(&imported, global);
    if !global.quiet {
        for line in notes(&imported) {
            print_status(&line);
        }
    }
    Ok(0)
}

fn print(imported: &ImportReport, global: &GlobalArgs) {
    let ImportReport { dir, cwd, manifest, outcome, workspace } = imported;
    let outcome = outcome.map(|outcome| outcome.kind);
    let printed = ImportOutput {
        run: ImportedRun { id: dir.id(), dir: dir.path().display().to_string(), outcome },
        cwd: cwd.display().to_string(),
        workspace: *workspace,
        sessions: &manifest.sessions,
        next: next(imported),
    };
    output::print_output(global, &printed, || {
        format!("Run: {}\nDirectory: {}\nNext: {}\n", dir.id(), printed.cwd, printed.next)
    });
}

fn next(imported: &ImportReport) -> String {
    let is_done = imported.outcome.is_some_and(|outcome| outcome.kind == OutcomeKind::Done);
    let command = if is_done { "show" } else { "resume" };
    format!("longhaul {command} {}", imported.dir.id())
}

fn notes(imported: &ImportReport) -> Vec<String> {
    let cwd = imported.cwd.display();
    match imported.workspace {
        WorkspaceMatch::Unpacked => omission_notes(&imported.manifest),
        WorkspaceMatch::Same => Vec::new(),
        WorkspaceMatch::Different => vec![format!("the files in {cwd} differ from the exported ones")],
        WorkspaceMatch::Unknown => {
            vec![format!("git cannot tell whether the files in {cwd} match the exported ones")]
        }
    }
}

//! `longhaul import`: adds a run that was exported on another machine.

use super::export::omission_notes;
use crate::args::{GlobalArgs, ImportArgs, OutputFormat};
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
    workspace: WorkspaceMatchWord,
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

/// State of the workspace after the import, in one word for programs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum WorkspaceMatchWord {
    /// The workspace was unpacked from the file.
    Unpacked,
    /// The existing files match the exported ones.
    Same,
    /// The existing files differ from the exported ones.
    Different,
    /// Git cannot compare the files.
    Unknown,
}

/// Runs the command and returns its exit code.
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
    print(&imported, output::format(global));
    if !global.quiet {
        for line in notes(&imported) {
            print_status(&line);
        }
    }
    Ok(0)
}

fn print(imported: &ImportReport, format: OutputFormat) {
    let ImportReport { dir, cwd, manifest, outcome, workspace } = imported;
    let next = next(imported);
    let text = match format {
        OutputFormat::Text => {
            format!("Run: {}\nDirectory: {}\nNext: {next}\n", dir.id(), cwd.display())
        }
        OutputFormat::Json | OutputFormat::StreamJson => {
            let outcome = outcome.map(|outcome| outcome.kind);
            output::pretty(&ImportOutput {
                run: ImportedRun { id: dir.id(), dir: dir.path().display().to_string(), outcome },
                cwd: cwd.display().to_string(),
                workspace: match_word(*workspace),
                sessions: &manifest.sessions,
                next,
            })
        }
    };
    output::print_text(&text);
}

fn next(imported: &ImportReport) -> String {
    let is_done = imported.outcome.is_some_and(|outcome| outcome.kind == OutcomeKind::Done);
    let command = if is_done { "show" } else { "resume" };
    format!("longhaul {command} {}", imported.dir.id())
}

fn match_word(workspace: WorkspaceMatch) -> WorkspaceMatchWord {
    match workspace {
        WorkspaceMatch::Unpacked => WorkspaceMatchWord::Unpacked,
        WorkspaceMatch::Same => WorkspaceMatchWord::Same,
        WorkspaceMatch::Different => WorkspaceMatchWord::Different,
        WorkspaceMatch::Unknown => WorkspaceMatchWord::Unknown,
    }
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

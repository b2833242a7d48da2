//! `longhaul import`: takes in a run that was exported elsewhere.

use super::export::{failure, left_out};
use crate::args::{GlobalArgs, ImportArgs, OutputFormat};
use crate::failure::Failure;
use crate::open_home;
use crate::output::{self, print_status};
use longhaul::transfer::{ImportDestination, Imported, SessionEntry, WorkspaceMatch, import as unpack};
use longhaul_core::{OutcomeKind, RunId};
use serde::Serialize;

/// What is printed. Keys are only ever added.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ImportOutput<'a> {
    /// The run that was taken in.
    run: ImportedRun<'a>,
    /// The directory that the agent works in from now on.
    cwd: String,
    /// How the workspace got there.
    workspace: WorkspaceMatchWord,
    /// The agent's sessions that the run has worked on.
    sessions: &'a [SessionEntry],
    /// The command that goes on with the run, or tells how it ended.
    next: String,
}

/// The run that was taken in.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ImportedRun<'a> {
    /// Its id.
    id: &'a RunId,
    /// The run's directory here.
    dir: String,
    /// How it ended; nothing if it has not.
    outcome: Option<OutcomeKind>,
}

/// How the workspace got there, in one word for programs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum WorkspaceMatchWord {
    /// It came with the file.
    Unpacked,
    /// What is there is what was exported.
    Same,
    /// What is there is not what was exported.
    Different,
    /// Git cannot tell.
    Unknown,
}

/// Carries out the command and returns its exit code.
pub fn import(global: &GlobalArgs, args: &ImportArgs) -> Result<u8, Failure> {
    // Made by the run that comes, if it comes.
    let home = open_home::locate()?;
    let destination = ImportDestination {
        into: &args.into,
        as_is: args.use_existing,
        allow_large: args.allow_large,
        agent_path: args.agent_path.as_deref(),
    };
    let imported = unpack(&home, &args.file, destination).map_err(failure)?;
    print(&imported, output::format(global));
    if !global.quiet {
        for line in remarks(&imported) {
            print_status(&line);
        }
    }
    Ok(0)
}

fn print(imported: &Imported, format: OutputFormat) {
    let Imported { dir, cwd, manifest, outcome, workspace } = imported;
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
                workspace: arrival(*workspace),
                sessions: &manifest.sessions,
                next,
            })
        }
    };
    output::print_text(&text);
}

/// The command that goes on with the run, or tells how it ended.
fn next(imported: &Imported) -> String {
    let is_done = imported.outcome.is_some_and(|outcome| outcome.kind == OutcomeKind::Done);
    let command = if is_done { "show" } else { "resume" };
    format!("longhaul {command} {}", imported.dir.id())
}

fn arrival(arrival: WorkspaceMatch) -> WorkspaceMatchWord {
    match arrival {
        WorkspaceMatch::Unpacked => WorkspaceMatchWord::Unpacked,
        WorkspaceMatch::Same => WorkspaceMatchWord::Same,
        WorkspaceMatch::Different => WorkspaceMatchWord::Different,
        WorkspaceMatch::Unknown => WorkspaceMatchWord::Unknown,
    }
}

/// What a person should know before going on.
fn remarks(imported: &Imported) -> Vec<String> {
    let cwd = imported.cwd.display();
    match imported.workspace {
        WorkspaceMatch::Unpacked => left_out(&imported.manifest),
        WorkspaceMatch::Same => Vec::new(),
        WorkspaceMatch::Different => vec![format!("the files in {cwd} are not those that were exported")],
        WorkspaceMatch::Unknown => {
            vec![format!("whether the files in {cwd} are those that the agent left, git cannot tell")]
        }
    }
}

//! `longhaul import`: adds a run or a workflow that was exported on another machine.

use super::export::omission_notes;
use crate::args::{GlobalArgs, ImportArgs};
use crate::failure::{Failure, OrFailure};
use crate::next_commands::commands_of;
use crate::open_home;
use crate::output::time::TimeFormat;
use crate::output::{self, print_status};
use crate::workflow_history::WorkflowHistory;
use longhaul::transfer::{ImportDestination, ImportReport, SessionEntry, WorkspaceMatch, import as unpack};
use longhaul_core::{OutcomeKind, RunId};
use longhaul_store::{Home, open_regular};
use serde::Serialize;

/// Output of the command. JSON keys are only added, never removed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ImportOutput<'a> {
    /// The imported run. `None` for a workflow.
    run: Option<ImportedRun<'a>>,
    /// The imported workflow. `None` for a run.
    workflow: Option<ImportedWorkflow<'a>>,
    /// Working directory of the agent, or directory of the workflow's project.
    cwd: String,
    /// State of the workspace.
    workspace: WorkspaceMatch,
    /// Sessions that the runs have worked on.
    sessions: &'a [SessionEntry],
    /// Command that continues or shows the run or the workflow.
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

/// The imported workflow.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ImportedWorkflow<'a> {
    /// Id of the workflow.
    id: &'a RunId,
    /// Directory of the workflow.
    dir: String,
    /// Outcome. `None` if the workflow is not finished.
    outcome: Option<OutcomeKind>,
    /// Ids of its runs.
    runs: &'a [RunId],
}

pub fn import(global: &GlobalArgs, args: &ImportArgs) -> Result<u8, Failure> {
    open_regular(&args.file).or_usage(
        format!("cannot read {}", args.file.display()),
        "name a file that `longhaul export` wrote",
    )?;
    // The import creates the home if needed.
    let home = open_home::locate()?;
    let destination = ImportDestination {
        into: &args.into,
        use_existing: args.use_existing,
        allow_large: args.allow_large,
        agent_path: args.agent_path.as_deref(),
    };
    let imported = unpack(&home, &args.file, destination)?;
    print(&imported, next(&home, &imported), global);
    notes(&imported).iter().for_each(|line| print_status(line));
    Ok(0)
}

fn print(imported: &ImportReport, next: String, global: &GlobalArgs) {
    let ImportReport { dir, cwd, manifest, outcome, workspace } = imported;
    let (id, dir) = (&manifest.run, dir.display().to_string());
    let outcome = outcome.map(|outcome| outcome.kind);
    let (run, workflow) = match &manifest.workflow_runs {
        Some(runs) => (None, Some(ImportedWorkflow { id, dir, outcome, runs })),
        None => (Some(ImportedRun { id, dir, outcome }), None),
    };
    let printed = ImportOutput {
        run,
        workflow,
        cwd: cwd.display().to_string(),
        workspace: *workspace,
        sessions: &manifest.sessions,
        next,
    };
    output::print_output(global, &printed, || {
        let subject = if printed.run.is_some() { "Run" } else { "Workflow" };
        format!("{subject}: {id}\nDirectory: {}\nNext: {}\n", printed.cwd, printed.next)
    });
}

/// Returns the command that continues or shows the run or the workflow, as `why` prints it.
fn next(home: &Home, imported: &ImportReport) -> String {
    let ImportReport { dir, outcome, manifest, .. } = imported;
    let commands = if manifest.workflow_runs.is_none() {
        commands_of(dir)
    } else {
        let clock = TimeFormat::here();
        let found = home.find_workflow(manifest.run.as_str()).ok().flatten();
        let history = found.and_then(|dir| WorkflowHistory::read(home, dir, &clock).ok());
        history.map(|history| history.next_step(&clock).commands).unwrap_or_default()
    };
    let run = &manifest.run;
    // Others, such as `longhaul doctor`, concern the machine of the export.
    let of_run = || commands.iter().filter(|command| command.contains(run.as_str()));
    let continues = |command: &&String| {
        ["longhaul resume ", "longhaul recover "].iter().any(|verb| command.starts_with(verb))
    };
    of_run().find(continues).or_else(|| of_run().next()).cloned().unwrap_or_else(|| {
        let command = match outcome {
            Some(outcome) if outcome.kind == OutcomeKind::Done => "show",
            None if manifest.workflow_runs.is_some() => "recover",
            Some(_) | None => "resume",
        };
        format!("longhaul {command} {run}")
    })
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

//! The JSON Schemas of everything that Longhaul prints or stores, as checked in under `docs/schemas`. Only
//! tests derive them, from the printed types; every output of the end-to-end tests is validated against them.

use flate2::read::GzDecoder;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

#[cfg(test)]
mod tests;

/// One schema.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SchemaEntry {
    /// The name of its file and the argument of `longhaul schema`: the command's name if a command prints it.
    pub name: &'static str,
    /// One-line description.
    pub about: &'static str,
}

/// The texts of all schemas by name. The build script packed them: as they are, they take a megabyte.
static TEXTS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let packed = include_bytes!(concat!(env!("OUT_DIR"), "/schemas.json.gz"));
    serde_json::from_reader(GzDecoder::new(packed.as_slice())).unwrap_or_default()
});

/// Returns the text of a schema.
pub fn text(name: &str) -> Option<&'static str> {
    TEXTS.get(name).map(String::as_str)
}

pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|schema| schema.name)
}

macro_rules! schema_entries {
    ($($name:literal: $about:literal,)*) => {
        /// Every schema: first the output of commands, in the order of their help, then all other formats.
        pub static ALL: &[SchemaEntry] = &[$(SchemaEntry {
            name: $name,
            about: $about,
        },)*];
    };
}

schema_entries! {
    "run": "The result envelope of run, resume, rerun, research, recover, attach, cancel and the commands of gsd that call a model",
    "run-detached": "The output of run --detach and resume --detach",
    "run-dry-run": "The output of run --dry-run",
    "rerun-dry-run": "The output of rerun --dry-run",
    "research-dry-run": "The output of research --dry-run",
    "loop": "The result envelope of loop, and of recover, resume, attach and cancel for a workflow",
    "loop-dry-run": "The output of loop --dry-run",
    "loop-validate": "The output of loop validate",
    "loop-stream": "A line of loop --output-format stream-json",
    "gsd-status": "The state of a GSD project",
    "gsd-projects-add": "The project that was added to the list",
    "gsd-projects-list": "The list of known GSD projects",
    "gsd-projects-remove": "The project that was removed from the list",
    "runs": "The list of runs",
    "status": "The unfinished runs and workflows",
    "cost": "Usage and cost, in total and by group",
    "show": "One run, with the decisions of each attempt",
    "show-workflow": "One workflow: its settings, iterations, phases and runs",
    "why": "The timeline of a run, with its next step",
    "why-workflow": "The timeline of a workflow, with its next step",
    "logs": "The messages and tool calls of a run",
    "diff": "The changes of a run to its workspace",
    "report": "A report on runs: results, costs and runs that need attention",
    "playbook-show": "The key points of a project's playbook",
    "playbook-inject": "The part of the playbook that a session would receive",
    "playbook-edit": "The result of editing the playbook",
    "playbook-check": "The validity of the playbook, with its errors",
    "playbook-history": "The history of changes to the playbook, with reasons",
    "playbook-undo": "The changes that were undone",
    "playbook-learn": "The result of learning: key points learned, errors and queued sessions",
    "playbook-status": "The status of learning: queued sessions, errors, key points learned and cost",
    "playbook-bootstrap": "The past sessions to learn from, the skipped ones with reasons, and the estimated cost",
    "playbook-install": "The settings files to which hooks were added",
    "playbook-uninstall": "The settings files from which hooks were removed",
    "playbook-extract": "The key points of one transcript",
    "export": "The contents of an exported file",
    "import": "The result of importing a file",
    "gc": "The files that were removed",
    "ledger-rebuild": "The result of rebuilding the ledger",
    "ledger-verify": "The differences between the ledger and the journals",
    "drill": "The scorecards of practice runs",
    "simulate": "The forecast of a policy under faults",
    "doctor": "The results of checking whether runs can start here",
    "mcp-install": "The configuration of an MCP client",
    "config": "Configuration files, for editors that validate them and complete keys",
    "config-show": "The effective configuration",
    "config-path": "The paths of configuration files",
    "config-init": "The configuration file that was written",
    "config-trust": "A project's file whose trust changed",
    "schema": "The list of these schemas",
    "events": "A line of --events",
    "stream-json": "A line of Longhaul in --output-format stream-json, between the agent's own lines",
    "stream-result": "The last line of --output-format stream-json: the result of the run",
    "notify": "The input of --notify commands",
    "lifecycle": "An event of --preset openclawpack on stderr, after `event: `",
    "message": "A line of logs/transcript.jsonl, and of logs --output-format stream-json",
    "journal": "A line of journal.jsonl",
    "status-file": "status.json in a run's directory",
    "cost-summary": "logs/cost_summary.json in a run's directory",
    "session": "logs/session.json in a run's directory",
    "plan": "plan.json in a run's directory",
    "metadata": "metadata.json in a run's directory",
    "blocked-urls": "logs/blocked_urls.json in a run's directory",
    "changes": "changes.json in a run's directory",
    "trace": "trace.json in a run's directory",
    "argv": "attempts/NNN/argv.json in a run's directory",
    "attempt-session": "attempts/NNN/session.json in a run's directory",
    "exit": "attempts/NNN/exit.json in a run's directory",
    "usage": "attempts/NNN/usage.json in a run's directory",
    "answers": "attempts/NNN/answers.json in a run's directory",
    "background": "attempts/NNN/background.json in a run's directory",
    "watchdog": "attempts/NNN/watchdog.json in a run's directory",
    "workflow-plan": "plan.json in a workflow's directory",
    "workflow-journal": "A line of journal.jsonl in a workflow's directory",
    "workflow-status": "status.json in a workflow's directory",
    "workflow-result": "results/N/PHASE/N.json in a workflow's directory",
}

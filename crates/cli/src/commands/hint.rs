//! `longhaul hint`: leaves a text for the next phase of a workflow that reads hints.

use super::loop_workflow::find;
use crate::args::HintArgs;
use crate::failure::Failure;
use crate::output::{self, print_status};
use crate::workflow_next_commands::next_commands;
use crate::{open_home, prompt_arg};
use longhaul_core::{OutcomeKind, Workflow};
use longhaul_store::{Journal, WorkflowDir, WorkflowSource};
use longhaul_workflow::WorkflowFile;

pub fn hint(args: &HintArgs) -> Result<u8, Failure> {
    let home = open_home::locate()?;
    let dir = find(&home, &args.workflow)?;
    let text =
        prompt_arg::read_text("hint", "write what the next phase should know", Some(&args.text), None)?;
    let id = dir.id();
    let plan = dir.plan()?;
    let WorkflowSource { path, text: workflow, files } = &plan.file;
    let file = WorkflowFile::parse_with_files(workflow, path.as_path(), &plan.parameters, files)?;
    if !file.phases().iter().any(|phase| phase.prompt.uses_hints()) {
        return Err(Failure::usage(
            format!("workflow {id} cannot receive hints: none of its prompts uses `hints`"),
            "add `{% for hint in hints %}{{ hint }}{% endfor %}` to a prompt of the workflow file, and start the workflow again",
        ));
    }
    dir.add_hint(&text, output::now())?;
    print_status(&state_of(&dir)?);
    Ok(0)
}

fn state_of(dir: &WorkflowDir) -> Result<String, Failure> {
    let id = dir.id();
    let loaded = Journal::load(&dir.journal_path())?;
    Ok(match Workflow::replay(loaded.records()).state().outcome() {
        Some(outcome) if outcome.kind == OutcomeKind::Done => {
            format!("the hint is stored, but workflow {id} is done: no phase is left to receive it")
        }
        Some(outcome) => {
            let next = next_commands(&dir.status()?, outcome).pop().unwrap_or_default();
            format!("the hint is stored; workflow {id} has finished: `{next}` continues it")
        }
        None => format!(
            "the next phase of workflow {id} whose prompt uses `hints` receives the hint, if one is left"
        ),
    })
}

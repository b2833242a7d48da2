//! `longhaul playbook undo`: the playbook becomes what it was before a change.

use super::change_report::ChangeReport;
use super::project;
use crate::args::playbook::UndoArgs;
use crate::args::{GlobalArgs, OutputFormat};
use crate::failure::Failure;
use crate::output;
use longhaul_playbook::UndoError;

/// Carries out the command and returns its exit code.
pub fn undo(global: &GlobalArgs, args: &UndoArgs) -> Result<u8, Failure> {
    let file = project::file(&args.project)?;
    let Some(mut learning) = project::known()? else {
        return Err(project::failure(&UndoError::Nothing.into()));
    };
    if !args.dry_run {
        file.settle(&learning).map_err(|error| project::failure(&error))?;
    }
    let planned =
        file.undoing(&learning, args.change, args.force).map_err(|error| project::failure(&error))?;
    let reverted: Vec<i64> = [planned.number].into_iter().chain(planned.later).collect();
    let printed = if args.dry_run {
        ChangeReport::planned(&file, planned.changes, reverted)
    } else {
        // The change that was looked at, whatever was changed since.
        let undone = file.undo(&mut learning, Some(planned.number), args.force, output::now());
        ChangeReport::new(&file, undone.map_err(|error| project::failure(&error))?, reverted)
    };
    match output::format(global) {
        OutputFormat::Text => output::print_text(&printed.text()),
        OutputFormat::Json | OutputFormat::StreamJson => output::print_json(&printed),
    }
    Ok(0)
}

//! `longhaul playbook undo`: restores the playbook to its state before a change.

use super::change_report::ChangeReport;
use super::project;
use crate::args::GlobalArgs;
use crate::args::playbook::UndoArgs;
use crate::failure::Failure;
use crate::output;
use longhaul_playbook::{FileError, UndoError};

pub fn undo(global: &GlobalArgs, args: &UndoArgs) -> Result<u8, Failure> {
    let file = project::file(&args.project)?;
    let Some(mut learning) = project::existing_db()? else {
        return Err(FileError::from(UndoError::Nothing).into());
    };
    if !args.dry_run {
        file.complete_interrupted_change(&learning)?;
    }
    let planned = file.undo_plan(&learning, args.change, args.force)?;
    let reverted: Vec<i64> = [planned.number].into_iter().chain(planned.later).collect();
    let report = if args.dry_run {
        ChangeReport::dry_run(&file, planned.changes, reverted)
    } else {
        // Undoes the planned change, even if newer changes were made meanwhile.
        let undone = file.undo(&mut learning, Some(planned.number), args.force, output::now());
        ChangeReport::new(&file, undone?, reverted)
    };
    report.print(global);
    Ok(0)
}

//! `longhaul playbook undo`.

use crate::args::Global;
use crate::args::playbook::UndoArgs;
use crate::failure::Failure;

/// Carries out the command and returns its exit code.
pub fn undo(_global: &Global, _args: &UndoArgs) -> Result<u8, Failure> {
    Err(Failure::unexpected("playbook undo is not built yet"))
}

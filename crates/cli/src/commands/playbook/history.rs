//! `longhaul playbook history`.

use crate::args::Global;
use crate::args::playbook::HistoryArgs;
use crate::failure::Failure;

/// Carries out the command and returns its exit code.
pub fn history(_global: &Global, _args: &HistoryArgs) -> Result<u8, Failure> {
    Err(Failure::unexpected("playbook history is not built yet"))
}

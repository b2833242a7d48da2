//! `longhaul playbook uninstall`: takes our hooks out of Claude Code's settings. Playbooks, and what is queued, stay.

use super::settings;
use crate::args::GlobalArgs;
use crate::args::playbook::UninstallArgs;
use crate::failure::Failure;

/// Carries out the command and returns its exit code.
pub fn uninstall(global: &GlobalArgs, args: &UninstallArgs) -> Result<u8, Failure> {
    let file = settings::file(&args.scope)?;
    let mut change = file.without_hooks().map_err(|error| settings::failure(&error))?;
    // What else is in the settings is no concern of whoever takes ours out.
    change.warnings.clear();
    settings::carry_out(global, &file, &change, args.dry_run, "uninstalled")
}

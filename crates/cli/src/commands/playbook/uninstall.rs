//! `longhaul playbook uninstall`: removes Longhaul's hooks from Claude Code's settings. Playbooks and the
//! queue stay.

use super::settings;
use crate::args::GlobalArgs;
use crate::args::playbook::UninstallArgs;
use crate::failure::Failure;

/// Runs the command and returns its exit code.
pub fn uninstall(global: &GlobalArgs, args: &UninstallArgs) -> Result<u8, Failure> {
    let file = settings::file(&args.scope)?;
    let mut change = file.without_hooks().map_err(settings::usage)?;
    // Warnings about other settings do not matter when hooks are removed.
    change.warnings.clear();
    settings::apply_change(global, &file, &change, args.dry_run, "uninstalled")
}

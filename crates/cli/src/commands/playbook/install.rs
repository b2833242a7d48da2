//! `longhaul playbook install` and `uninstall`: add Longhaul's hooks to Claude Code's settings or remove them, and
//! keep everything else.

use super::settings;
use crate::args::GlobalArgs;
use crate::args::playbook::{InstallArgs, UninstallArgs};
use crate::failure::Failure;
use crate::next_commands::quoted;
use crate::output;
use crate::own_program::lasting_path;
use longhaul_playbook::hooks::{HookEntry, HookEvent, SettingsFile, SettingsWarning};

pub fn install(global: &GlobalArgs, args: &InstallArgs) -> Result<u8, Failure> {
    let path = lasting_path()?;
    let program = path.to_str().ok_or_else(|| {
        Failure::unexpected(format!("cannot find this program: {} is not valid UTF-8", path.display()))
    })?;
    let flags: String = args.learning.flags().iter().map(|flag| format!(" {}", quoted(flag))).collect();
    let command = |event: HookEvent| format!("{} hook {event}{flags}", quoted(program));
    let hooks: Vec<HookEntry> =
        HookEvent::ALL.iter().map(|event| HookEntry { event: *event, command: command(*event) }).collect();
    let file = settings::file(&args.scope)?;
    let mut change = file.with_hooks(&hooks, args.replace_ace).map_err(settings::usage)?;
    // ACE hooks are in the user's settings, whichever file receives Longhaul's.
    let user_settings =
        settings::file(&Default::default()).ok().filter(|settings| settings.path() != file.path());
    let user_settings = user_settings.filter(SettingsFile::has_ace);
    let has_warning = change.warnings.contains(&SettingsWarning::AceHooks);
    if !has_warning && !args.replace_ace && user_settings.is_some() {
        change.warnings.push(SettingsWarning::AceHooks);
    }
    let without_ace = user_settings
        .filter(|_| args.replace_ace)
        .map(|settings| settings.without_ace())
        .transpose()
        .map_err(settings::usage)?;
    let code = settings::apply_change(global, &file, &change, args.dry_run, "installed")?;
    if let Some(without_ace) = without_ace.filter(|_| !args.dry_run) {
        let backup = without_ace.write().map_err(settings::usage)?;
        let hint = backup.map(|backup| format!("backup: {}", backup.display()));
        let warning = "the ACE playbook hooks were removed from the settings of all your projects";
        output::print_warning(warning, hint.as_deref());
    }
    if args.scope.project && !args.dry_run {
        let hint = "use --local to install the hooks for yourself only";
        output::print_warning(&format!("other users of this file do not have {program}"), Some(hint));
    }
    Ok(code)
}

/// Removes the hooks. Playbooks and the queue stay.
pub fn uninstall(global: &GlobalArgs, args: &UninstallArgs) -> Result<u8, Failure> {
    let file = settings::file(&args.scope)?;
    let mut change = file.without_hooks().map_err(settings::usage)?;
    // Warnings about other settings do not matter when hooks are removed.
    change.warnings.clear();
    settings::apply_change(global, &file, &change, args.dry_run, "uninstalled")
}

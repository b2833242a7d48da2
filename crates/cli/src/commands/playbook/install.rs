//! `longhaul playbook install`: puts our hooks into Claude Code's settings, beside whatever is there.

use super::settings;
use crate::args::GlobalArgs;
use crate::args::playbook::InstallArgs;
use crate::failure::Failure;
use crate::output;
use longhaul::quoted;
use longhaul_playbook::hooks::{HookEntry, HookEvent, SettingsFile, SettingsWarning};
use std::path::PathBuf;
use std::{env, fs};

/// Carries out the command and returns its exit code.
pub fn install(global: &GlobalArgs, args: &InstallArgs) -> Result<u8, Failure> {
    let program = program()?;
    let flags: String = args.learning.flags().iter().map(|flag| format!(" {}", quoted(flag))).collect();
    let command = |event: HookEvent| format!("{} hook {event}{flags}", quoted(&program));
    let wanted: Vec<HookEntry> =
        HookEvent::ALL.iter().map(|event| HookEntry { event: *event, command: command(*event) }).collect();
    let file = settings::file(&args.scope)?;
    let mut change = file.with_hooks(&wanted, args.replace_ace).map_err(|error| settings::failure(&error))?;
    // Theirs are in the user's settings, whichever ours are put into.
    let users = settings::file(&Default::default()).ok().filter(|users| users.path() != file.path());
    let users = users.filter(SettingsFile::has_ace);
    let is_told = change.warnings.contains(&SettingsWarning::AceHooks);
    if !is_told && !args.replace_ace && users.is_some() {
        change.warnings.push(SettingsWarning::AceHooks);
    }
    let theirs = users.filter(|_| args.replace_ace).map(|users| users.without_ace()).transpose();
    let theirs = theirs.map_err(|error| settings::failure(&error))?;
    let code = settings::carry_out(global, &file, &change, args.dry_run, "installed")?;
    if let Some(theirs) = theirs.filter(|_| !args.dry_run) {
        let backup = theirs.write().map_err(|error| settings::failure(&error))?;
        let kept = backup.map(|backup| format!("they are kept as they were: {}", backup.display()));
        if !global.quiet {
            let what = "the ACE playbook hooks are taken out of the settings of all your projects";
            output::print_warning(what, kept.as_deref());
        }
    }
    if args.scope.project && !global.quiet && !args.dry_run {
        let hint = "with --local they are in settings that Claude Code keeps for you alone";
        output::print_warning(&format!("whoever takes over this file has no {program}"), Some(hint));
    }
    Ok(code)
}

/// Where this program is: by the name under which it is found, which stays when a newer one is put there.
fn program() -> Result<String, Failure> {
    let failed = |what: String| Failure::unexpected(format!("find this program: {what}"));
    let own = env::current_exe().map_err(|error| failed(error.to_string()))?;
    let name = own.file_name().unwrap_or_default();
    let dirs: Vec<PathBuf> = env::var_os("PATH").iter().flat_map(env::split_paths).collect();
    let by_name = dirs.into_iter().filter(|dir| dir.is_absolute()).map(|dir| dir.join(name));
    let own_file = fs::canonicalize(&own).ok();
    let found =
        by_name.into_iter().find(|path| own_file.is_some() && fs::canonicalize(path).ok() == own_file);
    let path = found.unwrap_or(own);
    path.to_str().map(str::to_owned).ok_or_else(|| failed(format!("{} is no text", path.display())))
}

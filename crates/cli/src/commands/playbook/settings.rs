//! Selects and changes a settings file of Claude Code.

use crate::args::playbook::ScopeArgs;
use crate::args::{GlobalArgs, OutputFormat};
use crate::failure::{Failure, OrFailure};
use crate::output;
use longhaul::find_agent::claude_config_dir;
use longhaul_playbook::UserError;
use longhaul_playbook::hooks::{SettingsChange, SettingsFile, SettingsWarning};
use serde::Serialize;
use std::env;
use std::path::{Path, PathBuf};

/// Output of the commands that change settings.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SettingsOutput {
    /// Path of the settings file.
    file: String,
    /// Whether nothing was written. The other fields then describe the planned change.
    dry_run: bool,
    /// Whether the content differs.
    changed: bool,
    /// Backup of the previous file, if one was made.
    backup: Option<String>,
    /// Warnings about the resulting settings.
    warnings: Vec<String>,
    /// Content of the resulting file, with `--dry-run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
}

pub fn file(scope: &ScopeArgs) -> Result<SettingsFile, Failure> {
    let here = |name: &str| env::current_dir().map(|dir| dir.join(".claude").join(name));
    let path = if scope.project {
        here("settings.json")
    } else if scope.local {
        here("settings.local.json")
    } else {
        let dir = claude_config_dir().ok_or_else(|| {
            Failure::usage(
                "cannot find Claude Code's settings: HOME is not set",
                "set HOME, or use --project or --local",
            )
        })?;
        Ok(dir.join("settings.json"))
    };
    let path = path.or_usage("cannot find the project", "change to its directory")?;
    // A renamed program also recognizes the hooks that it installed under its current name.
    let program = env::current_exe().ok();
    let name = program.as_deref().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    Ok(SettingsFile::new(path, &name))
}

/// Returns the settings files that contain Longhaul's hooks, and the error of the first one that cannot be read.
pub fn installed() -> (Vec<PathBuf>, Option<UserError>) {
    let scope = |project, local| ScopeArgs { user: false, project, local };
    let files = [scope(false, false), scope(true, false), scope(false, true)];
    let files = files.iter().filter_map(|scope| file(scope).ok());
    let (mut with_hooks, mut unreadable) = (Vec::new(), None);
    for file in files {
        match file.without_hooks() {
            Ok(change) if change.is_change() => with_hooks.push(file.path().to_owned()),
            Ok(_) => {}
            Err(error) => unreadable = unreadable.or(Some(error)),
        }
    }
    (with_hooks, unreadable)
}

pub fn usage(error: UserError) -> Failure {
    Failure::usage(error.message, error.hint)
}

/// Applies a change and prints the result. Writes nothing in a dry run.
pub fn apply_change(
    global: &GlobalArgs,
    file: &SettingsFile,
    change: &SettingsChange,
    dry_run: bool,
    completed: &str,
) -> Result<u8, Failure> {
    let backup = if dry_run { None } else { change.write().map_err(usage)? };
    let path = file.path();
    match output::format(global) {
        OutputFormat::Text if dry_run => output::print_text(&change.after),
        OutputFormat::Text => {
            let summary = if change.is_change() { completed } else { "nothing to change" };
            let mut text = format!("{summary}: {}\n", path.display());
            if let Some(backup) = &backup {
                text += &format!("backup: {}\n", backup.display());
            }
            output::print_text(&text);
        }
        format @ (OutputFormat::Json | OutputFormat::StreamJson) => output::print_json(
            format,
            &SettingsOutput {
                file: path.display().to_string(),
                dry_run,
                changed: change.is_change(),
                backup: backup.map(|path| path.display().to_string()),
                warnings: change.warnings.iter().map(|warning| describe(*warning).0.to_owned()).collect(),
                content: dry_run.then(|| change.after.clone()),
            },
        ),
    }
    for warning in &change.warnings {
        let (description, hint) = describe(*warning);
        output::print_warning(description, Some(hint));
    }
    Ok(0)
}

fn describe(warning: SettingsWarning) -> (&'static str, &'static str) {
    match warning {
        SettingsWarning::HooksAreDisabled => {
            ("these settings disable all hooks", "remove `disableAllHooks` from them")
        }
        SettingsWarning::AceHooks => (
            "the ACE playbook hooks are installed too: sessions are injected and judged twice",
            "remove them with --replace-ace; the playbook does not change",
        ),
    }
}

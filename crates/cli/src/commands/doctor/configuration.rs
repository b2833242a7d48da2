//! Checks that the configuration of a run in this directory is valid.

use super::finding::Finding;
use crate::args::{Cli, GlobalArgs};
use crate::config::arguments::{LoadedConfig, variables};
use crate::config::find::{project_file, user_file};
use crate::config::keys::Keys;
use crate::config::layers::merge;
use crate::failure::Failure;
use clap::CommandFactory;
use std::env;
use std::path::{Path, PathBuf};

const CONFIGURATION: &str = "configuration";

/// Reads the configuration as `longhaul run` would. Errors name the file and line.
pub fn check(global: &GlobalArgs) -> Finding {
    let directory = env::current_dir().unwrap_or_default();
    match read(global, &directory) {
        Ok(files) if files.is_empty() => Finding::ok(CONFIGURATION, "no file"),
        Ok(files) => {
            let files: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
            Finding::ok(CONFIGURATION, files.join(", "))
        }
        Err(Failure { error, hint, .. }) => {
            Finding::problem(CONFIGURATION, error, hint.unwrap_or_else(|| "fix it".to_owned()))
        }
    }
}

/// Returns the existing files, if their content is valid.
fn read(global: &GlobalArgs, directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let root = Cli::command();
    let keys = Keys::for_command(&root);
    let is_enabled = !global.configured.no_config;
    let profile = global.configured.profile.as_deref();
    let loaded = LoadedConfig::read(&root, &keys, Some(directory), profile, is_enabled)?;
    let variables = variables(&root, keys.plain(), |name| env::var_os(name))?;
    merge(&root, &keys, &loaded.files, &variables, loaded.chosen.as_ref())?;
    let files = [user_file(|name| env::var_os(name)), project_file(directory)];
    Ok(files.into_iter().flatten().filter(|file| is_enabled && file.exists()).collect())
}

//! Checks that the configuration of a run in this directory is valid.

use super::finding::Finding;
use crate::args::{Cli, GlobalArgs};
use crate::config::find::{project_file, user_file};
use crate::config::keys::Keys;
use crate::config::loaded::LoadedConfig;
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

fn read(global: &GlobalArgs, directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    LoadedConfig::read(&Keys::for_command(&Cli::command()), Some(directory), &global.configured, |_| true)?;
    let files = [user_file(), project_file(directory)];
    Ok(files.into_iter().flatten().filter(|file| !global.configured.no_config && file.exists()).collect())
}

//! `longhaul config`: shows, creates and trusts configuration files. It never starts a run.

mod show;
mod trust;

#[cfg(test)]
pub use trust::ConfigTrust;

use crate::args::{Cli, ConfigCommand, GlobalArgs, PathArgs};
use crate::config::find::{PROJECT_FILE, project_file, user_file};
use crate::config::keys::Keys;
use crate::config::{FileOwner, template};
use crate::failure::Failure;
use crate::{output, prompt_arg};
use clap::CommandFactory;
use serde::Serialize;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The configuration files. Output of `config path`. JSON keys are only added, never removed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ConfigFilesOutput {
    /// The user's own file. `None` if its directory is unknown.
    user: Option<ConfigFileStatus>,
    /// The project's file. `None` if there is none here or above.
    project: Option<ConfigFileStatus>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ConfigFileStatus {
    /// Whether the file exists.
    exists: bool,
    /// Path of the file.
    path: String,
}

/// Result of `config init`. JSON keys are only added, never removed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ConfigWritten {
    /// Path of the file that was written.
    written: String,
}

pub fn config(global: &GlobalArgs, command: &ConfigCommand) -> Result<u8, Failure> {
    match command {
        ConfigCommand::Show(args) => show::show(global, args),
        ConfigCommand::Path(args) => path(global, args),
        ConfigCommand::Init { user } => init(global, *user),
        ConfigCommand::Trust(args) => trust::trust(global, args),
    }
}

fn directory(path: Option<&Path>) -> Result<PathBuf, Failure> {
    prompt_arg::directory(path.unwrap_or(Path::new(".")))
}

fn path(global: &GlobalArgs, args: &PathArgs) -> Result<u8, Failure> {
    let project = project_file(&directory(args.cwd.as_deref())?);
    let user = user_file();
    let exists = |path: &PathBuf| fs::symlink_metadata(path).is_ok();
    let files = ConfigFilesOutput {
        user: user.map(|path| ConfigFileStatus { exists: exists(&path), path: path.display().to_string() }),
        project: project.map(|path| ConfigFileStatus { exists: true, path: path.display().to_string() }),
    };
    output::print_output(global, &files, || {
        let user = match &files.user {
            Some(file) if file.exists => file.path.clone(),
            Some(file) => format!("{} (does not exist)", file.path),
            None => "none: neither XDG_CONFIG_HOME nor HOME is an absolute path".to_owned(),
        };
        let project = match &files.project {
            Some(file) => file.path.clone(),
            None => format!("none: there is no {PROJECT_FILE} here or above"),
        };
        format!("user     {user}\nproject  {project}\n")
    });
    Ok(0)
}

fn init(global: &GlobalArgs, is_user: bool) -> Result<u8, Failure> {
    let (owner, path) = if is_user {
        let hint = "set HOME or XDG_CONFIG_HOME to an absolute path";
        (
            FileOwner::User,
            user_file().ok_or_else(|| Failure::usage("the directory of your own file is unknown", hint))?,
        )
    } else {
        (FileOwner::Project, directory(None)?.join(PROJECT_FILE))
    };
    let text = template::text(&Keys::for_command(&Cli::command()), owner);
    let write = || -> io::Result<()> {
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
        File::create_new(&path)?.write_all(text.as_bytes())
    };
    write().map_err(|error| {
        let path = path.display();
        match error.kind() {
            ErrorKind::AlreadyExists => Failure::usage(
                format!("{path} already exists"),
                "nothing was changed: edit the file, or move it away",
            ),
            _ => Failure::usage(
                format!("cannot write {path}: {error}"),
                "check the owner and permissions of the directory",
            ),
        }
    })?;
    let written = ConfigWritten { written: path.display().to_string() };
    output::print_output(global, &written, || format!("{}\n", written.written));
    Ok(0)
}

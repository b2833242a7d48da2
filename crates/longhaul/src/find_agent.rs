//! Finds the agent's executable, on `PATH` or where its installers put it, and reports an agent that is not
//! installed. Finds the agent's sessions. It never starts or changes anything.

use longhaul_agent::default_dialect;
use longhaul_core::AgentProgram;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{env, fs};
use thiserror::Error;

/// The reason why the agent cannot be started.
#[derive(Debug, Error)]
pub enum AgentError {
    /// The program is in none of the searched directories.
    #[error("cannot find Claude Code (`{name}`): not in {}", join_dirs(.searched))]
    NotFound {
        /// The program's name.
        name: &'static str,
        /// Directories that were searched.
        searched: Vec<PathBuf>,
    },
    /// The command of the agent is not on PATH.
    #[error("cannot find the agent `{0}`: it is not on PATH")]
    NotInPath(String),
    /// The program named by the user does not exist.
    #[error("cannot find the agent {}: there is no such file", .0.display())]
    Missing(PathBuf),
    /// The program named by the user cannot be started.
    #[error("cannot start the agent {}: it is not an executable file", .0.display())]
    NotExecutable(PathBuf),
}

fn join_dirs(dirs: &[PathBuf]) -> String {
    let names: Vec<String> = dirs.iter().map(|dir| dir.display().to_string()).collect();
    if names.is_empty() { "PATH (which is empty)".to_owned() } else { names.join(", ") }
}

/// Finds Claude Code: the program that the user named, else the first `claude` on the path, else one in the
/// directories of its installers.
///
/// # Errors
/// Returns an error if it is in none of these directories, or if the named file is not executable.
pub fn find_claude(requested: Option<&Path>) -> Result<PathBuf, AgentError> {
    if let Some(path) = requested {
        return resolve_program(path);
    }
    let mut searched: Vec<PathBuf> =
        env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default();
    if let Some(home) = env::var_os("HOME").map(PathBuf::from) {
        searched.extend([home.join(".local/bin"), home.join(".claude/local")]);
    }
    // A directory that is on the path twice is listed once.
    let mut seen = BTreeSet::new();
    searched.retain(|dir| seen.insert(dir.clone()));
    searched
        .iter()
        .map(|dir| dir.join("claude"))
        .find(|path| is_executable(path))
        .ok_or(AgentError::NotFound { name: "claude", searched })
}

/// Finds the program of a command: the file if it names one, else the first of this name on the path.
///
/// # Errors
/// Returns an error if there is no such executable file.
pub fn find_program(command: &str) -> Result<PathBuf, AgentError> {
    if command.contains('/') {
        return resolve_program(Path::new(command));
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).map(|dir| dir.join(command)).find(|path| is_executable(path));
    found.ok_or_else(|| AgentError::NotInPath(command.to_owned()))
}

/// Finds the program of a recorded run: the one that the user named, else the recorded one, else one of the same kind.
pub(crate) fn find_recorded(agent: &AgentProgram, requested: Option<&Path>) -> Result<PathBuf, AgentError> {
    let found = resolve_program(requested.unwrap_or(&agent.program));
    match agent.program.file_name().and_then(OsStr::to_str) {
        _ if found.is_ok() || requested.is_some() => found,
        _ if agent.name == default_dialect().name() => find_claude(None),
        Some(name) => find_program(name).or(found),
        None => found,
    }
}

fn resolve_program(path: &Path) -> Result<PathBuf, AgentError> {
    match fs::metadata(path) {
        Err(_) => Err(AgentError::Missing(path.to_owned())),
        Ok(_) if !is_executable(path) => Err(AgentError::NotExecutable(path.to_owned())),
        // An absolute path works from any working directory.
        Ok(_) => Ok(std::path::absolute(path).unwrap_or_else(|_| path.to_owned())),
    }
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Returns the ids of all sessions that Claude Code stores under this configuration directory.
pub fn claude_sessions(config_dir: &Path) -> Vec<String> {
    let Ok(projects) = fs::read_dir(config_dir.join("projects")) else { return Vec::new() };
    projects
        .flatten()
        .filter_map(|project| fs::read_dir(project.path()).ok())
        .flat_map(|files| files.flatten())
        .map(|file| file.path())
        .filter(|path| path.extension() == Some(OsStr::new("jsonl")))
        .filter_map(|path| path.file_stem()?.to_str().map(str::to_owned))
        .collect()
}

/// Returns the file of the session with this id, or `None` if this configuration directory has none.
pub fn claude_session_file(config_dir: &Path, id: &str) -> Option<PathBuf> {
    files_in_folders(config_dir, Path::new("projects"), format!("{id}.jsonl").as_ref()).next()
}

pub(crate) fn files_in_folders(
    config_dir: &Path,
    folders: &Path,
    name: &OsStr,
) -> impl Iterator<Item = PathBuf> {
    let folders = fs::read_dir(config_dir.join(folders)).into_iter().flatten().flatten();
    folders.map(move |folder| folder.path().join(name)).filter(|path| path.is_file())
}

/// Returns the directory of Claude Code's files: `$CLAUDE_CONFIG_DIR`, else `~/.claude`.
pub fn claude_config_dir() -> Option<PathBuf> {
    default_dialect().sessions()?.config_dir(&|name| env::var_os(name))
}

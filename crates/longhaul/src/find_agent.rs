//! Finds the agent's program and its sessions on this machine. It starts nothing and changes nothing.

use longhaul_agent::Dialect;
use longhaul_agent::claude::Claude;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{env, fs};
use thiserror::Error;

/// Why there is no agent to start.
#[derive(Debug, Error)]
pub enum AgentError {
    /// The program is in none of the usual places.
    #[error("find Claude Code (`{name}`): not in {}", listed(.searched))]
    NotFound {
        /// The program's name.
        name: &'static str,
        /// Where it was looked for.
        searched: Vec<PathBuf>,
    },
    /// The program named by the user does not exist.
    #[error("find the agent {}: there is no such file", .0.display())]
    Missing(PathBuf),
    /// The program named by the user cannot be started.
    #[error("start the agent {}: it is not an executable file", .0.display())]
    NotExecutable(PathBuf),
}

impl AgentError {
    /// What the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            AgentError::NotFound { .. } => {
                "install it with `npm install -g @anthropic-ai/claude-code`, or name it with --agent-path"
            }
            AgentError::Missing(_) => "check --agent-path",
            AgentError::NotExecutable(_) => "check --agent-path, or make the file executable with `chmod +x`",
        }
    }
}

fn listed(places: &[PathBuf]) -> String {
    let names: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
    if names.is_empty() { "PATH (which is empty)".to_owned() } else { names.join(", ") }
}

/// Finds Claude Code: the program the user named, else the first `claude` on the path, else one in
/// the places where its installers put it.
///
/// # Errors
///
/// When it is nowhere, with the places that were looked at; or when the named file cannot be run.
pub fn find_claude(named: Option<&Path>) -> Result<PathBuf, AgentError> {
    if let Some(path) = named {
        return usable(path);
    }
    let mut looked: Vec<PathBuf> =
        env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default();
    if let Some(home) = env::var_os("HOME").map(PathBuf::from) {
        looked.extend([home.join(".local/bin"), home.join(".claude/local")]);
    }
    // A place that is twice on the path is told once.
    let mut seen = BTreeSet::new();
    looked.retain(|place| seen.insert(place.clone()));
    looked
        .iter()
        .map(|place| place.join("claude"))
        .find(|path| is_executable(path))
        .ok_or(AgentError::NotFound { name: "claude", searched: looked })
}

fn usable(path: &Path) -> Result<PathBuf, AgentError> {
    match fs::metadata(path) {
        Err(_) => Err(AgentError::Missing(path.to_owned())),
        Ok(_) if !is_executable(path) => Err(AgentError::NotExecutable(path.to_owned())),
        // Found from any working directory.
        Ok(_) => Ok(std::path::absolute(path).unwrap_or_else(|_| path.to_owned())),
    }
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// The ids of all sessions that Claude Code keeps under this configuration directory.
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

/// The file of the session of this id, if Claude Code keeps one under this configuration directory.
pub fn claude_session_file(config_dir: &Path, id: &str) -> Option<PathBuf> {
    files_in_folders(config_dir, Path::new("projects"), format!("{id}.jsonl").as_ref()).next()
}

/// The files of this name in all folders of sessions below a configuration directory.
pub(crate) fn files_in_folders(
    config_dir: &Path,
    folders: &Path,
    name: &OsStr,
) -> impl Iterator<Item = PathBuf> {
    let folders = fs::read_dir(config_dir.join(folders)).into_iter().flatten().flatten();
    folders.map(move |folder| folder.path().join(name)).filter(|path| path.is_file())
}

/// Where Claude Code keeps its files: `$CLAUDE_CONFIG_DIR`, else `~/.claude`.
pub fn claude_config_dir() -> Option<PathBuf> {
    Claude::new().sessions()?.config_dir(&|name| env::var_os(name))
}

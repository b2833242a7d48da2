//! Installs the pinned real Claude Code into a git-ignored folder. Tests run this version and no other.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// The version that every fact about the agent was measured with.
pub const CLAUDE_VERSION: &str = longhaul_agent::claude::environment::VERSION_TESTED;

/// The agent that the tests use, else the pinned one.
pub fn found(root: &Path) -> io::Result<PathBuf> {
    env::var_os("LONGHAUL_TEST_CLAUDE").map_or_else(|| install(root), |path| Ok(path.into()))
}

/// Installs it unless it is there, and returns the native program.
pub fn install(root: &Path) -> io::Result<PathBuf> {
    let place = root.join(".agents").join(format!("claude-{CLAUDE_VERSION}"));
    if let Some(program) = native(&place) {
        return Ok(program);
    }
    fs::create_dir_all(&place)?;
    // npm looks upward for a project unless there is one here.
    fs::write(place.join("package.json"), "{\"private\":true}\n")?;
    let status = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--save-exact"])
        .arg(format!("@anthropic-ai/claude-code@{CLAUDE_VERSION}"))
        .current_dir(&place)
        .status()?;
    if !status.success() {
        return Err(io::Error::other(format!("npm install of claude-code {CLAUDE_VERSION}: {status}")));
    }
    native(&place).ok_or_else(|| io::Error::other(format!("no native claude below {}", place.display())))
}

/// The platform package's program: the npm launcher only starts it, and costs a Node start each time.
fn native(place: &Path) -> Option<PathBuf> {
    let packages = fs::read_dir(place.join("node_modules/@anthropic-ai")).ok()?;
    let mut programs: Vec<PathBuf> = packages
        .flatten()
        .filter(|package| package.file_name().to_string_lossy().starts_with("claude-code-"))
        .map(|package| package.path().join("claude"))
        .filter(|program| program.is_file())
        .collect();
    programs.sort();
    programs.into_iter().next()
}

//! Installs the pinned real Claude Code, the pinned GSD and the pinned client of MCP into a git-ignored directory. Tests run no other versions.

use crate::programs::succeed;
use longhaul_agent::default_environment;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// Not 1.32.0, which npm chooses on Node 20: its settings name hooks that its package lacks.
const GSD_VERSION: &str = "1.42.3";
const MCP_CLIENT_VERSION: &str = "2.4.0";

/// Returns the agent that the tests use, else the pinned one.
pub fn locate(root: &Path) -> io::Result<PathBuf> {
    env::var_os("LONGHAUL_TEST_CLAUDE").map_or_else(|| install(root), |path| Ok(path.into()))
}

/// Installs the agent unless it is installed, and returns its native program.
pub fn install(root: &Path) -> io::Result<PathBuf> {
    let version = default_environment().version_tested;
    let dir = install_package(root, "claude", "@anthropic-ai/claude-code", version)?;
    native(&dir).ok_or_else(|| io::Error::other(format!("no native claude below {}", dir.display())))
}

/// Returns the package of the planning framework GSD that the tests use, else installs the pinned one.
pub fn locate_gsd(root: &Path) -> io::Result<PathBuf> {
    if let Some(package) = env::var_os("LONGHAUL_TEST_GSD") {
        return Ok(package.into());
    }
    let package = "get-shit-done-cc";
    Ok(install_package(root, "gsd", package, GSD_VERSION)?.join("node_modules").join(package))
}

/// Returns the directory with the official client of MCP that the tests use, else installs the pinned one.
pub fn locate_mcp_sdk(root: &Path) -> io::Result<PathBuf> {
    let install = || install_package(root, "mcp-client", "@modelcontextprotocol/client", MCP_CLIENT_VERSION);
    env::var_os("LONGHAUL_TEST_MCP_SDK").map_or_else(install, |dir| Ok(dir.into()))
}

/// Installs a package in this version, unless it is installed, and returns the directory of its `node_modules`.
fn install_package(root: &Path, name: &str, package: &str, version: &str) -> io::Result<PathBuf> {
    let dir = root.join(".agents").join(format!("{name}-{version}"));
    if dir.join("node_modules").join(package).join("package.json").is_file() {
        return Ok(dir);
    }
    fs::create_dir_all(&dir)?;
    // npm searches the parent directories for a project unless there is one here.
    fs::write(dir.join("package.json"), "{\"private\":true}\n")?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--save-exact"]);
    succeed(npm.arg(format!("{package}@{version}")).current_dir(&dir))?;
    Ok(dir)
}

/// Returns the platform package's program. The npm launcher only starts it, and costs a Node start each time.
fn native(dir: &Path) -> Option<PathBuf> {
    let packages = fs::read_dir(dir.join("node_modules/@anthropic-ai")).ok()?;
    packages
        .flatten()
        .filter(|package| package.file_name().to_string_lossy().starts_with("claude-code-"))
        .map(|package| package.path().join("claude"))
        .filter(|program| program.is_file())
        .min()
}

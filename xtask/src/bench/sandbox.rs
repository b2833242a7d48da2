//! A temporary directory for one measurement: an empty home, working directory and Longhaul home, and an
//! environment without variables of the user.

use super::api::BenchApi;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io};
use tempfile::TempDir;

/// The temporary directory. It is removed on drop.
pub struct Sandbox {
    dir: TempDir,
}

impl Sandbox {
    pub fn new() -> io::Result<Sandbox> {
        let dir = tempfile::Builder::new().prefix("longhaul-bench-").tempdir()?;
        for name in ["home", "work", "longhaul", "tmp"] {
            fs::create_dir(dir.path().join(name))?;
        }
        Ok(Sandbox { dir })
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Returns the agent's home.
    pub fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    /// Returns the working directory.
    pub fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    /// Keeps the directory and returns its path.
    pub fn keep(self) -> PathBuf {
        self.dir.keep()
    }

    /// Returns the home in which `longhaul` stores its runs.
    pub fn longhaul_home(&self) -> PathBuf {
        self.path().join("longhaul")
    }

    /// Returns the directory for temporary files.
    pub fn temporary(&self) -> PathBuf {
        self.path().join("tmp")
    }

    /// Returns a command in this sandbox, without input, output and variables of the user.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .env_clear()
            .env("PATH", env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("TMPDIR", self.temporary())
            .env("LONGHAUL_HOME", self.longhaul_home())
            .current_dir(self.work())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// Returns a command whose agent uses only this loopback API.
    pub fn agent_command(&self, program: impl AsRef<Path>, api: &BenchApi) -> Command {
        let mut command = self.command(program);
        command
            .env("ANTHROPIC_BASE_URL", api.url())
            .env("ANTHROPIC_API_KEY", "sk-ant-dummy")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            // As root the agent refuses bypassPermissions unless this variable says that it runs in a
            // sandbox.
            .env("IS_SANDBOX", "1");
        command
    }

    /// Returns the scripted agent. `--agent-path` takes one file, so the subcommand gets a wrapper script.
    pub fn scripted_agent(&self, longhaul: &Path) -> io::Result<PathBuf> {
        let agent = self.path().join("scripted-agent");
        if !agent.exists() {
            fs::write(&agent, format!("#!/bin/sh\nexec '{}' drill-agent \"$@\"\n", longhaul.display()))?;
            fs::set_permissions(&agent, fs::Permissions::from_mode(0o755))?;
        }
        Ok(agent)
    }

    /// Returns a command that runs the scripted agent.
    pub fn scripted_run(&self, longhaul: &Path, format: &str) -> io::Result<Command> {
        let agent = self.scripted_agent(longhaul)?;
        let mut command = self.command(longhaul);
        command.args(["run", "measure", "--permission-mode", "bypassPermissions", "--output-format", format]);
        command.arg("--agent-path").arg(agent);
        Ok(command)
    }
}

/// Returns the newest directory this many levels below.
pub fn newest(dir: &Path, levels: u32) -> io::Result<PathBuf> {
    if levels == 0 {
        return Ok(dir.to_owned());
    }
    let entries: Vec<_> = fs::read_dir(dir)?.flatten().collect();
    let last = entries.iter().max_by_key(|entry| entry.metadata().and_then(|found| found.modified()).ok());
    let last = last.ok_or_else(|| io::Error::other(format!("{} is empty", dir.display())))?;
    newest(&last.path(), levels - 1)
}

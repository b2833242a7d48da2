//! A temporary directory for one measurement: an empty home, working directory and Longhaul home, and an
//! environment without variables of the user.

use crate::api::Loopback;
use crate::programs::Programs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io};
use tempfile::TempDir;

/// Flags that let an agent work without a person.
pub const PERMISSION: [&str; 2] = ["--permission-mode", "bypassPermissions"];

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

    pub fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    pub fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    pub fn keep(self) -> PathBuf {
        self.dir.keep()
    }

    pub fn longhaul_home(&self) -> PathBuf {
        self.path().join("longhaul")
    }

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
    pub fn agent_command(&self, program: impl AsRef<Path>, loopback: &Loopback) -> Command {
        let mut command = self.command(program);
        // As root the agent refuses bypassPermissions unless IS_SANDBOX says that it runs in a sandbox.
        command.envs(loopback.api.environment()).env("IS_SANDBOX", "1");
        command
    }

    /// Returns a command that runs the real agent under `longhaul`. It prints its envelope.
    pub fn run(&self, programs: &Programs, loopback: &Loopback, prompt: &str) -> Command {
        let mut command = self.agent_command(&programs.longhaul, loopback);
        command.args(["run", prompt]).args(PERMISSION).args(["--output-format", "json"]);
        command.arg("--agent-path").arg(&programs.claude);
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

    pub fn scripted_run(&self, longhaul: &Path, format: &str) -> io::Result<Command> {
        let mut command = self.command(longhaul);
        command.args(["run", "measure"]).args(PERMISSION).args(["--output-format", format]);
        command.arg("--agent-path").arg(self.scripted_agent(longhaul)?);
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

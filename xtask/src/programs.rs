//! The programs under measurement: a build of `longhaul`, and the agent.

use clap::{Args, ValueEnum};
use longhaul_core::draw;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, io};

pub struct Programs {
    pub longhaul: PathBuf,
    /// The real agent. For a measurement with the scripted agent, `longhaul`, which contains it.
    pub claude: PathBuf,
}

#[derive(Args)]
pub struct SeedOptions {
    /// The agent that runs
    #[arg(long, value_enum, default_value = "claude")]
    pub agent: AgentChoice,
    /// Number of new seeds
    #[arg(long)]
    seeds: Option<u64>,
    /// Seed of a run to repeat
    #[arg(long, conflicts_with = "seeds")]
    seed: Vec<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AgentChoice {
    Scripted,
    /// The scripted agent over the Agent Client Protocol
    Acp,
    Claude,
}

impl SeedOptions {
    pub fn is_scripted(&self) -> bool {
        self.agent != AgentChoice::Claude
    }

    /// Returns the requested seeds. New ones are short enough to type.
    pub fn seeds(&self, default_count: u64) -> Vec<u64> {
        if !self.seed.is_empty() {
            return self.seed.clone();
        }
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
        (0..self.seeds.unwrap_or(default_count)).map(|salt| draw(nanos, salt, 999_999)).collect()
    }
}

pub fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

pub fn target_dir(root: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

pub fn built(root: &Path, profile: &str, program: &str) -> PathBuf {
    target_dir(root).join(profile).join(program)
}

/// Makes a debug build of `longhaul`, for measurements in which its own speed does not matter.
pub fn debug_build(root: &Path) -> io::Result<PathBuf> {
    succeed(cargo().args(["build", "--quiet", "--package", "longhaul-cli"]).current_dir(root))?;
    Ok(built(root, "debug", "longhaul"))
}

pub fn release_build(root: &Path, args: &[&str], program: &str) -> io::Result<PathBuf> {
    succeed(cargo().args(["build", "--quiet", "--release"]).args(args).current_dir(root))?;
    Ok(built(root, "release", program))
}

pub fn succeed(command: &mut Command) -> io::Result<()> {
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("{command:?}: {status}"))) }
}

/// Returns what the command prints. The error of a failing command contains its output.
pub fn stdout_of(command: &mut Command) -> io::Result<String> {
    let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{command:?}: {}\n{text}{errors}", output.status)))
}

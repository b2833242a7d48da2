//! What `longhaul drill` takes.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct DrillArgs {
    /// Scenarios to run [default: storm]; `all` runs every one
    #[arg(value_name = "SCENARIO")]
    pub scenarios: Vec<String>,
    /// A scenario by name or from a TOML file
    #[arg(long, value_name = "NAME|FILE")]
    pub scenario: Vec<String>,
    /// Which agent: the scripted one needs nothing, `claude` is the real one on its loopback API
    #[arg(long, value_enum, default_value_t = DrillAgentKind::Scripted)]
    pub agent: DrillAgentKind,
    /// The real agent's program
    #[arg(long, value_name = "FILE")]
    pub agent_path: Option<PathBuf>,
    /// List the scenarios
    #[arg(long)]
    pub list: bool,
    /// The seed that faults are drawn from [default: 1]
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        hide_default_value = true,
        conflicts_with = "random_seed"
    )]
    pub seed: u64,
    /// Draw the seed by chance; it is printed
    #[arg(long)]
    pub random_seed: bool,
    /// Keep the temporary directory with the workspace and the run
    #[arg(long)]
    pub keep: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DrillAgentKind {
    Scripted,
    Claude,
}

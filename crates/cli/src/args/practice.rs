//! The arguments of `longhaul drill` and `longhaul simulate`.

use super::PolicyArgs;
use clap::{Args, ValueEnum};
use longhaul_core::word_enum;
use std::num::NonZeroU32;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct DrillArgs {
    /// Scenarios by name or TOML file [default: storm]; `all` runs every one
    #[arg(value_name = "SCENARIO")]
    pub scenarios: Vec<String>,
    /// The agent: the scripted one needs nothing and speaks either protocol, `claude` is the real one on a loopback API
    #[arg(long, value_enum, default_value_t = DrillAgentKind::Scripted)]
    pub agent: DrillAgentKind,
    /// The real agent's program
    #[arg(long, value_name = "FILE")]
    pub agent_path: Option<PathBuf>,
    /// List the scenarios
    #[arg(long)]
    pub list: bool,
    /// Seed of the injected faults; `random` draws one and prints it [default: 1]
    #[arg(long, value_name = "N|random", default_value = "1", hide_default_value = true, value_parser = seed)]
    pub seed: u64,
    /// Keep the temporary directory with the workspace and the run
    #[arg(long)]
    pub keep: bool,
}

word_enum! {
    #[derive(ValueEnum)]
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum DrillAgentKind {
        Scripted = "scripted",
        /// The scripted agent, over the Agent Client Protocol
        Acp = "acp",
        Claude = "claude",
    }
}

fn seed(text: &str) -> Result<u64, String> {
    match text {
        // Short enough to type.
        "random" => {
            let seed = getrandom::u64().map_err(|error| format!("there are no random numbers: {error}"))?;
            Ok(seed % 1_000_000)
        }
        number => number.parse().map_err(|_| "expected a number or `random`".to_owned()),
    }
}

#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// Faults to inject: calm, flaky, storm or quota, a TOML file, or `history` for those of your past runs
    #[arg(long, value_name = "NAME|FILE|history", default_value = "flaky")]
    pub faults: String,
    /// Number of simulated runs
    #[arg(long, value_name = "N", default_value = "10000")]
    pub runs: NonZeroU32,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub policy: PolicyArgs,
}

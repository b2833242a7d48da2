//! `longhaul config`, and the flags that say which configuration holds.

use crate::config::ConfiguredValues;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Which configuration holds.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Configuration")]
pub struct ConfigSourceArgs {
    /// Lay this profile of the configuration files over their other keys
    #[arg(long, global = true, value_name = "NAME", conflicts_with = "no_config")]
    pub profile: Option<String>,
    /// Read no configuration file
    #[arg(long, global = true)]
    pub no_config: bool,
    /// What was configured, once that is known.
    #[arg(skip)]
    pub values: ConfiguredValues,
}

#[derive(Debug, Args)]
pub struct ConfigArgs {
    #[command(subcommand)]
    pub command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print what holds for a run in a directory
    Show(ShowConfigArgs),
    /// Print where configuration files are looked for, and which of them are there
    Path(PathArgs),
    /// Write a configuration file with every key, all of them commented out
    Init(InitArgs),
    /// Allow this project's `longhaul.toml` to set `check` and `permission_mode`, until the file changes
    Trust(TrustArgs),
    /// Print the JSON Schema of configuration files
    Schema,
}

#[derive(Debug, Args)]
pub struct ShowConfigArgs {
    /// Say of each value where it comes from
    #[arg(long)]
    pub origin: bool,
    /// The directory of the run [default: this one]
    #[arg(long, short = 'C', value_name = "DIR")]
    pub cwd: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct PathArgs {
    /// The directory of the run [default: this one]
    #[arg(long, short = 'C', value_name = "DIR")]
    pub cwd: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct TrustArgs {
    /// The directory of the run [default: this one]
    #[arg(long, short = 'C', value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Withdraw the trust
    #[arg(long)]
    pub revoke: bool,
}

#[derive(Debug, Args)]
pub struct InitArgs {
    /// Write your own file instead of the project's `longhaul.toml` in this directory
    #[arg(long)]
    pub user: bool,
}

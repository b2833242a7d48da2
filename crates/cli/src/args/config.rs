//! `longhaul config`, and the flags that select the configuration.

use crate::config::ConfiguredValues;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Selects the configuration.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Configuration")]
pub struct ConfigSourceArgs {
    /// Use this configuration profile
    #[arg(long, global = true, value_name = "NAME", conflicts_with = "no_config", hide_short_help = true)]
    pub profile: Option<String>,
    /// Read no configuration file
    #[arg(long, global = true, hide_short_help = true)]
    pub no_config: bool,
    /// The configured values, once they are loaded.
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
    /// Print the configuration that a run in a directory would use
    Show(ShowConfigArgs),
    /// Print the paths of the configuration files, and which exist
    Path(PathArgs),
    /// Write a configuration file with every key commented out
    Init(InitArgs),
    /// Allow this project's `longhaul.toml` to set `check` and `permission_mode`, until the file changes
    Trust(TrustArgs),
}

#[derive(Debug, Args)]
pub struct ShowConfigArgs {
    /// Print the origin of each value
    #[arg(long)]
    pub origin: bool,
    /// Directory of the run [default: this one]
    #[arg(long, short = 'C', value_name = "DIR")]
    pub cwd: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct PathArgs {
    /// Directory of the run [default: this one]
    #[arg(long, short = 'C', value_name = "DIR")]
    pub cwd: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct TrustArgs {
    /// Directory of the run [default: this one]
    #[arg(long, short = 'C', value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Revoke the trust
    #[arg(long)]
    pub revoke: bool,
}

#[derive(Debug, Args)]
pub struct InitArgs {
    /// Write your own file instead of the project's `longhaul.toml`
    #[arg(long)]
    pub user: bool,
}

//! The arguments of the commands that maintain runs and this installation.

use super::inspect::outcome;
use crate::configured_values::ConfiguredValues;
use crate::schemas;
use crate::time_arg::duration;
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use clap_complete::Shell;
use longhaul_core::{OutcomeKind, Span};
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
    /// A key whose configured value does not apply, such as `keep_going`. Programs pass it for `false`.
    #[arg(long, global = true, value_name = "KEY", hide = true)]
    pub off: Vec<String>,
    /// The configured values, once they are loaded.
    #[arg(skip)]
    pub values: ConfiguredValues,
}

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print the configuration that a run in a directory would use
    Show(ShowConfigArgs),
    /// Print the paths of the configuration files, and which exist
    Path(PathArgs),
    /// Write a configuration file with every key commented out
    Init {
        /// Write your own file instead of the project's `longhaul.toml`
        #[arg(long)]
        user: bool,
    },
    /// Allow this project's `longhaul.toml` to set `check`, `review` and `permission_mode`, until the file changes
    Trust(TrustArgs),
}

#[derive(Debug, Args)]
pub struct ShowConfigArgs {
    /// Print the origin of each value
    #[arg(long)]
    pub origin: bool,
    #[command(flatten)]
    pub path: PathArgs,
}

#[derive(Debug, Args)]
pub struct PathArgs {
    /// Directory of the run [default: this one]
    #[arg(long, short = 'C', value_name = "DIR")]
    pub cwd: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct TrustArgs {
    #[command(flatten)]
    pub path: PathArgs,
    /// Revoke the trust
    #[arg(long)]
    pub revoke: bool,
}

#[derive(Debug, Args)]
pub struct GcArgs {
    /// Delete runs and workflows that finished longer ago than this
    #[arg(long, value_name = "DURATION", value_parser = age)]
    pub older_than: Span,
    /// Number of newest runs and workflows to keep, however old they are
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub keep_last: usize,
    /// Keep runs with these outcomes
    ///
    /// Outcomes: done, failed, over_budget, out_of_time, needs_person, check_failed, not_started, incomplete,
    /// partial, retry_later, bug, cancelled.
    #[arg(long, value_name = "OUTCOME", value_delimiter = ',', value_parser = outcome)]
    pub keep: Vec<OutcomeKind>,
    /// Also delete runs that have a workspace of their own, with all work in it
    #[arg(long)]
    pub include_workspaces: bool,
    /// Print what would be deleted; delete nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Reads a duration. A bare number needs a unit: who types 30 for days would lose every run but the newest.
fn age(text: &str) -> Result<Span, String> {
    let is_clear = text.contains(char::is_alphabetic) || text.trim() == "0";
    duration(text)
        .ok()
        .filter(|_| is_clear)
        .ok_or_else(|| "expected a duration with its unit, like 30d, 4w or 12h".to_owned())
}

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Run or workflow: id prefix, name, directory, or `@` for the latest one
    #[arg(value_name = "RUN")]
    pub run: String,
    /// The file to write [default: the id with `.longhaul`, in this directory]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Args)]
pub struct ImportArgs {
    /// A file that `longhaul export` wrote
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Directory for the workspace, new or empty
    #[arg(long, value_name = "DIR")]
    pub into: PathBuf,
    /// Use the workspace that is already in the directory
    #[arg(long)]
    pub use_existing: bool,
    /// Import a file that unpacks to more than ten times its size (and more than 16 MiB)
    #[arg(long)]
    pub allow_large: bool,
    /// The agent's program [default: the recorded one, or `claude` if that is missing]
    #[arg(long, value_name = "FILE")]
    pub agent_path: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// The agent's program [default: `claude`, on PATH or where its installers put it]
    #[arg(long, value_name = "FILE")]
    pub agent_path: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// The schema [default: list them]
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(schemas::names()), hide_possible_values = true)]
    pub name: Option<String>,
}

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: Shell,
}

#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write a page for each command into this directory, created if missing
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

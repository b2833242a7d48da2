//! The arguments of `longhaul logs`.

use crate::time_arg::when;
use clap::Args;
use longhaul_core::Moment;

#[derive(Debug, Args)]
pub struct LogsArgs {
    /// Run id prefix, name, directory, or `@` for the latest run
    #[arg(value_name = "RUN", default_value = "@")]
    pub run: String,
    /// Keep printing until the run finishes, across a recovery too
    #[arg(long, short)]
    pub follow: bool,
    /// Only this attempt, from 1
    #[arg(long, value_name = "N")]
    pub attempt: Option<u32>,
    /// Only messages since WHEN: 10m, 22:04, 2026-11-22T22:04 or 2026-11-22
    #[arg(long, value_name = "WHEN", value_parser = when)]
    pub since: Option<Moment>,
    /// Print the agent's own stream, line by line, unchanged
    #[arg(long, conflicts_with = "json_array")]
    pub raw: bool,
    /// Print one JSON array with an object per message
    #[arg(long, conflicts_with = "follow")]
    pub json_array: bool,
}

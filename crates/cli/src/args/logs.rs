//! What `longhaul logs` takes.

use crate::time_arg::when;
use clap::Args;
use longhaul_core::Moment;

#[derive(Debug, Args)]
pub struct LogsArgs {
    /// The run: the first letters of its id, its name, `@` for the last one, or its directory
    #[arg(value_name = "RUN", default_value = "@")]
    pub run: String,
    /// Go on printing what is said and done, until the run is over; also across a supervisor that dies, once the run is
    /// recovered
    #[arg(long, short)]
    pub follow: bool,
    /// Only this attempt, from 1
    #[arg(long, value_name = "N")]
    pub attempt: Option<u32>,
    /// Only from then on: a duration before now like 10m, a time like 22:04 or 2026-11-22T22:04, or a date
    #[arg(long, value_name = "WHEN", value_parser = when)]
    pub since: Option<Moment>,
    /// Print the agent's own stream, line by line, as it came
    #[arg(long, conflicts_with = "json_array")]
    pub raw: bool,
    /// Print all of it as one JSON array, an object each message, instead of text
    #[arg(long, conflicts_with = "follow")]
    pub json_array: bool,
}

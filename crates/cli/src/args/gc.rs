//! The arguments of `longhaul gc`.

use super::runs::{StateFilter, state};
use crate::duration_arg::duration;
use clap::Args;
use longhaul_core::Span;

#[derive(Debug, Args)]
pub struct GcArgs {
    /// Delete runs that finished longer ago than this
    #[arg(long, value_name = "DURATION", value_parser = age)]
    pub older_than: Span,
    /// Number of newest runs to keep, however old they are
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub keep_last: usize,
    /// Keep runs with these outcomes
    ///
    /// Outcomes: done, failed, over_budget, out_of_time, needs_person, check_failed, incomplete, retry_later,
    /// cancelled.
    #[arg(long, value_name = "OUTCOME", value_delimiter = ',', value_parser = state)]
    pub keep: Vec<StateFilter>,
    /// Also delete runs that have a workspace of their own, with all work in it
    #[arg(long)]
    pub include_workspaces: bool,
    /// Print what would be deleted; delete nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Reads `30d`, or any other duration.
fn age(text: &str) -> Result<Span, String> {
    let days = text.trim().strip_suffix('d').and_then(|days| days.parse::<u64>().ok());
    match days {
        Some(days) => Ok(Span::from_hours(days.saturating_mul(24))),
        None => duration(text).map_err(|_| "expected a duration like 30d, 12h or 90m".to_owned()),
    }
}

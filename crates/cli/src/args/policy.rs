//! The policy of a run: a preset, and what the flags change in it.

use crate::duration::duration;
use clap::Args;
use longhaul_core::{Jitter, Preset, Span};
use std::num::NonZeroU32;

/// Said at the end of the help of every command that takes a policy, and at the top of a new configuration.
pub const DURATIONS: &str = "Durations are like 90s, 5m or 1h30m; a bare number is seconds; 0 is unlimited.";

/// The policy: a preset, and what the flags change in it.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Policy")]
pub struct PolicyArgs {
    /// The policy to start from: default, openclawpack, archon, researchgym, keypoints, drill
    #[arg(long, default_value = "default", hide_default_value = true, value_parser = preset)]
    pub preset: Option<Preset>,
    /// Failed attempts in a row, without progress, that are retried
    #[arg(long, value_name = "N")]
    pub max_retries: Option<u32>,
    /// The first wait between attempts
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub retry_base: Option<Span>,
    /// The longest wait between attempts
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub retry_cap: Option<Span>,
    /// How chance spreads waits: full, none, or percent either way
    #[arg(long, value_name = "full|none|PERCENT", value_parser = jitter)]
    pub retry_jitter: Option<Jitter>,
    /// How long to wait out one outage of the API, counted from its first failure without progress
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub outage_limit: Option<Span>,
    /// How long one attempt may take
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub attempt_timeout: Option<Span>,
    /// How long the agent may be silent with no tool running
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub stall_timeout: Option<Span>,
    /// How long the agent may go on without finishing a message or a tool call, whatever else it says
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub progress_timeout: Option<Span>,
    /// How long the agent may be silent after Longhaul itself was killed and nobody has recovered the run; then a
    /// watchdog ends it, and the run can still be recovered
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub orphan_timeout: Option<Span>,
    /// The longest wait for a usage window's reset; a later one ends the run with `retry_later`
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub max_wait: Option<Span>,
    /// How long background shells may outlive the result
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub background_wait: Option<Span>,
    /// Retries inside the agent for one request
    #[arg(long, value_name = "N")]
    pub inner_retries: Option<u32>,
    /// Checks in vain after which the run ends as check_failed [default: 10]
    #[arg(long, value_name = "N")]
    pub check_attempts: Option<NonZeroU32>,
    /// How long one check may take, all of its commands together [default: 30m]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub check_timeout: Option<Span>,
    /// Count a run with denied tools as done
    #[arg(long)]
    pub allow_denials: bool,
}

pub(super) fn preset(text: &str) -> Result<Preset, String> {
    text.parse()
}

fn jitter(text: &str) -> Result<Jitter, String> {
    match text {
        "full" => Ok(Jitter::Full),
        "none" | "0" => Ok(Jitter::None),
        percent => match percent.trim_end_matches('%').parse::<u8>() {
            Ok(percent @ 1..=100) => Ok(Jitter::Percent(percent)),
            Ok(_) | Err(_) => Err("expected `full`, `none`, or a percentage from 1 to 100".to_owned()),
        },
    }
}

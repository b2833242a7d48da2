//! The policy of a run: a preset, and what the flags change in it.

use super::limits::duration_limit;
use crate::duration_arg::duration;
use clap::Args;
use longhaul_core::{Jitter, OnTerminate, Preset, Span};
use std::num::NonZeroU32;

/// Said at the end of the help of every command that takes a policy, and at the top of a new configuration.
pub const DURATIONS: &str =
    "Durations are like 90s, 5m or 1h30m; a bare number is seconds; `none` is unlimited.";

/// The policy: a preset, and what the flags change in it.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Policy")]
pub struct PolicyArgs {
    /// The policy to start from: default, openclawpack, archon, researchgym, keypoints, drill. The defaults below are
    /// those of `default`
    #[arg(long, default_value = "default", hide_default_value = true, value_parser = preset)]
    pub preset: Option<Preset>,
    #[command(flatten)]
    pub values: PolicyValueArgs,
}

/// Values of a policy. A run may get new ones when it resumes.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Policy")]
pub struct PolicyValueArgs {
    /// Failed attempts in a row, without progress, that are retried [default: 5]
    #[arg(long, value_name = "N")]
    pub max_retries: Option<u32>,
    /// Attempts of the run, whatever progress they make, after which it ends as failed [default: 1000]
    #[arg(long, value_name = "N")]
    pub max_attempts: Option<NonZeroU32>,
    /// The first wait between attempts [default: 2s]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub retry_base: Option<Span>,
    /// The longest wait between attempts [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub retry_cap: Option<Span>,
    /// How chance spreads waits: full, none, or percent either way [default: full]
    #[arg(long, value_name = "full|none|PERCENT", value_parser = jitter)]
    pub retry_jitter: Option<Jitter>,
    /// How long to wait out one outage of the API, counted from its first failure without progress [default: 6h]
    #[arg(long, value_name = "DURATION", value_parser = duration_limit)]
    pub outage_limit: Option<Span>,
    /// How long one attempt may take [default: none]
    #[arg(long, value_name = "DURATION", value_parser = duration_limit)]
    pub attempt_timeout: Option<Span>,
    /// How long the agent may be silent with no tool running [default: 7m]
    #[arg(long, value_name = "DURATION", value_parser = duration_limit)]
    pub stall_timeout: Option<Span>,
    /// How long the agent may run without finishing a message or a tool call [default: 2h20m]
    #[arg(long, value_name = "DURATION", value_parser = duration_limit)]
    pub progress_timeout: Option<Span>,
    /// How long the agent may be silent after Longhaul itself was killed and nobody has recovered the run; then a
    /// watchdog ends it, and the run can still be recovered [default: 1h]
    #[arg(long, value_name = "DURATION", value_parser = duration_limit)]
    pub orphan_timeout: Option<Span>,
    /// The longest wait for a usage window's reset; a later one ends the run with `retry_later` [default: 192h]
    #[arg(long, value_name = "DURATION", value_parser = duration_limit)]
    pub max_reset_wait: Option<Span>,
    /// How long background commands may outlive the result before they are stopped; with --keep-going, before the agent is
    /// asked about them: then only a limit of the run stops them [default: 10m]
    #[arg(long, value_name = "DURATION", value_parser = duration_limit)]
    pub background_wait: Option<Span>,
    /// Retries inside the agent for one request [default: 4]
    #[arg(long, value_name = "N")]
    pub inner_retries: Option<u32>,
    /// Checks in vain after which the run ends as check_failed [default: 10]
    #[arg(long, value_name = "N")]
    pub max_failed_checks: Option<NonZeroU32>,
    /// How long one check may take, all of its commands together [default: 30m]
    #[arg(long, value_name = "DURATION", value_parser = duration_limit)]
    pub check_timeout: Option<Span>,
    /// What SIGTERM and SIGHUP do: `suspend` stops the run until `longhaul recover` continues it, `cancel` ends it [default: suspend]
    #[arg(long, value_name = "suspend|cancel", value_parser = on_terminate)]
    pub on_terminate: Option<OnTerminate>,
    /// Count a run with denied tools as done
    #[arg(long)]
    pub allow_denials: bool,
}

fn on_terminate(text: &str) -> Result<OnTerminate, String> {
    match text {
        "suspend" => Ok(OnTerminate::Suspend),
        "cancel" => Ok(OnTerminate::Cancel),
        _ => Err("expected `suspend` or `cancel`".to_owned()),
    }
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

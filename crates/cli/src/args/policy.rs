//! The policy of a run: a preset, and what the flags change in it.

use super::NONE;
use super::agent::model;
use super::limits::{duration_limit, set, unless_zero};
use crate::time_arg::duration;
use clap::Args;
use longhaul_core::{Jitter, OnTerminate, OutageBound, Policy, Preset, SessionLoss, Span};
use std::num::NonZeroU32;

/// The form of durations, for the top of a new configuration file. The help states it too.
pub const DURATIONS: &str =
    "Durations are like 90s, 5m, 1h30m or 2d; a bare number is seconds; `none` means unlimited.";

/// The policy: a preset, and what the flags change in it.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Retries and timeouts")]
pub struct PolicyArgs {
    /// Policy to start from: default, openclawpack, archon, researchgym, keypoints, drill
    ///
    /// The defaults shown here are those of `default`.
    #[arg(long, default_value = "default", hide_default_value = true)]
    pub preset: Option<Preset>,
    #[command(flatten)]
    pub values: PolicyValueArgs,
}

impl PolicyArgs {
    pub fn policy(&self, resume_or_new: bool) -> Policy {
        self.preset().policy().with(|policy| {
            self.values.apply(policy);
            if resume_or_new {
                policy.session_loss = SessionLoss::Fresh;
            }
        })
    }

    pub fn preset(&self) -> Preset {
        self.preset.unwrap_or(Preset::Default)
    }
}

/// Values of a policy. A run may get new ones when it resumes.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Retries and timeouts")]
pub struct PolicyValueArgs {
    /// Retries in a row without progress [default: 5]
    #[arg(long, value_name = "N", allow_negative_numbers = true, hide_short_help = true)]
    pub max_retries: Option<u32>,
    /// Maximum number of attempts, after which the run fails [default: 1000]
    #[arg(long, value_name = "N", allow_negative_numbers = true, hide_short_help = true)]
    pub max_attempts: Option<NonZeroU32>,
    /// First wait between attempts; the later ones double [default: 2s]
    #[arg(
        long,
        visible_alias = "retry-backoff",
        value_name = "DURATION",
        value_parser = duration,
        hide_short_help = true
    )]
    pub retry_base: Option<Span>,
    /// Longest wait between attempts [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = duration, hide_short_help = true)]
    pub retry_cap: Option<Span>,
    /// Random spread of waits: full, none, or a percentage [default: full]
    #[arg(long, value_name = "full|none|PERCENT", value_parser = jitter, hide_short_help = true)]
    pub retry_jitter: Option<Jitter>,
    /// Maximum length of one API outage, from its first failure [default: 6h]
    #[arg(long, value_name = "DURATION", value_parser = duration_limit, hide_short_help = true)]
    pub outage_limit: Option<Span>,
    /// Maximum duration of one attempt [default: none]
    #[arg(long, value_name = "DURATION", value_parser = duration_limit, hide_short_help = true)]
    pub attempt_timeout: Option<Span>,
    /// Maximum silence of the agent while no tool runs [default: 7m]
    #[arg(long, value_name = "DURATION", value_parser = duration_limit, hide_short_help = true)]
    pub stall_timeout: Option<Span>,
    /// Maximum time without a finished message or tool call [default: 2h20m]
    #[arg(long, value_name = "DURATION", value_parser = duration_limit, hide_short_help = true)]
    pub progress_timeout: Option<Span>,
    /// Maximum silence of the agent of an orphaned run; then a watchdog stops it [default: 1h]
    #[arg(long, value_name = "DURATION", value_parser = duration_limit, hide_short_help = true)]
    pub orphan_timeout: Option<Span>,
    /// Maximum wait for a usage window's reset; a later reset finishes the run as `retry_later` [default: 192h]
    #[arg(long, value_name = "DURATION", value_parser = duration_limit, hide_short_help = true)]
    pub max_reset_wait: Option<Span>,
    /// Time that background commands may outlive the result [default: 10m]
    ///
    /// With --keep-going, the agent is asked about them after this time. Then only a limit of the run stops
    /// them.
    #[arg(long, value_name = "DURATION", value_parser = duration_limit, hide_short_help = true)]
    pub background_wait: Option<Span>,
    /// Retries of one request inside the agent [default: 4]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub inner_retries: Option<u32>,
    /// Failed checks after which the run finishes as check_failed [default: 10]
    #[arg(long, value_name = "N", help_heading = "When the work is done", hide_short_help = true)]
    pub max_failed_checks: Option<NonZeroU32>,
    /// Maximum duration of one check, all of its commands together [default: 30m]
    #[arg(long, value_name = "DURATION", value_parser = duration_limit, help_heading = "When the work is done", hide_short_help = true)]
    pub check_timeout: Option<Span>,
    /// Have a model review the work when the agent reports that it is done; `none` for no review
    ///
    /// The reviewer is a fresh session that can only read files. It receives the task, the changes and the
    /// agent's last message. The agent continues with what the reviewer finds missing. Without MODEL, the
    /// reviewer has the model of the run.
    #[arg(
        long,
        value_name = "MODEL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ReviewModel::SAME,
        value_parser = review_model,
        help_heading = "When the work is done"
    )]
    pub review: Option<ReviewModel>,
    /// Maximum duration of one reviewer [default: 10m]
    #[arg(long, value_name = "DURATION", value_parser = review_timeout, help_heading = "When the work is done", hide_short_help = true)]
    pub review_timeout: Option<Span>,
    /// On SIGTERM and SIGHUP, `suspend` the run until `longhaul recover`, or `cancel` it [default: suspend]
    #[arg(long, value_name = "suspend|cancel", value_parser = on_terminate, hide_short_help = true)]
    pub on_terminate: Option<OnTerminate>,
    /// Count a run with denied tool calls as done
    #[arg(long, help_heading = "Guards and questions", hide_short_help = true)]
    pub allow_denials: bool,
}

impl PolicyValueArgs {
    /// Changes a policy, except for its checks.
    pub fn apply(&self, policy: &mut Policy) {
        set(&mut policy.retries_max, self.max_retries);
        set(&mut policy.attempts_max, self.max_attempts.map(Into::into));
        set(&mut policy.backoff.base, self.retry_base);
        if let Some(cap) = self.retry_cap {
            policy.backoff.cap = cap;
            // An explicit cap applies to overload, too.
            policy.early_overload_cap = policy.early_overload_cap.at_most(cap);
        }
        set(&mut policy.backoff.jitter, self.retry_jitter);
        set(&mut policy.outage_bound, self.outage_limit.map(|limit| OutageBound::Time(unless_zero(limit))));
        set(&mut policy.attempt_timeout, self.attempt_timeout.map(unless_zero));
        set(&mut policy.stall_timeout, self.stall_timeout.map(unless_zero));
        set(&mut policy.progress_timeout, self.progress_timeout.map(unless_zero));
        set(&mut policy.orphan_timeout, self.orphan_timeout.map(unless_zero));
        set(&mut policy.max_reset_wait, self.max_reset_wait.map(unless_zero));
        let background_wait = self.background_wait.map(|wait| unless_zero(wait).unwrap_or(Span(u64::MAX)));
        set(&mut policy.background_wait, background_wait);
        set(&mut policy.inner_retries, self.inner_retries);
        set(&mut policy.on_terminate, self.on_terminate);
        policy.allow_denials |= self.allow_denials;
    }
}

/// The value of `--review`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReviewModel {
    /// No review.
    None,
    /// A reviewer with the model of the run.
    Same,
    /// A reviewer with this model.
    Named(String),
}

impl ReviewModel {
    /// The value that stands for the model of the run.
    const SAME: &str = "same";
}

fn review_model(text: &str) -> Result<ReviewModel, String> {
    match text {
        "none" => Ok(ReviewModel::None),
        ReviewModel::SAME => Ok(ReviewModel::Same),
        name => model(name).map(ReviewModel::Named),
    }
}

/// A reviewer without a time limit could keep an unattended run from finishing.
fn review_timeout(text: &str) -> Result<Span, String> {
    let timeout = if text == NONE { Span::ZERO } else { duration(text)? };
    let is_positive = timeout > Span::ZERO;
    is_positive.then_some(timeout).ok_or_else(|| "a review needs a time limit, such as `10m`".to_owned())
}

fn on_terminate(text: &str) -> Result<OnTerminate, String> {
    let named = OnTerminate::ALL.iter().find(|action| action.as_str() == text);
    named.copied().ok_or_else(|| "expected `suspend` or `cancel`".to_owned())
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

#[cfg(test)]
mod tests {
    use crate::args::Cli;
    use crate::time_arg::duration;
    use clap::CommandFactory;
    use longhaul_core::{Preset, Span, exact_span};

    #[test]
    fn help_states_each_default() {
        let root = Cli::command();
        let run = root.find_subcommand("run").expect("there is a command `run`");
        for (name, value) in Preset::Default.policy().settings() {
            let flag = name.replace('_', "-");
            let arg =
                run.get_arguments().find(|arg| arg.get_long() == Some(&flag)).expect("each value has a flag");
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let default = format!("[default: {}]", value.expect("the default policy sets each value"));
            assert!(help.contains(&default), "--{flag}: no {default} in {help}");
        }
    }

    #[test]
    fn typed_times_round_trip() {
        for (millis, text) in [
            (0, "0"),
            (2_000, "2s"),
            (2_250, "2250ms"),
            (420_000, "7m"),
            (5_400_000, "1h30m"),
            (604_800_000, "168h"),
            (3_601_000, "1h1s"),
        ] {
            assert_eq!(exact_span(Span(millis)), text);
            assert_eq!(duration(text), Ok(Span(millis)));
        }
    }
}

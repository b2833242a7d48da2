//! The flags of `longhaul research`, which are those of ResearchGym's own commands. Both spellings work, with
//! `-` and with `_`. If its two programs use different names, both names work.

use super::agent::model;
use super::limits::{dollars, duration_limit};
use super::{EventsArgs, NONE, NotifyArgs};
use clap::Args;
use longhaul_agent::{ToolPattern, UrlPattern};
use longhaul_core::{Span, Usd};
use std::num::NonZeroU32;
use std::path::PathBuf;

// A year. A larger number is a typing error.
const HOURS_MAX: f64 = 8760.0;

#[derive(Debug, Args)]
pub struct ResearchArgs {
    /// The task's directory; the agent works on a copy
    ///
    /// It holds `task_description.md` or `README.md`, and the files that the agent works on.
    #[arg(value_name = "TASK_DIR", required_unless_present = "resume")]
    pub task_dir: Option<PathBuf>,
    /// The agent, as ResearchGym calls it: `claude-code`
    #[arg(value_name = "AGENT", value_parser = ["claude-code"], hide_possible_values = true)]
    pub agent: Option<String>,
    /// The model, as the agent names it [default: your settings of the agent]
    #[arg(long)]
    pub model: Option<String>,
    /// Maximum working time in hours; waits between attempts do not count [default: 0.25]
    ///
    /// The same as --time-hours. For a resumed run, the total.
    #[arg(
        long = "claude_hours",
        value_name = "HOURS",
        value_parser = hours,
        aliases = ["claude-hours", "time-hours", "time_hours"],
        allow_hyphen_values = true
    )]
    pub hours: Option<Span>,
    /// Maximum cost in dollars; 0 or `none` is unlimited [default: 10]
    ///
    /// For a resumed run, the total.
    #[arg(
        long = "budget_limit",
        value_name = "USD",
        value_parser = total_budget,
        alias = "budget-limit",
        allow_hyphen_values = true
    )]
    pub budget: Option<Usd>,
    /// The agent's environment: only `uv`, the one in which longhaul was started
    ///
    /// Longhaul starts no containers.
    #[arg(long, value_name = "RUNTIME", value_parser = ["uv", "docker"], hide_possible_values = true)]
    pub runtime: Option<String>,
    #[arg(long, hide = true, value_name = "IMAGE")]
    pub image: Option<String>,
    #[arg(long, hide = true)]
    pub gpus: bool,
    /// Keep the run's directory in `DIR/<date>/<id>` [default: `runs` in `$LONGHAUL_HOME`]
    #[arg(long = "runs_dir", value_name = "DIR", alias = "runs-dir")]
    pub runs_dir: Option<PathBuf>,
    /// Resume a run: Longhaul's by directory or id, or a run directory of ResearchGym's own
    ///
    /// The recorded cost and time count.
    #[arg(long, value_name = "RUN_DIR")]
    pub resume: Option<String>,
    /// Start with this session of Claude Code instead of a new one
    #[arg(long = "resume-session", value_name = "ID", alias = "resume_session")]
    pub resume_session: Option<String>,
    /// Deny tool calls that name one of these URLs, in addition to the task's: a JSON list of patterns
    #[arg(long = "blocked-urls", value_name = "JSON", alias = "blocked_urls")]
    pub blocked_urls: Option<String>,
    /// The same from a file: JSON, YAML, or one pattern per line
    #[arg(long = "blocked-urls-file", value_name = "FILE", alias = "blocked_urls_file")]
    pub blocked_urls_file: Option<PathBuf>,
    /// Ask for improvements beyond the task [default: if the agent may work 24 hours or more]
    #[arg(long = "extended-continue", alias = "extended_continue")]
    pub extended_continue: bool,
    /// Summarize older work in the handoff prompt with this model
    #[arg(long = "handoff-summary", alias = "handoff_summary", value_name = "MODEL", value_parser = model)]
    pub handoff_summary: Option<String>,
    /// Stops in a row without a change in the workspace, after which the run fails
    #[arg(long = "max-idle-stops", aliases = ["max_idle_stops", "idle-stops", "idle_stops"], value_name = "N")]
    pub max_idle_stops: Option<NonZeroU32>,
    /// Ask about background work that lasts longer than this
    #[arg(long = "background-wait", alias = "background_wait", value_name = "DURATION", value_parser = duration_limit)]
    pub background_wait: Option<Span>,
    /// Leave the task's `idea_hint.txt` among the files that the agent sees
    #[arg(long = "idea_hint", alias = "idea-hint")]
    pub idea_hint: bool,
    /// The agent's permission mode [default: bypassPermissions, as in ResearchGym]
    #[arg(long, value_name = "MODE")]
    pub permission_mode: Option<String>,
    /// The agent's program [default: `claude`, on PATH or where its installers put it]
    #[arg(long, value_name = "FILE")]
    pub agent_path: Option<PathBuf>,
    /// Run in the background; the run survives this terminal
    #[arg(long, conflicts_with = "dry_run")]
    pub detach: bool,
    /// Print what would be done; start nothing
    #[arg(long = "dry_run", alias = "dry-run")]
    pub dry_run: bool,
    /// Arguments passed to the agent unchanged
    #[arg(last = true, value_name = "AGENT ARGS", allow_hyphen_values = true)]
    pub agent_args: Vec<String>,
    #[command(flatten)]
    pub everywhere: InheritedArgs,
    #[command(flatten)]
    pub notify: NotifyArgs,
    #[command(flatten)]
    pub events: EventsArgs,
}

/// Configured guards and prices that also apply to this command, although ResearchGym has no flags for them.
#[derive(Debug, Default, Args)]
pub struct InheritedArgs {
    #[arg(long, hide = true, value_delimiter = ',')]
    pub allow_tools: Vec<ToolPattern>,
    #[arg(long, hide = true, value_delimiter = ',')]
    pub deny_tools: Vec<ToolPattern>,
    #[arg(long, hide = true, value_delimiter = ',')]
    pub network: Vec<String>,
    #[arg(long, hide = true)]
    pub block_url: Vec<UrlPattern>,
    #[arg(long, hide = true)]
    pub block_urls_file: Option<PathBuf>,
    #[arg(long, hide = true)]
    pub block_path: Vec<String>,
    #[arg(long, hide = true)]
    pub effects_file: Option<PathBuf>,
    #[arg(long, hide = true)]
    pub prices_file: Option<PathBuf>,
    #[arg(long, hide = true)]
    pub diagnostic: bool,
}

/// Reads an amount in dollars, or `none`, which is stored as 0. Unlike for `run`, 0 is unlimited, as in ResearchGym.
fn total_budget(text: &str) -> Result<Usd, String> {
    if text.trim() == NONE { Ok(Usd::ZERO) } else { dollars(text) }
}

/// Reads `0.25` or `12`.
fn hours(text: &str) -> Result<Span, String> {
    let hours: f64 = text.trim().parse().unwrap_or_default();
    let millis = hours * 3_600_000.0;
    // `as` saturates and turns NaN into 0.
    match millis.round() as u64 {
        0 => Err("expected a number of hours, like 0.25 or 12".to_owned()),
        _ if hours > HOURS_MAX => Err(format!("expected at most {HOURS_MAX} hours")),
        millis => Ok(Span(millis)),
    }
}

#[cfg(test)]
mod tests {
    use super::{ResearchArgs, hours, total_budget};
    use clap::Parser;
    use longhaul_core::{Span, Usd};

    #[derive(Parser)]
    struct TestCli {
        #[command(flatten)]
        args: ResearchArgs,
    }

    #[test]
    fn parses_hours() {
        for (text, expected) in
            [("0.25", Span::from_mins(15)), ("12", Span::from_hours(12)), ("1e-3", Span(3600))]
        {
            assert_eq!(hours(text), Ok(expected), "{text}");
        }
        for text in ["0", "-1", "", "two", "NaN", "inf", "9000", "1h"] {
            assert!(hours(text).is_err(), "{text}");
        }
    }

    #[test]
    fn parses_budget() {
        for (text, expected) in [("none", Usd::ZERO), ("0", Usd::ZERO), ("2.5", Usd(2_500_000))] {
            assert_eq!(total_budget(text), Ok(expected), "{text}");
        }
        assert!(total_budget("ten").is_err());
    }

    #[test]
    fn accepts_every_name_of_a_flag() {
        let check = |flags: &str| {
            let typed =
                TestCli::try_parse_from(["research", "t", "claude-code"].into_iter().chain(flags.split(' ')));
            let args = typed.unwrap_or_else(|error| panic!("{flags}: {error}")).args;
            assert_eq!(
                (args.hours, args.budget),
                (Some(Span::from_hours(2)), Some(Usd(3_000_000))),
                "{flags}"
            );
            assert!(args.dry_run && args.runs_dir.is_some() && args.blocked_urls.is_some(), "{flags}");
            assert!(args.resume_session.is_some() && args.blocked_urls_file.is_some(), "{flags}");
            assert!(args.handoff_summary.is_some() && args.max_idle_stops.is_some(), "{flags}");
            assert!(args.background_wait.is_some(), "{flags}");
        };
        let names = "--claude_hours 2 --budget_limit 3 --dry_run --runs_dir r --blocked_urls [] --resume_session s \
                     --blocked_urls_file f --handoff_summary m --idle_stops 3 --background_wait 1m";
        check(names);
        check(&names.replace("--claude_hours", "--time_hours"));
        check(&names.replace('_', "-"));
        check(&names.replace('_', "-").replace("--claude-hours", "--time-hours"));
    }
}

//! The arguments of `longhaul run`.

use super::agent::model;
use super::learn::RunLearnArgs;
use super::limits::count;
use super::{AgentArgs, AgentKind, EventsArgs, KeepGoingArgs, LimitArgs, NotifyArgs, PolicyArgs, WrapUpArgs};
use clap::Args;
use longhaul_agent::UrlPattern;
use longhaul_core::SessionId;
use longhaul_store::is_run_id;
use std::path::PathBuf;

#[derive(Debug, Default, Args)]
pub struct RunArgs {
    /// The task; `-` reads it from stdin
    #[arg(
        value_name = "PROMPT",
        required_unless_present = "prompt_file",
        conflicts_with = "prompt_file",
        help_heading = "Task"
    )]
    pub prompt: Option<String>,
    /// Read the task from a file
    #[arg(long, value_name = "FILE", help_heading = "Task")]
    pub prompt_file: Option<PathBuf>,
    /// The agent: Claude Code, or any agent that speaks the Agent Client Protocol
    ///
    /// With `acp`, the command of the agent follows `--`: `longhaul run --agent acp PROMPT -- opencode acp`.
    #[arg(
        id = "agent",
        long = "agent",
        value_name = "AGENT",
        value_enum,
        default_value_t,
        hide_default_value = true,
        help_heading = "Agent and session"
    )]
    pub agent_kind: AgentKind,
    #[command(flatten)]
    pub agent: AgentArgs,
    /// Working directory [default: this one]
    #[arg(long, short = 'C', value_name = "DIR", help_heading = "Task")]
    pub cwd: Option<PathBuf>,
    /// UUID of the new session [default: random]
    #[arg(long, value_name = "UUID", value_parser = uuid, conflicts_with_all = ["resume", "resume_or_new"], help_heading = "Agent and session", hide_short_help = true)]
    pub session_id: Option<String>,
    /// Continue this session; an unknown session is an error
    #[arg(long, value_name = "SESSION", value_parser = session_name, help_heading = "Agent and session")]
    pub resume: Option<String>,
    /// Continue this session, or start a new one if it is unknown
    #[arg(long, value_name = "SESSION", value_parser = session_name, conflicts_with = "resume", help_heading = "Agent and session", hide_short_help = true)]
    pub resume_or_new: Option<String>,
    /// Maximum size of the handoff prompt, in tokens [default: 12000]
    #[arg(long, value_name = "N", value_parser = count, default_value_t = longhaul_core::HANDOFF_TOKENS_MAX, hide_default_value = true, help_heading = "Handoff and learning", hide_short_help = true)]
    pub handoff_tokens: u64,
    /// Summarize older work in the handoff prompt with this model
    ///
    /// The model has one minute. If it fails, older work is listed in one line per step.
    #[arg(long, value_name = "MODEL", value_parser = model, help_heading = "Handoff and learning", hide_short_help = true)]
    pub handoff_summary: Option<String>,
    /// Token prices that override the bundled ones: a TOML file
    ///
    /// The file has `dated` and, for each `[[model]]`, its `names` and what `input`, `output`, `cache_write`,
    /// `cache_write_hour` and `cache_read` cost, in dollars per million tokens.
    #[arg(long, value_name = "FILE", help_heading = "Handoff and learning", hide_short_help = true)]
    pub prices_file: Option<PathBuf>,
    /// More tool calls with side effects that a resumed agent must not repeat: a TOML file
    ///
    /// The file has `tools = ["mcp__pager__*"]` or, for each `[[program]]`, its `names` and how its arguments
    /// start: `starts_with = ["prod"]`.
    #[arg(long, value_name = "FILE", help_heading = "Handoff and learning", hide_short_help = true)]
    pub effects_file: Option<PathBuf>,
    /// Restrict the agent's commands to these hosts, or `none`
    ///
    /// Names like `example.com`, `*.example.com` or `example.com:443`. The agent runs commands in its own
    /// sandbox, and does not start if the sandbox is unavailable.
    #[arg(
        long,
        value_name = "HOST",
        value_delimiter = ',',
        help_heading = "Guards and questions",
        hide_short_help = true
    )]
    pub network: Vec<String>,
    /// Let the agent ask questions, and answer VALUE if KEY matches or occurs in the text
    ///
    /// If no key matches, the agent's first option is the answer, with a warning. Without this flag, the
    /// agent cannot ask.
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Guards and questions", hide_short_help = true)]
    pub answer: Vec<String>,
    /// Answers from a JSON or TOML file, for keys that --answer does not name
    #[arg(long, value_name = "FILE", help_heading = "Guards and questions", hide_short_help = true)]
    pub answers_file: Option<PathBuf>,
    /// Let the agent ask questions, and answer each with its first option, with a warning
    #[arg(long, help_heading = "Guards and questions", hide_short_help = true)]
    pub answer_defaults: bool,
    /// Deny tool calls that name this URL
    ///
    /// Patterns: `example.com` with everything below it, `*.example.com`, `example.com:8080`,
    /// `https://example.com/papers/*`, `example.com/watch?v=abc`, `192.0.2.1`. What guards inspect and miss:
    /// https://github.com/longhaul/longhaul/blob/main/docs/guards.md
    #[arg(long, value_name = "PATTERN", help_heading = "Guards and questions", hide_short_help = true)]
    pub block_url: Vec<UrlPattern>,
    /// Deny tool calls that name a URL in this file
    ///
    /// One pattern per line, or a list named `blocked_urls`, `urls` or `patterns` as YAML or JSON.
    #[arg(long, value_name = "FILE", help_heading = "Guards and questions", hide_short_help = true)]
    pub block_urls_file: Option<PathBuf>,
    /// Deny tool calls that name this file or directory, or anything below it
    ///
    /// Absolute, below `~`, or relative to the working directory.
    #[arg(long, value_name = "PATH", help_heading = "Guards and questions", hide_short_help = true)]
    pub block_path: Vec<String>,
    /// Keep partial messages in the stream file after the run
    #[arg(long, help_heading = "Task", hide_short_help = true)]
    pub keep_partial_messages: bool,
    /// Write a text file for each noteworthy event to the run's `diagnostic/`
    ///
    /// LONGHAUL_DIAGNOSTIC=1 does the same. A project with a file `.claude/diagnostic_mode` also gets them in
    /// `.claude/diagnostic/`.
    #[arg(long, help_heading = "Task", hide_short_help = true)]
    pub diagnostic: bool,
    /// Keep the run's directory in `DIR/<date>/<id>` [default: `runs` in `$LONGHAUL_HOME`]
    #[arg(long, value_name = "DIR", help_heading = "Task", hide_short_help = true)]
    pub runs_dir: Option<PathBuf>,
    /// Id of the run: letters, digits, `-`, `_` and `.` [default: random letters]
    #[arg(long, value_name = "ID", value_parser = run_id, help_heading = "Task", hide_short_help = true)]
    pub run_id: Option<String>,
    /// Start this task once, under a key that becomes the run's id
    ///
    /// The same call again continues the run if it was stopped, follows it if it is running, and prints its
    /// result if it has finished.
    #[arg(long, value_name = "KEY", value_parser = run_id, conflicts_with = "run_id", help_heading = "Task", hide_short_help = true)]
    pub key: Option<String>,
    /// With --key: resume the run unless it finished as `done` or `cancelled`
    #[arg(long, requires = "key", help_heading = "Task", hide_short_help = true)]
    pub retry: bool,
    /// With --key: fail if the run is running, instead of following it
    #[arg(long, requires = "key", help_heading = "Task", hide_short_help = true)]
    pub no_attach: bool,
    /// Name of the run; commands accept it for the newest run with this name
    #[arg(long, value_name = "NAME", value_parser = run_id, help_heading = "Task")]
    pub name: Option<String>,
    /// Run in the background; the run survives this terminal
    #[arg(long, conflicts_with = "dry_run", help_heading = "Task")]
    pub detach: bool,
    /// Print the command, the policy and the worst case; start nothing
    #[arg(long, help_heading = "Task")]
    pub dry_run: bool,
    /// Arguments passed to the agent unchanged; with `--agent acp`, its command
    #[arg(
        last = true,
        value_name = "AGENT ARGS",
        allow_hyphen_values = true,
        help_heading = "Agent and session",
        hide_short_help = true
    )]
    pub agent_args: Vec<String>,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub wrap_up: WrapUpArgs,
    #[command(flatten)]
    pub keep_going: KeepGoingArgs,
    #[command(flatten)]
    pub learn: RunLearnArgs,
    #[command(flatten)]
    pub policy: PolicyArgs,
    #[command(flatten)]
    pub notify: NotifyArgs,
    #[command(flatten)]
    pub events: EventsArgs,
}

pub(super) fn run_id(text: &str) -> Result<String, String> {
    let hint = "expected up to 64 letters, digits, `-`, `_` and `.`, beginning with a letter or a digit";
    is_run_id(text).then(|| text.to_owned()).ok_or_else(|| hint.to_owned())
}

/// Reads the name of a session. The agent receives it as an argument.
fn session_name(text: &str) -> Result<String, String> {
    let hint = "expected the id or the title of a session";
    SessionId::from(text).is_name().then(|| text.to_owned()).ok_or_else(|| hint.to_owned())
}

fn uuid(text: &str) -> Result<String, String> {
    let hint = "expected a UUID like 0e9bdb0f-0ac1-426d-a6e3-2ba958d9e0e0; `uuidgen` prints one";
    SessionId::from(text).is_uuid().then(|| text.to_owned()).ok_or_else(|| hint.to_owned())
}

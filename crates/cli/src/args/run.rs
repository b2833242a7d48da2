//! What `longhaul run` takes.

use super::agent::model;
use super::{
    AgentArgs, EventsArgs, KeepGoingArgs, LimitArgs, NotifyArgs, PolicyArgs, RunLearnArgs, WrapUpArgs,
};
use clap::Args;
use longhaul_agent::UrlPattern;
use longhaul_core::SessionId;
use longhaul_store::is_run_id;
use std::path::PathBuf;

#[derive(Debug, Default, Args)]
pub struct RunArgs {
    /// What the agent is to do; `-` reads it from stdin
    #[arg(value_name = "PROMPT", required_unless_present = "prompt_file", conflicts_with = "prompt_file")]
    pub prompt: Option<String>,
    /// Read the prompt from a file
    #[arg(long, value_name = "FILE")]
    pub prompt_file: Option<PathBuf>,
    #[command(flatten)]
    pub agent: AgentArgs,
    /// The directory to work in [default: this one]
    #[arg(long, short = 'C', value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// The id of the new session, a UUID [default: drawn by chance]
    #[arg(long, value_name = "UUID", value_parser = uuid, conflicts_with_all = ["resume", "resume_or_new"])]
    pub session_id: Option<String>,
    /// Continue this session; refused if it is found nowhere
    #[arg(long, value_name = "SESSION", value_parser = session_name)]
    pub resume: Option<String>,
    /// Continue this session, or begin a new one if it is found nowhere
    #[arg(long, value_name = "SESSION", value_parser = session_name, conflicts_with = "resume")]
    pub resume_or_new: Option<String>,
    /// How long the account of lost work may be that a fresh session goes on with, in tokens [default: 12000]
    #[arg(long, value_name = "N", default_value_t = longhaul_agent::HANDOFF_TOKENS_MAX, hide_default_value = true)]
    pub handoff_tokens: u64,
    /// Have this model condense what of that account is older than the most recent work, in at most a minute; where
    /// it does not, that is told in a line each
    #[arg(long, value_name = "MODEL", value_parser = model)]
    pub handoff_summary: Option<String>,
    /// Prices of tokens that hold before the bundled ones, model by model: a TOML file with `dated` and, for each
    /// `[[model]]`, its `names` and what `input`, `output`, `cache_write`, `cache_write_hour` and `cache_read` cost, in
    /// dollars per million tokens
    #[arg(long, value_name = "FILE")]
    pub prices_file: Option<PathBuf>,
    /// Calls with effects outside of the workspace, besides the bundled ones, which a resumed agent is told not to
    /// repeat: a TOML file with `tools = ["mcp__pager__*"]` or, for each `[[program]]`, its `names` and how its
    /// arguments begin: `begins = ["prod"]`
    #[arg(long, value_name = "FILE")]
    pub effects_file: Option<PathBuf>,
    /// Let the agent's commands reach these hosts alone, or `none`: names like `example.com`, `*.example.com` or
    /// `example.com:443`. The agent runs them in its own sandbox, and does not start where that cannot be had
    #[arg(long, value_name = "HOST", value_delimiter = ',')]
    pub network: Vec<String>,
    /// Let the agent ask questions, and answer VALUE to one that is KEY or has it in its text. What no key fits is
    /// answered by the first option that the agent offers, with a warning [default: the agent cannot ask]
    #[arg(long, value_name = "KEY=VALUE")]
    pub answer: Vec<String>,
    /// Answers from a file, for keys that --answer does not name: JSON or TOML, one object of keys and answers
    #[arg(long, value_name = "FILE")]
    pub answers_file: Option<PathBuf>,
    /// Let the agent ask questions, also without an --answer: each is answered by its first option, with a warning
    #[arg(long)]
    pub answer_defaults: bool,
    /// Deny tool calls that name this URL, whatever else permits them: `example.com` with all below it,
    /// `*.example.com`, `example.com:8080`, `https://example.com/papers/*`, `example.com/watch?v=abc`, `192.0.2.1`. What
    /// is looked at, and what cannot be seen, is told in docs/guards.md
    #[arg(long = "block-url", value_name = "PATTERN")]
    pub block_urls: Vec<UrlPattern>,
    /// Deny tool calls that name one of the URLs in this file: a pattern in each line, or a list named `blocked_urls`,
    /// `urls` or `patterns` as YAML or JSON
    #[arg(long, value_name = "FILE")]
    pub block_urls_file: Option<PathBuf>,
    /// Deny tool calls that touch this file or folder or what is below it, as far as that can be told by what they
    /// name: absolute, below `~`, or from the directory of the run on
    #[arg(long = "block-path", value_name = "PATH")]
    pub block_paths: Vec<String>,
    /// Keep the partial messages in the stream file after the run
    #[arg(long)]
    pub keep_partial_messages: bool,
    /// Leave a text on each noteworthy event in the run's `diagnostic/`, as LONGHAUL_DIAGNOSTIC=1 does; a project that
    /// has a file `.claude/diagnostic_mode` gets them in `.claude/diagnostic/`, too
    #[arg(long)]
    pub diagnostic: bool,
    /// Keep the run's directory in `DIR/<date>/<id>` [default: `runs` in `$LONGHAUL_HOME`]
    #[arg(long, value_name = "DIR")]
    pub runs_dir: Option<PathBuf>,
    /// The id of the run: letters, digits, `-`, `_` and `.` [default: a few letters, drawn by chance]
    #[arg(long, value_name = "ID", value_parser = run_id)]
    pub run_id: Option<String>,
    /// Start this work once, under a key that becomes the run's id: the same call continues the run if it was stopped,
    /// follows it if it is running, and prints its result if it has finished
    #[arg(long, value_name = "KEY", value_parser = run_id, conflicts_with = "run_id")]
    pub key: Option<String>,
    /// With --key: resume the run if it finished as anything but `done` or `cancelled`
    #[arg(long, requires = "key")]
    pub retry: bool,
    /// With --key: refuse if the run is running, instead of following it
    #[arg(long, requires = "key")]
    pub no_attach: bool,
    /// What to call the run: every command takes the name for the newest run that has it
    #[arg(long, value_name = "NAME", value_parser = run_id)]
    pub name: Option<String>,
    /// Leave the run to a supervisor of its own that survives this terminal
    #[arg(long, conflicts_with = "dry_run")]
    pub detach: bool,
    /// What a supervisor is started with by `--detach`
    #[arg(long, hide = true)]
    pub detached: bool,
    /// Print what would be done: command, policy, worst case. Starts nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Passed to the agent as they are
    #[arg(last = true, value_name = "AGENT ARGS", allow_hyphen_values = true)]
    pub agent_args: Vec<String>,
    /// Last, because their headings in the help hold for everything behind them.
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

fn run_id(text: &str) -> Result<String, String> {
    let hint = "expected up to 64 letters, digits, `-`, `_` and `.`, beginning with a letter or a digit";
    is_run_id(text).then(|| text.to_owned()).ok_or_else(|| hint.to_owned())
}

/// The agent gets it as an argument.
fn session_name(text: &str) -> Result<String, String> {
    let hint = "expected the id or the title of a session";
    SessionId::from(text).is_name().then(|| text.to_owned()).ok_or_else(|| hint.to_owned())
}

fn uuid(text: &str) -> Result<String, String> {
    let hint = "expected a UUID like 0e9bdb0f-0ac1-426d-a6e3-2ba958d9e0e0; `uuidgen` draws one";
    SessionId::from(text).is_uuid().then(|| text.to_owned()).ok_or_else(|| hint.to_owned())
}

//! What a person can type: the command tree and every flag. It reads no file and starts nothing.

mod completions;
mod config;
mod doctor;
mod events;
mod gc;
mod keep_going;
mod limits;
mod logs;
mod man;
mod notify;
mod report;
mod rerun;
mod research;
mod runs;
mod why;

pub use completions::CompletionsArgs;
pub use config::{ConfigArgs, ConfigWhat, ConfiguredArgs, InitArgs, PathArgs, ShowConfigArgs};
pub use doctor::DoctorArgs;
pub use events::{Destination, EventsArgs};
pub use gc::GcArgs;
pub use keep_going::KeepGoingArgs;
pub use limits::{LimitArgs, MoreArgs, WrapUpArgs};
pub use logs::LogsArgs;
pub use man::ManArgs;
pub use notify::NotifyArgs;
pub use report::ReportArgs;
pub use rerun::RerunArgs;
pub use research::ResearchArgs;
pub use runs::{By, CostArgs, LedgerArgs, LedgerCommand, RunsArgs, StateAsked};
pub use why::WhyArgs;

use crate::duration::duration;
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use longhaul_agent::{ToolPattern, UrlPattern};
use longhaul_core::{Jitter, Preset, SessionId, Span};
use longhaul_store::is_run_id;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// Brings an unattended coding-agent run to an honest end.
#[derive(Debug, Parser)]
#[command(
    name = "longhaul",
    version,
    max_term_width = 100,
    propagate_version = true,
    disable_help_subcommand = true
)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct Global {
    /// How to print the result [default: text on a terminal, else json]
    #[arg(long, global = true, value_enum, value_name = "FORMAT")]
    pub output_format: Option<OutputFormat>,
    /// Print nothing on stderr but errors
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print each decision on stderr
    #[arg(long, short, global = true, action = ArgAction::SetTrue)]
    pub verbose: bool,
    /// Print straight to the terminal, without a pager (`LONGHAUL_PAGER`, `PAGER`, else `less`)
    #[arg(long, global = true)]
    pub no_pager: bool,
    /// Last, because its heading in the help holds for everything behind it.
    #[command(flatten)]
    pub configured: ConfiguredArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// One JSON object
    Json,
    /// For people
    Text,
    /// The agent's events and ours, line by line, then the JSON object
    StreamJson,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Carry one request to an honest end
    #[command(after_help = DURATIONS)]
    Run(Box<RunArgs>),
    /// Go on with a run that is over, in its session
    Resume(ResumeArgs),
    /// Carry out the task of a run once more, as a new run in a new session
    Rerun(RerunArgs),
    /// Carry out a task of ResearchGym's, by the flags of its Claude Code agent
    Research(Box<ResearchArgs>),
    /// Go on with runs whose supervisor died
    #[command(after_help = DURATIONS)]
    Recover(RecoverArgs),
    /// Follow a run that another process supervises
    Attach(AttachArgs),
    /// List runs, the newest first
    Runs(RunsArgs),
    /// Show the runs that go on, wait, or have lost their supervisor
    Status,
    /// Tell what was spent, by day, model, project, run or agent
    Cost(CostArgs),
    /// Show a run, and what was decided in each of its attempts
    Show(ShowArgs),
    /// Tell what happened in a run, what was done about it, and what comes next
    Why(WhyArgs),
    /// Print what was said and done in a run: prompts, answers, tool calls
    Logs(LogsArgs),
    /// Tell what runs did, what they cost and what needs you, on one page
    #[command(after_help = report::FORMS)]
    Report(ReportArgs),
    /// End a run, and everything that it started
    Cancel(CancelArgs),
    /// Print what a fresh session would be told of a run's work
    Seed(SeedArgs),
    /// Pack a run into one file: its record, its sessions and its workspace
    #[command(after_help = EXPORTED)]
    Export(ExportArgs),
    /// Take in a run that was exported on another machine or from another directory
    #[command(after_help = TRUSTED)]
    Import(ImportArgs),
    /// Remove the directories of runs that have long been over
    Gc(GcArgs),
    /// Make the index of all runs anew, or compare it with their journals
    Ledger(LedgerArgs),
    /// Inject faults into a practice run, without an agent, a key or money
    Drill(DrillArgs),
    /// Forecast what a policy does under faults, by simulation
    #[command(after_help = DURATIONS)]
    Simulate(SimulateArgs),
    /// Look whether runs can be begun here, and say what to type where they cannot
    Doctor(DoctorArgs),
    /// Show, check and begin configuration files
    Config(ConfigArgs),
    /// Print completions for a shell
    #[command(after_help = completions::INSTALL)]
    Completions(CompletionsArgs),
    /// Print the manual page, or write one for each command
    Man(ManArgs),
    /// Ends the agent of a run whose supervisor died and for whom nobody has come back
    #[command(hide = true)]
    Watchdog(WatchdogArgs),
    /// Serves the tool by which an agent says that its work is finished; speaks MCP on its standard streams
    #[command(hide = true)]
    FinishTool,
    /// The scripted agent of the drills; speaks Claude Code's protocol
    #[command(hide = true, disable_help_flag = true, disable_version_flag = true)]
    DrillAgent {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<std::ffi::OsString>,
    },
}

#[derive(Debug, Default, Args)]
pub struct RunArgs {
    /// What the agent is to do; `-` reads it from stdin
    #[arg(value_name = "PROMPT", required_unless_present = "prompt_file", conflicts_with = "prompt_file")]
    pub prompt: Option<String>,
    /// Read the prompt from a file
    #[arg(long, value_name = "FILE")]
    pub prompt_file: Option<PathBuf>,
    /// The model, as the agent names it
    #[arg(long)]
    pub model: Option<String>,
    /// The agent's permission mode [default: the user's own settings]
    #[arg(long, value_name = "MODE")]
    pub permission_mode: Option<String>,
    /// The directory to work in [default: this one]
    #[arg(long, short = 'C', value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// The id of the new session, a UUID [default: drawn by chance]
    #[arg(long, value_name = "UUID", value_parser = uuid, conflicts_with_all = ["resume", "resume_or_new"])]
    pub session_id: Option<String>,
    /// Continue this session; refused if it is found nowhere
    #[arg(long, value_name = "SESSION")]
    pub resume: Option<String>,
    /// Continue this session, or begin a new one if it is found nowhere
    #[arg(long, value_name = "SESSION", conflicts_with = "resume")]
    pub resume_or_new: Option<String>,
    /// The agent's program [default: `claude`, on PATH and where its installers put it]
    #[arg(long, value_name = "FILE")]
    pub agent_path: Option<PathBuf>,
    /// How long the account of lost work may be that a fresh session goes on with, in tokens [default: 12000]
    #[arg(long, value_name = "N", default_value_t = longhaul_agent::SEED_TOKENS_MAX, hide_default_value = true)]
    pub seed_tokens: u64,
    /// Have this model condense what of that account is older than the most recent work, in at most a minute; where
    /// it does not, that is told in a line each
    #[arg(long, value_name = "MODEL", value_parser = model)]
    pub seed_summary: Option<String>,
    /// Prices of tokens that hold before the bundled ones, model by model: a TOML file with `dated` and, for each
    /// `[[model]]`, its `names` and what `input`, `output`, `cache_write`, `cache_write_hour` and `cache_read` cost, in
    /// dollars per million tokens
    #[arg(long, value_name = "FILE")]
    pub prices: Option<PathBuf>,
    /// Calls with effects outside of the workspace, besides the bundled ones, which a resumed agent is told not to
    /// repeat: a TOML file with `tools = ["mcp__pager__*"]` or, for each `[[program]]`, its `names` and how its
    /// arguments begin: `begins = ["prod"]`
    #[arg(long, value_name = "FILE")]
    pub effects: Option<PathBuf>,
    /// Let the agent use no other tools than these, whatever else permits them: names like `Read` or `mcp__github__*`
    #[arg(long, value_name = "TOOL", value_delimiter = ',')]
    pub allow_tools: Vec<ToolPattern>,
    /// Do not let the agent use these tools, whatever else permits them
    #[arg(long, value_name = "TOOL", value_delimiter = ',')]
    pub deny_tools: Vec<ToolPattern>,
    /// Judge the work by this command when the agent says that it is done, in a shell and in the directory it works in:
    /// what it says goes back to the agent, until it exits with 0. Several are run one after the other
    #[arg(long, value_name = "COMMAND")]
    pub check: Vec<String>,
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
    pub answers: Option<PathBuf>,
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
    pub keep_stream: bool,
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
    pub policy: PolicyArgs,
    #[command(flatten)]
    pub notify: NotifyArgs,
    #[command(flatten)]
    pub events: EventsArgs,
}

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

#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// The run: the first letters of its id, `@` for the last one, or its directory
    #[arg(value_name = "RUN")]
    pub run: String,
    /// What else the agent is to do; `-` reads it from stdin [default: to continue]
    #[arg(value_name = "PROMPT", conflicts_with = "prompt_file")]
    pub prompt: Option<String>,
    /// Read the prompt from a file
    #[arg(long, value_name = "FILE")]
    pub prompt_file: Option<PathBuf>,
    /// Say the task once more
    #[arg(long, conflicts_with_all = ["prompt", "prompt_file"])]
    pub again: bool,
    /// Branch off: a new run whose session begins with the history of this one, which stays as it is
    #[arg(long)]
    pub fork: bool,
    /// The directory to work in, if the workspace has moved [default: the same]
    #[arg(long, short = 'C', value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Leave the run to a supervisor of its own that survives this terminal
    #[arg(long)]
    pub detach: bool,
    /// What a supervisor is started with by `--detach`
    #[arg(long, hide = true)]
    pub detached: bool,
    /// Last, because their heading in the help holds for everything behind them. Each is the total that is wanted.
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub more: MoreArgs,
    #[command(flatten)]
    pub notify: NotifyArgs,
    #[command(flatten)]
    pub events: EventsArgs,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The run: the first letters of its id, `@` for the last one, or its directory
    #[arg(value_name = "RUN")]
    pub run: String,
}

#[derive(Debug, Args)]
pub struct RecoverArgs {
    /// The run: the first letters of its id, `@` for the last one, or its directory [default: every run]
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    /// Leave alone what has not been active for longer than this
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "168h", conflicts_with = "run")]
    pub within: Option<Span>,
    /// Print the runs that would be recovered, and start nothing
    #[arg(long)]
    pub list: bool,
    /// Have this done at every boot, or at every login where user services begin with one
    #[arg(long, conflicts_with_all = ["run", "list"])]
    pub install: bool,
    /// Take back --install
    #[arg(long, conflicts_with_all = ["run", "list", "within", "install"])]
    pub uninstall: bool,
    /// Print the service that --install would write, and change nothing
    #[arg(long, conflicts_with_all = ["run", "list", "install", "uninstall"])]
    pub print: bool,
    /// Last, because their heading in the help holds for everything behind them.
    #[command(flatten)]
    pub notify: NotifyArgs,
    #[command(flatten)]
    pub events: EventsArgs,
}

#[derive(Debug, Args)]
pub struct WatchdogArgs {
    /// The run's directory, absolute
    #[arg(value_name = "RUN_DIR")]
    pub run_dir: PathBuf,
    /// The number of the supervisor's process
    #[arg(value_name = "PID")]
    pub supervisor: u32,
    /// When that process started, in clock ticks since the boot: its number may be another's by now
    #[arg(value_name = "START_TICKS")]
    pub start_ticks: u64,
}

#[derive(Debug, Args)]
pub struct AttachArgs {
    /// The run: the first letters of its id, `@` for the last one, or its directory
    #[arg(value_name = "RUN")]
    pub run: String,
    #[command(flatten)]
    pub events: EventsArgs,
}

#[derive(Debug, Args)]
pub struct CancelArgs {
    /// The run: the first letters of its id, `@` for the last one, or its directory
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Do not wait for the agent's result: what it does not finish at once is lost
    #[arg(long)]
    pub now: bool,
}

#[derive(Debug, Args)]
pub struct SeedArgs {
    /// The run: the first letters of its id, `@` for the last one, or its directory
    #[arg(value_name = "RUN", required_unless_present = "from_transcript")]
    pub run: Option<String>,
    /// Instead of a run: a session file of Claude Code (`~/.claude/projects/*/*.jsonl`), or the stream of an attempt
    /// (`attempts/*/stream.jsonl` of a run). Several are told one after the other
    #[arg(long, value_name = "FILE", conflicts_with = "run")]
    pub from_transcript: Vec<PathBuf>,
    /// What was to be done [default: what the session was first asked, or the prompt in the plan of the run]
    #[arg(long, value_name = "TEXT", requires = "from_transcript", conflicts_with = "run")]
    pub task: Option<String>,
    /// Read what was to be done from a file
    #[arg(long, value_name = "FILE", requires = "from_transcript", conflicts_with_all = ["task", "run"])]
    pub task_file: Option<PathBuf>,
    /// How long it may be, in tokens
    #[arg(long, value_name = "N", default_value_t = longhaul_agent::SEED_TOKENS_MAX)]
    pub seed_tokens: u64,
    /// Have this model condense what is older than the most recent work, in at most a minute; where it does not, that
    /// is told in a line each
    #[arg(long, value_name = "MODEL", value_parser = model)]
    pub seed_summary: Option<String>,
    /// The agent's program, which asks that model [default: `claude`, on PATH and where its installers put it]
    #[arg(long, value_name = "FILE", requires = "seed_summary")]
    pub agent_path: Option<PathBuf>,
}

/// Said at the end of the help of `export`.
const EXPORTED: &str = "Of a workspace in git the file has HEAD with its whole history, what is staged, and every other file \
                        that is not ignored; not its remotes, settings, hooks and other branches. Nothing is changed.";

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The run: the first letters of its id, `@` for the last one, or its directory
    #[arg(value_name = "RUN")]
    pub run: String,
    /// The file to write [default: the run's id, with `.longhaul`, in this directory]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite the file if it is there
    #[arg(long)]
    pub force: bool,
}

/// Said at the end of the help of `import`.
const TRUSTED: &str = "The run goes on with the prompt, the agent arguments and the files that are in the file: import only \
                       what you would run yourself.";

#[derive(Debug, Args)]
pub struct ImportArgs {
    /// What `longhaul export` wrote
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The directory for the workspace, new or empty
    #[arg(long, value_name = "DIR")]
    pub into: PathBuf,
    /// Use the workspace that is in the directory already
    #[arg(long)]
    pub as_is: bool,
    /// The agent's program [default: the recorded one, or where that is missing, `claude`]
    #[arg(long, value_name = "FILE")]
    pub agent_path: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct DrillArgs {
    /// Scenarios to run [default: storm]; `all` runs every one
    #[arg(value_name = "SCENARIO")]
    pub scenarios: Vec<String>,
    /// A scenario by name or from a TOML file
    #[arg(long, value_name = "NAME|FILE")]
    pub scenario: Vec<String>,
    /// Which agent: the scripted one needs nothing, `claude` is the real one on its loopback API
    #[arg(long, value_enum, default_value_t = DrillAgentKind::Scripted)]
    pub agent: DrillAgentKind,
    /// The real agent's program
    #[arg(long, value_name = "FILE")]
    pub agent_path: Option<PathBuf>,
    /// List the scenarios
    #[arg(long)]
    pub list: bool,
    /// The seed that faults are drawn from [default: 1]
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        hide_default_value = true,
        conflicts_with = "random_seed"
    )]
    pub seed: u64,
    /// Draw the seed by chance; it is printed
    #[arg(long)]
    pub random_seed: bool,
    /// Keep the temporary directory with the workspace and the run
    #[arg(long)]
    pub keep: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DrillAgentKind {
    Scripted,
    Claude,
}

#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// The policy to simulate, by name: the same as --preset
    #[arg(long = "policy", value_name = "PRESET", value_parser = preset, conflicts_with = "preset")]
    pub policy_name: Option<Preset>,
    /// The faults to meet: a built-in profile, a TOML file, or `history` for those of your own past runs
    #[arg(long, value_name = "PROFILE|FILE|history", default_value = "flaky")]
    pub faults: String,
    /// How many runs to simulate
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub runs: u32,
    /// The seed that everything is drawn from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Last, because its heading in the help holds for everything behind it.
    #[command(flatten)]
    pub policy: PolicyArgs,
}

fn preset(text: &str) -> Result<Preset, String> {
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

fn model(text: &str) -> Result<String, String> {
    let named = !text.trim().is_empty();
    named.then(|| text.to_owned()).ok_or_else(|| "expected the name of a model, such as `haiku`".to_owned())
}

fn run_id(text: &str) -> Result<String, String> {
    let hint = "expected up to 64 letters, digits, `-`, `_` and `.`, beginning with a letter or a digit";
    is_run_id(text).then(|| text.to_owned()).ok_or_else(|| hint.to_owned())
}

fn uuid(text: &str) -> Result<String, String> {
    let hint = "expected a UUID like 0e9bdb0f-0ac1-426d-a6e3-2ba958d9e0e0; `uuidgen` draws one";
    SessionId::from(text).is_uuid().then(|| text.to_owned()).ok_or_else(|| hint.to_owned())
}

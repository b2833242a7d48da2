//! The command line: the tree of commands and every flag. It reads no file and starts nothing.
//!
//! Flattened arguments with a help heading stand last in a struct, because their heading applies to all flags after them.

mod agent;
mod continue_run;
mod gsd;
mod help;
mod inspect;
mod keep_going;
pub mod learn;
mod limits;
mod maintain;
mod mcp;
mod notify;
pub mod playbook;
mod policy;
mod practice;
mod research;
mod run;
mod workflow;

pub use agent::{AgentArgs, AgentKind, ChangeArgs};
pub use continue_run::{AttachArgs, CancelArgs, HandoffArgs, RecoverArgs, RerunArgs, ResumeArgs};
pub use gsd::{
    AddProjectArgs, GsdArgs, GsdCallArgs, GsdCommand, NewProjectArgs, NextArgs, PhaseArgs, PhasesArgs,
    ProjectsCommand, RepeatArgs, VerifyPhaseArgs,
};
pub use help::{with_groups, with_own_defaults};
pub use inspect::{
    CostArgs, DiffArgs, GroupBy, LedgerCommand, LogsArgs, ReportArgs, ReportFormat, RowState, RunsArgs,
    ShowArgs, StateFilter, StatusArgs,
};
pub use keep_going::KeepGoingArgs;
pub use limits::{AddLimitArgs, LimitArgs, NONE, WrapUpArgs, unless_zero};
pub use maintain::{
    CompletionsArgs, ConfigCommand, ConfigSourceArgs, DoctorArgs, ExportArgs, GcArgs, ImportArgs, ManArgs,
    PathArgs, SchemaArgs, ShowConfigArgs, TrustArgs,
};
pub use mcp::{CeilingArgs, McpArgs, McpClient, McpCommand, McpInstallArgs, ModeCeiling};
pub use notify::{EventsArgs, EventsDestination, NotifyArgs};
pub use policy::{DURATIONS, PolicyArgs, PolicyValueArgs, ReviewModel};
pub use practice::{DrillAgentKind, DrillArgs, SimulateArgs};
pub use research::ResearchArgs;
pub use run::RunArgs;
pub use workflow::{CheckProgressArgs, HintArgs, LoopArgs, LoopCommand, ValidateArgs};

use clap::{ArgAction, ArgMatches, Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Run coding agents unattended, through rate limits, crashes and reboots.
#[derive(Debug, Parser)]
#[command(
    name = "longhaul",
    version,
    max_term_width = 100,
    help_template = help::TEMPLATE,
    after_help = help::FIRST,
    mut_subcommands = help::with_examples,
    propagate_version = true
)]
pub struct Cli {
    #[command(flatten)]
    pub global: GlobalArgs,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct GlobalArgs {
    /// Output format [default: text; json in a pipe, for commands that drive a run]
    ///
    /// Commands that drive a run: run, resume, rerun, loop, research, gsd, recover, attach, cancel.
    #[arg(long, global = true, value_enum, value_name = "FORMAT")]
    pub output_format: Option<OutputFormat>,
    /// Print JSON; short for `--output-format json`
    #[arg(long, global = true, conflicts_with = "output_format", hide_short_help = true)]
    pub json: bool,
    /// Whether the command prints JSON in a pipe if no flag names a format.
    #[arg(skip)]
    pub pipes_json: bool,
    /// Whether the program was called as `openclawpack`, whose form of results differs.
    #[arg(skip)]
    pub is_openclawpack: bool,
    /// Print only errors on stderr
    #[arg(long, short, global = true, conflicts_with = "verbose", hide_short_help = true)]
    pub quiet: bool,
    /// Print each decision on stderr
    #[arg(long, short, global = true, action = ArgAction::SetTrue, hide_short_help = true)]
    pub verbose: bool,
    /// Print straight to the terminal, without a pager
    ///
    /// The pager is `LONGHAUL_PAGER`, else `PAGER`, else `less`.
    #[arg(long, global = true, hide_short_help = true)]
    pub no_pager: bool,
    /// Marks the supervisor that `--detach` starts. It has no terminal.
    #[arg(long, global = true, hide = true)]
    pub detached: bool,
    #[command(flatten)]
    pub configured: ConfigSourceArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// One JSON object
    Json,
    /// Text for people
    Text,
    /// JSON lines: events, then one `result`; of a workflow, its decisions, then the object of `json`
    StreamJson,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a task to completion
    Run(Box<RunArgs>),
    /// Continue a finished run in its session
    Resume(Box<ResumeArgs>),
    /// Run the same task again in a new session
    Rerun(Box<RerunArgs>),
    /// Run a ResearchGym task, with the flags of its Claude Code agent
    Research(Box<ResearchArgs>),
    /// Run a workflow: phases of runs, repeated until a condition holds
    Loop(Box<LoopArgs>),
    /// Drive the GSD planning framework, with the commands of openclawpack
    Gsd(Box<GsdArgs>),
    /// Leave a text for the next phase of a workflow
    Hint(HintArgs),
    /// Continue orphaned and suspended runs
    Recover(RecoverArgs),
    /// Follow a running run
    Attach(AttachArgs),
    /// List runs, newest first
    Runs(RunsArgs),
    /// Show unfinished runs and workflows
    Status(StatusArgs),
    /// Show costs
    Cost(CostArgs),
    /// Show one run and its attempts
    Show(ShowArgs),
    /// Explain what happened and what to do next
    Why(ShowArgs),
    /// Print the conversation
    Logs(LogsArgs),
    /// Show what a run changed
    Diff(DiffArgs),
    /// Write a one-page report
    Report(ReportArgs),
    /// Stop a run and everything it started
    Cancel(CancelArgs),
    /// Print the prompt a fresh session would get
    Handoff(HandoffArgs),
    /// Pack a run or workflow into one file: its record, sessions and workspace
    Export(ExportArgs),
    /// Unpack a run or workflow that was exported elsewhere
    Import(ImportArgs),
    /// Delete old runs
    Gc(GcArgs),
    /// Rebuild the index of runs, or compare it with the journals
    #[command(subcommand)]
    Ledger(LedgerCommand),
    /// Learn from past sessions
    #[command(subcommand)]
    Playbook(playbook::PlaybookCommand),
    /// Practice on injected faults; needs no agent, key or money
    Drill(DrillArgs),
    /// Forecast a policy under faults
    Simulate(SimulateArgs),
    /// Check that runs can start here
    Doctor(DoctorArgs),
    /// Offer these commands to an agent as tools, over MCP on stdin and stdout
    Mcp(McpArgs),
    /// Show the configuration, or create a configuration file
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print a JSON Schema, or list them
    Schema(SchemaArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print the manual page, or write one for each command
    Man(ManArgs),
}

/// Commands that print the envelope of a run.
pub const ENVELOPE_COMMANDS: [&str; 9] =
    ["run", "resume", "rerun", "loop", "research", "gsd", "recover", "attach", "cancel"];

impl Cli {
    /// Applies `--json`, and the default format of the parsed command, to the global flags. Programs call the
    /// commands that print JSON in a pipe; other commands print text everywhere.
    pub fn resolve_format(&mut self, matches: &ArgMatches) {
        if self.global.json {
            self.global.output_format = Some(OutputFormat::Json);
        }
        self.global.pipes_json = matches.subcommand().is_some_and(|(name, args)| {
            ENVELOPE_COMMANDS.contains(&name) && args.subcommand_name() != Some("validate")
                || (name, args.subcommand_name()) == ("playbook", Some("extract"))
        });
    }
}

pub fn streams_events_to_stdout(matches: &ArgMatches) -> bool {
    matches
        .subcommand()
        .is_some_and(|(_, args)| matches!(args.try_get_one("events"), Ok(Some(EventsDestination::Stdout))))
}

/// Stop the silent agent of an orphaned run.
#[derive(Debug, Parser)]
pub struct WatchdogArgs {
    /// The run's directory, absolute
    #[arg(value_name = "RUN_DIR")]
    pub run_dir: PathBuf,
    /// The supervisor's process id
    #[arg(value_name = "PID")]
    pub supervisor: u32,
    /// The start of that process in clock ticks since boot, because process ids are reused
    #[arg(value_name = "START_TICKS")]
    pub start_ticks: u64,
}

//! What a person can type: the command tree and every flag. It reads no file and starts nothing.

mod agent;
mod completions;
mod config;
mod diff;
mod doctor;
mod drill;
mod events;
mod gc;
mod handoff;
pub mod hook;
mod keep_going;
pub mod keypoints;
mod limits;
mod logs;
mod man;
mod notify;
pub mod playbook;
mod policy;
mod recover;
mod report;
mod rerun;
mod research;
mod resume;
mod run;
mod run_learn;
mod runs;
mod schema;
mod simulate;
mod transfer;
mod why;

pub use agent::{AgentArgs, ChangeArgs};
pub use completions::CompletionsArgs;
pub use config::{
    ConfigArgs, ConfigCommand, ConfigSourceArgs, InitArgs, PathArgs, ShowConfigArgs, TrustArgs,
};
pub use diff::DiffArgs;
pub use doctor::DoctorArgs;
pub use drill::{DrillAgentKind, DrillArgs};
pub use events::{Destination, EventsArgs};
pub use gc::GcArgs;
pub use handoff::HandoffArgs;
pub use keep_going::KeepGoingArgs;
pub use limits::{AddLimitArgs, LimitArgs, NONE, WrapUpArgs};
pub use logs::LogsArgs;
pub use man::ManArgs;
pub use notify::NotifyArgs;
pub use policy::{DURATIONS, PolicyArgs, PolicyValueArgs};
pub use recover::RecoverArgs;
pub use report::ReportArgs;
pub use rerun::RerunArgs;
pub use research::ResearchArgs;
pub use resume::ResumeArgs;
pub use run::RunArgs;
pub use run_learn::RunLearnArgs;
pub use runs::{CostArgs, GroupBy, LedgerArgs, LedgerCommand, RunsArgs, StateFilter, StatusArgs};
pub use schema::SchemaArgs;
pub use simulate::SimulateArgs;
pub use transfer::{ExportArgs, ImportArgs};
pub use why::WhyArgs;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Said at the end of the help: what to type first, and what stands for a run everywhere.
const FIRST: &str = "Begin with `longhaul drill`, which needs neither an agent nor a key, then `longhaul doctor`.\n\
                     A RUN is the first letters of its id, its name, its directory, or `@` for the last one.";

/// Brings an unattended coding-agent run to an honest end.
#[derive(Debug, Parser)]
#[command(
    name = "longhaul",
    version,
    max_term_width = 100,
    after_help = FIRST,
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
    /// How to print the result [default: text; json to a pipe, from commands that drive a run: run, resume, rerun,
    /// research, recover, attach, cancel]
    #[arg(long, global = true, value_enum, value_name = "FORMAT")]
    pub output_format: Option<OutputFormat>,
    /// Print JSON: short for `--output-format json`
    #[arg(long, global = true, conflicts_with = "output_format")]
    pub json: bool,
    /// Whether the command prints JSON to a pipe if no flag names a format.
    #[arg(skip)]
    pub pipes_json: bool,
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
    pub configured: ConfigSourceArgs,
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
    #[command(after_help = DURATIONS)]
    Resume(Box<ResumeArgs>),
    /// Carry out the task of a run once more, as a new run in a new session
    #[command(after_help = DURATIONS)]
    Rerun(Box<RerunArgs>),
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
    Status(StatusArgs),
    /// Tell what was spent, by day, model, project, run or agent
    Cost(CostArgs),
    /// Show a run, and what was decided in each of its attempts
    Show(ShowArgs),
    /// Tell what happened in a run, what was done about it, and what comes next
    Why(WhyArgs),
    /// Print what was said and done in a run: prompts, answers, tool calls
    Logs(LogsArgs),
    /// Show what a run changed in its workspace, by git
    #[command(after_help = diff::COMPARED)]
    Diff(DiffArgs),
    /// Tell what runs did, what they cost and what needs you, on one page
    #[command(after_help = report::FORMS)]
    Report(ReportArgs),
    /// End a run, and everything that it started
    Cancel(CancelArgs),
    /// Print what a fresh session would be told of a run's work
    Handoff(HandoffArgs),
    /// Pack a run into one file: its record, its sessions and its workspace
    #[command(after_help = transfer::EXPORTED)]
    Export(ExportArgs),
    /// Take in a run that was exported on another machine or from another directory
    #[command(after_help = transfer::TRUSTED)]
    Import(ImportArgs),
    /// Remove the directories of runs that have long been over
    Gc(GcArgs),
    /// Make the index of all runs anew, or compare it with their journals
    Ledger(LedgerArgs),
    /// Learn from past sessions, and tell it to the next ones
    Playbook(playbook::PlaybookArgs),
    /// Ask a model what a transcript teaches
    Keypoints(keypoints::KeypointsArgs),
    /// Inject faults into a practice run, without an agent, a key or money
    Drill(DrillArgs),
    /// Forecast what a policy does under faults, by simulation
    #[command(after_help = DURATIONS)]
    Simulate(SimulateArgs),
    /// Look whether runs can be begun here, and say what to type where they cannot
    Doctor(DoctorArgs),
    /// Show what is configured, or begin a configuration file
    Config(ConfigArgs),
    /// Print the JSON Schema of what a command prints, or list the schemas
    Schema(SchemaArgs),
    /// Print completions for a shell
    #[command(after_help = completions::INSTALL)]
    Completions(CompletionsArgs),
    /// Print the manual page, or write one for each command
    Man(ManArgs),
    /// Called by Claude Code at the events of its sessions
    #[command(hide = true)]
    Hook(hook::HookArgs),
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

impl Cli {
    /// Applies `--json`, and the command's own default format, to the global flags.
    pub fn resolve_format(&mut self) {
        if self.global.json {
            self.global.output_format = Some(OutputFormat::Json);
        }
        self.global.pipes_json = self.command.pipes_json();
    }
}

impl Command {
    /// Whether harnesses call this command, so that a pipe receives JSON. Other commands print text everywhere.
    fn pipes_json(&self) -> bool {
        match self {
            Command::Run(_)
            | Command::Resume(_)
            | Command::Rerun(_)
            | Command::Research(_)
            | Command::Recover(_)
            | Command::Attach(_)
            | Command::Cancel(_)
            | Command::Keypoints(_) => true,
            Command::Runs(_)
            | Command::Status(_)
            | Command::Cost(_)
            | Command::Show(_)
            | Command::Why(_)
            | Command::Logs(_)
            | Command::Diff(_)
            | Command::Report(_)
            | Command::Handoff(_)
            | Command::Export(_)
            | Command::Import(_)
            | Command::Gc(_)
            | Command::Ledger(_)
            | Command::Playbook(_)
            | Command::Drill(_)
            | Command::Simulate(_)
            | Command::Doctor(_)
            | Command::Config(_)
            | Command::Schema(_)
            | Command::Completions(_)
            | Command::Man(_)
            | Command::Hook(_)
            | Command::Watchdog(_)
            | Command::FinishTool
            | Command::DrillAgent { .. } => false,
        }
    }
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The run: the first letters of its id, its name, `@` for the last one, or its directory
    #[arg(value_name = "RUN", default_value = "@")]
    pub run: String,
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
    /// The run: the first letters of its id, its name, `@` for the last one, or its directory
    #[arg(value_name = "RUN", default_value = "@")]
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
    pub immediately: bool,
}

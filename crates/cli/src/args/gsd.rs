//! The arguments of `longhaul gsd`, and of its other name, `openclawpack`.

use super::{AgentArgs, EventsArgs, LimitArgs, NotifyArgs, PolicyValueArgs, WrapUpArgs};
use crate::time_arg::duration;
use clap::{Args, Subcommand};
use longhaul_core::{Preset, Span};
use longhaul_gsd::PhaseId;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct GsdArgs {
    /// Directory of the project [default: this one]
    #[arg(long, short = 'd', value_name = "DIR", global = true, help_heading = "Project")]
    pub project_dir: Option<PathBuf>,
    /// Exit with the codes of openclawpack: 0 if a result is printed, even if it reports a failure
    #[arg(long, global = true, help_heading = "Output", hide_short_help = true)]
    pub exit_zero: bool,
    #[command(subcommand)]
    pub command: GsdCommand,
}

#[derive(Debug, Subcommand)]
pub enum GsdCommand {
    /// Create a project from an idea: its requirements and its phases
    NewProject(Box<NewProjectArgs>),
    /// Plan a phase
    PlanPhase(Box<PhaseArgs>),
    /// Execute the plans of a phase
    ExecutePhase(Box<PhaseArgs>),
    /// Do what comes next in the milestone: plan or execute its first open phase
    Next(Box<NextArgs>),
    /// Plan, execute and verify phases, one after another, as a workflow
    Phases(Box<PhasesArgs>),
    /// Check that a phase is executed, and that GSD's own verification has passed; calls no model
    VerifyPhase(VerifyPhaseArgs),
    /// Show where the project is; calls no model
    Status,
    /// The list of known projects
    #[command(subcommand)]
    Projects(ProjectsCommand),
}

impl GsdCommand {
    pub fn call(&self) -> Option<&GsdCallArgs> {
        match self {
            GsdCommand::NewProject(args) => Some(&args.call),
            GsdCommand::PlanPhase(args) | GsdCommand::ExecutePhase(args) => Some(&args.call),
            GsdCommand::Next(args) => Some(&args.call),
            GsdCommand::Phases(args) => Some(&args.call),
            GsdCommand::VerifyPhase(_) | GsdCommand::Status | GsdCommand::Projects(_) => None,
        }
    }
}

#[derive(Debug, Args)]
pub struct NewProjectArgs {
    /// The idea, or a file that contains it; `-` reads it from stdin
    #[arg(value_name = "IDEA", help_heading = "Project")]
    pub idea: Option<String>,
    /// The idea; replaces IDEA
    #[arg(id = "idea_text", long = "idea", short = 'i', value_name = "TEXT", help_heading = "Project")]
    pub text: Option<String>,
    /// Read the idea from a file; replaces IDEA and --idea
    #[arg(long, short = 'f', value_name = "FILE", help_heading = "Project")]
    pub idea_file: Option<PathBuf>,
    #[command(flatten)]
    pub repeat: RepeatArgs,
    #[command(flatten)]
    pub call: GsdCallArgs,
    #[command(flatten)]
    pub events: EventsArgs,
}

#[derive(Debug, Args)]
pub struct PhaseArgs {
    /// The phase, such as 3 or 2.1
    #[arg(value_name = "PHASE", help_heading = "Project")]
    pub phase: PhaseId,
    #[command(flatten)]
    pub repeat: RepeatArgs,
    #[command(flatten)]
    pub call: GsdCallArgs,
    #[command(flatten)]
    pub events: EventsArgs,
}

#[derive(Debug, Args)]
pub struct NextArgs {
    #[command(flatten)]
    pub call: GsdCallArgs,
    #[command(flatten)]
    pub events: EventsArgs,
}

#[derive(Debug, Args)]
pub struct PhasesArgs {
    /// The first and the last phase, such as 2..4
    #[arg(value_name = "FROM..TO", value_parser = phase_range, help_heading = "Project")]
    pub range: (PhaseId, PhaseId),
    #[command(flatten)]
    pub call: GsdCallArgs,
}

#[derive(Debug, Args)]
pub struct VerifyPhaseArgs {
    /// The phase, such as 3 or 2.1
    #[arg(value_name = "PHASE")]
    pub phase: PhaseId,
    /// Only check that the phase has plans
    #[arg(long)]
    pub planned: bool,
}

/// How a command of one phase is repeated.
#[derive(Debug, Default, Args)]
pub struct RepeatArgs {
    /// Continue this session; an unknown session is an error
    #[arg(long, value_name = "SESSION", help_heading = "Agent and session")]
    pub resume: Option<String>,
    /// Continue this session, or start a new one if it is unknown
    #[arg(long, value_name = "SESSION", conflicts_with = "resume", help_heading = "Agent and session")]
    pub resume_or_new: Option<String>,
    /// Call the agent although the work seems to be done, in a new session
    #[arg(long, help_heading = "Project")]
    pub again: bool,
    /// The slash command to send [default: that of the installed GSD, /gsd:NAME or /gsd-NAME]
    #[arg(long, value_name = "COMMAND", help_heading = "Project", hide_short_help = true)]
    pub slash_command: Option<String>,
}

/// The flags of the commands that call a model. Most of them are those of `longhaul run`.
#[derive(Debug, Args)]
pub struct GsdCallArgs {
    /// Maximum duration of one attempt [default: 15m for new-project, 10m for plan-phase, 20m for execute-phase]
    #[arg(long, value_name = "DURATION", value_parser = duration, conflicts_with = "attempt_timeout", help_heading = "Project")]
    pub timeout: Option<Span>,
    /// Maximum elapsed time, including waits [default: none]
    #[arg(long, value_name = "DURATION", value_parser = duration, conflicts_with = "wall_limit", help_heading = "Project")]
    pub total_timeout: Option<Span>,
    /// Maximum wait for a usage window's reset; a later reset finishes as `retry_later` [default: twice --timeout]
    #[arg(long, value_name = "DURATION", value_parser = duration, conflicts_with = "max_reset_wait", help_heading = "Project")]
    pub max_wait: Option<Span>,
    /// Answer VALUE if KEY occurs in a question of the framework; repeatable
    ///
    /// The defaults of the command answer its other known questions, and the first option the rest, with a warning.
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Guards and questions")]
    pub answer: Vec<String>,
    /// Answers from a JSON or TOML file, for keys that --answer does not name
    #[arg(long, value_name = "FILE", help_heading = "Guards and questions", hide_short_help = true)]
    pub answers_file: Option<PathBuf>,
    /// Fail if another command works on the project, instead of waiting for it
    #[arg(long, help_heading = "Project")]
    pub no_wait: bool,
    /// Print the command, the policy and the worst case; start nothing
    #[arg(long, help_heading = "Project")]
    pub dry_run: bool,
    /// Run in the background; the run survives this terminal
    #[arg(long, conflicts_with = "dry_run", help_heading = "Project")]
    pub detach: bool,
    /// Policy to start from [default: openclawpack]
    #[arg(long, help_heading = "Retries and timeouts", hide_short_help = true)]
    pub preset: Option<Preset>,
    /// Arguments passed to the agent unchanged
    #[arg(
        last = true,
        value_name = "AGENT ARGS",
        allow_hyphen_values = true,
        help_heading = "Agent and session",
        hide_short_help = true
    )]
    pub agent_args: Vec<String>,
    #[command(flatten)]
    pub agent: AgentArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub wrap_up: WrapUpArgs,
    #[command(flatten)]
    pub values: PolicyValueArgs,
    #[command(flatten)]
    pub notify: NotifyArgs,
}

#[derive(Debug, Subcommand)]
pub enum ProjectsCommand {
    /// Add a project to the list
    Add(AddProjectArgs),
    /// List the known projects
    List {
        /// Read the state of each project again
        #[arg(long)]
        refresh: bool,
    },
    /// Remove a project from the list; its files stay
    Remove {
        /// Name of the project
        #[arg(value_name = "NAME")]
        name: String,
    },
}

#[derive(Debug, Args)]
pub struct AddProjectArgs {
    /// Directory of the project
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// Name of the project [default: that of the directory]
    #[arg(long, short, value_name = "NAME")]
    pub name: Option<String>,
}

fn phase_range(text: &str) -> Result<(PhaseId, PhaseId), String> {
    let (from, to) = text.split_once("..").ok_or("expected two phases, such as `1..3`")?;
    let phase = |text: &str| text.parse::<PhaseId>().map_err(|error| error.to_string());
    let (from, to) = (phase(from)?, phase(to)?);
    if from <= to { Ok((from, to)) } else { Err(format!("phase {to} is before phase {from}")) }
}

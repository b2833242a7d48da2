//! The arguments of `longhaul loop` and `longhaul hint`.

use super::limits::{budget, duration_limit};
use super::run::run_id;
use super::{AgentArgs, NotifyArgs, PolicyArgs};
use clap::{Args, Subcommand};
use longhaul_core::{Span, Usd, parse_bytes};
use std::num::NonZeroU32;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct LoopArgs {
    #[command(subcommand)]
    pub command: Option<LoopCommand>,
    /// Workflow file, or the name of a built-in workflow
    #[arg(value_name = "FILE", required = true, help_heading = "Workflow")]
    pub file: Option<PathBuf>,
    /// Directory to work in [default: this one]
    #[arg(value_name = "PROJECT", help_heading = "Workflow")]
    pub project: Option<PathBuf>,
    /// Set a parameter of the workflow; repeatable
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parameter, help_heading = "Workflow")]
    pub parameters: Vec<(String, String)>,
    /// Text for prompts that quote `focus`
    #[arg(long, value_name = "TEXT", help_heading = "Workflow")]
    pub focus: Option<String>,
    /// Start the first iteration with this phase
    #[arg(long, value_name = "PHASE", help_heading = "Workflow")]
    pub from: Option<String>,
    /// Run only this phase
    #[arg(long, value_name = "PHASE", conflicts_with = "from", help_heading = "Workflow")]
    pub only: Option<String>,
    /// Leave out this phase; repeatable
    #[arg(long, value_name = "PHASE", conflicts_with = "only", help_heading = "Workflow")]
    pub skip: Vec<String>,
    /// Leave out the phase `review`
    #[arg(long, conflicts_with = "only", help_heading = "Workflow")]
    pub no_review: bool,
    /// Work on this stage of an Archon project [default: as in its PROGRESS.md]
    #[arg(long, value_name = "STAGE", value_parser = ["autoformalize", "prover", "polish"], help_heading = "Workflow")]
    pub stage: Option<String>,
    /// Also keep the agents' own messages in the logs of an Archon project
    #[arg(long, help_heading = "Workflow")]
    pub verbose_logs: bool,
    /// Maximum number of iterations [default: as in the file]
    #[arg(long, value_name = "N", help_heading = "Workflow")]
    pub max_iterations: Option<NonZeroU32>,
    /// Maximum number of runs at the same time [default: as in the file]
    #[arg(long, value_name = "N", conflicts_with = "serial", help_heading = "Workflow")]
    pub max_parallel: Option<NonZeroU32>,
    /// One run after another
    #[arg(long, help_heading = "Workflow")]
    pub serial: bool,
    /// Maximum cost of all runs in dollars; `none` means unlimited [default: as in the file]
    #[arg(long, value_name = "USD", value_parser = budget, allow_hyphen_values = true, help_heading = "Workflow")]
    pub budget: Option<Usd>,
    /// Maximum working time; parks and time in which every run waits do not count [default: as in the file]
    #[arg(long, value_name = "DURATION", value_parser = duration_limit, allow_hyphen_values = true, help_heading = "Workflow")]
    pub time_limit: Option<Span>,
    /// Memory that must be available before a run starts [default: as in the file, or 500 MB]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, help_heading = "Workflow", hide_short_help = true)]
    pub memory_reserve: Option<u64>,
    /// Name of the workflow; commands accept it for the newest workflow with this name
    #[arg(long, value_name = "NAME", value_parser = run_id, help_heading = "Workflow")]
    pub name: Option<String>,
    /// Run in the background; the workflow survives this terminal
    #[arg(long, conflicts_with = "dry_run", help_heading = "Workflow")]
    pub detach: bool,
    /// Print the policy and each prompt that can be rendered now; start nothing
    #[arg(long, help_heading = "Workflow")]
    pub dry_run: bool,
    /// Defaults for the runs of all phases.
    #[command(flatten)]
    pub agent: AgentArgs,
    #[command(flatten)]
    pub policy: PolicyArgs,
    #[command(flatten)]
    pub notify: NotifyArgs,
}

impl LoopArgs {
    /// Returns the parameters, with those that have flags of their own.
    pub fn all_parameters(&self) -> Vec<(String, String)> {
        let stage = self.stage.iter().map(|stage| ("stage".to_owned(), stage.clone()));
        let verbose_logs = self.verbose_logs.then(|| ("verbose_logs".to_owned(), "true".to_owned()));
        self.parameters.iter().cloned().chain(stage).chain(verbose_logs).collect()
    }

    pub fn all_skipped(&self) -> Vec<String> {
        self.skip.iter().cloned().chain(self.no_review.then(|| "review".to_owned())).collect()
    }
}

#[derive(Debug, Subcommand)]
pub enum LoopCommand {
    /// Check a workflow file and draw its phases; needs no agent
    Validate(ValidateArgs),
    /// Check the stage and the objectives in an Archon project's PROGRESS.md; needs no agent
    CheckProgress(CheckProgressArgs),
}

#[derive(Debug, Args)]
pub struct CheckProgressArgs {
    /// Path of the file, relative to the project
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Directory of the project [default: this one]
    #[arg(value_name = "PROJECT")]
    pub project: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// Workflow file, or the name of a built-in workflow
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Set a parameter of the workflow; repeatable
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parameter)]
    pub parameters: Vec<(String, String)>,
}

#[derive(Debug, Args)]
pub struct HintArgs {
    /// Workflow id prefix, name, or `@` for the latest workflow
    #[arg(value_name = "WORKFLOW")]
    pub workflow: String,
    /// Text for the next phase whose prompt uses `hints`; `-` reads it from stdin
    #[arg(value_name = "TEXT")]
    pub text: String,
}

fn parameter(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(key, _)| !key.is_empty());
    let parts = parts.map(|(key, value)| (key.to_owned(), value.to_owned()));
    parts.ok_or_else(|| "expected KEY=VALUE".to_owned())
}

//! The arguments of `longhaul mcp`.

use super::limits::dollars;
use clap::{Args, Subcommand, ValueEnum};
use longhaul_core::{Usd, word_enum};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct McpArgs {
    #[command(subcommand)]
    pub command: Option<McpCommand>,
    #[command(flatten)]
    pub ceilings: CeilingArgs,
}

#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// Print the configuration that makes an agent start this server, or write it
    Install(McpInstallArgs),
}

/// The most that a client of the server may ask for.
#[derive(Clone, Debug, Args)]
pub struct CeilingArgs {
    /// Directory that runs may work in, with everything below it; repeatable [default: this one]
    #[arg(long, value_name = "DIR", help_heading = "Ceilings")]
    pub allow_dir: Vec<PathBuf>,
    /// Highest permission mode of a run, and the mode of a run that names none
    ///
    /// Below `bypassPermissions`, a client can start no workflows, and set no checks, programs and arguments of agents.
    #[arg(
        long,
        value_enum,
        value_name = "MODE",
        default_value = "acceptEdits",
        hide_possible_values = true,
        help_heading = "Ceilings"
    )]
    pub max_permission_mode: ModeCeiling,
    /// Highest budget of a run in dollars, and the budget of a run that names none [default: none]
    #[arg(long, value_name = "USD", value_parser = budget, help_heading = "Ceilings")]
    pub max_budget: Option<Usd>,
}

fn budget(text: &str) -> Result<Usd, String> {
    // As a limit, 0 is unlimited.
    dollars(text).and_then(|budget| match budget {
        Usd::ZERO => Err("expected an amount above 0; leave the flag out for no ceiling".to_owned()),
        budget => Ok(budget),
    })
}

word_enum! {
    /// A permission mode, as Claude Code names it. Each allows what the ones before it allow.
    #[derive(ValueEnum)]
    #[value(rename_all = "camelCase")]
    pub enum ModeCeiling {
        /// Changes nothing
        Plan = "plan",
        /// Calls only the tools that the settings allow
        #[value(aliases = ["manual", "default"])]
        DontAsk = "dontAsk",
        /// Also edits files in the working directory
        AcceptEdits = "acceptEdits",
        /// Also runs commands that a classifier considers safe
        Auto = "auto",
        /// Calls all tools
        BypassPermissions = "bypassPermissions",
    }
}

#[derive(Debug, Args)]
pub struct McpInstallArgs {
    /// The agent that starts the server
    #[arg(long, value_enum, value_name = "CLIENT")]
    pub client: McpClient,
    /// Write the configuration, and keep everything else in the file
    #[arg(long)]
    pub write: bool,
    #[command(flatten)]
    pub ceilings: CeilingArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum McpClient {
    /// `.mcp.json` of this project
    ClaudeCode,
    /// `config.toml` in `$CODEX_HOME` or `~/.codex`
    Codex,
    /// `.gemini/settings.json` of this project
    Gemini,
    /// `.cursor/mcp.json` of this project
    Cursor,
    /// `.vscode/mcp.json` of this project
    Vscode,
}

//! Flags for the agent and the check of its work: `run` sets them, `resume` and `rerun` change them.

use super::{AddLimitArgs, LimitArgs, NotifyArgs, PolicyValueArgs};
use clap::{Args, ValueEnum};
use longhaul_agent::ToolPattern;
use longhaul_core::word_enum;
use std::path::PathBuf;

word_enum! {
    /// The protocol of an agent. Its word is the name of the dialect.
    #[derive(Default, ValueEnum)]
    pub enum AgentKind {
        /// Claude Code
        #[default]
        Claude = "claude",
        /// An agent that speaks the Agent Client Protocol; its command follows `--`
        Acp = "acp",
    }
}

/// How the agent is started, and which commands check its work.
#[derive(Clone, Debug, Default, Args)]
pub struct AgentArgs {
    /// The model, as the agent names it
    #[arg(long, value_parser = model, help_heading = "Agent and session")]
    pub model: Option<String>,
    /// The agent's permission mode [default: your settings of the agent]
    #[arg(long, value_name = "MODE", value_parser = mode, help_heading = "Agent and session")]
    pub permission_mode: Option<String>,
    /// The agent's program [default: `claude`, on PATH or where its installers put it]
    #[arg(long, value_name = "FILE", help_heading = "Agent and session", hide_short_help = true)]
    pub agent_path: Option<PathBuf>,
    /// Allow the agent only these tools, such as `Read` or `mcp__github__*`
    #[arg(long, value_name = "TOOL", value_delimiter = ',', help_heading = "Guards and questions")]
    pub allow_tools: Vec<ToolPattern>,
    /// Deny the agent these tools, whatever else permits them
    #[arg(long, value_name = "TOOL", value_delimiter = ',', help_heading = "Guards and questions")]
    pub deny_tools: Vec<ToolPattern>,
    /// Verify the work with this shell command when the agent reports that it is done; repeatable
    ///
    /// It runs in the working directory. Its output goes back to the agent until it exits with 0. Several
    /// commands run in order.
    #[arg(long, value_name = "COMMAND", help_heading = "When the work is done")]
    pub check: Vec<String>,
}

/// Settings that may change when a run resumes or runs again. The others stay as they were.
#[derive(Clone, Debug, Default, Args)]
pub struct ChangeArgs {
    #[command(flatten)]
    pub agent: AgentArgs,
    /// Each is the new total.
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub more: AddLimitArgs,
    #[command(flatten)]
    pub policy: PolicyValueArgs,
    #[command(flatten)]
    pub notify: NotifyArgs,
}

pub(super) fn model(text: &str) -> Result<String, String> {
    not_blank(text, "the name of a model, such as `haiku`")
}

fn mode(text: &str) -> Result<String, String> {
    not_blank(text, "a mode of the agent, such as `acceptEdits`")
}

fn not_blank(text: &str, expected: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err(format!("expected {expected}")) } else { Ok(text.to_owned()) }
}

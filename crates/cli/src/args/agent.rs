//! Flags for the agent and the check of its work: `run` sets them, `resume` and `rerun` change them.

use super::{AddLimitArgs, LimitArgs, NotifyArgs, PolicyValueArgs};
use clap::Args;
use longhaul_agent::ToolPattern;
use std::path::PathBuf;

/// How the agent is started, and which commands check its work.
#[derive(Clone, Debug, Default, Args)]
pub struct AgentArgs {
    /// The model, as the agent names it
    #[arg(long, value_parser = model)]
    pub model: Option<String>,
    /// The agent's permission mode [default: the user's own settings]
    #[arg(long, value_name = "MODE", value_parser = mode)]
    pub permission_mode: Option<String>,
    /// The agent's program [default: `claude`, on PATH and where its installers put it]
    #[arg(long, value_name = "FILE")]
    pub agent_path: Option<PathBuf>,
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
    let named = !text.trim().is_empty();
    named.then(|| text.to_owned()).ok_or_else(|| "expected the name of a model, such as `haiku`".to_owned())
}

fn mode(text: &str) -> Result<String, String> {
    let named = !text.trim().is_empty();
    named
        .then(|| text.to_owned())
        .ok_or_else(|| "expected a mode of the agent, such as `acceptEdits`".to_owned())
}

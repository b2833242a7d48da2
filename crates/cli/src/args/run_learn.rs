//! The flags for learning: a run's sessions receive the playbook, and Longhaul learns from them.

use clap::{Args, ValueEnum};
use longhaul_playbook::database::JudgeKind;

/// Learning with a run.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Handoff and learning")]
pub struct RunLearnArgs {
    /// Give the agent the project's playbook, and learn from its sessions
    ///
    /// Works as `longhaul playbook install` does for all sessions. It asks a model twice per session, at your
    /// cost.
    #[arg(long, hide_short_help = true)]
    pub learn: bool,
    /// Judge of the sessions: `api` uses your key, `claude` uses Claude Code's login [default: api]
    #[arg(long, value_name = "JUDGE", hide_short_help = true)]
    pub learn_judge: Option<JudgeArg>,
    /// Maximum number of playbook tokens per session; the points that match the prompt best come first
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), hide_short_help = true)]
    pub learn_tokens: Option<u64>,
}

/// Judge of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum JudgeArg {
    /// The Messages API, with a key
    Api,
    /// Claude Code, with its own login
    Claude,
}

impl From<JudgeArg> for JudgeKind {
    fn from(judge: JudgeArg) -> JudgeKind {
        match judge {
            JudgeArg::Api => JudgeKind::Api,
            JudgeArg::Claude => JudgeKind::Claude,
        }
    }
}

//! The flags by which a run's sessions are told what earlier ones taught, and are learnt from.

use clap::{Args, ValueEnum};
use longhaul_playbook::database::JudgeKind;

/// Learning with a run.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Learning")]
pub struct RunLearnArgs {
    /// Tell the agent what the project's playbook holds, and learn from its sessions afterwards, as `longhaul playbook
    /// install` has it for all sessions. A model is asked twice for that, at your cost
    #[arg(long)]
    pub learn: bool,
    /// Who judges the sessions: `api` asks the Messages API with your key, `claude` asks Claude Code with its login
    /// [default: api]
    #[arg(long, value_name = "JUDGE", requires = "learn")]
    pub learn_judge: Option<JudgeArg>,
    /// How much of the playbook a session is told at most, in tokens; what fits the prompt best is chosen
    #[arg(long, value_name = "N", requires = "learn", value_parser = clap::value_parser!(u64).range(1..))]
    pub learn_tokens: Option<u64>,
}

/// Who judges sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum JudgeArg {
    /// The Messages API, with a key
    Api,
    /// Claude Code, with its own login
    Claude,
}

impl From<JudgeArg> for JudgeKind {
    fn from(asked: JudgeArg) -> JudgeKind {
        match asked {
            JudgeArg::Api => JudgeKind::Api,
            JudgeArg::Claude => JudgeKind::Claude,
        }
    }
}

//! Reads the command of an agent that speaks the Agent Client Protocol, and rejects the flags that need
//! Claude Code.

use crate::args::{AgentKind, ReviewModel, RunArgs};
use crate::failure::Failure;
use longhaul::find_agent::find_program;
use longhaul_agent::Program;

/// Returns the program of the agent, or `None` for Claude Code.
pub fn from_flags(args: &RunArgs) -> Result<Option<Program>, Failure> {
    if args.agent_kind == AgentKind::Claude {
        return Ok(None);
    }
    let needs_claude = [
        ("--agent-path", args.agent.agent_path.is_some()),
        ("--session-id", args.session_id.is_some()),
        ("--network", !args.network.is_empty()),
        ("--learn", args.learn.learn),
        ("--handoff-summary", args.handoff_summary.is_some()),
        ("--review", matches!(args.policy.values.review, Some(ReviewModel::Same | ReviewModel::Named(_)))),
        ("--answer", !args.answer.is_empty()),
        ("--answers-file", args.answers_file.is_some()),
        ("--answer-defaults", args.answer_defaults),
    ];
    if let Some((flag, _)) = needs_claude.into_iter().find(|(_, is_set)| *is_set) {
        return Err(Failure::usage(
            format!("{flag} cannot be used with `--agent acp`: the protocol has no such setting"),
            format!("leave {flag} out, or use `--agent claude`"),
        ));
    }
    let Some((command, leading_args)) = args.agent_args.split_first() else {
        return Err(Failure::usage(
            "`--agent acp` needs the command of an agent".to_owned(),
            "write it after `--`, as in `longhaul run --agent acp PROMPT -- opencode acp`",
        ));
    };
    let path = find_program(command)?;
    Ok(Some(Program { path, leading_args: leading_args.to_vec() }))
}

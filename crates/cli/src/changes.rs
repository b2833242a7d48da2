//! Applies flags to the description of a run that is resumed or rerun. Invalid values are rejected before
//! anything starts. Writes nothing.

use crate::args::{AgentKind, ChangeArgs};
use crate::command_flags::check_channels;
use crate::failure::{Failure, OrFailure};
use crate::guard_flags::{check_skill_commands, texts};
use crate::{check_flags, limit_flags};
use longhaul::find_agent::find_claude;
use longhaul_agent::Guards;
use longhaul_core::{RunSpec, SpecError};
use std::path::PathBuf;

/// Returns the run's description with the changes that the flags request. `cwd` is its new directory, or
/// `None` to keep the old one.
pub fn from_flags(args: &ChangeArgs, old: &RunSpec, cwd: Option<PathBuf>) -> Result<RunSpec, Failure> {
    let mut spec = old.clone();
    if let Some(cwd) = cwd {
        spec.cwd = cwd;
    }
    check_channels(&args.notify, Some(&spec.cwd))?;
    let agent = &args.agent;
    spec.model = agent.model.clone().or(spec.model);
    spec.permission_mode = agent.permission_mode.clone().or(spec.permission_mode);
    if let Some(path) = &agent.agent_path {
        spec.agent.program = find_claude(Some(path))?;
    }
    if !agent.allow_tools.is_empty() {
        spec.guards.allow_tools = texts(&agent.allow_tools);
    }
    if !agent.deny_tools.is_empty() {
        spec.guards.deny_tools = texts(&agent.deny_tools);
    }
    let guards = Guards::compile(&spec.guards, &spec.cwd)
        .or_usage("cannot keep the guards of the run", "name another directory with --cwd")?;
    check_skill_commands(&guards, &spec.agent.args)?;
    spec.notify = args.notify.commands().unwrap_or(spec.notify);
    args.policy.apply(&mut spec.policy);
    limit_flags::change("run", &args.limits, &args.more, &mut spec.policy.limits)?;
    check_flags::apply(&agent.check, &args.policy, Some(&spec.cwd), &mut spec.policy)?;
    let is_reviewed = spec.policy.checks.as_ref().is_some_and(|checks| checks.review.is_some());
    if is_reviewed && spec.agent.name != AgentKind::Claude.as_str() {
        return Err(Failure::usage(
            "--review cannot be used with an agent of the Agent Client Protocol: the protocol has no such setting",
            "leave --review out",
        ));
    }
    spec.policy.validate().map_err(|error| match error {
        // The reserve of a run stays as it is.
        SpecError::ReserveExceedsLimit { .. } => {
            Failure::usage(error.to_string(), "raise --time-limit or --wall-limit")
        }
        error => error.into(),
    })?;
    Ok(spec)
}

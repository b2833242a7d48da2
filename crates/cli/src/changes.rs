//! Converts flags to the settings that change when a run is resumed or rerun. Invalid values are rejected
//! before anything starts. Writes nothing.

use crate::args::ChangeArgs;
use crate::commands::run::agent_program;
use crate::failure::Failure;
use crate::{agent_settings, check_flags, keep_going_flags, limit_flags, notify_flag, policy_flags};
use longhaul::PlanChanges;
use longhaul_core::Policy;
use longhaul_store::Plan;
use std::path::{Path, PathBuf};

/// Returns the changes that the flags request for a run with this plan. `cwd` is its new directory, or
/// `None` to keep the old one.
pub fn from_flags(args: &ChangeArgs, plan: &Plan, cwd: Option<PathBuf>) -> Result<PlanChanges, Failure> {
    let dir = cwd.as_deref().unwrap_or(plan.cwd.as_path());
    notify_flag::check(&args.notify, Some(dir))?;
    let agent = &args.agent;
    let is_guarded = !agent.allow_tools.is_empty() || !agent.deny_tools.is_empty();
    let agent_args: Vec<String> =
        plan.argv.iter().map(|arg| arg.as_os_str().to_string_lossy().into_owned()).collect();
    agent_settings::check("--allow-tools and --deny-tools", is_guarded, &agent_args)?;
    let find_program = |path: &Path| agent_program(Some(path));
    Ok(PlanChanges {
        model: agent.model.clone(),
        permission_mode: agent.permission_mode.clone(),
        program: agent.agent_path.as_deref().map(find_program).transpose()?,
        allow_tools: non_empty(&agent.allow_tools),
        deny_tools: non_empty(&agent.deny_tools),
        checks: non_empty(&agent.check),
        notify: args.notify.commands(),
        policy: Some(changed_policy(args, plan, dir)?),
        cwd,
    })
}

fn changed_policy(args: &ChangeArgs, plan: &Plan, dir: &Path) -> Result<Policy, Failure> {
    let mut policy = plan.policy.clone();
    policy_flags::change(&args.policy, &mut policy, &mut |_| ());
    policy.limits = limit_flags::changed(&args.limits, &args.more, &policy)?;
    let (failures, timeout) = (args.policy.max_failed_checks, args.policy.check_timeout);
    let check = check_flags::check_policy(&args.agent.check, failures, timeout, policy.check, dir)?;
    policy.check = check.or(policy.check);
    if policy.keep_going.is_some() && !args.agent.check.is_empty() {
        return Err(keep_going_flags::excludes_check());
    }
    Ok(policy)
}

/// Returns the values of a list flag, or `None` if there are none.
fn non_empty<T: Clone>(values: &[T]) -> Option<Vec<T>> {
    (!values.is_empty()).then(|| values.to_vec())
}

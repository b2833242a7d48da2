//! Changes that a user makes to a run's plan when the run is resumed or rerun. They never affect the run's
//! task, session or guards on URLs and paths.

use crate::SuperviseError;
use crate::recover::check_workspace;
use longhaul_agent::ToolPattern;
use longhaul_core::{Policy, SettingChange};
use longhaul_store::{Binary, OsText, Plan};
use std::path::PathBuf;

/// New settings of a run. `None` keeps the setting of the plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanChanges {
    /// Absolute path of the working directory.
    pub cwd: Option<PathBuf>,
    /// The agent's name for the model.
    pub model: Option<String>,
    /// The agent's permission mode.
    pub permission_mode: Option<String>,
    /// Absolute path of the agent's program.
    pub program: Option<PathBuf>,
    /// The only tools that the agent may use.
    pub allow_tools: Option<Vec<ToolPattern>>,
    /// Tools that the agent may not use.
    pub deny_tools: Option<Vec<ToolPattern>>,
    /// Commands that check the work. If there are any, [`Policy::check`] must be set.
    pub checks: Option<Vec<String>>,
    /// Commands that receive notifications.
    pub notify: Option<Vec<String>>,
    /// Limits and schedules.
    pub policy: Option<Policy>,
}

impl PlanChanges {
    /// Returns `true` if an agent that was started with the old settings can continue under the new ones.
    pub(crate) fn are_valid_for_live_agent(&self) -> bool {
        let PlanChanges { model, permission_mode, program, allow_tools, deny_tools, checks, .. } = self;
        model.is_none()
            && permission_mode.is_none()
            && program.is_none()
            && allow_tools.is_none()
            && deny_tools.is_none()
            && checks.is_none()
    }

    /// Writes the new settings into the plan and returns those that differ. Their origin becomes `flag`.
    ///
    /// # Errors
    ///
    /// Returns [`SuperviseError::Workspace`] if the new directory cannot be read.
    pub(crate) fn apply(self, plan: &mut Plan) -> Result<Vec<SettingChange>, SuperviseError> {
        let old = plan.clone();
        if let Some(cwd) = self.cwd {
            check_workspace(&cwd)?;
            plan.cwd = cwd.as_path().into();
        }
        plan.model = self.model.or(plan.model.take());
        plan.permission_mode = self.permission_mode.or(plan.permission_mode.take());
        if let Some(program) = self.program {
            plan.agent.binary = Binary::new(&program).ok();
            plan.agent.version = None;
            plan.agent.program = program.as_path().into();
        }
        let texts = |tools: Vec<ToolPattern>| tools.iter().map(ToString::to_string).collect();
        if let Some(tools) = self.allow_tools {
            plan.guards.allow_tools = texts(tools);
        }
        if let Some(tools) = self.deny_tools {
            plan.guards.deny_tools = texts(tools);
        }
        if let Some(checks) = self.checks {
            plan.checks = checks;
        }
        if let Some(notify) = self.notify {
            plan.notify = notify;
        }
        if let Some(policy) = self.policy {
            plan.policy = policy;
        }
        let changes = changes(&old, plan);
        let changed = changes.iter().map(|change| (change.setting.clone(), "flag".to_owned()));
        plan.origins.extend(changed);
        Ok(changes)
    }
}

fn changes(old: &Plan, new: &Plan) -> Vec<SettingChange> {
    let named = |value: &Option<String>| value.clone().unwrap_or_else(|| "default".to_owned());
    let list = |values: &[String]| if values.is_empty() { "none".to_owned() } else { values.join(",") };
    // A command's text may contain a secret. Only the plan stores it, because only its owner can read the
    // plan.
    let commands = |commands: &[String]| match commands.len() {
        0 => "none".to_owned(),
        1 => "1 command".to_owned(),
        count => format!("{count} commands"),
    };
    let path = |path: &OsText| path.as_path().display().to_string();
    let mut changes: Vec<SettingChange> = [
        SettingChange::between("cwd", &path(&old.cwd), &path(&new.cwd)),
        SettingChange::between("model", &named(&old.model), &named(&new.model)),
        SettingChange::between("permission_mode", &named(&old.permission_mode), &named(&new.permission_mode)),
        SettingChange::between("agent_path", &path(&old.agent.program), &path(&new.agent.program)),
        SettingChange::between("allow_tools", &list(&old.guards.allow_tools), &list(&new.guards.allow_tools)),
        SettingChange::between("deny_tools", &list(&old.guards.deny_tools), &list(&new.guards.deny_tools)),
    ]
    .into_iter()
    .flatten()
    .collect();
    for (setting, before, after) in
        [("check", &old.checks, &new.checks), ("notify", &old.notify, &new.notify)]
    {
        if before != after {
            let (from, to) = (commands(before), commands(after));
            changes.push(SettingChange { setting: setting.to_owned(), from, to });
        }
    }
    changes.extend(old.policy.changes_to(&new.policy));
    changes
}

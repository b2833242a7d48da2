//! The environment of an agent: its variables and the helper programs. It starts nothing.

use longhaul_agent::{AgentContext, Dialect, GuardError, Program};
use longhaul_core::{Outcome, Run, RunId, RunSpec};
use longhaul_store::{Plan, RunDir, StoreError, WorkflowStatus, harness_variables};
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsString;

/// Names the command that a notification offers for a run: it continues, follows or shows the run.
pub type NotifiedCommand = fn(&RunId, &Run, &RunSpec) -> String;

/// Names the command that a notification offers for a workflow with this outcome, or for an unfinished one.
pub type NotifiedWorkflowCommand = fn(&WorkflowStatus, Option<Outcome>) -> String;

/// Says what the user can do about an error of the store. `None` if that is unknown.
pub type StoreHint = fn(&StoreError) -> Option<String>;

/// The environment of an agent: its variables, before the dialect adds and removes some, and the helper
/// programs.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Environment {
    /// Whether the environment starts empty instead of as a copy of the supervisor's.
    pub clear: bool,
    /// Variables to set. Their values are never stored.
    pub set: BTreeMap<String, String>,
    /// The watchdog, by its absolute path: the program that stops the hanging agent of an orphaned run.
    /// `None` leaves such an agent running until the run is recovered.
    ///
    /// The watchdog calls [`watch`](crate::watchdog::watch) in its own process session. The supervisor starts
    /// it once, with the first agent, if the policy has an [`orphan_timeout`](longhaul_core::Policy::orphan_timeout). If it
    /// cannot be started, the run continues without it.
    ///
    /// It receives three arguments after its leading ones: the run's directory, the supervisor's PID, and the
    /// supervisor's start time in clock ticks.
    pub watchdog: Option<Program>,
    /// The program, by its absolute path, that serves the tool for done claims, if the run's keep-going has
    /// one. It speaks MCP on its standard streams. `None` withdraws the tool from an agent that had it.
    pub finish_tool: Option<Program>,
    /// The program, by its absolute path, that the agent's hooks call if its sessions are learned from. Its
    /// leading arguments are followed by the event name, `--judge` and `--max-tokens`. `None` disables the hooks.
    pub hook: Option<Program>,
    /// Names the command in notifications. `None` leaves it out.
    pub notified_command: Option<NotifiedCommand>,
    /// Names the command in notifications of workflows. `None` leaves it out.
    pub notified_workflow_command: Option<NotifiedWorkflowCommand>,
    /// Adds a hint to a session that another run holds. `None` leaves it out.
    pub store_hint: Option<StoreHint>,
}

impl Environment {
    pub(crate) fn agent_context(
        &self,
        spec: RunSpec,
        run_id: RunId,
        follow_ups: Vec<String>,
    ) -> Result<AgentContext, GuardError> {
        // The current supervisor's programs, because the recorded ones may no longer exist.
        let context = AgentContext::new(spec, run_id)?;
        let mut context = context.with_programs(self.finish_tool.clone(), self.hook.clone());
        context.follow_ups = follow_ups;
        Ok(context)
    }

    pub(crate) fn variable(&self, name: &str) -> Option<OsString> {
        let inherited = || env::var_os(name).filter(|_| !self.clear);
        self.set.get(name).map(OsString::from).or_else(inherited)
    }

    fn is_set(&self, name: &str) -> bool {
        self.variable(name).is_some_and(|value| !value.is_empty())
    }

    /// Returns the names of the set variables that an agent of this dialect needs, without their values.
    pub(crate) fn needed(&self, dialect: &dyn Dialect) -> BTreeSet<String> {
        let inherited =
            env::vars_os().filter(|_| !self.clear).filter_map(|(name, _)| name.into_string().ok());
        let names = inherited.chain(self.set.keys().cloned());
        let is_set = |name: &str| self.is_set(name);
        names.filter(|name| is_set(name) && dialect.needs_variable(name, &is_set)).collect()
    }

    /// Returns the names of the variables that the agent of this plan needs and that are not set.
    pub(crate) fn missing(&self, plan: &Plan) -> Vec<String> {
        plan.env.needed().filter(|name| !self.is_set(name)).map(str::to_owned).collect()
    }

    /// Adds the variables that the run's harness sets for its agents. Variables that are already set stay.
    #[must_use]
    pub(crate) fn with_harness(mut self, spec: &RunSpec, dir: &RunDir) -> Environment {
        for (name, value) in harness_variables(spec, dir.path()) {
            self.set.entry(name.to_owned()).or_insert(value);
        }
        self
    }
}

//! Creates a request from the required settings.

use crate::{Environment, RunRequest, SessionChoice};
use longhaul_agent::{AgentSpec, Guards, HANDOFF_TOKENS_MAX, Program, default_dialect};
use longhaul_core::{Policy, RunId};
use longhaul_store::{Home, Placement};
use std::collections::BTreeMap;
use std::path::PathBuf;

impl RunRequest {
    /// Creates a request for Claude Code (`program`) to work on this task under this policy, in a new
    /// session. `cwd` is an absolute directory, and `home` stores the run. The request has no model,
    /// permission mode, guard, check or watchdog; set the fields to add them.
    ///
    /// No user is present to grant permissions. The agent is denied everything that its settings and
    /// [`permission_mode`](AgentSpec::permission_mode) do not allow.
    pub fn new(
        home: Home,
        program: impl Into<PathBuf>,
        cwd: impl Into<PathBuf>,
        prompt: impl Into<String>,
        policy: Policy,
    ) -> RunRequest {
        let program = Program { path: program.into(), leading_args: Vec::new() };
        RunRequest {
            home,
            placement: Placement::default(),
            dialect: default_dialect().into(),
            agent: AgentSpec {
                program,
                cwd: cwd.into(),
                prompt: prompt.into(),
                follow_ups: Vec::new(),
                model: None,
                permission_mode: None,
                guards: Guards::default(),
                needs_supervisor: policy.needs_supervisor(),
                checks: Vec::new(),
                finish_tool: None,
                done_when: None,
                wrap_up_prompt: None,
                network: None,
                learn: None,
                extra_args: Vec::new(),
                handoff_tokens: HANDOFF_TOKENS_MAX,
                handoff_summary: None,
                inner_retries: policy.inner_retries,
                // Set once the run has its directory.
                run_id: RunId::from(""),
            },
            environment: Environment::default(),
            session: SessionChoice::New,
            harness: None,
            inherited: None,
            notify: Vec::new(),
            policy,
            origins: BTreeMap::new(),
            keep_partial_messages: false,
            diagnostic: false,
        }
    }
}

//! A request with all that every one has, and nothing else: what somebody wants besides, they set.

use crate::{Environment, RunRequest, SessionChoice};
use longhaul_agent::claude::Claude;
use longhaul_agent::{AgentSpec, Guards, HANDOFF_TOKENS_MAX, Program};
use longhaul_core::{Policy, RunId};
use longhaul_store::{Home, Placement};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

impl RunRequest {
    /// This task for Claude Code (`program`) in a new session, in the absolute directory `cwd`, under this policy, kept
    /// in this home. Nothing else is asked for: no model, no permission, no guard, no check, no watchdog. Whoever wants
    /// more sets the fields.
    ///
    /// Nobody is there to grant an agent a permission: what its settings and
    /// [`permission_mode`](Order::permission_mode) do not allow, it is denied.
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
            dialect: Arc::new(Claude::new()),
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
                // Given when the run has its directory.
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

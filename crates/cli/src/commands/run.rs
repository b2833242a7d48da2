//! `longhaul run`: starts a run and supervises it until it finishes.

mod acp_agent;
mod keyed;
mod typed_flags;

pub use keyed::{
    KeyEffect, KeyState, LIMITS, MODEL, differing_settings, key_effect, key_state, warn_of_ignored_settings,
};
pub use typed_flags::{TypedFlags, flag_with_value, parse_run};

use super::supervise::{DisplayOptions, supervise_and_print, warn_of_neighbor};
use crate::args::{AgentKind, GlobalArgs, OutputFormat, RunArgs};
use crate::command_flags::check_channels;
use crate::configured_values::ConfiguredValues;
use crate::failure::{Failure, OrFailure, USAGE};
use crate::output::events;
use crate::output::lifecycle::Lifecycle;
use crate::{
    check_flags, guard_flags, limit_flags, open_home, output, prompt_arg, run_learning, table_files,
};
use longhaul::RunRequest;
use longhaul::find_agent::{claude_config_dir, claude_sessions, find_claude};
use longhaul_agent::{default_environment, did_you_mean, researchgym};
use longhaul_core::{
    Fault, HandoffSummary, Harness, Policy, Preset, RunId, RunSpec, SessionId, SessionLoss, SessionPlan,
};
use longhaul_store::{Inherited, Placement, StoreError};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

pub fn run(global: &GlobalArgs, args: &RunArgs) -> Result<u8, Failure> {
    if let Some(code) = super::detach::start_or_leave(global, args.detach)? {
        return Ok(code);
    }
    if !args.dry_run {
        if args.key.is_none() {
            warn_of_neighbor(&cwd(args)?, None);
        }
        run_learning::warn_if_unusable(run_learning::options(&args.learn).iter().flatten());
    }
    match args.key.as_deref().filter(|_| !args.dry_run) {
        Some(key) => keyed::run(global, args, key),
        None => start(global, args),
    }
}

fn start(global: &GlobalArgs, args: &RunArgs) -> Result<u8, Failure> {
    let format = output::format(global);
    let lifecycle =
        |prompt: &str| Lifecycle::for_run(args, prompt).filter(|_| !global.detached && !args.dry_run);
    let prepared = prepare(args).inspect_err(|failure| {
        let lifecycle = lifecycle(args.prompt.as_deref().unwrap_or_default());
        // A usage error emits no lifecycle events.
        if let Some(lifecycle) = lifecycle.filter(|_| failure.exit_code != USAGE) {
            lifecycle.emit_start();
            lifecycle.emit_failure(failure);
        }
    })?;
    let prepared = prepared.configured(&global.configured.values);
    if args.dry_run {
        check_dry_run(global, args)?;
        return prepared.print(format);
    }
    let options = DisplayOptions::open(global, &args.events)?;
    let lifecycle = lifecycle(&prepared.spec.prompt);
    prepared.start(global, DisplayOptions { lifecycle, ..options })
}

/// Checks what only a start would find out: the id, and the destination of the events.
fn check_dry_run(global: &GlobalArgs, args: &RunArgs) -> Result<(), Failure> {
    events::check(&args.events, global)?;
    let Some(id) = args.run_id.as_deref().or(args.key.as_deref()).map(RunId::from) else { return Ok(()) };
    match open_home::locate()?.run_with_id(&id)? {
        Some(dir) if args.key.is_some() => {
            let hint = format!("see its state with `longhaul show {}`", dir.id());
            output::print_warning(
                &format!("run {id} of this key exists: this call continues, follows or prints that run"),
                Some(&hint),
            );
            Ok(())
        }
        Some(dir) => Err(StoreError::RunIdInUse { run: id, dir: dir.path().to_owned() }.into()),
        None => Ok(()),
    }
}

/// A run that is ready to start.
pub struct PreparedRun {
    pub spec: RunSpec,
    pub placement: Placement,
    pub inherited: Option<Inherited>,
    preset: Preset,
    pub origins: BTreeMap<String, String>,
}

impl PreparedRun {
    pub fn configured(self, configured: &ConfiguredValues) -> PreparedRun {
        PreparedRun { origins: configured.origins(self.preset), ..self }
    }

    pub fn print(&self, format: OutputFormat) -> Result<u8, Failure> {
        super::dry_run::print(&self.spec, self.preset, &self.origins, format)
    }

    pub fn start(self, global: &GlobalArgs, options: DisplayOptions) -> Result<u8, Failure> {
        // Other agents have modes of their own.
        let is_claude = self.spec.agent.name == AgentKind::Claude.as_str();
        let has_permission_mode = self.spec.permission_mode.is_some() || !is_claude;
        let options = DisplayOptions { has_permission_mode, ..options };
        let PreparedRun { spec, placement, inherited, origins, .. } = self;
        let mut request = RunRequest::from(spec);
        (request.placement, request.inherited, request.origins) = (placement, inherited, origins);
        supervise_and_print(global, options, &open_home::open()?, request.into())
    }
}

/// Returns the policy of a run with these flags. Without a directory, the programs of its checks may be missing.
pub fn policy(args: &RunArgs, dir: Option<&Path>) -> Result<Policy, Failure> {
    let preset = args.policy.preset();
    let mut policy = args.policy.policy(args.resume_or_new.is_some());
    let timeout = preset.summary_timeout();
    policy.handoff_summary = args.handoff_summary.clone().map(|model| HandoffSummary::new(model, timeout));
    args.limits.apply(&mut policy.limits);
    args.wrap_up.apply(&mut policy);
    check_flags::apply(&args.agent.check, &args.policy.values, dir, &mut policy)?;
    args.keep_going.apply(&mut policy);
    policy.validate()?;
    Ok(policy)
}

pub fn prepare(args: &RunArgs) -> Result<PreparedRun, Failure> {
    let prepared = prepare_phase(args)?;
    limit_flags::require_for_keep_going(&args.limits, &prepared.spec.policy)?;
    Ok(prepared)
}

/// Prepares a run of a workflow, whose limits may be those of the workflow.
pub fn prepare_phase(args: &RunArgs) -> Result<PreparedRun, Failure> {
    let preset = args.policy.preset();
    let dir = args.cwd.as_deref().unwrap_or(Path::new("."));
    let mut spec = spec(args, preset, policy(args, Some(dir))?)?;
    check_channels(&args.notify, Some(&spec.cwd))?;
    let placement = placement(args)?;
    spec.session = session(args, &spec.policy)?;
    (spec.prices, spec.effects) = table_files::tables(args)?;
    Ok(PreparedRun { spec, placement, inherited: None, preset, origins: BTreeMap::new() })
}

/// Rejects arguments of the agent that Longhaul sets itself to control the session.
fn check_agent_args(args: &[String]) -> Result<(), Failure> {
    let reserved = default_environment().reserved_args;
    let name = |arg: &String| arg.split('=').next().unwrap_or_default().to_owned();
    let Some(name) = args.iter().map(name).find(|name| reserved.contains(&name.as_str())) else {
        return Ok(());
    };
    let hint = match name.ends_with("-format") {
        true => "leave it out; --output-format before `--` chooses the output of longhaul",
        false => "leave it out; `longhaul run` takes --resume, --resume-or-new and --session-id before `--`",
    };
    Err(Failure::usage(format!("`{name}` cannot be passed to the agent: longhaul sets it itself"), hint))
}

fn spec(args: &RunArgs, preset: Preset, mut policy: Policy) -> Result<RunSpec, Failure> {
    let prompt = prompt_arg::read(args.prompt.as_deref(), args.prompt_file.as_deref())?;
    let acp = acp_agent::from_flags(args)?;
    if acp.is_none() {
        check_agent_args(&args.agent_args)?;
    } else if let Some(keep_going) = &mut policy.keep_going {
        // The protocol does not name the tool of a call.
        keep_going.finish_tool = false;
    }
    let network = guard_flags::network(args)?;
    let learn = run_learning::options(&args.learn)?;
    let cwd = cwd(args)?;
    let guards = guard_flags::from_flags(args, &cwd)?;
    guard_flags::check_agent_args("--network", network.is_some(), &args.agent_args)?;
    guard_flags::check_agent_args("--learn", learn.is_some(), &args.agent_args)?;
    let program = match &acp {
        Some(program) => program.path.clone(),
        None => find_claude(args.agent.agent_path.as_deref())?,
    };
    Ok(RunSpec::new(program, cwd, prompt, policy).with(|spec| {
        spec.name.clone_from(&args.name);
        spec.model.clone_from(&args.agent.model);
        spec.permission_mode.clone_from(&args.agent.permission_mode);
        args.agent_kind.as_str().clone_into(&mut spec.agent.name);
        match acp {
            Some(program) => spec.agent.leading_args = program.leading_args,
            None => spec.agent.args.clone_from(&args.agent_args),
        }
        spec.guards = guards;
        spec.network = network;
        spec.learn = learn;
        spec.notify.clone_from(&args.notify.notify);
        spec.wrap_up_prompt = args.wrap_up.wrap_up_prompt.clone();
        if preset == Preset::Researchgym {
            spec.wrap_up_prompt.get_or_insert_with(|| researchgym::WRAP_UP.to_owned());
            spec.harness = Some(Harness::Researchgym);
        }
        spec.handoff_tokens = args.handoff_tokens;
        spec.diagnostic = args.diagnostic;
        spec.keep_partial_messages = args.keep_partial_messages;
    }))
}

fn placement(args: &RunArgs) -> Result<Placement, Failure> {
    let runs_dir = args.runs_dir.as_deref().map(|path| {
        // A link's target may change while the run is active.
        let dir = std::path::absolute(path).map(|dir| fs::canonicalize(&dir).unwrap_or(dir));
        let is_usable = |dir: PathBuf| match dir.exists() && !dir.is_dir() {
            true => Err(io::Error::other("it is not a directory")),
            false => Ok(dir),
        };
        let action = format!("cannot keep runs in {}", path.display());
        dir.and_then(is_usable).or_usage(action, "name a directory with --runs-dir")
    });
    Ok(Placement {
        runs_dir: runs_dir.transpose()?,
        id: args.run_id.as_deref().or(args.key.as_deref()).map(RunId::from),
        workspace: None,
    })
}

fn cwd(args: &RunArgs) -> Result<PathBuf, Failure> {
    prompt_arg::directory(args.cwd.as_deref().unwrap_or(Path::new(".")))
}

fn session(args: &RunArgs, policy: &Policy) -> Result<Option<SessionPlan>, Failure> {
    if let Some(id) = &args.session_id {
        return Ok(Some(SessionPlan::New(SessionId::from(id.as_str()))));
    }
    let Some(id) = args.resume.as_ref().or(args.resume_or_new.as_ref()) else {
        return Ok(None);
    };
    // Unknown sessions are rejected before the start. Only the agent can resolve a title, which is not a
    // UUID.
    let can_check = args.agent_kind == AgentKind::Claude
        && SessionId::from(id.as_str()).is_uuid()
        && policy.session_loss == SessionLoss::FallBack;
    if can_check && let Some(config) = claude_config_dir() {
        let sessions = claude_sessions(&config);
        if !sessions.contains(id) {
            let similar = did_you_mean(id, sessions.iter().map(String::as_str));
            let hint = if similar.is_empty() {
                "list sessions with `claude --resume`; --resume-or-new instead of --resume starts a new one"
                    .to_owned()
            } else {
                format!("did you mean {}?", similar.join(" or "))
            };
            let error =
                format!("cannot resume session {id}: there is no such session in {}", config.display());
            return Err(Failure { fault: Some(Fault::SessionLost), ..Failure::not_started(error, hint) });
        }
    }
    Ok(Some(SessionPlan::Resume(SessionId::from(id.as_str()))))
}

//! The ceilings that the person who installed the server set: directories, permission mode and budget. A call never gets
//! more.
//!
//! Below `bypassPermissions`, a call may set what an untrusted project may set, and what only speaks to the agent. It may
//! not run commands, name programs or files, or replace guards.

use super::arguments::{ServedTool, command_call};
use super::tools::{Effect, RECOVER, RUN};
use crate::args::{AgentKind, CeilingArgs, ModeCeiling, NONE};
use crate::commands::gsd::unfinished_runs;
use crate::commands::recover::unfinished_workflow_of;
use crate::commands::run::{KeyEffect, LIMITS, MODEL, differing_settings, key_effect, parse_run, prepare};
use crate::config::keys::{ValueKind, flag_only_reason};
use crate::config::trust::{self, ProjectTrust};
use crate::failure::{Failure, USAGE};
use crate::open_home::{self, RunOrWorkflow};
use crate::prompt_arg;
use clap::ValueEnum;
use longhaul_core::{RunId, RunSpec, Usd, parse_dollars};
use longhaul_store::{Home, RunDir, StoreError};
use rmcp::model::JsonObject;
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fs};

const PERMISSION_MODE: &str = "permission_mode";
const KEY: &str = "key";
const RETRY: &str = "retry";
const BUDGET: &str = "budget";
const ADD_BUDGET: &str = "add_budget";

/// Flags that only a person at a terminal sets, or that name a file of Longhaul.
const OF_PEOPLE: &[&str] = &["output_format", "quiet", "verbose", "no_pager", "events", "runs_dir"];

/// Flags that speak to the agent, as the prompt does, or that cost money below the budget.
const OF_PROMPT: &[&str] = &[
    "answer",
    "answer_defaults",
    "keep_going",
    "keep_improving",
    "done_when",
    "status_every",
    "max_idle_stops",
    "wrap_up_prompt",
    "review",
];

/// Arguments of Claude Code that grant nothing. `longhaul gsd` passes them.
const HARMLESS_AGENT_ARGS: &[&str] = &["--setting-sources", "--append-system-prompt"];

/// The most that a call may ask for.
#[derive(Clone, Debug)]
pub struct Ceilings {
    /// Absolute, with links resolved.
    directories: Vec<PathBuf>,
    mode: ModeCeiling,
    budget: Option<Usd>,
}

impl Ceilings {
    /// Resolves the directories.
    ///
    /// # Errors
    /// Returns wrong usage if a directory does not exist, or if none is named and the client starts the server in a
    /// directory that contains every project.
    pub fn new(args: &CeilingArgs) -> Result<Ceilings, Failure> {
        let directories = if args.allow_dir.is_empty() {
            vec![start_directory()?]
        } else {
            args.allow_dir.iter().map(|dir| prompt_arg::directory(dir)).collect::<Result<_, _>>()?
        };
        Ok(Ceilings { directories, mode: args.max_permission_mode, budget: args.max_budget })
    }

    /// Returns whether a run may call every tool, and therefore do all that a flag can.
    pub fn permits_everything(&self) -> bool {
        self.mode == ModeCeiling::BypassPermissions
    }

    /// Returns whether a call may set this flag of `longhaul run`.
    pub fn permit_flag(&self, name: &str, kind: ValueKind) -> bool {
        if name == PERMISSION_MODE {
            return true;
        }
        if OF_PEOPLE.contains(&name) || name != "agent" && flag_only_reason(name).is_some() {
            return false;
        }
        let is_limited = match trust::for_key(name) {
            ProjectTrust::Any | ProjectTrust::OnlyLower => kind != ValueKind::Path,
            ProjectTrust::OnlyAdd | ProjectTrust::OnlyIfUnset => false,
            ProjectTrust::Trusted(_) | ProjectTrust::UserOnly(_) => OF_PROMPT.contains(&name),
        };
        is_limited || self.permits_everything()
    }

    /// Returns the permission modes that a call may choose. `None` for other flags, or if every mode is allowed.
    pub fn modes(&self, name: &str) -> Option<Vec<String>> {
        let modes = ModeCeiling::ALL.iter().filter(|mode| **mode <= self.mode);
        (name == PERMISSION_MODE && !self.permits_everything())
            .then(|| modes.map(|mode| mode.as_str().to_owned()).collect())
    }

    /// Returns the end of the description of a flag that has a ceiling.
    pub fn note(&self, name: &str) -> String {
        match (name, self.budget) {
            (PERMISSION_MODE, _) => format!(" [default: {}]", self.mode.as_str()),
            (BUDGET, Some(budget)) => format!(", at most {0} [default: {0}]", budget.as_dollars()),
            _ => String::new(),
        }
    }

    pub fn permit_directory(&self, dir: &Path) -> bool {
        self.directories.iter().any(|allowed| dir.starts_with(allowed))
    }

    /// Finds a run or a workflow in an allowed directory. `@` is the latest one there.
    pub fn find(&self, selector: &str) -> Result<RunOrWorkflow, Failure> {
        let home = open_home::locate()?;
        let found = if selector.starts_with('@') {
            self.find_recent(&home, selector)?
        } else {
            open_home::find_target(&home, selector).map_err(|failure| match failure.exit_code {
                // The hints for people name runs elsewhere, and commands that are no tools.
                USAGE => Failure::usage(failure.error, "`@` is the latest run in the allowed directories"),
                _ => failure,
            })?
        };
        self.require_permitted(&home, &found)?;
        Ok(found)
    }

    fn find_recent(&self, home: &Home, selector: &str) -> Result<RunOrWorkflow, Failure> {
        let is_permitted = |found: &RunOrWorkflow| self.require_permitted(home, found).is_ok();
        open_home::find_recent(home, selector, is_permitted).map_err(|error| match error {
            StoreError::NoSuchRun { .. } if selector == "@" => {
                Failure::usage("no run in the allowed directories yet", "the tool `run` starts one")
            }
            StoreError::NoSuchRun { .. } => {
                let error = format!("no run `{selector}` in the allowed directories");
                Failure::usage(error, "`@` is the latest run there")
            }
            error => error.into(),
        })
    }

    /// Fails unless a run or a workflow works in an allowed directory.
    ///
    /// Its plan tells its directory and its rights. An agent can write a plan in a directory of its own, so only those in
    /// the home count.
    fn require_permitted(&self, home: &Home, found: &RunOrWorkflow) -> Result<(), Failure> {
        let (cwd, is_in_home) = match found {
            RunOrWorkflow::Run(dir) => {
                // With `--runs-dir`, the home has only a link.
                let paths = (fs::canonicalize(dir.path()), fs::canonicalize(home.runs_path()));
                let is_in_home = matches!(paths, (Ok(dir), Ok(runs)) if dir.starts_with(&runs));
                (dir.plan()?.spec.cwd, is_in_home)
            }
            RunOrWorkflow::Workflow(dir) => (dir.plan()?.project_dir.as_path().to_owned(), true),
        };
        if !is_in_home {
            let error = format!("{RUN}: {} is not stored in the home of this server's runs", found.id());
            return Err(Failure::usage(error, "name a run by its id"));
        }
        self.require_directory(RUN, &cwd)?;
        // Since the run started, an agent can have replaced its directory by a link.
        fs::canonicalize(&cwd).map_or(Ok(()), |cwd| self.require_directory(RUN, &cwd))
    }

    /// Completes the arguments of a call with the ceilings. The arguments have the right types, and none is null.
    pub fn apply(&self, tool: &ServedTool, arguments: &mut JsonObject) -> Result<(), Failure> {
        let find = |name: &str| tool.arguments.iter().find(|argument| argument.name == name);
        let has = |name: &str| find(name).is_some();
        if let Some(argument) = tool.definition.directory.and_then(find) {
            self.apply_directories(&argument.name, argument.kind == ValueKind::List, arguments)?;
        }
        let mut planned = None;
        if has(RUN) {
            let selector = arguments.get(RUN).and_then(Value::as_str).unwrap_or("@");
            let mut target = self.find(selector)?;
            // `recover` with a run of a workflow continues all runs of the workflow, with their rights.
            if tool.definition.command == [RECOVER]
                && let RunOrWorkflow::Run(run) = &target
                && let Some(workflow) = unfinished_workflow_of(&open_home::locate()?, run)
            {
                target = self.find(workflow.id().as_str())?;
            }
            // A selector such as `@` could select another run a moment later.
            arguments.insert(RUN.to_owned(), target.id().as_str().into());
            if tool.definition.effect == Effect::Drives {
                planned = Some(self.planned(&target)?);
            }
        }
        // The same key continues an earlier run, with the rights of that run.
        let home = open_home::locate()?;
        let key = arguments.get(KEY).and_then(Value::as_str).map(RunId::from);
        let keyed = key.filter(|_| has(KEY)).map(|key| home.run_with_id(&key)).transpose()?.flatten();
        if let Some(dir) = &keyed {
            self.require_continuable(&home, dir)?;
        }
        // A command of GSD continues its unfinished run on the project.
        if let (["gsd", ..], Effect::Drives) = (tool.definition.command, tool.definition.effect)
            && let Some(dir) = tool.definition.directory.and_then(|name| arguments.get(name)?.as_str())
        {
            for (run, _) in unfinished_runs(&home, Path::new(dir))? {
                self.require_continuable(&home, &run)?;
            }
        }
        match planned {
            // The run continues with its own mode and budget.
            Some(planned) if !has(PERMISSION_MODE) => self.require_planned(&planned)?,
            planned => {
                let planned = planned.unwrap_or_default();
                if has(PERMISSION_MODE) && !planned.is_workflow {
                    self.apply_mode(planned.mode.as_deref(), arguments)?;
                }
                if has(BUDGET) {
                    self.apply_budget(planned.budget, arguments)?;
                }
            }
        }
        match keyed.filter(|_| !self.permits_everything()) {
            Some(dir) => self.require_unchanged(tool, arguments, &dir),
            None => Ok(()),
        }
    }

    /// Fails if a call by key would take checks, guards or rights from its earlier run, or give it others.
    fn require_unchanged(
        &self,
        tool: &ServedTool,
        arguments: &mut JsonObject,
        dir: &RunDir,
    ) -> Result<(), Failure> {
        let is_retry = arguments.get(RETRY).and_then(Value::as_bool).unwrap_or_default();
        let effect = key_effect(dir, is_retry)?;
        let of_run = dir.plan()?.spec;
        let call_spec = || -> Result<RunSpec, Failure> {
            let call = command_call(tool, arguments).map_err(|error| Failure::usage(error, ""))?;
            let words = call.words.into_iter().skip(tool.definition.command.len()).map(OsString::from);
            let (mut args, _) = parse_run(words, &[], "cannot start the run", "correct the arguments")?;
            // The server's stdin belongs to the client.
            args.prompt = Some(of_run.prompt.clone());
            Ok(prepare(&args)?.spec)
        };
        let new = match effect {
            KeyEffect::Resume => of_run.with_settings_of(call_spec()?),
            KeyEffect::StartAgain => call_spec()?,
            KeyEffect::Return | KeyEffect::Follow | KeyEffect::Recover => {
                // The run may finish before the call, which could then resume it.
                arguments.remove(RETRY);
                return Ok(());
            }
        };
        let mut changed = differing_settings(&of_run, &new);
        changed.retain(|name| ![LIMITS, MODEL].contains(name));
        if changed.is_empty() {
            return Ok(());
        }
        let (id, ceiling, changed) = (dir.id(), self.mode.as_str(), changed.join(", "));
        Err(Failure::usage(
            format!(
                "{KEY}: cannot repeat run {id} below the ceiling `{ceiling}` of this server: the call would change its {changed}"
            ),
            "the tool `resume` continues the run with its own; another key starts another run",
        ))
    }

    /// Fails if a run may not be continued with its own settings.
    fn require_continuable(&self, home: &Home, dir: &RunDir) -> Result<(), Failure> {
        let run = RunOrWorkflow::Run(dir.clone());
        self.require_permitted(home, &run)?;
        let permitted = self.require_planned(&self.planned(&run)?);
        permitted.map_err(|failure| Failure {
            error: format!("cannot continue run {}: {}", dir.id(), failure.error),
            ..failure
        })
    }

    /// Fails if a run that continues with its own settings exceeds a ceiling.
    fn require_planned(&self, planned: &Planned) -> Result<(), Failure> {
        if let Some(mode) = &planned.mode {
            self.require_mode(mode)?;
        }
        match (self.budget, planned.budget) {
            (Some(ceiling), Some(budget)) if budget <= ceiling => Ok(()),
            (Some(ceiling), _) => Err(above_budget(BUDGET, ceiling)),
            (None, _) => Ok(()),
        }
    }

    fn apply_directories(
        &self,
        name: &str,
        is_list: bool,
        arguments: &mut JsonObject,
    ) -> Result<(), Failure> {
        let resolve = |value: &Value| -> Result<Value, Failure> {
            let Some(path) = value.as_str() else { return Ok(value.clone()) };
            let dir = prompt_arg::directory(Path::new(path)).map_err(|failure| Failure {
                hint: Some(format!("{name}: name an existing directory")),
                ..failure
            })?;
            self.require_directory(name, &dir)?;
            Ok(dir.to_string_lossy().into())
        };
        let resolved = match arguments.get(name) {
            Some(Value::Array(dirs)) if !dirs.is_empty() => {
                dirs.iter().map(resolve).collect::<Result<Vec<_>, _>>()?.into()
            }
            Some(value) if !value.is_array() => resolve(value)?,
            // An empty list would mean every directory.
            _ if is_list => self.directories.iter().map(|dir| dir.to_string_lossy()).collect(),
            _ => resolve(&".".into())?,
        };
        arguments.insert(name.to_owned(), resolved);
        Ok(())
    }

    fn require_directory(&self, name: &str, dir: &Path) -> Result<(), Failure> {
        if self.permit_directory(dir) {
            return Ok(());
        }
        let allowed: Vec<_> = self.directories.iter().map(|dir| dir.display().to_string()).collect();
        let error = format!("{name}: {} is outside of {}", dir.display(), allowed.join(" and "));
        Err(Failure::usage(error, "the person who installed this server allows a directory with --allow-dir"))
    }

    fn apply_mode(&self, planned: Option<&str>, arguments: &mut JsonObject) -> Result<(), Failure> {
        let requested = arguments.get(PERMISSION_MODE).and_then(Value::as_str);
        let mode = requested.or(planned).unwrap_or(self.mode.as_str()).to_owned();
        self.require_mode(&mode)?;
        arguments.insert(PERMISSION_MODE.to_owned(), mode.into());
        Ok(())
    }

    fn require_mode(&self, mode: &str) -> Result<(), Failure> {
        match ModeCeiling::from_str(mode, false) {
            _ if self.permits_everything() => Ok(()),
            Ok(mode) if mode <= self.mode => Ok(()),
            Ok(_) => Err(Failure::usage(
                format!("{PERMISSION_MODE}: `{mode}` is above the ceiling of this server, `{}`", self.mode),
                "the person who installed this server raises it with --max-permission-mode",
            )),
            Err(_) => {
                let modes = self.modes(PERMISSION_MODE).unwrap_or_default().join(", ");
                let error = format!("{PERMISSION_MODE}: this server does not know `{mode}`");
                Err(Failure::usage(error, format!("there are {modes}")))
            }
        }
    }

    fn apply_budget(&self, planned: Option<Usd>, arguments: &mut JsonObject) -> Result<(), Failure> {
        let amount = |name: &str| -> Result<Option<Usd>, Failure> {
            let Some(value) = arguments.get(name) else { return Ok(None) };
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            if text == NONE && name == BUDGET {
                return Ok(Some(Usd::ZERO));
            }
            let allowed = match self.budget {
                Some(ceiling) => {
                    format!("pass a number of dollars above 0, at most {:.2}", ceiling.as_dollars())
                }
                None if name == BUDGET => {
                    format!("pass a number of dollars above 0, or \"{NONE}\" for no limit")
                }
                None => "pass a number of dollars above 0".to_owned(),
            };
            match parse_dollars(&text) {
                Ok(Usd::ZERO) if name == BUDGET => {
                    Err(Failure::usage(format!("{name}: {text} allows no request"), allowed))
                }
                Ok(amount) => Ok(Some(amount)),
                Err(error) => Err(Failure::usage(format!("{name}: {error}"), allowed)),
            }
        };
        let (added, total) = (amount(ADD_BUDGET)?, amount(BUDGET)?);
        let Some(ceiling) = self.budget else { return Ok(()) };
        let Some(total) = total.or(planned) else {
            arguments.remove(ADD_BUDGET);
            arguments.insert(BUDGET.to_owned(), ceiling.as_dollars().into());
            return Ok(());
        };
        // `none` is 0.
        if total == Usd::ZERO || total + added.unwrap_or_default() > ceiling {
            let argument = if added.is_some() && total <= ceiling { ADD_BUDGET } else { BUDGET };
            return Err(above_budget(argument, ceiling));
        }
        Ok(())
    }

    fn planned(&self, target: &RunOrWorkflow) -> Result<Planned, Failure> {
        let denied = |reason: &str| {
            let (id, ceiling) = (target.id(), self.mode.as_str());
            let error =
                format!("{RUN}: cannot continue {id} below the ceiling `{ceiling}` of this server: {reason}");
            let is_finished = match target {
                RunOrWorkflow::Run(dir) => dir.is_outcome_published(),
                RunOrWorkflow::Workflow(dir) => dir.is_outcome_published(),
            };
            let command = if is_finished { "resume" } else { "recover" };
            Err(Failure::usage(error, format!("a person can: `longhaul {command} {id}`")))
        };
        match target {
            RunOrWorkflow::Workflow(_) if !self.permits_everything() => {
                denied("the runs of a workflow have permission modes and commands of their own")
            }
            RunOrWorkflow::Workflow(dir) => {
                let budget = dir.plan()?.policy.limits.budget;
                Ok(Planned { mode: None, budget, is_workflow: true })
            }
            RunOrWorkflow::Run(dir) => {
                let spec = dir.plan()?.spec;
                if !self.permits_everything() && has_unknown_rights(&spec) {
                    return denied("its agent has arguments or permissions of its own");
                }
                Ok(Planned {
                    mode: spec.permission_mode,
                    budget: spec.policy.limits.budget,
                    is_workflow: false,
                })
            }
        }
    }
}

fn above_budget(argument: &str, ceiling: Usd) -> Failure {
    let error = format!("{argument}: the ceiling of this server is ${:.2}", ceiling.as_dollars());
    Failure::usage(error, "the person who installed this server raises it with --max-budget")
}

fn start_directory() -> Result<PathBuf, Failure> {
    let dir = prompt_arg::directory(Path::new("."))?;
    let user_home = env::var_os("HOME").and_then(|home| fs::canonicalize(home).ok());
    if dir.parent().is_none() || user_home.as_ref() == Some(&dir) {
        let error =
            format!("the client starts this server in {}, which contains every project", dir.display());
        return Err(Failure::usage(error, "name the directories of runs with --allow-dir"));
    }
    Ok(dir)
}

/// Returns whether the agent of a run may have rights that its permission mode does not show.
fn has_unknown_rights(spec: &RunSpec) -> bool {
    let mut flags = spec.agent.args.iter().filter(|arg| arg.starts_with('-'));
    spec.agent.name != AgentKind::Claude.as_str()
        || !flags.all(|flag| HARMLESS_AGENT_ARGS.contains(&flag.split('=').next().unwrap_or_default()))
}

/// The settings of a run that is to continue, unless the call changes them.
#[derive(Default)]
struct Planned {
    mode: Option<String>,
    budget: Option<Usd>,
    is_workflow: bool,
}

#[cfg(test)]
mod tests;

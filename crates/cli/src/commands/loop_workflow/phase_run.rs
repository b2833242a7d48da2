//! Resolves the description of the runs of each phase, exactly as `longhaul run` would: from the configuration, the
//! flags of `longhaul loop`, and the keys of `[phase.run]`, the strongest last. It starts nothing.

use crate::args::{AgentKind, Cli, RunArgs};
use crate::commands::run::{TypedFlags, flag_with_value, parse_run, policy, prepare_phase};
use crate::config::keys::{Keys, RUN, ValueKind, excluded, flag_only_reason};
use crate::config::trust::{self, ProjectTrust};
use crate::configured_values::ConfiguredValues;
use crate::failure::Failure;
use crate::limit_flags;
use clap::{CommandFactory, ValueEnum};
use longhaul_agent::did_you_mean;
use longhaul_core::RunSpec;
use longhaul_store::WorkflowSource;
use longhaul_workflow::{PhaseFile, WorkflowFile, WorkflowFileError};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

/// Stands for the prompt while flags are parsed. Each run gets its own.
const PROMPT: &str = "workflow";
/// Flags of `loop` that have another meaning for `run`.
pub const OF_WORKFLOW: [&str; 5] = ["budget", "time_limit", "name", "detach", "dry_run"];

const NOTIFY: &str = "notify";
const AGENT: &str = "agent";
const AGENT_ARGS: &str = "agent_args";
const AGENT_PATH: &str = "agent_path";

/// The descriptions of the runs of all phases.
#[derive(Default)]
pub struct PhaseRuns {
    pub runs: Vec<RunSpec>,
    pub origins: Vec<BTreeMap<String, String>>,
    /// Channels of the flags or the configuration. The workflow notifies, and its runs do not, except in phases that
    /// set their own channels.
    pub notify: Vec<String>,
}

impl PhaseRuns {
    /// Resolves all runs. Without a limit of the workflow, each run that keeps going must have one of its own.
    pub fn resolve(
        file: &WorkflowFile,
        source: &WorkflowSource,
        typed: &TypedFlags,
        has_limit: bool,
    ) -> Result<PhaseRuns, Failure> {
        let mut resolved = PhaseRuns::default();
        for (index, phase) in file.phases().iter().enumerate() {
            let settings = settings(file, index, phase, source.path.as_path())?;
            let (args, configured) = parse_phase(phase, &settings, typed)?;
            let (mut run, mut origins) = resolve_phase(phase, &settings, &args, &configured)?;
            if !has_limit && limit_flags::is_endless(&args.limits, &run.policy) {
                return Err(Failure::usage(
                    format!(
                        "cannot run phase `{}`: `keep_going` without a limit: the agent could work and spend forever",
                        phase.name
                    ),
                    "add --budget 10 or --time-limit 12h, or set `budget` or `time_limit` for the phase; `budget = \"none\"` means unlimited",
                ));
            }
            if !settings.contains_key(NOTIFY) {
                resolved.notify.clone_from(&run.notify);
                origins.remove(NOTIFY);
                run = run.with(|spec| spec.notify.clear());
            }
            resolved.runs.push(run);
            resolved.origins.push(origins);
        }
        Ok(resolved)
    }
}

/// Checks the settings of all phases as for a `loop` without flags, and without an agent.
pub fn check_settings(file: &WorkflowFile) -> Result<(), Failure> {
    for (index, phase) in file.phases().iter().enumerate() {
        let settings = settings(file, index, phase, Path::new(""))?;
        let (args, configured) = parse_phase(phase, &settings, &TypedFlags(BTreeMap::new()))?;
        policy(&args, None).map_err(|failure| of_phase(phase, &configured, failure))?;
    }
    Ok(())
}

/// The words of each key of `[phase.run]`, as they are typed for `run`.
type Settings = BTreeMap<String, Vec<OsString>>;

fn settings(
    file: &WorkflowFile,
    index: usize,
    phase: &PhaseFile,
    path: &Path,
) -> Result<Settings, WorkflowFileError> {
    let root = Cli::command();
    let keys = Keys::for_command(&root);
    let mut settings = Settings::new();
    for (key_name, value) in &phase.settings {
        let error = |message: String, hint: &str| file.setting_error(index, key_name, message, hint);
        // A configuration file cannot name an agent, because its command differs from run to run. A phase can.
        if key_name == AGENT {
            let name = value.as_str().unwrap_or_default();
            let kind = <AgentKind as ValueEnum>::from_str(name, false)
                .map_err(|_| error(format!("there is no agent `{name}`"), "write \"claude\" or \"acp\""))?;
            if kind == AgentKind::Acp && !phase.edit_paths.is_empty() {
                let message = "`edit_paths` cannot be used with `agent = \"acp\"`: the protocol does not name edited files";
                return Err(error(message.to_owned(), "remove one of them"));
            }
            settings.insert(AGENT.to_owned(), vec!["--agent".into(), name.into()]);
            continue;
        }
        let Some(key) = keys.find(None, key_name).filter(|key| !key.arg.is_global_set()) else {
            let message = match flag_only_reason(key_name) {
                Some(reason) => format!("`{key_name}` cannot be set for a phase: {reason}"),
                None => format!("there is no setting `{key_name}` of a run"),
            };
            let near = did_you_mean(key_name, keys.in_table(None).map(|key| key.name.as_str()));
            let hint = match near.first() {
                Some(near) => format!("did you mean `{near}`?"),
                None => "settings are named like the flags that `longhaul run --help` lists".to_owned(),
            };
            return Err(error(message, &hint));
        };
        let Some(mut values) = serde_json::to_value(value).ok().and_then(|value| key.kind.words(&value))
        else {
            let message = format!("`{key_name}` must be {}", key.kind.expected());
            return Err(error(message, key.kind_hint()));
        };
        if key.kind == ValueKind::Path {
            let folder = path.parent().unwrap_or(Path::new("/"));
            values = values.iter().map(|text| folder.join(text).display().to_string()).collect();
        }
        for text in &values {
            keys.validate(key, text).map_err(|reason| {
                error(format!("`{key_name}` is `{text}`: {reason}"), "write it as its flag accepts it")
            })?;
        }
        let Some(long) = key.arg.get_long() else {
            // The arguments after `--`.
            settings.insert(key.name.clone(), values.into_iter().map(OsString::from).collect());
            continue;
        };
        let words = match key.kind {
            ValueKind::Switch => values.iter().map(|_| format!("--{long}").into()).collect(),
            ValueKind::Count | ValueKind::Amount | ValueKind::Text | ValueKind::Path | ValueKind::List => {
                values.iter().map(|text| flag_with_value(long, text.as_ref())).collect()
            }
        };
        settings.insert(key.name.clone(), words);
    }
    Ok(settings)
}

fn resolve_phase(
    phase: &PhaseFile,
    settings: &Settings,
    args: &RunArgs,
    configured: &ConfiguredValues,
) -> Result<(RunSpec, BTreeMap<String, String>), Failure> {
    let prepared = prepare_phase(args).map_err(|failure| of_phase(phase, configured, failure))?;
    let mut prepared = prepared.configured(configured);
    let of_file = settings.keys().map(|key| (key.clone(), format!("phase `{}`", phase.name)));
    prepared.origins.extend(of_file);
    Ok((prepared.spec, prepared.origins))
}

/// Returns the arguments of `run` for a phase, and what the configuration adds to them.
fn parse_phase(
    phase: &PhaseFile,
    settings: &Settings,
    typed: &TypedFlags,
) -> Result<(Box<RunArgs>, ConfiguredValues), Failure> {
    let exclusions = excluded(&Cli::command(), RUN);
    // A setting of the phase replaces the flag, and flags that it excludes unless it is off. Prohibitions add up.
    let is_on = |key: &String| {
        settings.get(key).is_some_and(|words| !words.is_empty() && *words != ["--review=none"])
    };
    let is_replaced = |key: &String| {
        trust::for_key(key) != ProjectTrust::OnlyAdd && settings.contains_key(key)
            || key == AGENT_PATH && settings.contains_key(AGENT)
            || exclusions
                .iter()
                .any(|(one, other)| (one == key && is_on(other)) || (other == key && is_on(one)))
    };
    let flags = typed.0.iter().filter(|(key, _)| !is_replaced(key)).map(|(_, words)| words);
    let set = settings.iter().filter(|(key, _)| *key != AGENT_ARGS).map(|(_, words)| words);
    let words = flags.chain(set).flatten().cloned().chain([PROMPT, "--"].map(OsString::from));
    let words = words.chain(settings.get(AGENT_ARGS).into_iter().flatten().cloned());
    let hint = "correct the settings of the phase, or the flags of `longhaul loop`";
    // A setting without words is off or empty, whatever is configured.
    let off = settings
        .iter()
        .filter(|(key, words)| words.is_empty() && trust::for_key(key) != ProjectTrust::OnlyAdd);
    let off: Vec<&str> = off.map(|(key, _)| key.as_str()).collect();
    parse_run(words, &off, cannot_run(phase), hint)
}

fn of_phase(phase: &PhaseFile, configured: &ConfiguredValues, failure: Failure) -> Failure {
    let error = format!("{}: {}", cannot_run(phase), failure.error);
    Failure { error, ..configured.add_origin(failure) }
}

fn cannot_run(phase: &PhaseFile) -> String {
    format!("cannot run phase `{}`", phase.name)
}

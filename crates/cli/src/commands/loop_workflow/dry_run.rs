//! `longhaul loop --dry-run`: prints the policy of a workflow and each prompt that can be rendered now. It starts
//! nothing.

use crate::args::GlobalArgs;
use crate::failure::Failure;
use crate::output;
use longhaul::workflow::WorkflowRequest;
use longhaul_core::WorkflowPolicy;
use longhaul_store::WorkflowSource;
use longhaul_workflow::archon::assignment;
use longhaul_workflow::{ItemSource, PhaseFile, PromptContext, PromptItem, WorkflowFile};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Description of a workflow that is not started. JSON keys are only added, never removed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LoopDryRun<'a> {
    /// Effective policy.
    policy: &'a WorkflowPolicy,
    /// Memory that must be available before a run starts, in bytes.
    memory_reserve: u64,
    /// Phases, in the order of the file.
    phases: Vec<DryPhase<'a>>,
}

/// A phase that is not started.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct DryPhase<'a> {
    /// Name of the phase.
    name: &'a str,
    /// Prompt of the first run in the first iteration. `None` if it needs a result or an item that does not exist
    /// yet.
    prompt: Option<String>,
    /// Why the prompt cannot be rendered now.
    reason: Option<String>,
    /// Requested model.
    model: Option<&'a str>,
    /// Origins of the settings of its runs.
    changed: &'a BTreeMap<String, String>,
}

/// Output of `longhaul loop validate`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ValidateOutput {
    /// Description of the workflow.
    description: Option<String>,
    /// Names of the phases, in the order of the file.
    phases: Vec<String>,
    /// Parameters with their values. An empty one must be set.
    parameters: BTreeMap<String, String>,
}

impl ValidateOutput {
    pub fn new(file: &WorkflowFile) -> ValidateOutput {
        ValidateOutput {
            description: file.description().map(str::to_owned),
            phases: file.phases().iter().map(|phase| phase.name.clone()).collect(),
            parameters: file.parameters().clone(),
        }
    }
}

/// Prints what a workflow would do.
pub fn print(request: &WorkflowRequest, global: &GlobalArgs) -> Result<u8, Failure> {
    let WorkflowSource { path, text: workflow, files } = &request.file;
    let file = WorkflowFile::parse_with_files(workflow, path.as_path(), &request.parameters, files)?;
    let phases = file.phases().iter().zip(&request.runs).zip(&request.origins);
    let phases = phases.map(|((phase, run), changed)| {
        let (prompt, reason) = match prompt(request, &file, phase) {
            Ok(prompt) => (Some(prompt), None),
            Err(reason) => (None, Some(reason)),
        };
        DryPhase { name: &phase.name, prompt, reason, model: run.model.as_deref(), changed }
    });
    let dry_run = LoopDryRun {
        policy: &request.policy,
        memory_reserve: request.memory_reserve,
        phases: phases.collect(),
    };
    output::print_output(global, &dry_run, || text(&dry_run, &file));
    Ok(0)
}

fn prompt(request: &WorkflowRequest, file: &WorkflowFile, phase: &PhaseFile) -> Result<String, String> {
    let item = match &phase.fan_out {
        None => None,
        Some(ItemSource::List(items)) => items.first().cloned(),
        Some(ItemSource::Glob(pattern)) => pattern.items(&request.project_dir)?.into_iter().next(),
        Some(ItemSource::Objectives(path)) => {
            assignment(&request.project_dir, path)?.files.into_iter().next().map(Value::String)
        }
        Some(ItemSource::Lines(_) | ItemSource::Pointer { .. }) => {
            return Err("its items are listed when the phase starts".to_owned());
        }
    };
    if phase.fan_out.is_some() && item.is_none() {
        return Err("it has no items now".to_owned());
    }
    let results: BTreeMap<String, Value> = BTreeMap::new();
    let context = PromptContext {
        workflow: "<workflow id>",
        iteration: 1,
        iterations_max: request.policy.iterations_max,
        item: item.as_ref().map(|value| PromptItem { value, number: 1, slug: "" }),
        focus: request.focus.as_deref(),
        hints: &[],
        results: &results,
        remaining_budget: request.policy.limits.budget,
        remaining_time: request.policy.limits.time,
        parameters: file.parameters(),
        project_dir: &request.project_dir,
    };
    phase.prompt.render(&context).map_err(|error| error.to_string())
}

fn text(dry_run: &LoopDryRun<'_>, file: &WorkflowFile) -> String {
    let policy = dry_run.policy;
    let none = || "none".to_owned();
    let mut text = file.graph();
    text += &format!(
        "Iterations: at most {}\nRuns at the same time: at most {}\nBudget: {}\nTime limit: {}\n",
        policy.iterations_max,
        policy.parallel_max,
        policy.limits.budget.map_or_else(none, |usd| format!("${:.2}", usd.as_dollars())),
        policy.limits.time.map_or_else(none, |span| span.to_string()),
    );
    for phase in &dry_run.phases {
        text += &format!("\nPhase {}:\n", phase.name);
        for (key, origin) in phase.changed.iter().filter(|(key, _)| *key != "preset") {
            text += &format!("  {key}: set by {origin}\n");
        }
        match (&phase.prompt, &phase.reason) {
            (Some(prompt), _) => {
                text += &prompt.lines().map(|line| format!("  | {line}\n")).collect::<String>();
            }
            (None, reason) => {
                let reason = reason.as_deref().unwrap_or_default();
                text += &format!("  The prompt cannot be rendered now: {reason}\n");
            }
        }
    }
    text
}

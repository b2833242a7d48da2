//! `longhaul loop --dry-run`: prints the policy of a workflow and each prompt, or its template if a result is missing. It
//! starts nothing.

use crate::args::GlobalArgs;
use crate::failure::Failure;
use crate::output;
use crate::output::phrases::one_line;
use longhaul_core::WorkflowPolicy;
use longhaul_store::{WorkflowPlan, WorkflowSource};
use longhaul_workflow::archon::{assignment, slugs};
use longhaul_workflow::{
    ItemSource, PhaseFile, PromptContext, PromptItem, WorkflowFile, item_text, skip_note,
};
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
    /// Whether the options leave it out, in words.
    skipped: Option<&'static str>,
    /// Prompt of the first run. `None` if it needs a result or an item that does not exist yet, or if the phase is left
    /// out.
    prompt: Option<String>,
    /// Why the first prompt, or a later one, cannot be rendered now.
    reason: Option<String>,
    /// Prompts of all runs of the first iteration in which the phase takes place.
    prompts: Vec<DryPrompt>,
    /// Template of a prompt that cannot be rendered now.
    template: Option<&'a str>,
    /// Number of items above the maximum, which an iteration leaves out.
    deferred: usize,
    /// Requested model.
    model: Option<&'a str>,
    /// Origins of the settings of its runs.
    changed: &'a BTreeMap<String, String>,
}

/// The prompt of a run that is not started.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct DryPrompt {
    /// Item as text. `None` for a phase without items.
    item: Option<String>,
    /// Prompt. `None` if it needs a result that does not exist yet.
    prompt: Option<String>,
}

/// Output of `longhaul loop validate`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ValidateOutput {
    /// Description of the workflow.
    pub description: Option<String>,
    /// Names of the phases, in the order of the file.
    pub phases: Vec<String>,
    /// Parameters with their values. An empty one must be set.
    pub parameters: BTreeMap<String, String>,
}

pub fn print(plan: &WorkflowPlan, global: &GlobalArgs) -> Result<u8, Failure> {
    let WorkflowSource { path, text: workflow, files } = &plan.file;
    let file = WorkflowFile::parse_with_files(workflow, path.as_path(), &plan.parameters, files)?;
    let phases = file.phases().iter().enumerate().zip(&plan.runs).zip(&plan.origins);
    let phases = phases.map(|(((index, phase), run), changed)| {
        let skipped = skip_note(&plan.policy, index);
        let dry = DryPhase {
            name: &phase.name,
            skipped,
            prompt: None,
            reason: None,
            prompts: Vec::new(),
            template: None,
            deferred: 0,
            model: run.model.as_deref(),
            changed,
        };
        if plan.policy.is_skipped(2, index) { dry } else { dry.with_prompts(plan, &file, index) }
    });
    let dry_run =
        LoopDryRun { policy: &plan.policy, memory_reserve: plan.memory_reserve, phases: phases.collect() };
    output::print_output(global, &dry_run, || text(&dry_run, &file));
    Ok(0)
}

impl<'a> DryPhase<'a> {
    /// Renders the prompt of each run, as far as possible.
    fn with_prompts(self, plan: &WorkflowPlan, file: &'a WorkflowFile, index: usize) -> DryPhase<'a> {
        let phase = &file.phases()[index];
        let mut items = match items(plan, phase) {
            Ok(items) => items,
            Err(reason) => {
                return DryPhase { reason: Some(reason), template: Some(phase.prompt.text()), ..self };
            }
        };
        let items_max = plan.policy.phases[index].items_max as usize;
        let deferred = items.as_ref().map_or(0, |items| items.len().saturating_sub(items_max));
        items.iter_mut().for_each(|items| items.truncate(items_max));
        let texts: Vec<String> = items.iter().flatten().map(item_text).collect();
        let slugs = slugs(texts.iter().map(String::as_str));
        let rendered: Vec<Result<String, String>> = match &items {
            None => vec![prompt(plan, file, index, None)],
            Some(items) => {
                let items = items.iter().zip(&slugs).zip(1..);
                let items = items.map(|((value, slug), number)| PromptItem { value, number, slug });
                items.map(|item| prompt(plan, file, index, Some(item))).collect()
            }
        };
        let reason = rendered.iter().find_map(|prompt| prompt.as_ref().err().cloned());
        let template = reason.as_ref().map(|_| phase.prompt.text());
        let items = texts.into_iter().map(Some).chain(std::iter::repeat(None));
        let prompts = rendered.into_iter().zip(items);
        let prompts: Vec<DryPrompt> =
            prompts.map(|(prompt, item)| DryPrompt { item, prompt: prompt.ok() }).collect();
        let prompt = prompts.first().and_then(|first| first.prompt.clone());
        DryPhase { prompt, reason, prompts, template, deferred, ..self }
    }
}

/// Returns the items of a phase, or why they are not known now. `None` if it starts one run.
fn items(plan: &WorkflowPlan, phase: &PhaseFile) -> Result<Option<Vec<Value>>, String> {
    let items = match &phase.fan_out {
        None => return Ok(None),
        Some(ItemSource::List(items)) => items.clone(),
        Some(ItemSource::Glob(pattern)) => pattern.items(plan.project_dir.as_path())?,
        Some(ItemSource::Objectives(path)) => {
            assignment(plan.project_dir.as_path(), path)?.files.into_iter().map(Value::String).collect()
        }
        Some(ItemSource::Lines(_) | ItemSource::Pointer { .. }) => {
            return Err("its items are listed when the phase starts".to_owned());
        }
    };
    if items.is_empty() { Err("it has no items now".to_owned()) } else { Ok(Some(items)) }
}

/// Renders a prompt of the first iteration in which the phase takes place.
fn prompt(
    plan: &WorkflowPlan,
    file: &WorkflowFile,
    index: usize,
    item: Option<PromptItem<'_>>,
) -> Result<String, String> {
    let context = PromptContext {
        workflow: "<workflow id>",
        iteration: if plan.policy.is_skipped(1, index) { 2 } else { 1 },
        iterations_max: plan.policy.iterations_max,
        item,
        focus: plan.focus.as_deref(),
        hints: &[],
        results: &BTreeMap::new(),
        remaining_budget: plan.policy.limits.budget,
        remaining_time: plan.policy.limits.time,
        parameters: file.parameters(),
        project_dir: plan.project_dir.as_path(),
    };
    file.phases()[index].prompt.render(&context).map_err(|error| error.to_string())
}

fn text(dry_run: &LoopDryRun<'_>, file: &WorkflowFile) -> String {
    let policy = dry_run.policy;
    let none = || "none".to_owned();
    let mut text = file.graph_with(policy);
    text += &format!(
        "Iterations: at most {}\nRuns at the same time: at most {}\nBudget: {}\nTime limit: {}\n",
        policy.iterations_max,
        policy.parallel_max,
        policy.limits.budget.map_or_else(none, |usd| format!("${:.2}", usd.as_dollars())),
        policy.limits.time.map_or_else(none, |span| span.to_string()),
    );
    for phase in &dry_run.phases {
        let skipped = phase.skipped.map_or_else(String::new, |note| format!(" ({note})"));
        text += &format!("\nPhase {}{skipped}:\n", phase.name);
        for (key, origin) in phase.changed.iter().filter(|(key, _)| *key != "preset") {
            text += &format!("  {key}: set by {origin}\n");
        }
        let count = phase.prompts.len();
        for (DryPrompt { item, prompt }, number) in phase.prompts.iter().zip(1..) {
            let Some(prompt) = prompt else { continue };
            if let Some(item) = item {
                text += &format!("  Item {number} of {count}: {}\n", one_line(item));
            }
            text += &quoted(prompt);
        }
        if phase.deferred > 0 {
            text += &format!("  {} more items are deferred\n", phase.deferred);
        }
        if let (Some(template), Some(reason)) = (phase.template, &phase.reason) {
            text += &format!(
                "  The prompt cannot be rendered now: {reason}\n  Its template:\n{}",
                quoted(template)
            );
        }
    }
    text
}

fn quoted(text: &str) -> String {
    text.lines().map(|line| format!("  | {line}\n")).collect()
}

//! `longhaul run --dry-run`: prints the exact command, the policy and the worst case. It starts nothing.

use super::watchdog::environment;
use crate::args::{NONE, OutputFormat};
use crate::failure::Failure;
use crate::next_commands::quoted;
use crate::output;
use longhaul::{Environment, MARKER_VARIABLE};
use longhaul_agent::{
    AgentContext, Invocation, PriorAttempts, REVIEW_TURNS_MAX, ReviewRequest, dialect_named,
};
use longhaul_core::exact_span as span;
use longhaul_core::{
    AttemptPlan, GuardRules, LimitUsage, Policy, Preset, PromptKind, RunId, RunSpec, SessionId, SessionPlan,
    Span, WorstCase,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// Description of a run that is not started. JSON keys are only added, never removed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DryRun<'a> {
    /// Command that would start the agent.
    command: Command<'a>,
    /// Changes of the agent's environment.
    env: Env<'a>,
    /// Content of the agent's standard input.
    stdin: String,
    /// Request for a summary of older work, for a handoff to a fresh session. `None` if no summary is
    /// requested.
    handoff_summary: Option<HandoffSummary<'a>>,
    /// Guards, and prepared answers to the agent's questions. The keys are those of a plan.
    guards: BTreeMap<&'static str, Vec<String>>,
    /// Commands that would check the work.
    checks: &'a [String],
    /// Reviewer that would read the work after these commands. `None` without one.
    review: Option<ReviewRun<'a>>,
    /// Preset of the policy.
    preset: &'static str,
    /// Effective policy.
    policy: &'a Policy,
    /// Origins of the settings that flags or the configuration changed.
    changed: &'a BTreeMap<String, String>,
    /// Worst case of the policy.
    worst_case: WorstCase,
}

/// A program, its arguments and its working directory.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Command<'a> {
    /// Path of the program.
    program: String,
    /// Arguments of the program.
    args: &'a [String],
    /// Working directory of the program.
    cwd: String,
}

/// Differences between the agent's environment and that of Longhaul.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Env<'a> {
    /// Variables that are added.
    set: Vec<Variable<'a>>,
    /// Names of variables that are removed.
    removed: &'a [&'static str],
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Variable<'a> {
    /// Name of the variable.
    name: &'a str,
    /// Value of the variable.
    value: &'a str,
}

/// Request to a model for a summary of older work.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct HandoffSummary<'a> {
    /// Model to ask.
    model: &'a str,
    /// Command as it would be typed.
    command: String,
    /// Timeout of the request.
    timeout_ms: Span,
}

/// Reviewer of the work.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ReviewRun<'a> {
    /// Model of the reviewer. `None` for the model that the agent chooses.
    model: Option<&'a str>,
    /// Command as it would be typed.
    command: String,
    /// Timeout of one reviewer process.
    timeout_ms: Span,
    /// Maximum number of reviewer processes of one check that fail for another reason than an outage.
    processes_max: u32,
    /// Maximum number of turns of one reviewer process.
    turns_max: u32,
}

pub fn print(
    spec: &RunSpec,
    preset: Preset,
    origins: &BTreeMap<String, String>,
    format: OutputFormat,
) -> Result<u8, Failure> {
    let policy = &spec.policy;
    // The id is drawn when the run starts.
    let new = || SessionPlan::New(SessionId::from("<new session id>"));
    let session = spec.session.clone().unwrap_or_else(new);
    let Environment { finish_tool, hook, .. } = environment();
    let context = AgentContext::new(spec.clone(), RunId::from("<run id>"));
    let context = context.map_err(|error| Failure::unexpected(error.to_string()))?;
    let context = context.with_programs(finish_tool, hook);
    // The agent's own limit on cost is one of its arguments.
    let remaining = policy.limits.remaining(&LimitUsage::default());
    let plan = AttemptPlan { remaining, ..AttemptPlan::new(1, session, PromptKind::Task) };
    let dialect = dialect_named(&spec.agent.name).expect("the flags name an agent");
    let mut invocation = dialect.invocation(&context, &plan, &PriorAttempts::default());
    invocation.env_set.push((MARKER_VARIABLE.to_owned(), format!("{}/<random>", context.run_id)));
    let summary = policy.handoff_summary.as_ref().and_then(|summary| {
        let invocation = dialect.summary_invocation(&context, plan.attempt, &summary.model, "")?;
        let (command, timeout_ms) = (command_line(&invocation), summary.timeout);
        Some(HandoffSummary { model: &summary.model, command, timeout_ms })
    });
    let checks = policy.checks.as_ref().map_or(&[][..], |checks| &checks.commands);
    let review = policy.checks.as_ref().and_then(|checks| checks.review.as_ref()).and_then(|review| {
        let model = review.model.as_deref();
        let request = ReviewRequest { attempt: plan.attempt, model, prompt: "", remaining };
        Some(ReviewRun {
            model: model.or(spec.model.as_deref()),
            command: command_line(&dialect.review_invocation(&context, &request)?),
            timeout_ms: review.timeout,
            processes_max: policy.review_retries_max() + 1,
            turns_max: REVIEW_TURNS_MAX,
        })
    });
    let guards = guards(&spec.guards);
    let worst = policy.worst_case();
    let text = match format {
        OutputFormat::Json | OutputFormat::StreamJson => {
            let variables = invocation.env_set.iter().map(|(name, value)| Variable { name, value });
            let dry_run = DryRun {
                command: Command {
                    program: invocation.program.display().to_string(),
                    args: &invocation.args,
                    cwd: spec.cwd.display().to_string(),
                },
                env: Env { set: variables.collect(), removed: &invocation.env_remove },
                stdin: String::from_utf8_lossy(&invocation.stdin).into_owned(),
                handoff_summary: summary,
                guards,
                checks,
                review,
                preset: preset.as_str(),
                policy,
                changed: origins,
                worst_case: worst,
            };
            output::json(format, &dry_run)
        }
        OutputFormat::Text => {
            let env: Vec<String> = invocation
                .env_set
                .iter()
                .map(|(name, value)| format!("  {name}={}", quoted(value)))
                .collect();
            format!(
                "Command: {}\nDirectory: {}\nEnvironment:\n{}\nRemoved: {}\nStdin: {}{}{}{}{}Policy: {}\n{}{}Worst case without progress: {} requests; \
                 longest wait {}, or until the reset of a usage window{}; elapsed time {}\n",
                command_line(&invocation),
                spec.cwd.display(),
                env.join("\n"),
                invocation.env_remove.join(", "),
                String::from_utf8_lossy(&invocation.stdin),
                summary
                    .map(|HandoffSummary { command, timeout_ms, .. }| {
                        format!("Summary of older work for a new session, within {timeout_ms}: {command}\n")
                    })
                    .unwrap_or_default(),
                guards
                    .iter()
                    .map(|(name, patterns)| format!("{name}: {}\n", patterns.join(", ")))
                    .collect::<String>(),
                checks.iter().map(|check| format!("Check: {check}\n")).collect::<String>(),
                review
                    .map(|ReviewRun { command, timeout_ms, processes_max, turns_max, .. }| {
                        format!(
                            "Review, within {timeout_ms}, {turns_max} turns and {processes_max} processes: {command}\n"
                        )
                    })
                    .unwrap_or_default(),
                preset,
                policy_lines(policy, preset),
                origin_lines(origins),
                worst
                    .requests
                    .map_or_else(|| "unlimited".to_owned(), |requests| format!("at most {requests}")),
                worst.backoff_max,
                worst.park_max.map(|longest| format!(", at most {longest}")).unwrap_or_default(),
                worst.wall_max.map_or_else(|| "unlimited".to_owned(), |longest| format!("at most {longest}")),
            )
        }
    };
    output::print_text(&text);
    Ok(0)
}

fn guards(rules: &GuardRules) -> BTreeMap<&'static str, Vec<String>> {
    let answers = rules.answers.iter().flatten();
    let all = [
        ("allow_tools", rules.allow_tools.clone()),
        ("deny_tools", rules.deny_tools.clone()),
        ("block_urls", rules.block_urls.clone()),
        ("block_paths", rules.block_paths.clone()),
        ("edit_paths", rules.edit_paths.clone()),
        ("answers", answers.map(|(key, answer)| format!("{key}={answer}")).collect()),
    ];
    all.into_iter().filter(|(_, patterns)| !patterns.is_empty()).collect()
}

fn command_line(invocation: &Invocation) -> String {
    let words =
        std::iter::once(invocation.program.display().to_string()).chain(invocation.args.iter().cloned());
    words.map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
}

/// Renders one line for each value. Values with a flag are shown as typed, the others by their name in the
/// plan.
fn policy_lines(policy: &Policy, preset: Preset) -> String {
    let typed = policy.settings().into_iter().map(|(name, value)| {
        // Only the outage limit has an alternative bound.
        (name, value.unwrap_or_else(|| format!("{} retries", policy.retries_max)))
    });
    let as_str = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let timeout_action = serde_json::to_value(policy.attempt_timeout_action).unwrap_or_default();
    let session_loss = serde_json::to_value(policy.session_loss).unwrap_or_default();
    let (checks, summary) = (policy.checks.as_ref(), policy.handoff_summary.as_ref());
    let none = || NONE.to_owned();
    let half = policy.limits.time.into_iter().chain(policy.limits.wall).min().map(|limit| Span(limit.0 / 2));
    let reserve = |reserve: Span| match half.filter(|half| reserve > *half) {
        Some(half) => format!("{}, half of the limit", span(half)),
        None => span(reserve),
    };
    let default_reserve = || "a tenth of the limit, from 30s to 5m".to_owned();
    let others = [
        (
            "wrap_up_reserve",
            policy.wrap_up.map_or_else(none, |wrap_up| wrap_up.reserve.map_or_else(default_reserve, reserve)),
        ),
        ("max_failed_checks", checks.map_or_else(none, |checks| checks.failures_max.to_string())),
        ("check_timeout", checks.and_then(|checks| checks.timeout).map_or_else(none, span)),
        ("keep_going", policy.keep_going.is_some().to_string()),
        ("progress_resets_retries", policy.progress_resets_retries.to_string()),
        ("early_overload_cap", span(policy.early_overload_cap)),
        ("early_overload_period", span(policy.early_overload_period)),
        ("reset_jitter", span(policy.reset_jitter)),
        ("attempt_timeout_action", as_str(timeout_action)),
        ("exit_timeout", span(policy.exit_timeout)),
        ("stop_grace", span(policy.stop_grace)),
        ("allow_denials", policy.allow_denials.to_string()),
        ("session_loss", as_str(session_loss)),
        ("handoff_summary", summary.is_some().to_string()),
        ("summary_timeout", span(summary.map_or(preset.summary_timeout(), |summary| summary.timeout))),
    ];
    typed.chain(others).map(|(name, value)| format!("  {name}: {value}\n")).collect()
}

fn origin_lines(origins: &BTreeMap<String, String>) -> String {
    let set = origins.iter().filter(|(name, origin)| *name != "preset" || origin.contains(' '));
    let lines: String = set.map(|(name, origin)| format!("  {name}: {origin}\n")).collect();
    if lines.is_empty() { lines } else { format!("Set by:\n{lines}") }
}

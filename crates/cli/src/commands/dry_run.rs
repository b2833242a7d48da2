//! `longhaul run --dry-run`: the exact command, the policy, and the worst case. Starts nothing.

use crate::args::OutputFormat;
use crate::failure::Failure;
use crate::policy::ResolvedPolicy;
use longhaul::{MARK_VARIABLE, SessionChoice};
use longhaul_agent::claude::Claude;
use longhaul_agent::{Dialect, Guards, Invocation, Order, Past, ToolPattern};
use longhaul_core::{Policy, RunId, Say, SessionId, SessionPlan, Span, SpawnPlan, Used};
use serde_json::json;
use std::collections::BTreeMap;

/// Prints what a run would do.
pub fn print(
    order: &Order,
    session: &SessionChoice,
    resolved: &ResolvedPolicy,
    format: OutputFormat,
) -> Result<u8, Failure> {
    let session = match session {
        // Drawn when the run starts; a run that is not started draws nothing.
        SessionChoice::New => SessionPlan::New(SessionId::from("<new session id>")),
        SessionChoice::Named(id) => SessionPlan::New(id.clone()),
        SessionChoice::Resume(id) => SessionPlan::Resume(id.clone()),
        SessionChoice::Fork(from) => {
            SessionPlan::Fork { from: from.clone(), to: SessionId::from("<new session id>") }
        }
    };
    let order = &Order { run: RunId::from("<run id>"), ..order.clone() };
    // The agent's own fence on money is among its arguments.
    let left = resolved.policy.limits.left(&Used::default());
    let plan = SpawnPlan { left, ..SpawnPlan::new(1, session, Say::Task) };
    let mut invocation = Claude::new().invocation(order, &plan, &Past::default());
    invocation.env_set.push((MARK_VARIABLE.to_owned(), format!("{}/<drawn for it>", order.run)));
    let summary = order.seed_summary.as_ref().map(|model| {
        let invocation = Claude::new().condense(order, plan.attempt, model, "");
        (model, command_line(&invocation), resolved.policy.condense_timeout)
    });
    let guards = guards(&order.guards);
    let worst = resolved.policy.worst_case();
    let text = match format {
        OutputFormat::Json | OutputFormat::StreamJson => {
            let value = json!({
                "command": { "program": invocation.program, "args": invocation.args, "cwd": order.cwd },
                "env": {
                    "set": invocation.env_set.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect::<Vec<_>>(),
                    "removed": invocation.env_remove,
                },
                "stdin": String::from_utf8_lossy(&invocation.stdin),
                "seed_summary": summary.map(|(model, command, timeout)| json!({
                    "model": model, "command": command, "timeout_ms": timeout.millis(),
                })),
                "guards": guards,
                "checks": order.checks,
                "preset": resolved.preset.word(),
                "policy": resolved.policy,
                "changed": resolved.origins,
                "worst_case": {
                    "requests_without_progress": worst.requests,
                    "longest_backoff_ms": worst.longest_backoff.millis(),
                    "longest_park_ms": worst.longest_park.map(Span::millis),
                },
            });
            format!("{value:#}\n")
        }
        OutputFormat::Text => {
            let env: Vec<String> = invocation
                .env_set
                .iter()
                .map(|(name, value)| format!("  {name}={}", quoted(value)))
                .collect();
            format!(
                "Command: {}\nDirectory: {}\nEnvironment:\n{}\nWithout: {}\nStdin: {}{}{}{}Policy: {}\n{}{}Worst case without progress: {} requests; \
                 longest wait {}, or until the reset of a usage window{}\n",
                command_line(&invocation),
                order.cwd.display(),
                env.join("\n"),
                invocation.env_remove.join(", "),
                String::from_utf8_lossy(&invocation.stdin),
                summary
                    .map(|(_, command, timeout)| {
                        format!("Summary of older work, where a new session is told it, within {timeout}: {command}\n")
                    })
                    .unwrap_or_default(),
                guards.iter().map(|(what, patterns)| format!("{what}: {}\n", patterns.join(", "))).collect::<String>(),
                order.checks.iter().map(|check| format!("Check: {check}\n")).collect::<String>(),
                resolved.preset,
                policy_lines(&resolved.policy),
                origin_lines(&resolved.origins),
                worst
                    .requests
                    .map_or_else(|| "unlimited".to_owned(), |requests| format!("at most {requests}")),
                worst.longest_backoff,
                worst.longest_park.map(|longest| format!(", at most {longest}")).unwrap_or_default(),
            )
        }
    };
    crate::output::print_text(&text);
    Ok(0)
}

/// The guards that are set, by what each is called in a plan.
fn guards(guards: &Guards) -> BTreeMap<&'static str, Vec<String>> {
    let Guards { allow_tools, deny_tools, block_urls, block_paths, answers } = guards;
    let tools = |tools: &[ToolPattern]| tools.iter().map(ToString::to_string).collect();
    let answers = answers.iter().flat_map(|answers| answers.by_key());
    let all: [(_, Vec<String>); 5] = [
        ("allow_tools", tools(allow_tools)),
        ("deny_tools", tools(deny_tools)),
        ("block_urls", block_urls.iter().map(ToString::to_string).collect()),
        ("block_paths", block_paths.texts().to_vec()),
        ("answers", answers.map(|(key, answer)| format!("{key}={answer}")).collect()),
    ];
    all.into_iter().filter(|(_, patterns)| !patterns.is_empty()).collect()
}

/// A command as it would be typed.
fn command_line(invocation: &Invocation) -> String {
    let words =
        std::iter::once(invocation.program.display().to_string()).chain(invocation.args.iter().cloned());
    words.map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
}

/// One line a value, by the names of the plan file.
fn policy_lines(policy: &Policy) -> String {
    let value = serde_json::to_value(policy).expect("a policy has only string keys");
    let entries = value.as_object().into_iter().flatten();
    entries.map(|(name, value)| format!("  {name}: {value}\n")).collect()
}

/// Which values somebody set, and where.
fn origin_lines(origins: &BTreeMap<String, String>) -> String {
    let set = origins.iter().filter(|(name, origin)| *name != "preset" || origin.contains(' '));
    let lines: String = set.map(|(name, origin)| format!("  {name}: {origin}\n")).collect();
    if lines.is_empty() { lines } else { format!("Set by:\n{lines}") }
}

/// A word as a shell would need it, to be copied.
pub fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=@,+".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

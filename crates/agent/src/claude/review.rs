//! Builds the command line of a reviewer. It has tools that only read, and no session, hooks or servers. The task
//! is sent over the input, never in the arguments.

use super::invocation::one_shot;
use crate::review::REVIEW_SCHEMA;
use crate::{AgentContext, Invocation, REVIEW_TURNS_MAX, ReviewRequest};
use serde_json::json;

/// The tools of a reviewer. None of them writes, runs a command or reaches the network.
const TOOLS: [&str; 3] = ["Read", "Grep", "Glob"];

pub(super) fn invocation(context: &AgentContext, request: &ReviewRequest<'_>) -> Invocation {
    let spec = &context.spec;
    let mut args = spec.agent.leading_args.clone();
    let mut add = |words: &[&str]| args.extend(words.iter().map(|word| (*word).to_owned()));
    add(&["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]);
    // The deltas give the usage of a truncated answer.
    add(&["--include-partial-messages", "--no-session-persistence"]);
    // No hooks, servers, memory files or skills, while logins apply. With `dontAsk`, a read outside the working
    // directory is denied (2.1.330).
    add(&["--safe-mode", "--permission-mode", "dontAsk", "--tools", &tools(context).join(",")]);
    add(&["--json-schema", REVIEW_SCHEMA]);
    if let Some(model) = request.model.or(spec.model.as_deref()) {
        add(&["--model", model]);
    }
    if let Some(money) = request.remaining.budget {
        add(&["--max-budget-usd", &format!("{:.6}", money.as_dollars())]);
    }
    let turns = request.remaining.turns.map_or(REVIEW_TURNS_MAX, |turns| turns.min(REVIEW_TURNS_MAX));
    add(&["--max-turns", &turns.to_string()]);
    let denied = denied_reads(context);
    if !denied.is_empty() {
        add(&["--settings", &json!({ "permissions": { "deny": denied } }).to_string()]);
    }
    one_shot(context, request.attempt, args, request.prompt)
}

fn tools(context: &AgentContext) -> Vec<&'static str> {
    TOOLS.into_iter().filter(|tool| !context.guards().denies_tool(tool)).collect()
}

/// Returns permission rules that deny reading blocked paths. Searches obey them, too (2.1.330).
fn denied_reads(context: &AgentContext) -> Vec<String> {
    let paths = context.guards().block_paths.absolute_paths();
    // A leading `//` starts at the root of the file system.
    paths.flat_map(|path| [format!("Read(/{path})"), format!("Read(/{path}/**)")]).collect()
}

#[cfg(test)]
mod tests {
    use super::invocation;
    use crate::prompts::tests::context;
    use crate::{AgentContext, ReviewRequest};
    use expect_test::{Expect, expect};
    use longhaul_core::{Remaining, Usd};

    fn check(context: &AgentContext, model: Option<&str>, remaining: Remaining, expected: Expect) {
        let request = ReviewRequest { attempt: 3, model, prompt: "Review this.", remaining };
        let found = invocation(context, &request);
        assert!(!found.input_outlives_supervisor);
        assert!(String::from_utf8_lossy(&found.stdin).contains("Review this."));
        let args = found.args.iter().map(|arg| if arg.starts_with(r#"{"type"#) { "SCHEMA" } else { arg });
        let args = args.collect::<Vec<_>>().join(" ");
        assert!(!args.contains("Review this."), "the prompt is not an argument");
        expected.assert_eq(&args);
    }

    #[test]
    fn builds_command_lines() {
        check(
            &context(|_| ()),
            None,
            Remaining::default(),
            expect![
                "-p --input-format stream-json --output-format stream-json --verbose --include-partial-messages --no-session-persistence --safe-mode --permission-mode dontAsk --tools Read,Grep,Glob --json-schema SCHEMA --max-turns 60"
            ],
        );
        let all = context(|spec| {
            spec.agent.leading_args = vec!["drill-agent".to_owned()];
            spec.agent.args = vec!["--dangerously-skip-permissions".to_owned()];
            spec.permission_mode = Some("bypassPermissions".to_owned());
            spec.model = Some("opus".to_owned());
        });
        check(
            &all,
            None,
            Remaining::default(),
            expect![
                "drill-agent -p --input-format stream-json --output-format stream-json --verbose --include-partial-messages --no-session-persistence --safe-mode --permission-mode dontAsk --tools Read,Grep,Glob --json-schema SCHEMA --model opus --max-turns 60"
            ],
        );
        let remaining = Remaining { budget: Some(Usd(1_500_000)), turns: Some(7), ..Remaining::default() };
        check(
            &all,
            Some("haiku"),
            remaining,
            expect![
                "drill-agent -p --input-format stream-json --output-format stream-json --verbose --include-partial-messages --no-session-persistence --safe-mode --permission-mode dontAsk --tools Read,Grep,Glob --json-schema SCHEMA --model haiku --max-budget-usd 1.500000 --max-turns 7"
            ],
        );
    }

    #[test]
    fn guards_apply_to_reading() {
        let guarded = context(|spec| {
            spec.guards.deny_tools = vec!["G*".to_owned()];
            spec.guards.block_paths = vec!["./secrets".to_owned(), "/etc/".to_owned(), "~/.ssh".to_owned()];
            spec.guards.home = Some("/home/me".to_owned());
        });
        check(
            &guarded,
            None,
            Remaining::default(),
            expect![[
                r#"-p --input-format stream-json --output-format stream-json --verbose --include-partial-messages --no-session-persistence --safe-mode --permission-mode dontAsk --tools Read --json-schema SCHEMA --max-turns 60 --settings {"permissions":{"deny":["Read(//home/demo/project/secrets)","Read(//home/demo/project/secrets/**)","Read(//etc)","Read(//etc/**)","Read(//home/me/.ssh)","Read(//home/me/.ssh/**)"]}}"#
            ]],
        );
    }
}

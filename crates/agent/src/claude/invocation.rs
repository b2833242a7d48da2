//! Builds the command line, environment and first input of an attempt. The task is sent over the input, never
//! in the arguments.

use super::control::user_line;
use super::environment::ENVIRONMENT;
use super::guard_hooks::register;
use super::learn_hooks;
use super::questions::ENABLING_ARGS;
use crate::done_claim::FINISH;
use crate::prompts::prompt;
use crate::{AgentContext, Invocation, PriorAttempts, Program, ResumePoint};
use longhaul_core::{AttemptPlan, SessionPlan};
use serde_json::{Map, Value, json};

/// Variables to remove. Most belong to a surrounding Claude Code: the agent would treat it as its host, and
/// keep no session or adopt its effort. One enables the agent's own endless retries.
const ENV_REMOVED: [&str; 14] = [
    "CLAUDECODE",
    "CLAUDE_CODE_BRIDGE_SESSION_ID",
    "CLAUDE_CODE_CHILD_NOTES_DIR",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_LAUNCHED_BY_SESSION_IDS",
    // Only one layer may wait for the API, and that is Longhaul.
    ENVIRONMENT.retry_watchdog,
    "CLAUDE_CODE_SESSION_ATTENDED",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SESSION_KIND",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_EFFORT",
    "CLAUDE_JOB_DIR",
    "CLAUDE_PID",
];

/// Replaces the agent's own instructions: about 7,000 tokens on work with tools, which a summary does not
/// need. The task is in the prompt.
const SUMMARY_SYSTEM_PROMPT: &str = "You write summaries of records.";

/// Disables the tools by which an agent ends its exchange and continues later (2.1.330). The run would be over then:
/// nothing in the stream shows a scheduled wake-up.
const NO_WAKE_UPS: &str = "--disallowedTools=CronCreate,ScheduleWakeup";

/// Disables the agent's own web tools, which run outside the sandbox.
const NO_WEB_TOOLS: &str = "--disallowedTools=WebFetch,WebSearch";

pub(super) fn invocation(context: &AgentContext, plan: &AttemptPlan, prior: &PriorAttempts) -> Invocation {
    // An agent that asks before each call waits while no supervisor runs.
    let spec = &context.spec;
    let needs_replies = !context.guards().is_empty() || spec.policy.needs_supervisor();
    let guards = if needs_replies { register() } else { Vec::new() };
    let prompt = prompt(context, plan, prior);
    Invocation {
        program: spec.agent.program.clone(),
        args: args(context, plan, prior),
        cwd: spec.cwd.clone(),
        env_set: env_set(context, plan.attempt),
        env_remove: ENV_REMOVED.to_vec(),
        stdin: [guards, user_line(&prompt)].concat(),
        prompt,
        input_outlives_supervisor: needs_replies,
    }
}

/// Returns the invocation that makes a model answer once, for a summary of older work. It omits the user's
/// own arguments, because they are for the work.
pub(super) fn summary_invocation(
    context: &AgentContext,
    attempt: u32,
    model: &str,
    prompt: &str,
) -> Invocation {
    let mut args = context.spec.agent.leading_args.clone();
    let summary_args = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
        .into_iter()
        // The deltas give the usage of a truncated answer.
        .chain(["--include-partial-messages", "--no-session-persistence", "--max-turns", "1"])
        // No tools, hooks, servers, memory files or skills, while logins and settings apply (2.1.330).
        .chain(["--tools", "", "--safe-mode", "--system-prompt", SUMMARY_SYSTEM_PROMPT, "--model", model]);
    args.extend(summary_args.map(str::to_owned));
    one_shot(context, attempt, args, prompt)
}

/// Returns the invocation of a process that answers one prompt and exits.
pub(super) fn one_shot(context: &AgentContext, attempt: u32, args: Vec<String>, prompt: &str) -> Invocation {
    Invocation {
        program: context.spec.agent.program.clone(),
        args,
        cwd: context.spec.cwd.clone(),
        env_set: env_set(context, attempt),
        env_remove: ENV_REMOVED.to_vec(),
        stdin: user_line(prompt),
        prompt: prompt.to_owned(),
        input_outlives_supervisor: false,
    }
}

fn args(context: &AgentContext, plan: &AttemptPlan, prior: &PriorAttempts) -> Vec<String> {
    let (spec, guards) = (&context.spec, context.guards());
    let mut args = spec.agent.leading_args.clone();
    let mut add = |words: &[&str]| args.extend(words.iter().map(|word| (*word).to_owned()));
    add(&["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]);
    // Deltas show activity while the model writes, and contain each message's final usage.
    add(&["--include-partial-messages"]);
    // The agent rejects `--session-id` with `--resume` unless it forks; `--continue` silently starts a new
    // session.
    match &plan.session {
        SessionPlan::New(id) => add(&["--session-id", id.as_str()]),
        SessionPlan::Resume(id) => add(&["--resume", id.as_str()]),
        SessionPlan::Fork { from, to } => {
            add(&["--resume", from.as_str(), "--fork-session", "--session-id", to.as_str()]);
        }
    }
    // Only a session that is resumed or forked has such a point.
    if let Some(ResumePoint { message, .. }) = &prior.resume_at {
        add(&["--resume-session-at", message]);
    }
    if let Some(model) = &spec.model {
        add(&["--model", model]);
    }
    if let Some(mode) = &spec.permission_mode {
        add(&["--permission-mode", mode]);
    }
    if let Some(schema) = &spec.result_schema {
        add(&["--json-schema", schema]);
    }
    // A second safeguard for times without a supervisor. The agent enforces it per process.
    if let Some(money) = plan.remaining.budget {
        add(&["--max-budget-usd", &format!("{:.6}", money.as_dollars())]);
    }
    // Otherwise the agent sends its next request before our stop arrives. The agent restarts this count at
    // each prompt.
    if let Some(turns) = plan.remaining.turns {
        add(&["--max-turns", &turns.to_string()]);
    }
    if guards.answers.is_some() {
        add(&ENABLING_ARGS);
    }
    // A project's hook can rewrite a call after our verdict; its event shows the rewrite.
    if !guards.is_empty() {
        add(&["--include-hook-events"]);
    }
    args.extend(context.finish_tool.iter().flat_map(finish_tool_args));
    args.extend(settings(context));
    args.push(NO_WAKE_UPS.to_owned());
    args.extend(spec.network.as_ref().map(|_| NO_WEB_TOOLS.to_owned()));
    args.extend(spec.agent.args.iter().cloned());
    args
}

/// Returns the settings that override the user's own. The agent uses only the last flag of this kind
/// (2.1.330).
fn settings(context: &AgentContext) -> Vec<String> {
    let spec = &context.spec;
    let sandbox = spec.network.as_ref().map(|hosts| ("sandbox".to_owned(), sandbox(hosts)));
    let learn = spec.learn.as_ref().zip(context.hook.as_ref());
    let hooks = learn.map(|(learn, hook)| ("hooks".to_owned(), learn_hooks::hooks(learn, hook)));
    // The agent runs commands inside skills without calling a hook (2.1.330).
    let must_disable = context.guards().must_disable_skill_commands();
    let skills = must_disable.then(|| ("disableSkillShellExecution".to_owned(), Value::Bool(true)));
    let settings: Map<String, Value> = sandbox.into_iter().chain(hooks).chain(skills).collect();
    if settings.is_empty() {
        return Vec::new();
    }
    vec!["--settings".to_owned(), Value::Object(settings).to_string()]
}

/// Returns the arguments that offer the finish tool, with which the agent claims that its work is done. They add to
/// the user's own servers and to further flags of the same kind (2.1.330).
fn finish_tool_args(program: &Program) -> [String; 2] {
    let server = json!({
        "type": "stdio",
        "command": program.path,
        "args": program.leading_args,
        // Without this, a model finds the tool only by searching for it (2.1.330).
        "alwaysLoad": true,
    });
    let servers = json!({ "mcpServers": { "longhaul-run": server } });
    // The rule applies in every permission mode; in plan mode because the server declares the tool read-only.
    // Both flags take any number of values, so each must be joined to its value.
    [format!("--mcp-config={servers}"), format!("--allowedTools={FINISH}")]
}

/// Returns the `sandbox` object of the settings. Every command then reaches only these hosts, through the
/// agent's proxy (2.1.330).
fn sandbox(hosts: &[String]) -> Value {
    // Denials override allowances in other settings, but `*` would also deny the requested hosts.
    let denied: &[&str] = if hosts.is_empty() { &["*"] } else { &[] };
    json!({
        "enabled": true,
        // An agent that cannot enforce the restriction must not start.
        "failIfUnavailable": true,
        "allowUnsandboxedCommands": false,
        // The permission mode still applies.
        "autoAllowBashIfSandboxed": false,
        // Files are controlled by the permission mode. The agent's settings stay protected, because write
        // access to them could open the network.
        "filesystem": { "allowWrite": ["/"] },
        // Without `strictAllowlist`, a mode that asks no person allows every host.
        "network": { "allowedDomains": hosts, "deniedDomains": denied, "strictAllowlist": true },
    })
}

fn env_set(context: &AgentContext, attempt: u32) -> Vec<(String, String)> {
    [
        // Makes a failed start report a typed reason in the stream.
        ("CLAUDE_CODE_STARTUP_FAILURE_RESULTS", "1".to_owned()),
        // Makes the agent report `idle`. Only then is no further result due; after a result, one may be.
        ("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1".to_owned()),
        (ENVIRONMENT.max_retries, context.spec.policy.inner_retries.to_string()),
        ("DISABLE_AUTOUPDATER", "1".to_owned()),
        ("LONGHAUL_RUN", context.run_id.to_string()),
        ("LONGHAUL_ATTEMPT", attempt.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

#[cfg(test)]
mod tests {
    use super::{invocation, summary_invocation};
    use crate::prompts::tests::context;
    use crate::{AgentContext, PriorAttempts, Program, ResumePoint};
    use expect_test::{Expect, expect};
    use longhaul_core::{AttemptPlan, Fault, Limit, PromptKind, SessionId, SessionPlan};
    use std::collections::{BTreeMap, BTreeSet};

    fn check(context: &AgentContext, session: SessionPlan, kind: PromptKind, expected: Expect) {
        let found = invocation(context, &AttemptPlan::new(2, session, kind), &PriorAttempts::default());
        let stdin = String::from_utf8(found.stdin).expect("JSON is UTF-8");
        expected.assert_eq(&format!("{} {}\n{stdin}", found.program.display(), found.args.join(" ")));
    }

    /// Returns the context of a run with all settings of the command line.
    fn all_settings() -> AgentContext {
        context(|spec| {
            spec.agent.program = "/bin/longhaul".into();
            spec.agent.leading_args = vec!["drill-agent".to_owned()];
            spec.agent.args = vec!["--max-turns".to_owned(), "9".to_owned()];
            spec.model = Some("opus".to_owned());
            spec.permission_mode = Some("acceptEdits".to_owned());
        })
    }

    #[test]
    fn builds_command_lines() {
        let (old, new) = (SessionId::from("11111111-old"), SessionId::from("22222222-new"));
        check(
            &context(|_| ()),
            SessionPlan::New(new.clone()),
            PromptKind::Task,
            expect![[r#"
                /bin/claude -p --input-format stream-json --output-format stream-json --verbose --include-partial-messages --session-id 22222222-new --disallowedTools=CronCreate,ScheduleWakeup
                {"message":{"content":"Fix the tests.","role":"user"},"parent_tool_use_id":null,"session_id":"","type":"user"}
            "#]],
        );
        check(
            &context(|_| ()),
            SessionPlan::Resume(old.clone()),
            PromptKind::Continue(Fault::Overloaded),
            expect![[r#"
                /bin/claude -p --input-format stream-json --output-format stream-json --verbose --include-partial-messages --resume 11111111-old --disallowedTools=CronCreate,ScheduleWakeup
                {"message":{"content":"The work was interrupted: the API was overloaded for a while. Continue with the task. Before you repeat a step, check whether it has already taken effect: the last commands may have run in full, in part or not at all.","role":"user"},"parent_tool_use_id":null,"session_id":"","type":"user"}
            "#]],
        );
        let all = all_settings();
        check(
            &all,
            SessionPlan::Fork { from: old, to: new },
            PromptKind::Task,
            expect![[r#"
                /bin/longhaul drill-agent -p --input-format stream-json --output-format stream-json --verbose --include-partial-messages --resume 11111111-old --fork-session --session-id 22222222-new --model opus --permission-mode acceptEdits --disallowedTools=CronCreate,ScheduleWakeup --max-turns 9
                {"message":{"content":"Fix the tests.","role":"user"},"parent_tool_use_id":null,"session_id":"","type":"user"}
            "#]],
        );
    }

    #[test]
    fn resumes_before_wrap_up() {
        let plan = AttemptPlan::new(
            2,
            SessionPlan::Resume("11111111-old".into()),
            PromptKind::LimitRaised(Limit::Time),
        );
        let resume_at = Some(ResumePoint {
            message: "33333333-message".to_owned(),
            is_wrap_up_answered: Some(true),
            ended_tasks: vec!["Background command \"make\" completed (exit code 0)".to_owned()],
        });
        let visible_tool_results = Some(BTreeSet::new());
        let prior = PriorAttempts { resume_at, visible_tool_results, ..PriorAttempts::default() };
        let found = invocation(&context(|_| ()), &plan, &prior);
        let resume_args = ["--resume", "11111111-old", "--resume-session-at", "33333333-message"];
        let expected = resume_args.map(str::to_owned);
        assert!(found.args.windows(4).any(|args| args == expected), "{:?}", found.args);
        expect![[r#"
            The work stopped because the time limit was reached. The limit has been raised. Continue with the task: look at the state of the workspace first, since the last commands may have run in full, in part or not at all.

            After the last message in this conversation, you saved your work. Read `git log`, if this is a git repository, and your notes about the next steps.

            Ended already, though this conversation does not show it; look before you repeat:
            - `Background command "make" completed (exit code 0)`"#]].assert_eq(&found.prompt);
    }

    #[test]
    fn enables_questions_with_answers() {
        let context = context(|spec| {
            spec.guards.answers = Some(BTreeMap::new());
            spec.permission_mode = Some("acceptEdits".to_owned());
        });
        check(
            &context,
            SessionPlan::New(SessionId::from("22222222-new")),
            PromptKind::Task,
            expect![[r#"
                /bin/claude -p --input-format stream-json --output-format stream-json --verbose --include-partial-messages --session-id 22222222-new --permission-mode acceptEdits --permission-prompt-tool stdio --disallowedTools=EnterPlanMode,ExitPlanMode --include-hook-events --disallowedTools=CronCreate,ScheduleWakeup
                {"request":{"hooks":{"PreToolUse":[{"hookCallbackIds":["longhaul-guard"],"matcher":null,"onFailure":"block","timeout":86400}]},"subtype":"initialize"},"request_id":"longhaul-initialize","type":"control_request"}
                {"message":{"content":"Fix the tests.","role":"user"},"parent_tool_use_id":null,"session_id":"","type":"user"}
            "#]],
        );
    }

    #[test]
    fn offers_finish_tool() {
        let finish = Program { path: "/bin/longhaul".into(), leading_args: vec!["finish-tool".to_owned()] };
        let mut context = context(|spec| spec.agent.args = vec!["--max-turns".to_owned(), "9".to_owned()]);
        context.finish_tool = Some(finish);
        check(
            &context,
            SessionPlan::New(SessionId::from("22222222-new")),
            PromptKind::Task,
            expect![[r#"
                /bin/claude -p --input-format stream-json --output-format stream-json --verbose --include-partial-messages --session-id 22222222-new --mcp-config={"mcpServers":{"longhaul-run":{"alwaysLoad":true,"args":["finish-tool"],"command":"/bin/longhaul","type":"stdio"}}} --allowedTools=mcp__longhaul-run__finish --disallowedTools=CronCreate,ScheduleWakeup --max-turns 9
                {"message":{"content":"Fix the tests.","role":"user"},"parent_tool_use_id":null,"session_id":"","type":"user"}
            "#]],
        );
    }

    #[test]
    fn restricts_network() {
        let check = |hosts: &[&str], expected: Expect| {
            let network = hosts.iter().map(ToString::to_string).collect();
            let session = SessionPlan::New(SessionId::from("22222222-new"));
            check(&context(|spec| spec.network = Some(network)), session, PromptKind::Task, expected);
        };
        check(
            &[],
            expect![[r#"
                /bin/claude -p --input-format stream-json --output-format stream-json --verbose --include-partial-messages --session-id 22222222-new --settings {"sandbox":{"allowUnsandboxedCommands":false,"autoAllowBashIfSandboxed":false,"enabled":true,"failIfUnavailable":true,"filesystem":{"allowWrite":["/"]},"network":{"allowedDomains":[],"deniedDomains":["*"],"strictAllowlist":true}}} --disallowedTools=CronCreate,ScheduleWakeup --disallowedTools=WebFetch,WebSearch
                {"message":{"content":"Fix the tests.","role":"user"},"parent_tool_use_id":null,"session_id":"","type":"user"}
            "#]],
        );
        check(
            &["example.com", "*.example.org:443"],
            expect![[r#"
                /bin/claude -p --input-format stream-json --output-format stream-json --verbose --include-partial-messages --session-id 22222222-new --settings {"sandbox":{"allowUnsandboxedCommands":false,"autoAllowBashIfSandboxed":false,"enabled":true,"failIfUnavailable":true,"filesystem":{"allowWrite":["/"]},"network":{"allowedDomains":["example.com","*.example.org:443"],"deniedDomains":[],"strictAllowlist":true}}} --disallowedTools=CronCreate,ScheduleWakeup --disallowedTools=WebFetch,WebSearch
                {"message":{"content":"Fix the tests.","role":"user"},"parent_tool_use_id":null,"session_id":"","type":"user"}
            "#]],
        );
    }

    #[test]
    fn builds_summary_invocation() {
        let all = all_settings();
        let found = summary_invocation(&all, 3, "haiku", "Summarize this.");
        let stdin = String::from_utf8(found.stdin).expect("JSON is UTF-8");
        let variables = found.env_set.iter().filter(|(name, _)| name.starts_with("LONGHAUL_"));
        let variables: Vec<_> = variables.map(|(name, value)| format!("{name}={value}")).collect();
        expect![[r#"
            ["drill-agent", "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-partial-messages", "--no-session-persistence", "--max-turns", "1", "--tools", "", "--safe-mode", "--system-prompt", "You write summaries of records.", "--model", "haiku"]
            LONGHAUL_RUN=kqzr LONGHAUL_ATTEMPT=3
            {"message":{"content":"Summarize this.","role":"user"},"parent_tool_use_id":null,"session_id":"","type":"user"}
        "#]].assert_eq(&format!("{:?}\n{}\n{stdin}", found.args, variables.join(" ")));
    }

    #[test]
    fn sets_environment() {
        let plan = AttemptPlan::new(2, SessionPlan::New(SessionId::from("a")), PromptKind::Task);
        let found = invocation(&context(|_| ()), &plan, &PriorAttempts::default());
        let set: Vec<_> = found.env_set.iter().map(|(name, value)| format!("{name}={value}")).collect();
        expect![[r#"
            CLAUDE_CODE_STARTUP_FAILURE_RESULTS=1
            CLAUDE_CODE_SDK_READS_SESSION_STATE=1
            CLAUDE_CODE_MAX_RETRIES=4
            DISABLE_AUTOUPDATER=1
            LONGHAUL_RUN=kqzr
            LONGHAUL_ATTEMPT=2"#]]
        .assert_eq(&set.join("\n"));
        let conflict = found.env_set.iter().find(|(name, _)| found.env_remove.contains(&name.as_str()));
        assert_eq!(conflict, None, "set and removed");
    }
}

//! How to start the agent for one attempt. The task goes over its input, never into its arguments.

use super::control::user_line;
use super::environment::{MAX_RETRIES, RETRY_WATCHDOG};
use super::finish_tool;
use super::guard_hooks::register;
use super::learn_hooks;
use super::network;
use super::prompts::prompt;
use super::questions::OFFERED;
use crate::{AgentSpec, Invocation, PriorAttempts};
use longhaul_core::{AttemptPlan, SessionPlan};
use serde_json::{Map, Value};

/// Variables by which a Claude Code notices that it was started inside another one, and would then
/// take it for its host, keep no session or join its effort; and the agent's own endless retries.
const ENV_REMOVED: [&str; 14] = [
    "CLAUDECODE",
    "CLAUDE_CODE_BRIDGE_SESSION_ID",
    "CLAUDE_CODE_CHILD_NOTES_DIR",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_LAUNCHED_BY_SESSION_IDS",
    // Two layers must not both wait: waiting is ours.
    RETRY_WATCHDOG,
    "CLAUDE_CODE_SESSION_ATTENDED",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SESSION_KIND",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_EFFORT",
    "CLAUDE_JOB_DIR",
    "CLAUDE_PID",
];

/// Flags that decide which conversation is held and how it is read: they are ours to set. A second one
/// would win, and the run would follow another session, or none.
pub const RESERVED: &[&str] = &[
    "-c",
    "--continue",
    "--fork-session",
    "--from-pr",
    "--input-format",
    "--no-session-persistence",
    "--output-format",
    "-r",
    "--resume",
    "--resume-session-at",
    "--session-id",
];

/// In the place of the agent's own instructions, which are some 7,000 tokens about work with tools. What is to
/// be done is in the prompt.
const CONDENSER: &str = "You write summaries of records.";

pub(super) fn invocation(order: &AgentSpec, plan: &AttemptPlan, past: &PriorAttempts) -> Invocation {
    // An agent that asks before each call waits where nobody is there to answer.
    let asks = !order.guards.is_empty() || order.needs_supervisor;
    let guards = if asks { register() } else { Vec::new() };
    let prompt = prompt(order, plan, past);
    Invocation {
        program: order.program.path.clone(),
        args: args(order, plan, past),
        cwd: order.cwd.clone(),
        env_set: env_set(order, plan.attempt),
        env_remove: ENV_REMOVED.to_vec(),
        stdin: [guards, user_line(&prompt)].concat(),
        prompt,
        input_outlives_supervisor: asks,
    }
}

/// One answer of a model, for older work that is to be condensed. The user's own arguments are for the work, and
/// are not among these.
pub(super) fn summary_args(order: &AgentSpec, attempt: u32, model: &str, prompt: &str) -> Invocation {
    let mut args = order.program.leading_args.clone();
    let ours = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
        .into_iter()
        // A cut answer is billed by its deltas.
        .chain(["--include-partial-messages", "--no-session-persistence", "--max-turns", "1"])
        // No tools; no hooks, servers, memory files or skills either, while logins and settings hold (2.1.330).
        .chain(["--tools", "", "--safe-mode", "--system-prompt", CONDENSER, "--model", model]);
    args.extend(ours.map(str::to_owned));
    Invocation {
        program: order.program.path.clone(),
        args,
        cwd: order.cwd.clone(),
        env_set: env_set(order, attempt),
        env_remove: ENV_REMOVED.to_vec(),
        stdin: user_line(prompt),
        prompt: prompt.to_owned(),
        input_outlives_supervisor: false,
    }
}

fn args(order: &AgentSpec, plan: &AttemptPlan, past: &PriorAttempts) -> Vec<String> {
    let mut args = order.program.leading_args.clone();
    let mut add = |words: &[&str]| args.extend(words.iter().map(|word| (*word).to_owned()));
    add(&["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]);
    // Deltas are the sign of life while the model writes, and carry each message's final usage.
    add(&["--include-partial-messages"]);
    // `--session-id` beside `--resume` is refused without a fork; `--continue` silently begins anew.
    match &plan.session {
        SessionPlan::New(id) => add(&["--session-id", id.as_str()]),
        SessionPlan::Resume(id) => {
            add(&["--resume", id.as_str()]);
            if let Some(message) = &past.resume_at {
                add(&["--resume-session-at", message]);
            }
        }
        SessionPlan::Fork { from, to } => {
            add(&["--resume", from.as_str(), "--fork-session", "--session-id", to.as_str()]);
        }
    }
    if let Some(model) = &order.model {
        add(&["--model", model]);
    }
    if let Some(mode) = &order.permission_mode {
        add(&["--permission-mode", mode]);
    }
    // Our count comes first; this is a second fence, for a moment in which nobody counts. It is one process's.
    if let Some(money) = plan.remaining.budget {
        add(&["--max-budget-usd", &format!("{:.6}", money.as_dollars())]);
    }
    // Else the agent sends its next request before our stop reaches it. It counts for each of our messages again.
    if let Some(turns) = plan.remaining.turns {
        add(&["--max-turns", &turns.to_string()]);
    }
    if order.guards.answers.is_some() {
        add(&OFFERED);
    }
    // A hook of the project can rewrite a call after our verdict; its event shows the rewrite.
    if !order.guards.is_empty() {
        add(&["--include-hook-events"]);
    }
    args.extend(order.finish_tool.iter().flat_map(finish_tool::args));
    args.extend(settings(order));
    args.extend(order.network.as_ref().map(|_| network::NOT_OFFERED.to_owned()));
    args.extend(order.extra_args.iter().cloned());
    args
}

/// What we set over the user's own settings. Of two such flags the agent takes the later one alone (2.1.330).
fn settings(order: &AgentSpec) -> Vec<String> {
    let sandbox = order.network.as_ref().map(|network| ("sandbox".to_owned(), network::sandbox(network)));
    let hooks = order.learn.as_ref().map(|learn| ("hooks".to_owned(), learn_hooks::hooks(learn)));
    // The agent runs the commands inside of skills without asking a hook (2.1.330).
    let disables = order.guards.disable_skill_commands();
    let skills = disables.then(|| ("disableSkillShellExecution".to_owned(), Value::Bool(true)));
    let settings: Map<String, Value> = sandbox.into_iter().chain(hooks).chain(skills).collect();
    if settings.is_empty() {
        return Vec::new();
    }
    vec!["--settings".to_owned(), Value::Object(settings).to_string()]
}

fn env_set(order: &AgentSpec, attempt: u32) -> Vec<(String, String)> {
    [
        // A refused start then says so in the stream, with a typed reason.
        ("CLAUDE_CODE_STARTUP_FAILURE_RESULTS", "1".to_owned()),
        // `idle`, not the first result, means that no turn is owed.
        ("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1".to_owned()),
        (MAX_RETRIES, order.inner_retries.to_string()),
        ("DISABLE_AUTOUPDATER", "1".to_owned()),
        ("LONGHAUL_RUN", order.run_id.to_string()),
        ("LONGHAUL_ATTEMPT", attempt.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

#[cfg(test)]
pub(super) mod tests {
    use super::{invocation, summary_args};
    use crate::{AgentSpec, Answers, Guards, Network, PriorAttempts, Program};
    use expect_test::{Expect, expect};
    use longhaul_core::{AttemptPlan, Fault, Limit, PromptKind, RunId, SessionId, SessionPlan};

    pub(in crate::claude) fn order() -> AgentSpec {
        AgentSpec {
            program: Program { path: "/bin/claude".into(), leading_args: Vec::new() },
            cwd: "/home/demo/project".into(),
            prompt: "Fix the tests.".to_owned(),
            follow_ups: Vec::new(),
            model: None,
            permission_mode: None,
            guards: Guards::default(),
            needs_supervisor: false,
            checks: Vec::new(),
            finish_tool: None,
            done_when: None,
            wrap_up_prompt: None,
            network: None,
            learn: None,
            extra_args: Vec::new(),
            handoff_tokens: 12_000,
            handoff_summary: None,
            inner_retries: 4,
            run_id: RunId::from("kqzr"),
        }
    }

    fn check(order: &AgentSpec, session: SessionPlan, say: PromptKind, expected: Expect) {
        let found = invocation(order, &AttemptPlan::new(2, session, say), &PriorAttempts::default());
        let stdin = String::from_utf8(found.stdin).expect("JSON is UTF-8");
        expected.assert_eq(&format!("{} {}\n{stdin}", found.program.display(), found.args.join(" ")));
    }

    #[test]
    fn command_lines() {
        let (old, new) = (SessionId::from("11111111-old"), SessionId::from("22222222-new"));
        check(
            &order(),
            SessionPlan::New(new.clone()),
            PromptKind::Task,
            expect![[r#"
            /bin/claude -p --input-format stream-json --output-format stream-json --verbose --include-partial-messages --session-id 22222222-new
            {"message":{"content":"Fix the tests.","role":"user"},"parent_tool_use_id":null,"session_id":"","type":"user"}
        "#]],
        );
        check(
            &order(),
            SessionPlan::Resume(old.clone()),
            PromptKind::Continue(Fault::Overloaded),
            expect![[r#"
            /bin/claude -p --input-format stream-json --output-format stream-json --verbose --include-partial-messages --resume 11111111-old
            {"message":{"content":"The work was interrupted: the API was overloaded for a while. Continue with the task. Before you repeat a step, look whether it has taken effect already: the last commands may have run in full, in part or not at all.","role":"user"},"parent_tool_use_id":null,"session_id":"","type":"user"}
        "#]],
        );
        let all = AgentSpec {
            program: Program { path: "/bin/longhaul".into(), leading_args: vec!["drill-agent".to_owned()] },
            model: Some("opus".to_owned()),
            permission_mode: Some("acceptEdits".to_owned()),
            extra_args: vec!["--max-turns".to_owned(), "9".to_owned()],
            ..order()
        };
        check(
            &all,
            SessionPlan::Fork { from: old, to: new },
            PromptKind::Task,
            expect![[r#"
            /bin/longhaul drill-agent -p --input-format stream-json --output-format stream-json --verbose --include-partial-messages --resume 11111111-old --fork-session --session-id 22222222-new --model opus --permission-mode acceptEdits --max-turns 9
            {"message":{"content":"Fix the tests.","role":"user"},"parent_tool_use_id":null,"session_id":"","type":"user"}
        "#]],
        );
    }

    #[test]
    fn an_agent_goes_on_from_before_it_saved_its_work() {
        let plan = AttemptPlan::new(
            2,
            SessionPlan::Resume("11111111-old".into()),
            PromptKind::LimitRaised(Limit::Time),
        );
        let past =
            PriorAttempts { resume_at: Some("33333333-message".to_owned()), ..PriorAttempts::default() };
        let found = invocation(&order(), &plan, &past);
        let at = ["--resume", "11111111-old", "--resume-session-at", "33333333-message"];
        assert!(found.args.ends_with(&at.map(str::to_owned)), "{:?}", found.args);
        expect!["The work stopped because the time limit was reached. The limit has been raised. Continue with the task: look at the state of the workspace first, since the last commands may have run in full, in part or not at all.\n\nWork was saved after the last message in this conversation: what was not committed then may be committed now. Look at `git log`, if this is a git repository, and at what was written down on what comes next."].assert_eq(&found.prompt);
    }

    #[test]
    fn an_agent_that_is_answered_may_ask() {
        let guards = Guards { answers: Some(Answers::default()), ..Guards::default() };
        check(
            &AgentSpec { guards, permission_mode: Some("acceptEdits".to_owned()), ..order() },
            SessionPlan::New(SessionId::from("22222222-new")),
            PromptKind::Task,
            expect![[r#"
                /bin/claude -p --input-format stream-json --output-format stream-json --verbose --include-partial-messages --session-id 22222222-new --permission-mode acceptEdits --permission-prompt-tool stdio --disallowedTools=EnterPlanMode,ExitPlanMode --include-hook-events
                {"request":{"hooks":{"PreToolUse":[{"hookCallbackIds":["longhaul-guard"],"matcher":null,"onFailure":"block","timeout":86400}]},"subtype":"initialize"},"request_id":"longhaul-initialize","type":"control_request"}
                {"message":{"content":"Fix the tests.","role":"user"},"parent_tool_use_id":null,"session_id":"","type":"user"}
            "#]],
        );
    }

    #[test]
    fn an_agent_is_offered_a_tool_to_finish_with() {
        let finish = Program { path: "/bin/longhaul".into(), leading_args: vec!["finish-tool".to_owned()] };
        check(
            &AgentSpec {
                finish_tool: Some(finish),
                extra_args: vec!["--max-turns".to_owned(), "9".to_owned()],
                ..order()
            },
            SessionPlan::New(SessionId::from("22222222-new")),
            PromptKind::Task,
            expect![[r#"
                /bin/claude -p --input-format stream-json --output-format stream-json --verbose --include-partial-messages --session-id 22222222-new --mcp-config={"mcpServers":{"longhaul":{"alwaysLoad":true,"args":["finish-tool"],"command":"/bin/longhaul","type":"stdio"}}} --allowedTools=mcp__longhaul__finish --max-turns 9
                {"message":{"content":"Fix the tests.","role":"user"},"parent_tool_use_id":null,"session_id":"","type":"user"}
            "#]],
        );
    }

    #[test]
    fn commands_are_held_back_from_the_network() {
        let check = |hosts: &[&str], expected: Expect| {
            let network = Network::new(hosts.iter().map(ToString::to_string)).expect("these are hosts");
            let session = SessionPlan::New(SessionId::from("22222222-new"));
            check(&AgentSpec { network: Some(network), ..order() }, session, PromptKind::Task, expected);
        };
        check(
            &[],
            expect![[r#"
            /bin/claude -p --input-format stream-json --output-format stream-json --verbose --include-partial-messages --session-id 22222222-new --settings {"sandbox":{"allowUnsandboxedCommands":false,"autoAllowBashIfSandboxed":false,"enabled":true,"failIfUnavailable":true,"filesystem":{"allowWrite":["/"]},"network":{"allowedDomains":[],"deniedDomains":["*"],"strictAllowlist":true}}} --disallowedTools=WebFetch,WebSearch
            {"message":{"content":"Fix the tests.","role":"user"},"parent_tool_use_id":null,"session_id":"","type":"user"}
        "#]],
        );
        check(
            &["example.com", "*.example.org:443"],
            expect![[r#"
            /bin/claude -p --input-format stream-json --output-format stream-json --verbose --include-partial-messages --session-id 22222222-new --settings {"sandbox":{"allowUnsandboxedCommands":false,"autoAllowBashIfSandboxed":false,"enabled":true,"failIfUnavailable":true,"filesystem":{"allowWrite":["/"]},"network":{"allowedDomains":["example.com","*.example.org:443"],"deniedDomains":[],"strictAllowlist":true}}} --disallowedTools=WebFetch,WebSearch
            {"message":{"content":"Fix the tests.","role":"user"},"parent_tool_use_id":null,"session_id":"","type":"user"}
        "#]],
        );
    }

    #[test]
    fn a_summary_is_asked_for() {
        let all = AgentSpec {
            program: Program { path: "/bin/longhaul".into(), leading_args: vec!["drill-agent".to_owned()] },
            model: Some("opus".to_owned()),
            permission_mode: Some("acceptEdits".to_owned()),
            extra_args: vec!["--max-turns".to_owned(), "9".to_owned()],
            ..order()
        };
        let found = summary_args(&all, 3, "haiku", "Condense this.");
        let stdin = String::from_utf8(found.stdin).expect("JSON is UTF-8");
        let marks = found.env_set.iter().filter(|(name, _)| name.starts_with("LONGHAUL_"));
        let marks: Vec<_> = marks.map(|(name, value)| format!("{name}={value}")).collect();
        expect![[r#"
            ["drill-agent", "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-partial-messages", "--no-session-persistence", "--max-turns", "1", "--tools", "", "--safe-mode", "--system-prompt", "You write summaries of records.", "--model", "haiku"]
            LONGHAUL_RUN=kqzr LONGHAUL_ATTEMPT=3
            {"message":{"content":"Condense this.","role":"user"},"parent_tool_use_id":null,"session_id":"","type":"user"}
        "#]].assert_eq(&format!("{:?}\n{}\n{stdin}", found.args, marks.join(" ")));
    }

    #[test]
    fn environment() {
        let plan = AttemptPlan::new(2, SessionPlan::New(SessionId::from("a")), PromptKind::Task);
        let found = invocation(&order(), &plan, &PriorAttempts::default());
        let set: Vec<_> = found.env_set.iter().map(|(name, value)| format!("{name}={value}")).collect();
        expect![[r#"
            CLAUDE_CODE_STARTUP_FAILURE_RESULTS=1
            CLAUDE_CODE_SDK_READS_SESSION_STATE=1
            CLAUDE_CODE_MAX_RETRIES=4
            DISABLE_AUTOUPDATER=1
            LONGHAUL_RUN=kqzr
            LONGHAUL_ATTEMPT=2"#]]
        .assert_eq(&set.join("\n"));
        let both = found.env_set.iter().find(|(name, _)| found.env_remove.contains(&name.as_str()));
        assert_eq!(both, None, "set and removed");
    }
}

use super::{CommandCall, ServedTool, command_call};
use crate::args::{CeilingArgs, ModeCeiling};
use crate::commands::mcp::ceilings::Ceilings;
use crate::commands::mcp::served::served;
use serde_json::{Value, json};

fn tools(mode: ModeCeiling) -> Vec<ServedTool> {
    let args = CeilingArgs { allow_dir: Vec::new(), max_permission_mode: mode, max_budget: None };
    let ceilings = Ceilings::new(&args).unwrap_or_else(|failure| panic!("{}", failure.error));
    served(&ceilings)
}

fn call_in(mode: ModeCeiling, tool: &str, arguments: &Value) -> Result<CommandCall, String> {
    let tools = tools(mode);
    let tool = tools.iter().find(|served| served.name == tool).expect("there is such a tool");
    command_call(tool, arguments.as_object().expect("arguments are an object"))
}

fn words(mode: ModeCeiling, tool: &str, arguments: &Value) -> (String, Option<String>) {
    let CommandCall { words, stdin } = call_in(mode, tool, arguments).expect("the call is valid");
    (words.join(" "), stdin)
}

#[test]
fn a_call_becomes_a_command_line() {
    let check = |tool, arguments: Value, line: &str, stdin: Option<&str>| {
        let expected = (line.to_owned(), stdin.map(str::to_owned));
        assert_eq!(words(ModeCeiling::AcceptEdits, tool, &arguments), expected);
    };
    let task = json!({ "prompt": "--check=ls", "budget": 2.5, "time_limit": "3h", "keep_going": true });
    check(
        "run",
        task,
        "run --output-format=json --budget=2.5 --time-limit=3h --keep-going -",
        Some("--check=ls"),
    );
    check(
        "run",
        json!({ "prompt": "x", "keep_going": false, "model": null }),
        "run --output-format=json --off=keep_going -",
        Some("x"),
    );
    let more = json!({ "run": "kmzxqp", "prompt": "more", "add_budget": 1 });
    check("resume", more, "resume --output-format=json --add-budget=1 kmzxqp -", Some("more"));
    check("resume", json!({ "run": "@" }), "resume --output-format=json @", None);
    check("cancel", json!({ "run": "@", "now": true }), "cancel --output-format=json --now @", None);
    check("diff", json!({ "paths": ["src", "-x"] }), "diff --output-format=text -- src -x", None);
    check("gsd_plan_phase", json!({ "phase": 2.1 }), "gsd plan-phase --output-format=json 2.1", None);
    let idea = json!({ "idea": "a parser", "again": true });
    check("gsd_new_project", idea, "gsd new-project --output-format=json --again -", Some("a parser"));
    let everything = json!({ "file": "ralph", "set": ["task=x", "check=ls"], "max_parallel": 2 });
    let line = "loop --output-format=json --set=task=x --set=check=ls --max-parallel=2 ralph";
    assert_eq!(words(ModeCeiling::BypassPermissions, "loop", &everything), (line.to_owned(), None));
    let check = json!({ "prompt": "x", "check": ["ls"], "deny_tools": ["WebFetch"] });
    let line = "run --output-format=json --deny-tools=WebFetch --check=ls -";
    assert_eq!(words(ModeCeiling::BypassPermissions, "run", &check), (line.to_owned(), Some("x".to_owned())));
}

#[test]
fn rejects_wrong_arguments() {
    let check = |tool, arguments: Value, error: &str| {
        assert_eq!(call_in(ModeCeiling::AcceptEdits, tool, &arguments), Err(error.to_owned()));
    };
    check("run", json!({}), "prompt: this argument is required");
    check("run", json!({ "prompt": ["x"] }), "prompt: expected a string in quotes, not [\"x\"]");
    check(
        "run",
        json!({ "prompt": "x", "keep_going": "yes" }),
        "keep_going: expected `true` or `false`, not \"yes\"",
    );
    check(
        "run",
        json!({ "prompt": "x", "budget": true }),
        "budget: expected a number, or a string in quotes, not true",
    );
    check("run", json!({ "prompt": "x", "modl": "opus" }), "modl: run has no such argument; it has model");
    check(
        "run",
        json!({ "prompt": "x", "detach": true }),
        "detach: run has no such argument; it has detached",
    );
    check("logs", json!({ "attempt": -1 }), "attempt: expected a whole number, not -1");
    check("diff", json!({ "paths": "src" }), "paths: expected a list of strings, as in [\"…\"], not \"src\"");
    check(
        "diff",
        json!({ "paths": ["src", 1] }),
        "paths: expected a list of strings, as in [\"…\"], not [\"src\",1]",
    );
    check("cancel", json!({ "run": "--now" }), "run: `--now` starts with `-`");
    check("show", json!({ "run": "-h" }), "run: `-h` starts with `-`");
}

#[test]
fn below_bypass_no_argument_runs_a_command_or_names_a_file() {
    let names = |mode, tool: &str| -> Vec<String> {
        let tools = tools(mode);
        let tool = tools.into_iter().find(|served| served.name == tool);
        tool.into_iter().flat_map(|tool| tool.arguments).map(|argument| argument.name).collect()
    };
    let limited = names(ModeCeiling::Auto, "run");
    assert_eq!(
        limited,
        [
            "prompt",
            "model",
            "permission_mode",
            "cwd",
            "key",
            "retry",
            "name",
            "budget",
            "time_limit",
            "keep_going",
            "preset",
            "review"
        ]
    );
    let all = names(ModeCeiling::BypassPermissions, "run");
    for flag in ["check", "notify", "allow_tools", "deny_tools"] {
        assert!(all.iter().any(|name| name == flag), "{flag}");
    }
    for flag in
        ["events", "runs_dir", "output_format", "detach", "detached", "dry_run", "profile", "no_config"]
    {
        assert!(!all.iter().any(|name| name == flag), "{flag}");
    }
    let tools = ["run", "resume", "recover", "gsd_new_project", "gsd_plan_phase", "gsd_execute_phase"];
    for (tool, name) in
        tools.iter().flat_map(|tool| names(ModeCeiling::Auto, tool).into_iter().map(move |name| (tool, name)))
    {
        let is_powerful =
            ["check", "notify", "agent_path", "agent_args", "prompt_file", "idea_file", "answers_file"];
        assert!(!is_powerful.contains(&name.as_str()), "{tool}: {name}");
    }
    assert_eq!(names(ModeCeiling::Auto, "loop"), [""; 0]);
}

#[test]
fn documentation_lists_every_tool_in_order() {
    let text = include_str!("../../../../../../docs/mcp.md");
    let rows = text.lines().filter(|line| line.contains("| `longhaul "));
    let rows = rows.filter_map(|line| line.strip_prefix("| `")?.split_once("` | `longhaul "));
    let documented: Vec<_> = rows
        .map(|(tool, rest)| {
            (tool.to_owned(), rest.split(['`', ':']).next().unwrap_or_default().replace(" RUN", ""))
        })
        .collect();
    let tools = tools(ModeCeiling::BypassPermissions);
    let offered = tools.iter().map(|tool| (tool.name.clone(), tool.definition.command.join(" ")));
    assert_eq!(documented, offered.collect::<Vec<_>>());
}

#[test]
fn each_listed_argument_is_a_flag_of_its_command() {
    for tool in tools(ModeCeiling::BypassPermissions) {
        for listed in tool.definition.arguments {
            let name = listed.trim_end_matches('!');
            assert!(tool.arguments.iter().any(|argument| argument.name == name), "{}: {name}", tool.name);
        }
    }
}

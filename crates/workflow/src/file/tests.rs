//! Tests of workflow files: a full example, and the errors of wrong ones.

use super::{Isolation, WorkflowFile};
use crate::{Condition, ItemSource, LoopOptions, OptionError};
use expect_test::{expect, expect_file};
use longhaul_core::{Reaction, Span, Usd};
use std::fmt::Write as _;
use std::path::Path;

const FULL: &str = r#"
description = "Prove each objective"
max_parallel = 3
budget = 20.0
time_limit = "8h"
memory_reserve = "500 MB"
start_gap = "1s"

[parameters]
check = ""
model = "opus"

[repeat]
iterations = 10
until = { after = "review", command = "{{ parameters.check }}" }

[[phase]]
name = "review"
needs = ["prove", "docs"]
prompt = "Review {{ results.prove }}"

[[phase]]
name = "plan"
prompt = "Plan iteration {{ iteration }}"
schema = { type = "object", required = ["objectives"], properties.objectives.type = "array" }

[[phase]]
name = "docs"
needs = ["plan"]
prompt = "Write docs"

[[phase]]
name = "prove"
fan_out = { pointer = "/objectives", phase = "plan" }
max_parallel = 2
max_objectives = 8
isolation = "worktree"
prompt = "Prove {{ item }}"
on = { failed = "continue", retry_later = "park", needs_person = "stop", check_failed = { retry = 2 } }
run = { model = "{{ parameters.model }}", budget = 2, time_limit = "1h", check = ["{{ parameters.check }}"] }
"#;

fn parse(text: &str, settings: &[(&str, &str)]) -> Result<WorkflowFile, String> {
    let settings: Vec<(String, String)> =
        settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    WorkflowFile::parse(text, Path::new("loop.toml"), &settings)
        .map_err(|error| format!("{error}\n= {}", error.hint()))
}

#[test]
fn full_file() {
    let workflow = parse(FULL, &[("check", "make check")]).expect("a workflow");
    let policy = workflow.policy(&LoopOptions::default()).expect("a policy");
    // Phases are sorted by their needs, otherwise as in the file.
    let phases: Vec<(&str, &[usize])> =
        policy.phases.iter().map(|phase| (phase.name.as_str(), phase.needs.as_slice())).collect();
    assert_eq!(phases, [("plan", &[][..]), ("docs", &[0]), ("prove", &[0]), ("review", &[1, 2])]);
    assert_eq!((policy.iterations_max, policy.parallel_max, policy.until_after), (10, 3, Some(3)));
    assert_eq!(
        (policy.limits.budget, policy.limits.time),
        (Some(Usd(20_000_000)), Some(Span::from_hours(8)))
    );
    assert_eq!((policy.start_gap, workflow.memory_reserve()), (Span::from_secs(1), Some(500 << 20)));
    assert!((policy.from, policy.only) == (None, None));

    let prove = &policy.phases[2];
    assert!(prove.has_items && prove.has_worktrees);
    assert_eq!((prove.parallel_max, prove.items_max), (2, 8));
    assert_eq!((prove.budget, prove.time), (Some(Usd(2_000_000)), Some(Span::from_hours(1))));
    let reactions: Vec<(&str, Reaction)> =
        prove.reactions.0.iter().map(|(outcome, reaction)| (outcome.as_str(), *reaction)).collect();
    let expected = [
        ("failed", Reaction::Continue),
        ("needs_person", Reaction::Stop),
        ("check_failed", Reaction::Retry(2)),
        ("retry_later", Reaction::Park),
    ];
    assert_eq!(reactions, expected);
    let docs = &policy.phases[1];
    assert!(!docs.has_items && !docs.has_worktrees);
    assert_eq!((docs.parallel_max, docs.items_max, docs.budget), (3, 1, None));

    let until = workflow.until().expect("a condition");
    assert!(matches!(&until.condition, Condition::Command(command) if command == "make check"));
    let prove = &workflow.phases()[2];
    assert!(
        matches!(&prove.fan_out, Some(ItemSource::Pointer { phase: 0, pointer }) if pointer == "/objectives")
    );
    assert_eq!(prove.isolation, Isolation::Worktree);
    let settings = "budget = 2\ncheck = [\"make check\"]\nmodel = \"opus\"\ntime_limit = \"1h\"\n";
    assert_eq!(prove.settings.to_string(), settings);
    let error = workflow.setting_error(2, "model", "there is no model `opus`", "");
    expect![[r#"
        cannot read loop.toml:40:9: there is no model `opus`
           |
        40 | run = { model = "{{ parameters.model }}", budget = 2, time_limit = "1h", check = ["{{ parameters.che
           |         ^^^^^"#]].assert_eq(&error.to_string());
}

#[test]
fn graph_of_the_full_file() {
    let graph = parse(FULL, &[]).expect("a workflow").graph();
    expect![[r#"
        up to 10 iterations, at most 3 runs at a time, budget $20.00, time limit 8h
        │
        ├─ plan
        │    result as JSON
        ▼
        ├─ docs, after plan
        ├─ prove, after plan
        │    a run for each item of `/objectives` of plan, at most 8, 2 at a time
        │    each run in a git worktree
        │    failed: continue
        │    needs_person: stop
        │    check_failed: retry up to 2 times
        │    retry_later: park
        ▼
        ├─ review, after docs, prove
        ╰ done when `{{ parameters.check }}` exits with 0, after review
    "#]]
    .assert_eq(&graph);
}

#[test]
fn graph_of_other_sources_and_conditions() {
    let phases = r#"
        [[phase]]
        name = "list"
        fan_out = { list = ["a", 1] }
        prompt = "{{ item }}"
        [[phase]]
        name = "command"
        fan_out = { command = "ls *.lean\nls *.v" }
        max_parallel = 2
        prompt = "{{ item }}"
        [[phase]]
        name = "glob"
        fan_out = { glob = "**/*.lean" }
        prompt = "{{ item }}"
        schema = { type = "object" }
    "#;
    let graph = |head: &str| parse(&format!("{head}\n{phases}"), &[]).expect("a workflow").graph();
    expect![[r#"
        once, one run at a time
        │
        ├─ list
        │    a run for each of 2 items
        ├─ command
        │    a run for each line of `ls *.lean …`, at most 100, 2 at a time
        ├─ glob
        │    a run for each file **/*.lean, at most 100
        │    result as JSON
        ╰ done when every phase is complete
    "#]]
    .assert_eq(&graph("max_parallel = 1"));
    let file = "[repeat]\nuntil = { file = \"PROGRESS.md\", matches = '(?m)^COMPLETE$' }";
    let verdict = "[repeat]\nuntil = { phase = \"glob\", pointer = \"/complete\", equals = true }";
    let ends: Vec<String> = [file, verdict, "[repeat]\niterations = 3"]
        .into_iter()
        .map(|head| graph(head).lines().last().unwrap_or_default().to_owned())
        .collect();
    expect![[r#"
        ╰ done when PROGRESS.md matches `(?m)^COMPLETE$`, after glob
        ╰ done when `/complete` of glob is true, after glob
        ╰ done after 3 iterations"#]]
    .assert_eq(&ends.join("\n"));
}

#[test]
fn options_replace_settings() {
    let workflow = parse(FULL, &[("check", "true")]).expect("a workflow");
    let options = LoopOptions {
        from: Some("prove".to_owned()),
        iterations_max: Some(2),
        parallel_max: Some(8),
        budget: Some(Usd(5_000_000)),
        time: Some(Span::ZERO),
        ..LoopOptions::default()
    };
    let policy = workflow.policy(&options).expect("a policy");
    assert_eq!((policy.from, policy.iterations_max, policy.parallel_max), (Some(2), 2, 8));
    assert_eq!((policy.phases[0].parallel_max, policy.phases[2].parallel_max), (8, 2));
    assert_eq!((policy.limits.budget, policy.limits.time), (Some(Usd(5_000_000)), None));
    let serial = LoopOptions { serial: true, only: Some("docs".to_owned()), ..options };
    let policy = workflow.policy(&serial).expect("a policy");
    assert_eq!((policy.only, policy.parallel_max, policy.phases[2].parallel_max), (Some(1), 1, 1));

    let unknown = LoopOptions { from: Some("porve".to_owned()), ..LoopOptions::default() };
    let error = workflow.policy(&unknown).expect_err("an unknown phase");
    assert_eq!(error.to_string(), "there is no phase `porve` in loop.toml");
    assert_eq!(error.hint(), "did you mean prove?");
    assert_eq!(error.option(), Some(&OptionError::From("porve".to_owned())));
}

#[test]
fn defaults() {
    let text = "[[phase]]\nname = \"a\"\nprompt = \"b\"\n";
    let workflow = parse(text, &[]).expect("a workflow");
    let policy = workflow.policy(&LoopOptions::default()).expect("a policy");
    assert_eq!((policy.iterations_max, policy.parallel_max, policy.until_after), (1, 4, None));
    assert_eq!((policy.start_gap, workflow.memory_reserve()), (Span::from_secs(2), None));
    assert!(policy.phases[0].reactions.0.is_empty() && workflow.phases()[0].settings.is_empty());
    let unlimited = format!("budget = \"none\"\nstart_gap = \"none\"\n{text}");
    let policy =
        parse(&unlimited, &[]).expect("a workflow").policy(&LoopOptions::default()).expect("a policy");
    assert_eq!((policy.limits.budget, policy.start_gap), (None, Span::ZERO));
}

#[test]
fn parameters_are_replaced() {
    let text = "[parameters]\nname = \"a\"\n[[phase]]\nname = \"p\"\nprompt = \"{{ parameters.name }}\"\n\
                fan_out = { command = \"docker ps --format '{{.ID}}' {{parameters.name}}\" }\n";
    let workflow = parse(text, &[("name", "x y")]).expect("a workflow");
    let source = &workflow.phases()[0].fan_out;
    let expected = "docker ps --format '{{.ID}}' x y";
    assert!(matches!(source, Some(ItemSource::Lines(command)) if command == expected), "{source:?}");
    let paths = text.replace("[parameters]", "archon_files = \".{{ parameters.name }}\"\n[parameters]");
    let workflow = parse(&paths, &[("name", "archon")]).expect("a workflow");
    assert_eq!(workflow.archon_files(), Some(Path::new(".archon")));
    let error = parse(text, &[("nmae", "x")]).expect_err("an unknown parameter");
    assert_eq!(error, "there is no parameter `nmae` in loop.toml\n= did you mean name?");
    // Only a value that a command needs is required; the graph shows the others.
    let required = text.replacen("\"a\"", "\"\"", 1);
    let workflow = parse(&required, &[]).expect("a workflow");
    let error = workflow.policy(&LoopOptions::default()).expect_err("a required parameter");
    assert_eq!(error.option(), Some(&OptionError::MissingParameter("name".to_owned())));
    assert!(
        error.to_string().starts_with("cannot read loop.toml:2:1: the parameter `name` has no value\n"),
        "{error}"
    );
}

#[test]
fn prompts_and_schemas_can_be_files() {
    let dir = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).expect("a file");
    write("plan.md", "Plan\n{{ iteration }}\n");
    write("schema.json", "{ \"type\": \"object\" }");
    write("wrong.md", "Plan\n\n  {{ iterations }}\n");
    write("empty.md", "\n");
    let path = dir.path().join("loop.toml");
    let read = |line: &str| {
        let text = format!("[[phase]]\nname = \"plan\"\n{line}\n");
        let shorten = |error: String| error.replace(&dir.path().display().to_string(), "DIR");
        WorkflowFile::parse(&text, &path, &[])
            .map_err(|error| shorten(format!("{error}\n= {}", error.hint())))
    };
    let workflow = read("prompt_file = \"plan.md\"\nschema_file = \"schema.json\"").expect("a workflow");
    assert!(workflow.phases()[0].schema.is_some());
    let stored: Vec<(&str, &str)> =
        workflow.files().iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    assert_eq!(stored, [("plan.md", "Plan\n{{ iteration }}\n"), ("schema.json", "{ \"type\": \"object\" }")]);
    // A stored text is used although its file does not exist.
    let files = [("gone.md".to_owned(), "Plan again".to_owned())].into();
    let text = "[[phase]]\nname = \"plan\"\nprompt_file = \"gone.md\"\n";
    WorkflowFile::parse_with_files(text, &path, &[], &files).expect("a workflow");
    let errors: Vec<String> = [
        "prompt_file = \"none.md\"",
        "prompt_file = \"empty.md\"",
        "prompt_file = \".\"",
        "prompt_file = \"wrong.md\"",
        "prompt = \"a\"\nschema_file = \"plan.md\"",
    ]
    .into_iter()
    .map(|line| read(line).expect_err(line))
    .collect();
    expect![[r#"
        cannot read DIR/loop.toml:3:15: DIR/none.md: No such file or directory (os error 2)
          |
        3 | prompt_file = "none.md"
          |               ^^^^^^^^^
        = the path is relative to the directory of the workflow file

        cannot read DIR/loop.toml:3:15: DIR/empty.md is empty
          |
        3 | prompt_file = "empty.md"
          |               ^^^^^^^^^^
        = write the prompt into it

        cannot read DIR/loop.toml:3:15: DIR/.: it is not a regular file
          |
        3 | prompt_file = "."
          |               ^^^
        = the path is relative to the directory of the workflow file

        cannot read DIR/wrong.md:3:6: there is no variable `iterations`
          |
        3 |   {{ iterations }}
          |      ^^^^^^^^^^
        = did you mean iterations_max or iteration?

        cannot read DIR/loop.toml:4:15: DIR/plan.md is not JSON: expected value at line 1 column 1
          |
        4 | schema_file = "plan.md"
          |               ^^^^^^^^^
        = correct the file, or write the schema as `schema = { … }`"#]]
    .assert_eq(&errors.join("\n\n"));
}

/// Wrong files: what is wrong, and the text.
const WRONG: &[(&str, &str)] = &[
    ("no TOML", "max_parallel = \n"),
    ("no phase", "description = \"a\"\n"),
    ("phase is no list", "[phase]\nname = \"a\"\n"),
    ("unknown key", "max_paralel = 2\n[[phase]]\nname = \"a\"\nprompt = \"b\"\n"),
    ("unknown key of a phase", "[[phase]]\nname = \"a\"\npromt = \"b\"\n"),
    ("key of another tool", "[[phase]]\nname = \"a\"\nprompt = \"b\"\nzzzzzz = 1\n"),
    ("no name", "[[phase]]\nprompt = \"b\"\n"),
    ("empty name", "[[phase]]\nname = \"\"\nprompt = \"b\"\n"),
    ("long name", "[[phase]]\nname = \"aaaaaaaaaabbbbbbbbbbccccccccccddd\"\nprompt = \"b\"\n"),
    ("characters of a name", "[[phase]]\nname = \"Plan it\"\nprompt = \"b\"\n"),
    ("name like a flag", "[[phase]]\nname = \"-plan\"\nprompt = \"b\"\n"),
    ("duplicate name", "[[phase]]\nname = \"a\"\nprompt = \"b\"\n[[phase]]\nname = \"a\"\nprompt = \"b\"\n"),
    ("no prompt", "[[phase]]\nname = \"a\"\n"),
    ("two prompts", "[[phase]]\nname = \"a\"\nprompt = \"b\"\nprompt_file = \"c\"\n"),
    ("wrong type", "[[phase]]\nname = \"a\"\nprompt = [\"b\"]\n"),
    ("number out of range", "max_parallel = 0\n[[phase]]\nname = \"a\"\nprompt = \"b\"\n"),
    ("number as text", "max_parallel = \"2\"\n[[phase]]\nname = \"a\"\nprompt = \"b\"\n"),
    ("zero budget", "budget = 0\n[[phase]]\nname = \"a\"\nprompt = \"b\"\n"),
    ("wrong duration", "time_limit = \"soon\"\n[[phase]]\nname = \"a\"\nprompt = \"b\"\n"),
    ("wrong size", "memory_reserve = \"500\"\n[[phase]]\nname = \"a\"\nprompt = \"b\"\n"),
    (
        "unknown phase",
        "[[phase]]\nname = \"plan\"\nprompt = \"b\"\n[[phase]]\nname = \"a\"\nneeds = [\"paln\"]\nprompt = \"b\"\n",
    ),
    (
        "double need",
        "[[phase]]\nname = \"a\"\nprompt = \"b\"\n[[phase]]\nname = \"b\"\nneeds = [\"a\", \"a\"]\nprompt = \"b\"\n",
    ),
    ("need of itself", "[[phase]]\nname = \"a\"\nneeds = [\"a\"]\nprompt = \"b\"\n"),
    (
        "cycle",
        "[[phase]]\nname = \"a\"\nneeds = [\"b\"]\nprompt = \"b\"\n[[phase]]\nname = \"b\"\nneeds = [\"a\"]\nprompt = \"b\"\n",
    ),
    (
        "cycle at the second need",
        "[[phase]]\nname = \"a\"\nneeds = [\"c\", \"b\"]\nprompt = \"b\"\n[[phase]]\nname = \"b\"\nneeds = [\"a\"]\nprompt = \"b\"\n[[phase]]\nname = \"c\"\nprompt = \"b\"\n",
    ),
    ("template", "[[phase]]\nname = \"a\"\nprompt = \"\"\"\nWork on\n{{ item }}\n\"\"\"\n"),
    ("template syntax", "[[phase]]\nname = \"a\"\nprompt = \"\"\"Work\n{% if iteration %}\n\"\"\"\n"),
    ("isolation of the wrong type", "[[phase]]\nname = \"a\"\nprompt = \"b\"\nisolation = 1\n"),
    ("needs is no list", "[[phase]]\nname = \"a\"\nprompt = \"b\"\nneeds = \"b\"\n"),
    ("schema is no table", "[[phase]]\nname = \"a\"\nprompt = \"b\"\nschema = \"b\"\n"),
    ("isolation", "[[phase]]\nname = \"a\"\nprompt = \"b\"\nisolation = \"container\"\n"),
    ("schema of the wrong type", "[[phase]]\nname = \"a\"\nprompt = \"b\"\nschema = { type = \"array\" }\n"),
    (
        "wrong schema",
        "[[phase]]\nname = \"a\"\nprompt = \"b\"\nschema = { type = \"object\", required = 1 }\n",
    ),
    ("items without a source", "[[phase]]\nname = \"a\"\nprompt = \"b\"\nfan_out = {}\n"),
    (
        "two sources of items",
        "[[phase]]\nname = \"a\"\nprompt = \"b\"\nfan_out = { list = [1], glob = \"*\" }\n",
    ),
    ("bare list", "[[phase]]\nname = \"a\"\nprompt = \"b\"\nfan_out = [\"a\", \"b\"]\n"),
    ("empty list", "[[phase]]\nname = \"a\"\nprompt = \"b\"\nfan_out = { list = [] }\n"),
    ("no edit paths", "[[phase]]\nname = \"a\"\nprompt = \"b\"\nedit_paths = []\n"),
    ("wrong glob", "[[phase]]\nname = \"a\"\nprompt = \"b\"\nfan_out = { glob = \"[a\" }\n"),
    ("glob out of the project", "[[phase]]\nname = \"a\"\nprompt = \"b\"\nfan_out = { glob = \"../*\" }\n"),
    ("pointer without phase", "[[phase]]\nname = \"a\"\nprompt = \"b\"\nfan_out = { pointer = \"/a\" }\n"),
    ("phase without pointer", "[[phase]]\nname = \"a\"\nprompt = \"b\"\nfan_out = { phase = \"a\" }\n"),
    (
        "wrong pointer",
        "[[phase]]\nname = \"a\"\nprompt = \"b\"\nfan_out = { phase = \"a\", pointer = \"tasks\" }\n",
    ),
    (
        "pointer to a text",
        "[[phase]]\nname = \"a\"\nprompt = \"b\"\n[[phase]]\nname = \"b\"\nprompt = \"b\"\nfan_out = { phase = \"a\", pointer = \"/a\" }\n",
    ),
    ("maximum without items", "[[phase]]\nname = \"a\"\nprompt = \"b\"\nmax_objectives = 2\n"),
    (
        "file of a prompt out of the project",
        "[[phase]]\nname = \"a\"\nprompt = \"b {{ read(\\\"../c\\\", default=\\\"\\\") }}\"\n",
    ),
    (
        "stage out of the project",
        "[[phase]]\nname = \"a\"\nprompt = \"{% if iteration > 1 %}{{ stage('/etc/passwd') }}{% endif %}\"\n",
    ),
    ("park", "[[phase]]\nname = \"a\"\nprompt = \"b\"\non = { failed = \"park\" }\n"),
    ("unknown outcome", "[[phase]]\nname = \"a\"\nprompt = \"b\"\non = { faild = \"stop\" }\n"),
    ("no outcome", "[[phase]]\nname = \"a\"\nprompt = \"b\"\non = { bogus = \"stop\" }\n"),
    ("outcome without reaction", "[[phase]]\nname = \"a\"\nprompt = \"b\"\non = { done = \"stop\" }\n"),
    ("unknown reaction", "[[phase]]\nname = \"a\"\nprompt = \"b\"\non = { failed = \"ignore\" }\n"),
    ("retry without number", "[[phase]]\nname = \"a\"\nprompt = \"b\"\non = { failed = \"retry\" }\n"),
    ("empty reaction", "[[phase]]\nname = \"a\"\nprompt = \"b\"\non = { failed = {} }\n"),
    (
        "unknown key of a condition",
        "[repeat]\nuntil = { comand = \"true\" }\n[[phase]]\nname = \"a\"\nprompt = \"b\"\n",
    ),
    (
        "key of a stage",
        "[repeat]\nuntil = { progress = \"P.md\", stage = \"done\" }\n[[phase]]\nname = \"a\"\nprompt = \"b\"\n",
    ),
    ("repeat is no table", "repeat = 3\n[[phase]]\nname = \"a\"\nprompt = \"b\"\n"),
    ("phase is a text", "phase = \"a\"\n"),
    ("list of texts", "phase = [\"a\"]\n"),
    ("dotted keys", "[[phase]]\nname = \"a\"\nprompt = \"b\"\nfan_out.list = [1]\nfan_out.glob = \"*\"\n"),
    ("too many retries", "[[phase]]\nname = \"a\"\nprompt = \"b\"\non = { failed = { retry = 1000 } }\n"),
    ("run is no table", "[[phase]]\nname = \"a\"\nprompt = \"b\"\nrun = \"fast\"\n"),
    (
        "budget of a run",
        "[[phase]]\nname = \"a\"\nprompt = \"b\"\n[phase.run]\nmodel = \"opus\"\nbudget = \"cheap\"\n",
    ),
    (
        "until without condition",
        "[repeat]\nuntil = { after = \"a\" }\n[[phase]]\nname = \"a\"\nprompt = \"b\"\n",
    ),
    (
        "until after an unknown phase",
        "[repeat]\nuntil = { after = \"b\", command = \"true\" }\n[[phase]]\nname = \"a\"\nprompt = \"b\"\n",
    ),
    (
        "two conditions",
        "[repeat]\nuntil = { command = \"true\", file = \"a\", matches = \"b\" }\n[[phase]]\nname = \"a\"\nprompt = \"b\"\n",
    ),
    (
        "file without expression",
        "[repeat]\nuntil = { file = \"a\" }\n[[phase]]\nname = \"a\"\nprompt = \"b\"\n",
    ),
    (
        "file out of the project",
        "[repeat]\nuntil = { file = \"/a\", matches = \"b\" }\n[[phase]]\nname = \"a\"\nprompt = \"b\"\n",
    ),
    (
        "wrong regular expression",
        "[repeat]\nuntil = { file = \"a\", matches = \"(b\" }\n[[phase]]\nname = \"a\"\nprompt = \"b\"\n",
    ),
    (
        "equals without phase",
        "[repeat]\nuntil = { command = \"true\", equals = 1 }\n[[phase]]\nname = \"a\"\nprompt = \"b\"\n",
    ),
    (
        "phase without equals",
        "[repeat]\nuntil = { phase = \"a\", pointer = \"/b\" }\n[[phase]]\nname = \"a\"\nprompt = \"b\"\nschema = { type = \"object\" }\n",
    ),
    ("iterations", "[repeat]\niterations = 1.5\n[[phase]]\nname = \"a\"\nprompt = \"b\"\n"),
    ("parameter is no text", "[parameters]\nn = 5\n[[phase]]\nname = \"a\"\nprompt = \"b\"\n"),
    ("name of a parameter", "[parameters]\nmy-task = \"\"\n[[phase]]\nname = \"a\"\nprompt = \"b\"\n"),
    (
        "unknown parameter",
        "[parameters]\ntask = \"a\"\n[[phase]]\nname = \"a\"\nprompt = \"b\"\nrun = { model = \"{{ parameters.modl }}\" }\n",
    ),
];

#[test]
fn wrong_files_are_rejected_with_position_and_hint() {
    let mut report = String::new();
    for (problem, text) in WRONG {
        let error = parse(text, &[]).expect_err(problem);
        assert!(!error.ends_with("= "), "{problem}: every error has a hint");
        let _ = writeln!(report, "# {problem}\n{error}\n");
    }
    let phases = "[[phase]]\nname = \"p\"\nprompt = \"b\"\n".repeat(65);
    let error = parse(&phases, &[]).expect_err("too many phases");
    let _ = writeln!(report, "# too many phases\n{error}\n");
    let error = parse(&"#".repeat((1 << 20) + 1), &[]).expect_err("too large");
    let _ = writeln!(report, "# too large\n{error}");
    expect_file!["tests/errors.txt"].assert_eq(&report);
}

#[test]
fn long_lines_are_cut_around_the_error() {
    let text = format!(
        "[[phase]]\nname = \"a\"\nprompt = \"{}{{{{ itme }}}}{}\"\n",
        "x".repeat(300),
        "y".repeat(300)
    );
    let error = parse(&text, &[]).expect_err("an unknown variable");
    let lines: Vec<&str> = error.lines().collect();
    assert!(lines[0].starts_with("cannot read loop.toml:3:314: "), "{error}");
    assert_eq!(lines[2].find("itme"), lines[3].find('^'), "{error}");
    assert!(lines[2].len() < 110, "{error}");
}

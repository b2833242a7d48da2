//! Tests of the built-in workflows: they parse, need their parameters, and render readable prompts.

use super::{BUILTINS, builtin};
use crate::{LoopOptions, OptionError, PromptContext, PromptItem, WorkflowFile};
use expect_test::{Expect, expect};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

fn parse(name: &str, settings: &[(&str, &str)]) -> WorkflowFile {
    let text = builtin(name).expect("a built-in workflow");
    let settings: Vec<(String, String)> =
        settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    WorkflowFile::parse(text, Path::new(name), &settings).expect("no error")
}

#[test]
fn all_parse_and_need_a_task() {
    for (name, _) in BUILTINS {
        let workflow = parse(name, &[]);
        assert!(workflow.description().is_some(), "{name}");
        // The task of this one is in files of the project.
        if *name != "archon" {
            let error = workflow.policy(&LoopOptions::default()).expect_err("a task is required");
            assert!(matches!(error.option(), Some(OptionError::MissingParameter(_))), "{error}");
        }
        let all: Vec<(&str, &str)> = workflow.parameters().keys().map(|key| (key.as_str(), "text")).collect();
        assert!(parse(name, &all).policy(&LoopOptions::default()).is_ok(), "{name}");
    }
    assert_eq!(builtin("none"), None);
}

fn check_graph(name: &str, settings: &[(&str, &str)], expected: Expect) {
    expected.assert_eq(&parse(name, settings).graph());
}

#[test]
fn graphs() {
    check_graph(
        "ralph",
        &[("task", "Port it"), ("check", "make test")],
        expect![[r#"
        up to 20 iterations, at most 4 runs at a time
        │
        ├─ work
        │    failed, out_of_time, check_failed: continue
        ╰ done when `make test` exits with 0, after work
    "#]],
    );
    check_graph(
        "plan-work-review",
        &[("task", "Port it")],
        expect![[r#"
        up to 5 iterations, at most 4 runs at a time
        │
        ├─ plan
        │    result as JSON
        ▼
        ├─ work, after plan
        │    a run for each item of `/tasks` of plan, at most 10, 1 at a time
        │    failed, out_of_time, check_failed: continue
        ▼
        ├─ review, after work
        │    result as JSON
        ╰ done when `/complete` of review is true, after review
    "#]],
    );
}

/// Renders the prompt of a phase with an example of everything.
fn render(
    workflow: &WorkflowFile,
    phase: usize,
    iteration: u32,
    results: &BTreeMap<String, Value>,
) -> String {
    let project = tempfile::tempdir().expect("a directory");
    let phase = &workflow.phases()[phase];
    let item = json!({ "title": "Parse dates", "details": "In date.rs.", "verify": "cargo test" });
    let hints = vec!["Use jiff.".to_owned()];
    let context = PromptContext {
        workflow: "kxhfgg",
        iteration,
        iterations_max: 5,
        item: phase.fan_out.as_ref().map(|_| PromptItem { value: &item, number: 1, slug: "item" }),
        focus: (iteration > 1).then_some("the parser"),
        hints: if iteration > 1 { &hints } else { &[] },
        results,
        remaining_budget: None,
        remaining_time: None,
        parameters: workflow.parameters(),
        project_dir: project.path(),
    };
    phase.prompt.render(&context).expect("no error")
}

#[test]
fn ralph_renders() {
    let workflow = parse("ralph", &[("task", "Port it"), ("check", "make test")]);
    let first = render(&workflow, 0, 1, &BTreeMap::new());
    expect![[r#"
        You work unattended on a task that may take several sessions. This is session 1 of at most
        5. You remember nothing of earlier sessions: the files of the project and PROGRESS.md are all
        that is left of them.

        # Task

        Port it

        # How the work is checked

        When you stop, this command runs in the project directory. The task is done when it exits with 0:

            make test

        Do not weaken the command, or the tests and files that it uses, to make it pass.

        # Notes of earlier sessions (PROGRESS.md)

        There are none: this is the first session.

    "#]]
    .assert_eq(&first[..first.find("# What to do now").expect("the steps")]);
    let second = render(&workflow, 0, 2, &BTreeMap::new());
    assert!(
        second.contains("\n\nWork on this part first: the parser\n\nHint from the user: Use jiff.\n\n#"),
        "{second}"
    );
}

#[test]
fn plan_work_review_renders() {
    let workflow = parse("plan-work-review", &[("task", "Port it")]);
    let mut results = BTreeMap::new();
    let plan = render(&workflow, 0, 1, &results);
    assert!(!plan.contains("Review of the last round"), "{plan}");
    results.insert("plan".to_owned(), json!({ "tasks": [{ "title": "A", "details": "B", "verify": "C" }] }));
    let work = render(&workflow, 1, 1, &results);
    assert!(
        work.contains("# Your part: Parse dates\n\nIn date.rs.\n\nHow to verify it: cargo test\n"),
        "{work}"
    );
    let review = render(&workflow, 2, 1, &results);
    assert!(review.contains("# Plan of this round\n\n1. A (to verify: C)\n\n# What"), "{review}");
    let verdict = json!({ "complete": false, "summary": "Half.", "problems": ["No tests.", "No docs."] });
    results.insert("review".to_owned(), verdict);
    let plan = render(&workflow, 0, 2, &results);
    assert!(
        plan.contains("The reviewer found:\n\nHalf.\n- No tests.\n- No docs.\n\nPlan only what"),
        "{plan}"
    );
}

#[test]
fn schemas_accept_their_results() {
    let workflow = parse("plan-work-review", &[]);
    let schema = |phase: usize| workflow.phases()[phase].schema.as_ref().expect("a schema");
    let plan = json!({ "tasks": [{ "title": "A", "details": "B", "verify": "C" }] });
    assert_eq!(schema(0).validate(&plan), Ok(()));
    assert!(schema(0).validate(&json!({ "tasks": [] })).is_err());
    let review = json!({ "complete": true, "summary": "Done.", "problems": [] });
    assert_eq!(schema(2).validate(&review), Ok(()));
    assert!(schema(2).validate(&json!({ "complete": "yes" })).is_err());
}

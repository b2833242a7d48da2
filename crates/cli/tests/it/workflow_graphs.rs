//! Which runs a workflow starts: its conditions, its files as items, and the phases that flags select.

use crate::harness::Stage;
use crate::server::Server;
use crate::workflow_prompts::prompts;
use crate::workflows::{envelope, run_loop, run_named};
use crate::worktrees::repository;
use serde_json::Value;
use std::fs;

/// Returns the iteration and the phase of each run, oldest first.
fn started(stage: &Stage) -> Vec<(u32, String)> {
    let positions = stage.runs().into_iter().rev().filter_map(|run| run.plan().expect("a plan").workflow);
    positions.map(|position| (position.iteration, position.phase)).collect()
}

fn expected(runs: &[(u32, &str)]) -> Vec<(u32, String)> {
    runs.iter().map(|(iteration, phase)| (*iteration, (*phase).to_owned())).collect()
}

/// The review of the first plan finds something, and that of the second one nothing.
const PARSER_SCRIPT: &str = r#"
No prompt matches.
? Review of the last round
{"tasks": [{"title": "Write the test", "details": "Cover all of it.", "verify": "make test"}]}
? You plan work
{"tasks": [{"title": "Write the lexer", "details": "By hand.", "verify": "make lexer"}, {"title": "Write the parser", "details": "Use the lexer.", "verify": "make parser"}]}
? Your part: Write the lexer
I write it.
$ echo lexer >> parts
It is written.
? Your part: Write the parser
I write it.
$ echo parser >> parts
It is written.
? Your part: Write the test
I write it.
$ echo test >> parts
It is written.
? 1. Write the test (to verify: make test)
{"complete": true, "summary": "All of it works.", "problems": []}
? You review work
{"complete": false, "summary": "It is not tested.", "problems": ["No test covers the parser."]}
"#;

#[test]
fn plan_work_review_repeats_until_the_review_is_satisfied() {
    let (stage, server) = (Stage::new(), Server::start(PARSER_SCRIPT));
    let args = ["--set", "task=Write a parser for dates."];
    let envelope = envelope(&run_named(&stage, &server, "plan-work-review", &args).output(), 0);
    let workflow = &envelope["workflow"];
    assert_eq!((&workflow["outcome"], &workflow["iteration"]), (&"done".into(), &2.into()), "{envelope}");
    assert_eq!(workflow["until_holds"], true, "{envelope}");
    let first = [(1, "plan"), (1, "work"), (1, "work"), (1, "review")];
    let second = [(2, "plan"), (2, "work"), (2, "review")];
    assert_eq!(started(&stage), expected(&[&first[..], &second].concat()));
    let parts = fs::read_to_string(stage.work().join("parts")).expect("the parts are written");
    assert_eq!(parts, "lexer\nparser\ntest\n");
    let [(_, first), (_, second)] = &prompts(&stage, "plan")[..] else { panic!("not two plans") };
    assert!(!first.contains("Review of the last round"), "{first}");
    assert!(
        second.contains("It is not tested.") && second.contains("- No test covers the parser."),
        "{second}"
    );
    let reviews = prompts(&stage, "review");
    assert!(reviews[0].1.contains("2. Write the parser (to verify: make parser)"), "{reviews:?}");
    for (_, prompt) in [prompts(&stage, "plan"), prompts(&stage, "work"), reviews].concat() {
        assert!(prompt.contains("Write a parser for dates."), "{prompt}");
    }
}

#[test]
fn file_that_the_agent_writes_ends_the_repetition() {
    let file = r#"
[repeat]
iterations = 4
until = { after = "work", file = "PROGRESS.md", matches = "(?m)^COMPLETE$" }
[[phase]]
name = "work"
prompt = "Take a step."
[[phase]]
name = "tidy"
needs = ["work"]
prompt = "Tidy up."
"#;
    // The first iteration writes a line that only contains the word.
    let script = "
I continue.
? Take a step
I take it.
$ echo 'not COMPLETE' >> PROGRESS.md; test $(wc -l < PROGRESS.md) -lt 2 || echo COMPLETE >> PROGRESS.md
A step is taken.
? Tidy up
All is tidy.
";
    let (stage, server) = (Stage::new(), Server::start(script));
    let envelope = envelope(&run_loop(&stage, &server, file, &[]).output(), 0);
    let workflow = &envelope["workflow"];
    assert_eq!((&workflow["outcome"], &workflow["iteration"]), (&"done".into(), &2.into()), "{envelope}");
    assert_eq!(workflow["until_holds"], true, "{envelope}");
    // The condition holds before the last phase of the second iteration.
    assert_eq!(started(&stage), expected(&[(1, "work"), (1, "tidy"), (2, "work")]));
}

#[test]
fn files_of_the_project_are_items_in_order() {
    let file = r#"
max_parallel = 1
[[phase]]
name = "read"
fan_out = { glob = "**/*.txt" }
prompt = "Read {{ item }}."
"#;
    let (stage, server) = (Stage::new(), Server::start("I have read it.\n"));
    // It contains `shared.txt`.
    repository(&stage);
    let files = ["sub/c.txt", "b.txt", "a.txt", "a.md", ".hidden.txt", ".cache/d.txt", "made/e.txt", "f.txt"];
    for name in files {
        let path = stage.work().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("the stage is writable");
        fs::write(path, "").expect("the stage is writable");
    }
    fs::write(stage.work().join(".gitignore"), "made/\nf.txt\n").expect("the stage is writable");
    let envelope = envelope(&run_loop(&stage, &server, file, &[]).output(), 0);
    let items = envelope["workflow"]["phases"][0]["items"].as_array().expect("items");
    let items: Vec<&Value> = items.iter().map(|item| &item["item"]).collect();
    assert_eq!(items, ["a.txt", "b.txt", "shared.txt", "sub/c.txt"], "{envelope}");
    let prompts: Vec<String> = prompts(&stage, "read").into_iter().map(|(_, prompt)| prompt).collect();
    assert_eq!(prompts, ["Read a.txt.", "Read b.txt.", "Read shared.txt.", "Read sub/c.txt."]);
}

#[test]
fn from_applies_to_the_first_iteration_and_skip_to_each() {
    let file = r#"
[repeat]
iterations = 2
[[phase]]
name = "plan"
prompt = "Plan."
[[phase]]
name = "work"
needs = ["plan"]
prompt = "Work."
[[phase]]
name = "review"
needs = ["work"]
prompt = "Review."
"#;
    let from = [(1, "work"), (1, "review"), (2, "plan"), (2, "work"), (2, "review")];
    let skip = [(1, "plan"), (1, "review"), (2, "plan"), (2, "review")];
    for (args, runs) in [(["--from", "work"], &from[..]), (["--skip", "work"], &skip)] {
        let (stage, server) = (Stage::new(), Server::start("Done.\n"));
        let output = run_loop(&stage, &server, file, &args).output();
        envelope(&output, 0);
        assert_eq!(started(&stage), expected(runs), "{args:?}");
        // The last phase of an iteration has a cost, too, although the next one starts in the same step.
        assert_eq!(output.stderr.matches("review: done, $").count(), 2, "{}", output.stderr);
    }
}

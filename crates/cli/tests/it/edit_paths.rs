//! `edit_paths`: provers in one directory, each with files of its own. A guard denies edits of other files, and
//! changes that commands made are reported afterwards.

use crate::harness::Stage;
use crate::server::Server;
use crate::workflows::{envelope, run_loop};
use serde_json::Value;
use std::fs;
use std::process::Command;

const PROVERS: &str = r#"
[[phase]]
name = "prove"
fan_out = { list = ["alpha", "beta"] }
edit_paths = ["{{ item }}.lean", "reports"]
prompt = "Prove {{ item }}."
"#;

/// Both provers edit the file of `alpha`.
const SCRIPT: &str = "
No prompt matches.
? Prove alpha
I prove it.
! write = { path = 'alpha.lean', content = 'alpha' }
Proved.
? Prove beta
I prove it.
! write = { path = 'alpha.lean', content = 'beta' }
I may not edit that file.
$ mkdir -p reports; echo done > reports/beta; echo beta > beta.lean
Proved.
";

fn repository(stage: &Stage) {
    for args in [&["init", "--quiet"][..], &["config", "user.name", "a"], &["config", "user.email", "a@b"]] {
        let status = Command::new("git").args(args).current_dir(stage.work()).status();
        assert!(status.expect("git starts").success());
    }
}

fn items(envelope: &Value) -> Vec<(&Value, &Value)> {
    let items = envelope["workflow"]["phases"][0]["items"].as_array().expect("a list");
    items.iter().map(|item| (&item["status"], &item["problem"])).collect()
}

#[test]
fn provers_edit_only_their_own_files() {
    let (stage, server) = (Stage::new(), Server::start(SCRIPT));
    repository(&stage);
    let output = run_loop(&stage, &server, PROVERS, &[]).output();
    let envelope = envelope(&output, 0);
    let read = |name: &str| fs::read_to_string(stage.work().join(name)).expect("the file exists");
    assert_eq!((read("alpha.lean").as_str(), read("beta.lean").as_str()), ("alpha", "beta\n"));
    let done = || (Value::from("done"), Value::Null);
    let [alpha, beta] = [done(), done()];
    assert_eq!(items(&envelope), [(&alpha.0, &alpha.1), (&beta.0, &beta.1)], "{envelope}");
    let denied = stage.runs().iter().any(|run| {
        fs::read_to_string(run.transcript_path()).expect("a transcript").contains("This run may edit only")
    });
    assert!(denied, "the edit of another prover's file was not denied");
}

#[test]
fn changes_of_commands_outside_of_the_paths_are_reported() {
    let (stage, server) = (Stage::new(), Server::start(&SCRIPT.replace("> beta.lean", "> lakefile.lean")));
    repository(&stage);
    let output = run_loop(&stage, &server, PROVERS, &["--max-parallel", "1"]).output();
    let envelope = envelope(&output, 0);
    let problems: Vec<&Value> = items(&envelope).into_iter().map(|(_, problem)| problem).collect();
    let problem = "files outside of `edit_paths` changed while it ran: lakefile.lean; it or another live run \
                   changed them";
    assert_eq!(problems, [&Value::Null, &Value::from(problem)], "{envelope}");
    assert!(output.stderr.contains("lakefile.lean"), "{}", output.stderr);
}

#[test]
fn changes_of_the_file_of_an_ended_run_are_reported_also_by_a_run_that_is_not_done() {
    let script = SCRIPT.replace("> beta.lean", "> beta.lean; echo stolen > alpha.lean");
    let (stage, server) = (Stage::new(), Server::start(&script));
    repository(&stage);
    let check =
        "on = { check_failed = \"continue\" }\nrun = { check = [\"false\"], max_failed_checks = 1 }\n";
    let output = run_loop(&stage, &server, &format!("{PROVERS}{check}"), &["--max-parallel", "1"]).output();
    let envelope = envelope(&output, 27);
    let [alpha, beta] = items(&envelope)[..] else { panic!("two runs: {envelope}") };
    assert_eq!([alpha.0, beta.0], ["check_failed", "check_failed"], "{envelope}");
    let [alpha, beta] = [alpha.1, beta.1].map(|problem| problem.as_str().expect("a reason"));
    let strays = "; files outside of `edit_paths` changed while it ran: alpha.lean; ";
    assert!(!alpha.contains("edit_paths") && beta.contains(strays), "{envelope}");
    assert!(beta.starts_with("check 1 failed"), "{envelope}");
}

#[test]
fn changes_are_not_reported_without_git_or_next_to_a_run_that_may_edit_all() {
    let stray = SCRIPT.replace("> beta.lean", "> lakefile.lean");
    let (stage, server) = (Stage::new(), Server::start(&stray));
    let output = run_loop(&stage, &server, PROVERS, &[]).output();
    assert!(items(&envelope(&output, 0)).iter().all(|(_, problem)| problem.is_null()), "{output:?}");

    // The other run works until both provers have ended.
    let free = "[[phase]]\nname = \"free\"\nprompt = \"Wait.\"\n";
    let wait = "? Wait\nI wait.\n$ until test -e lakefile.lean; do sleep 0.1; done; sleep 3\nDone.\n";
    let (stage, server) = (Stage::new(), Server::start(&(stray + wait)));
    repository(&stage);
    let output = run_loop(&stage, &server, &format!("{PROVERS}{free}"), &[]).output();
    assert!(items(&envelope(&output, 0)).iter().all(|(_, problem)| problem.is_null()), "{output:?}");
}

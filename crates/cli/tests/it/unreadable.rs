//! Runs with an unreadable journal: the file is named and left unchanged. A handoff prompt can still be made
//! from the agent's files.

use crate::call::Output;
use crate::harness::{Stage, with_each_agent};
use crate::recovering::set_age;
use crate::server::{Server, WORK};
use crate::tidy;
use crate::workflows::{envelope, only_workflow, run_loop};
use longhaul_store::RunDir;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns a run that is done, but looks as if its supervisor had died before it reported that.
fn unreported_run(stage: &Stage, agent: &Path) -> RunDir {
    let server = Server::start(WORK);
    let call = stage.run(agent, &["fix it", "--permission-mode", "bypassPermissions"]);
    call.against(&server).output().envelope(0);
    let run = stage.only_run();
    let status = fs::read_to_string(run.status_path()).expect("a status");
    let status = status.replace("\"returncode\": 0", "\"returncode\": null");
    fs::write(run.status_path(), status).expect("the test owns the file");
    run
}

fn session_file(stage: &Stage) -> PathBuf {
    let files = tidy::all_paths(&stage.user_home().join(".claude/projects"));
    let files: Vec<_> = files
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

fn handoff(stage: &Stage, args: &[&str]) -> Output {
    stage.longhaul(["handoff"]).args(args).output()
}

/// Asserts that the output is a handoff prompt with this task and the work.
fn assert_handoff(handoff: &Output, task: &str) {
    assert_eq!((handoff.code, handoff.stderr.as_str()), (0, ""), "{handoff:?}");
    let start = format!("{task}\n\n(This continues earlier work");
    assert!(
        handoff.stdout.starts_with(&start) && handoff.stdout.contains("echo hello > hello.txt"),
        "{handoff:?}"
    );
    assert!(!handoff.stdout.contains("Further messages of the user"), "{handoff:?}");
}

#[test]
fn unreadable_journal_is_named_and_unchanged() {
    let stage = Stage::new();
    let run = unreported_run(&stage, &stage.agent());
    let (path, file) = (run.journal_path(), session_file(&stage).display().to_string());
    let moved = stage.folder().join("aside");
    let work = fs::canonicalize(stage.work()).expect("the stage has a directory");
    let original = fs::read_to_string(&path).expect("a journal");
    let lines: Vec<&str> = original.lines().collect();
    let newer = original.replacen("\"records\":[", "\"records\":[{\"record\":\"moon_phase_changed\"},", 1);
    let check = |journal: Option<&str>, fragments: &[&str]| {
        match journal {
            Some(journal) => fs::write(&path, journal).expect("the test owns the file"),
            None => fs::rename(&path, &moved).expect("the test owns the file"),
        }
        let hint = format!("longhaul handoff --from-transcript {file}");
        for command in
            [&["recover", "@"][..], &["recover"], &["attach", "@"], &["cancel", "@"], &["handoff", "@"]]
        {
            let rejected = stage.longhaul(command).output();
            assert_eq!(rejected.code, 25, "{command:?}: {rejected:?}");
            rejected.assert_error(fragments);
            rejected.assert_error(&[path.to_str().expect("a plain name"), "hint:", &hint]);
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), journal, "{command:?} changed the journal");
        }
    };
    let resume = format!(
        "without the limits and guards of the damaged run: longhaul run -C {} --resume ",
        work.display()
    );
    check(Some(&original.replacen(lines[1], "{}", 1)), &["line 2 is damaged", &resume]);
    check(Some(&original.replacen(&format!("{}\n", lines[1]), "", 1)), &["line 2 is step 3, expected 2"]);
    check(
        Some(&newer),
        &[
            "line 1 was written by a newer version of longhaul",
            "moon_phase_changed",
            "use the newer longhaul",
        ],
    );
    check(None, &["no such file"]);
    assert_handoff(&handoff(&stage, &["--from-transcript", &file]), "fix it");

    // Without the session file, the stream has the work, and the run's plan has the task.
    fs::remove_file(&file).expect("the test owns the file");
    let rejected = handoff(&stage, &["@"]);
    let stream = run.attempt(1).stream_path().display().to_string();
    rejected.assert_error(&[&format!("longhaul handoff --from-transcript {stream}")]);
    assert_handoff(&handoff(&stage, &["--from-transcript", &stream]), "fix it");
    // Restores the journal, because every run must be complete when the test ends.
    fs::rename(&moved, &path).expect("the test owns the file");
}

#[test]
fn unreadable_workflow_is_named() {
    let (stage, server) = (Stage::new(), Server::start("Done.\n"));
    let file = "[[phase]]\nname = \"work\"\nprompt = \"Work.\"\n";
    envelope(&run_loop(&stage, &server, file, &[]).output(), 0);
    let workflow = only_workflow(&stage);
    let (plan, status) = (workflow.plan_path(), workflow.status_path());
    let originals = [&plan, &status].map(|path| fs::read_to_string(path).expect("a file"));
    let unfinished = originals[1].replace("\"returncode\": 0", "\"returncode\": null");
    fs::write(&status, unfinished).and_then(|()| fs::write(&plan, "{}")).expect("the test owns the files");
    for command in [&["recover", "--list"][..], &["recover"], &["status"], &["report", "--since", "1h"]] {
        let output = stage.longhaul(command).output();
        let name = format!("workflow {}: ", workflow.id());
        assert!(output.stderr.contains(&name), "{command:?}: {output:?}");
    }
    // Every workflow must be complete when the test ends.
    for (path, original) in [plan, status].iter().zip(originals) {
        fs::write(path, original).expect("the test owns the files");
    }
}

/// A run of this age counts as abandoned and must not cause an error at every boot.
#[test]
fn old_unreadable_run_is_skipped() {
    let stage = Stage::new();
    let run = unreported_run(&stage, &stage.agent());
    let path = run.journal_path();
    let original = fs::read_to_string(&path).expect("a journal");
    fs::write(&path, format!("{{}}\n{original}")).expect("the test owns the file");
    let files = [path, run.status_path(), run.attempt(1).stream_path()];
    set_age(&files, 24 * 8);
    let skipped = stage.longhaul(["recover"]).output();
    assert_eq!((skipped.code, skipped.stdout.as_str()), (0, ""), "{skipped:?}");
    set_age(&files, 24 * 6);
    stage.longhaul(["recover"]).output().assert_error(&["line 1 is damaged"]);
}

fn check_handoffs(stage: &Stage, agent: &Path) {
    let run = unreported_run(stage, agent);
    let (session, stream) = (session_file(stage), run.attempt(1).stream_path());
    let (session, stream) = (session.to_str().expect("a plain name"), stream.to_str().expect("a plain name"));
    let task = stage.file("task.md", "fix it").display().to_string();
    for file in [session, stream] {
        assert_handoff(&handoff(stage, &["--from-transcript", file]), "fix it");
        let short = handoff(stage, &["--from-transcript", file, "--handoff-tokens", "300"]);
        assert!(short.code == 0 && short.stdout.len() < 1500, "{short:?}");
    }
    assert_handoff(&handoff(stage, &["--from-transcript", stream, "--task", "repair it"]), "repair it");
    assert_handoff(&handoff(stage, &["--from-transcript", stream, "--task-file", &task]), "fix it");
    // Both files contain the same calls.
    let both = handoff(stage, &["--from-transcript", session, "--from-transcript", stream]);
    assert_handoff(&both, "fix it");
    assert_eq!(both.stdout.matches("echo hello > hello.txt").count(), 1, "{both:?}");

    let copy = stage.folder().join("copy.jsonl");
    fs::copy(stream, &copy).expect("the stage is writable");
    let check_usage = |args: &[&str], fragments: &[&str]| {
        let rejected = handoff(stage, args);
        assert_eq!((rejected.code, rejected.stdout.as_str()), (2, ""), "{rejected:?}");
        rejected.assert_error(fragments);
    };
    let copy = copy.to_str().expect("a plain name");
    check_usage(&["--from-transcript", copy], &[copy, "does not state the task", "hint:", "--task-file"]);
    assert_handoff(&handoff(stage, &["--from-transcript", copy, "--task", "fix it"]), "fix it");
    check_usage(
        &["--from-transcript", &task],
        &[&task, "neither a session file", "hint:", ".claude/projects"],
    );
    check_usage(&["--from-transcript", "/nowhere/x.jsonl"], &["/nowhere/x.jsonl", "hint:"]);
    check_usage(
        &["--from-transcript", copy, "--task-file", "/nowhere"],
        &["/nowhere", "hint: check --task-file"],
    );
    assert_handoff(&handoff(stage, &[]), "fix it");
    check_usage(&["@", "--from-transcript", copy], &["cannot be used with"]);
    check_usage(&["@", "--task", "x"], &["cannot be used with", "--task"]);
}

#[test]
fn handoff_is_made_from_any_session_or_stream() {
    with_each_agent("handoff prompts from session files", Stage::new, check_handoffs);
}

//! Runs whose record cannot be read: the file is named and left as it is, and the work is still told by what the agent
//! wrote.

use crate::call::Ended;
use crate::harness::{Stage, claude_code};
use crate::server::{Server, WORK};
use crate::tidy;
use longhaul_store::RunDir;
use std::fs;
use std::path::{Path, PathBuf};

/// A run that is done, with this agent, and then looks as if its supervisor had died before it could say so.
fn untold(stage: &Stage, agent: &Path) -> RunDir {
    let server = Server::plays(WORK);
    let call = stage.run(agent, &["fix it", "--permission-mode", "bypassPermissions"]);
    call.against(&server).end().envelope(0);
    let run = stage.only_run();
    let status = fs::read_to_string(run.status_path()).expect("a status");
    let status = status.replace("\"returncode\": 0", "\"returncode\": null");
    fs::write(run.status_path(), status).expect("the file is ours");
    run
}

fn session_file(stage: &Stage) -> PathBuf {
    let files = tidy::everything(&stage.user_home().join(".claude/projects"));
    let files: Vec<_> =
        files.into_iter().filter(|path| path.extension().is_some_and(|is| is == "jsonl")).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

fn seed(stage: &Stage, args: &[&str]) -> Ended {
    stage.longhaul(["seed"]).args(args).end()
}

/// Asserts that a seed was printed that begins with the task and tells of the work.
fn tells(seed: &Ended, task: &str) {
    assert_eq!((seed.code, seed.stderr.as_str()), (0, ""), "{seed:?}");
    let begins = format!("{task}\n\n(This goes on with earlier work");
    assert!(seed.stdout.starts_with(&begins) && seed.stdout.contains("echo hello > hello.txt"), "{seed:?}");
    assert!(!seed.stdout.contains("Further messages of the user"), "{seed:?}");
}

#[test]
fn a_journal_that_cannot_be_read_is_named_and_left() {
    let stage = Stage::new();
    let run = untold(&stage, &stage.agent());
    let (path, file) = (run.journal_path(), session_file(&stage).display().to_string());
    let aside = stage.folder().join("aside");
    let whole = fs::read_to_string(&path).expect("a journal");
    let lines: Vec<&str> = whole.lines().collect();
    let newer = whole.replacen("\"records\":[", "\"records\":[{\"record\":\"moon_phase_changed\"},", 1);
    let check = |journal: Option<&str>, words: &[&str]| {
        match journal {
            Some(journal) => fs::write(&path, journal).expect("the file is ours"),
            None => fs::rename(&path, &aside).expect("the file is ours"),
        }
        let hint = format!("longhaul seed --from-transcript {file}");
        for command in
            [&["recover", "@"][..], &["recover"], &["attach", "@"], &["cancel", "@"], &["seed", "@"]]
        {
            let refused = stage.longhaul(command).end();
            assert_eq!(refused.code, 25, "{command:?}: {refused:?}");
            refused.says(words);
            refused.says(&[path.to_str().expect("a plain name"), "hint:", &hint]);
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), journal, "{command:?} changed it");
        }
    };
    check(Some(&whole.replacen(lines[1], "{}", 1)), &["line 2 is damaged", "session can still be resumed"]);
    check(
        Some(&whole.replacen(&format!("{}\n", lines[1]), "", 1)),
        &["line 2 is step 3 where step 2 belongs"],
    );
    check(
        Some(&newer),
        &["line 1 was written by a newer longhaul", "moon_phase_changed", "use the newer longhaul"],
    );
    check(None, &["no such file"]);
    tells(&seed(&stage, &["--from-transcript", &file]), "fix it");

    // Without the session's file, the stream tells of it; its own run's plan knows the task.
    fs::remove_file(&file).expect("the file is ours");
    let refused = seed(&stage, &["@"]);
    let stream = run.attempt(1).stream_path().display().to_string();
    refused.says(&[&format!("longhaul seed --from-transcript {stream}")]);
    tells(&seed(&stage, &["--from-transcript", &stream]), "fix it");
    // A run is there as a whole, or this test has left something.
    fs::rename(&aside, &path).expect("the file is ours");
}

/// Old enough to have been given up, and no reason to complain at every boot.
#[test]
fn an_old_run_that_cannot_be_read_is_no_complaint() {
    let stage = Stage::new();
    let run = untold(&stage, &stage.agent());
    let path = run.journal_path();
    let whole = fs::read_to_string(&path).expect("a journal");
    fs::write(&path, format!("{{}}\n{whole}")).expect("the file is ours");
    let age = |hours: u64| {
        let journal = fs::File::options().write(true).open(&path).expect("a journal");
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(hours * 3600);
        journal.set_modified(then).expect("the file is ours");
    };
    age(24 * 8);
    let nothing = stage.longhaul(["recover"]).end();
    assert_eq!((nothing.code, nothing.stdout.as_str()), (0, ""), "{nothing:?}");
    age(24 * 6);
    stage.longhaul(["recover"]).end().says(&["line 1 is damaged"]);
}

fn seeds_of_files(stage: &Stage, agent: &Path) {
    let run = untold(stage, agent);
    let (session, stream) = (session_file(stage), run.attempt(1).stream_path());
    let (session, stream) = (session.to_str().expect("plain"), stream.to_str().expect("plain"));
    let task = stage.file("task.md", "fix it").display().to_string();
    for file in [session, stream] {
        tells(&seed(stage, &["--from-transcript", file]), "fix it");
        let short = seed(stage, &["--from-transcript", file, "--handoff-tokens", "300"]);
        assert!(short.code == 0 && short.stdout.len() < 1500, "{short:?}");
    }
    tells(&seed(stage, &["--from-transcript", stream, "--task", "repair it"]), "repair it");
    tells(&seed(stage, &["--from-transcript", stream, "--task-file", &task]), "fix it");
    // Both tell of the same calls.
    let both = seed(stage, &["--from-transcript", session, "--from-transcript", stream]);
    tells(&both, "fix it");
    assert_eq!(both.stdout.matches("echo hello > hello.txt").count(), 1, "{both:?}");

    let alone = stage.folder().join("alone.jsonl");
    fs::copy(stream, &alone).expect("the stage can be written");
    let usage = |args: &[&str], words: &[&str]| {
        let refused = seed(stage, args);
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{refused:?}");
        refused.says(words);
    };
    let alone = alone.to_str().expect("plain");
    usage(
        &["--from-transcript", alone],
        &[alone, "does not say what was to be done", "hint:", "--task-file"],
    );
    tells(&seed(stage, &["--from-transcript", alone, "--task", "fix it"]), "fix it");
    usage(&["--from-transcript", &task], &[&task, "neither a session file", "hint:", ".claude/projects"]);
    usage(&["--from-transcript", "/nowhere/x.jsonl"], &["/nowhere/x.jsonl", "hint:"]);
    usage(&["--from-transcript", alone, "--task-file", "/nowhere"], &["/nowhere", "hint: check --task-file"]);
    usage(&[], &["<RUN>", "--help"]);
    usage(&["@", "--from-transcript", alone], &["cannot be used with"]);
    usage(&["@", "--task", "x"], &["cannot be used with", "--task"]);
}

#[test]
fn a_seed_is_made_of_any_session_or_stream() {
    let stage = Stage::new();
    seeds_of_files(&stage, &stage.agent());
    if let Some(claude) = claude_code("seeds of session files") {
        seeds_of_files(&Stage::new(), &claude);
    }
}

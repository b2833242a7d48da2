//! Workflows whose runs work in git worktrees: merges, conflicts, bad projects and crashes.

use crate::call::{Output, wait_until};
use crate::harness::Stage;
use crate::server::Server;
use crate::workflows::{envelope, envelope_of, only_workflow, replayed, run_loop};
use longhaul_core::OutcomeKind;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// One phase with three items, each in a worktree of its own.
pub const PROVERS: &str = r#"
[[phase]]
name = "prove"
fan_out = { list = ["alpha", "beta", "gamma"] }
isolation = "worktree"
prompt = "Prove {{ item }}."
on = { failed = "continue" }
"#;

/// Each prover writes a file of its own; two of them leave it uncommitted.
pub const PROVERS_SCRIPT: &str = "
No prompt matches.
? Prove alpha
I prove it.
$ pwd > alpha.txt
Proved.
? Prove beta
I prove it.
$ echo beta > beta.txt; git add -A; git -c user.name=a -c user.email=a@b commit -qm 'beta is proved'
Proved.
? Prove gamma
I prove it.
$ echo gamma > gamma.txt
Proved.
";

/// Two provers change the same file.
const RIVALS_SCRIPT: &str = "
No prompt matches.
? Prove alpha
I prove it.
$ echo alpha > shared.txt
Proved.
? Prove beta
I prove it.
$ echo beta > shared.txt
Proved.
? Prove gamma
I prove it.
$ echo gamma > gamma.txt
Proved.
";

/// Makes the work directory a repository with one commit.
pub fn repository(stage: &Stage) {
    fs::write(stage.work().join("shared.txt"), "start\n").expect("the stage is writable");
    git(&stage.work(), &["init", "--quiet", "--initial-branch=main"]);
    git(&stage.work(), &["config", "user.name", "Ada"]);
    git(&stage.work(), &["config", "user.email", "ada@example.com"]);
    git(&stage.work(), &["add", "--all"]);
    git(&stage.work(), &["commit", "--quiet", "-m", "start"]);
}

pub fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git").args(args).current_dir(dir).output().expect("git starts");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn read(stage: &Stage, name: &str) -> String {
    fs::read_to_string(stage.work().join(name)).unwrap_or_else(|error| format!("({name}: {error})"))
}

/// Asserts that the work directory is clean and has no other worktree or branch.
pub fn assert_tidy(stage: &Stage) {
    assert_eq!(git(&stage.work(), &["status", "--porcelain"]), "");
    assert_eq!(git(&stage.work(), &["worktree", "list"]).lines().count(), 1);
    assert_eq!(git(&stage.work(), &["branch", "--list", "longhaul/*"]), "");
}

/// Returns the number of commits whose subject starts with `start`.
pub fn commits(stage: &Stage, start: &str) -> usize {
    let subjects = git(&stage.work(), &["log", "--format=%s"]);
    subjects.lines().filter(|subject| subject.starts_with(start)).count()
}

#[test]
fn runs_work_in_worktrees_and_are_merged() {
    let (stage, server) = (Stage::new(), Server::start(PROVERS_SCRIPT));
    repository(&stage);
    let output = run_loop(&stage, &server, PROVERS, &[]).output();
    envelope(&output, 0);
    assert_tidy(&stage);
    let (dir, alpha) = (only_workflow(&stage), read(&stage, "alpha.txt"));
    let worktrees = fs::canonicalize(dir.path().join("worktrees")).expect("the directory exists");
    assert_eq!(Path::new(alpha.trim()), worktrees.join(format!("{}-1-prove-1", dir.id())));
    let mode = fs::metadata(&worktrees).expect("the directory exists").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert_eq!(
        (read(&stage, "beta.txt").as_str(), read(&stage, "gamma.txt").as_str()),
        ("beta\n", "gamma\n")
    );
    let log = git(&stage.work(), &["log", "--first-parent", "--reverse", "--format=%an: %s"]);
    let id = dir.id();
    let expected = format!(
        "Ada: start\nAda: prove: alpha\nAda: Merge branch 'longhaul/{id}/1-prove-2'\n\
         Ada: Merge branch 'longhaul/{id}/1-prove-3'\n"
    );
    assert_eq!(log, expected);
    // The worktree is gone, but not its commits.
    let diff = stage.longhaul(["diff", &format!("{id}-1-prove-2")]).output();
    assert!(diff.code == 0 && diff.stdout.contains("+beta"), "{diff:?}");
}

#[test]
fn subdirectory_of_the_repository_stays_the_working_directory() {
    let (stage, server) = (Stage::new(), Server::start(PROVERS_SCRIPT));
    repository(&stage);
    let sub = stage.work().join("sub");
    fs::create_dir(&sub).and_then(|()| fs::write(sub.join("file"), "x")).expect("the stage is writable");
    git(&stage.work(), &["add", "--all"]);
    git(&stage.work(), &["commit", "--quiet", "-m", "sub"]);
    let output = run_loop(&stage, &server, PROVERS, &[]).in_dir(&sub).output();
    envelope(&output, 0);
    assert!(
        read(&stage, "sub/alpha.txt").trim().ends_with("-1-prove-1/sub"),
        "{}",
        read(&stage, "sub/alpha.txt")
    );
    assert_tidy(&stage);
}

#[test]
fn blocked_path_of_the_project_is_blocked_in_its_worktrees() {
    let file = "[[phase]]\nname = \"prove\"\nisolation = \"worktree\"\nprompt = \"Prove it.\"\n";
    let stage = Stage::new();
    // The agent works in a folder below the blocked file.
    let sub = stage.work().join("sub");
    fs::create_dir(&sub).and_then(|()| fs::write(sub.join("key.txt"), "key")).expect("the stage is writable");
    stage.file("work/longhaul.toml", "block_path = [\"shared.txt\", \"sub/key.txt\"]\n");
    repository(&stage);
    let work = stage.work().display().to_string();
    let script = format!(
        "I look.\n$ cat key.txt > looked\nAgain.\n$ cat ../shared.txt > looked\nAgain.\n$ cat {work}/sub/key.txt > looked\n\
         Again.\n$ cat {work}/shared.txt > looked\nProved.\n"
    );
    let server = Server::start(&script);
    envelope(&run_loop(&stage, &server, file, &[]).in_dir(&sub).output(), 0);
    let run = stage.only_run();
    let show = stage.longhaul(["show", run.id().as_str(), "--output-format", "json"]).output();
    let show: Value = serde_json::from_str(&show.stdout).expect("a run is shown");
    assert_eq!(show["attempts"][0]["denied_calls"], 4, "{show}");
    assert!(!sub.join("looked").exists());
}

#[test]
fn conflict_needs_a_person_and_resume_continues_after_the_printed_commands() {
    let (stage, server) = (Stage::new(), Server::start(RIVALS_SCRIPT));
    repository(&stage);
    let output = run_loop(&stage, &server, PROVERS, &["--notify", "cat >> ../received"]).output();
    let ended = envelope(&output, 23);
    let errors = ended["errors"].to_string();
    // One notification, although the other results were merged.
    let notified = fs::read_to_string(stage.folder().join("received")).expect("a notification");
    let notified: Value = serde_json::from_str(&notified).expect("one object");
    assert_eq!(notified["kind"], "needs_person", "{notified}");
    assert_eq!(notified["run"], only_workflow(&stage).id().as_str(), "{notified}");
    assert_eq!(notified["next"], ended["workflow"]["next"][0], "{notified}");
    let id = only_workflow(&stage).id().clone();
    let work = fs::canonicalize(stage.work()).expect("the directory exists");
    let command = format!("git -C {} merge longhaul/{id}/1-prove-2", work.display());
    for text in ["1 of 3 results are not merged", "conflicts in shared.txt", &command] {
        assert!(errors.contains(text), "no {text} in {errors}");
    }
    assert_eq!(
        (read(&stage, "shared.txt").as_str(), read(&stage, "gamma.txt").as_str()),
        ("alpha\n", "gamma\n")
    );
    assert_eq!(git(&stage.work(), &["status", "--porcelain"]), "");
    let export = stage.longhaul(["export", id.as_str()]).output();
    export.envelope(25);
    export.assert_error(&["it still has git worktrees", &format!("`longhaul why {id}`")]);
    let why = stage.longhaul(["why", id.as_str()]).output().stdout;
    assert!(why.contains(&command), "{why}");
    let merged = stage.program("sh").args(["-c", &command]).output();
    assert_eq!(merged.code, 1, "{merged:?}");
    fs::write(stage.work().join("shared.txt"), "both\n").expect("the stage is writable");
    git(&stage.work(), &["commit", "--quiet", "--all", "--no-edit"]);
    let resumed = stage.longhaul(["resume", id.as_str()]).against(&server).output();
    envelope(&resumed, 0);
    assert_eq!(read(&stage, "shared.txt"), "both\n");
    assert_tidy(&stage);
}

/// The second of two runs stops the workflow before the result of the first is merged.
#[test]
fn resume_merges_what_a_stopped_workflow_left() {
    let script = "\nI prove it.\n$ echo beta > beta.txt\nProved.\n? Prove alpha\nI prove it.\n$ pwd > alpha.txt\nProved.\n";
    let fault = "[[fault]]\nturn = 1\ntimes = \"always\"\nstatus = { code = 403 }\n";
    let (stage, rejecting) = (Stage::new(), Server::start(&format!("{script}{fault}")));
    repository(&stage);
    let file = PROVERS.replace(", \"gamma\"", "");
    let ended = envelope(&run_loop(&stage, &rejecting, &file, &["--serial"]).output(), 23);
    let (id, next) = (only_workflow(&stage).id().to_string(), ended["workflow"]["next"].to_string());
    let why = stage.longhaul(["why", &id, "--json"]).output().stdout;
    for commands in [&next, &why] {
        assert!(!commands.contains(" merge longhaul/") && !commands.contains("/1-prove-1"), "{commands}");
        assert!(commands.contains(&format!("longhaul resume {id}")), "{commands}");
    }
    let output = stage.longhaul(["resume", &id]).against(&Server::start(script)).output();
    envelope(&output, 0);
    assert_eq!(read(&stage, "beta.txt"), "beta\n");
    assert!(read(&stage, "alpha.txt").contains("1-prove-1"));
}

#[test]
fn failed_run_keeps_its_worktree_and_the_others_are_merged() {
    // Its result does not match the schema of the file.
    let script =
        PROVERS_SCRIPT.replace("echo gamma > gamma.txt\nProved.", "echo gamma > gamma.txt\n{\"ok\": 1}");
    let file = PROVERS.replace("failed = \"continue\"", "check_failed = \"continue\"")
        + "schema = { type = \"object\", required = [\"ok\"], properties = { ok = { type = \"boolean\" } } }\n";
    let script = script.replace("\nProved.", "\n{\"ok\": true}");
    let (stage, server) = (Stage::new(), Server::start(&script));
    repository(&stage);
    let output = run_loop(&stage, &server, &file, &[]).output();
    envelope(&output, 27);
    assert_eq!(read(&stage, "beta.txt"), "beta\n");
    assert!(!stage.work().join("gamma.txt").exists());
    let kept = format!("{}-1-prove-3", only_workflow(&stage).id());
    assert!(git(&stage.work(), &["worktree", "list"]).contains(&kept));
    let file = only_workflow(&stage).path().join("worktrees").join(kept).join("gamma.txt");
    assert_eq!(fs::read_to_string(file).ok().as_deref(), Some("gamma\n"));
}

/// Starts a workflow whose first run works for long, and suspends it.
fn suspended(stage: &Stage) {
    let started = stage.folder().join("started");
    let slow = format!("touch {}; sleep 30", started.display());
    let server = Server::start(&PROVERS_SCRIPT.replace("pwd > alpha.txt", &slow));
    repository(stage);
    let running = run_loop(stage, &server, PROVERS, &[]).start();
    wait_until("the tool runs", || started.exists());
    running.signal(Signal::TERM);
    envelope(&running.output(), 143);
}

/// The workflow cannot continue the run, so that no later `recover` may find it.
#[test]
fn run_whose_worktree_was_removed_is_ended_with_a_reason() {
    let stage = Stage::new();
    suspended(&stage);
    let id = only_workflow(&stage).id().to_string();
    let worktree = only_workflow(&stage).path().join("worktrees").join(format!("{id}-1-prove-1"));
    fs::remove_dir_all(&worktree).expect("it exists");
    let server = Server::start(PROVERS_SCRIPT);
    envelope(&stage.longhaul(["recover", &id]).against(&server).output(), 25);
    let why = stage.longhaul(["why", &id]).output().stdout;
    assert!(why.contains("1-prove-1: not_started (") && why.contains("No such file"), "{why}");
    let recovered = stage.longhaul(["recover"]).output();
    assert!(recovered.code == 0 && recovered.stderr.contains("nothing to recover"), "{recovered:?}");
}

/// Its runs have their worktrees, and a cancelled workflow merges nothing.
#[test]
fn suspended_workflow_can_be_cancelled_after_its_project_was_moved() {
    let stage = Stage::new();
    suspended(&stage);
    fs::rename(stage.work(), stage.folder().join("moved")).expect("the stage is writable");
    envelope_of(&stage.longhaul(["cancel", "@"]).in_dir(stage.folder()).output(), 0, 130);
}

/// Asserts that the workflow did not start, and that the message contains these texts.
fn assert_refused(stage: &Stage, output: &Output, texts: &[&str]) {
    assert_eq!(output.code, 25, "{output:?}");
    for text in texts {
        assert!(output.stdout.contains(text) || output.stderr.contains(text), "no {text} in {output:?}");
    }
    assert!(stage.runs().is_empty() && stage.workflows().is_empty());
}

#[test]
fn projects_without_a_clean_repository_are_refused() {
    let (stage, server) = (Stage::new(), Server::start(PROVERS_SCRIPT));
    for args in [&[][..], &["--dry-run"]] {
        let output = run_loop(&stage, &server, PROVERS, args).output();
        assert_refused(&stage, &output, &["is not in a git repository", "isolation"]);
    }
    git(&stage.work(), &["init", "--quiet"]);
    let output = run_loop(&stage, &server, PROVERS, &[]).output();
    assert_refused(&stage, &output, &["has no commit"]);
    repository(&stage);
    fs::write(stage.work().join("shared.txt"), "mine\n").expect("the stage is writable");
    fs::write(stage.work().join("notes.txt"), "mine\n").expect("the stage is writable");
    for args in [&[][..], &["--dry-run"]] {
        let output = run_loop(&stage, &server, PROVERS, args).output();
        assert_refused(&stage, &output, &["has uncommitted changes: shared.txt, notes.txt", "stash"]);
    }
    assert_eq!(read(&stage, "shared.txt"), "mine\n");
    git(&stage.work(), &["stash", "--include-untracked", "--quiet"]);
    envelope(&run_loop(&stage, &server, PROVERS, &[]).output(), 0);
}

/// Kills the supervisor, alone or with its agents and git, at many failpoints, and recovers.
#[test]
fn nothing_is_lost_or_merged_twice_after_a_kill_at_any_failpoint() {
    let mut killed = 0;
    for point in (1..400).step_by(9) {
        let stage = Stage::new();
        // A tool that is killed with its agent is not repeated, so each one reports that it ran.
        let ran = stage.folder().join("ran");
        let report = |name: &str| format!("; echo {name}.txt >> {}\nProved.", ran.display());
        let script = ["alpha", "beta", "gamma"].iter().fold(PROVERS_SCRIPT.to_owned(), |script, name| {
            let (before, after) = script.split_once("\nProved.").expect("a reply for each prover");
            format!("{before}{}{after}", report(name).replace("Proved.", "Proven."))
        });
        let server = Server::start(&script);
        repository(&stage);
        let is_alone = point % 2 == 0;
        let target = if is_alone { "supervisor" } else { "all" };
        let call = run_loop(&stage, &server, PROVERS, &[]);
        let output =
            call.env("LONGHAUL_FAILPOINT", format!("{target}@{point}")).start().output_unless_killed();
        if output.is_some() {
            assert!(killed > 5, "nothing was killed after {point} points");
            return;
        }
        if stage.workflows().is_empty() {
            continue;
        }
        killed += 1;
        let id = only_workflow(&stage).id().clone();
        let mut output = stage.longhaul(["recover", id.as_str()]).against(&server).output();
        // A git that was killed left a lock in the user's repository. The printed command removes it.
        if !is_alone && output.code == 23 {
            let (_, rest) = output.stdout.split_once("type `rm ").unwrap_or_else(|| panic!("{output:?}"));
            let lock = rest.split('`').next().expect("the command ends");
            fs::remove_file(lock).expect("the lock exists");
            output = stage.longhaul(["resume", id.as_str()]).against(&server).output();
        }
        envelope(&output, 0);
        assert_tidy(&stage);
        let ran = fs::read_to_string(&ran).unwrap_or_default();
        for name in ran.lines() {
            assert!(stage.work().join(name).exists(), "no {name} after point {point}");
        }
        if is_alone {
            let starts = ["prove: alpha", "beta is proved", "prove: gamma", "Merge branch"];
            assert_eq!(starts.map(|start| commits(&stage, start)), [1, 1, 1, 2], "point {point}");
        }
        let outcome = replayed(&only_workflow(&stage)).state().outcome();
        assert_eq!(outcome.map(|outcome| outcome.kind), Some(OutcomeKind::Done));
    }
    panic!("the workflow has more failpoints than the test expects");
}

/// Kills the supervisor at moments of the merge.
#[test]
fn a_kill_during_the_merge_loses_nothing() {
    for delay in [0, 5, 10, 20, 40, 80] {
        let (stage, server) = (Stage::new(), Server::start(PROVERS_SCRIPT));
        repository(&stage);
        let running = run_loop(&stage, &server, PROVERS, &[]).start();
        wait_until("the merge starts", || {
            let workflow = stage.workflows().pop();
            let journal = workflow.and_then(|dir| fs::read_to_string(dir.journal_path()).ok());
            journal.is_some_and(|journal| journal.contains("merge_started"))
        });
        std::thread::sleep(std::time::Duration::from_millis(delay));
        running.kill();
        let id = only_workflow(&stage).id().clone();
        let output = stage.longhaul(["recover", id.as_str()]).against(&server).output();
        // The workflow can have finished before the kill.
        let outcome = replayed(&only_workflow(&stage)).state().outcome();
        assert_eq!(outcome.map(|outcome| outcome.kind), Some(OutcomeKind::Done), "{output:?}");
        assert_tidy(&stage);
        assert_eq!(
            (commits(&stage, "prove: gamma"), commits(&stage, "Merge branch")),
            (1, 2),
            "after {delay} ms"
        );
    }
}

//! The changes that a run made: complete, without earlier or later changes to the workspace, and without a
//! trace in the user's repository.

use crate::call::{Output, wait_until};
use crate::harness::Stage;
use crate::recovering::{held_steps, play_with_each_agent, recover, release, run_to_mid_tool};
use crate::server::{Server, WORK};
use crate::transfer::{files, shell};
use expect_test::{Expect, expect};
use serde_json::Value;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// A repository with two commits and uncommitted work: changed, staged, deleted, untracked and stashed.
pub const REPOSITORY: &str = "
    git init -qb main; git config user.name me; git config user.email me@example.com
    printf '*.log\\n' > .gitignore; mkdir sub
    for name in changed mine staged deleted put-away; do printf 'one\\ntwo\\nthree\\n' > $name; done
    for line in 1 2 3 4 5 6 7 8; do echo $line >> old; done; printf kept > sub/kept
    git add -A; git commit -qm first; git commit -qm second --allow-empty
    echo away > put-away; git stash -q; echo mine >> mine; echo staged > staged; git add staged; rm put-away
    echo mine > not-added; echo log > before.log";

/// A script with one command, followed by an answer.
pub fn scenario_with_command(command: &str) -> String {
    WORK.replace("echo hello > hello.txt", command)
}

pub const BASE_ARGS: [&str; 5] = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];

/// Runs the scripted agent, which runs this command in the workspace.
pub fn run_command(stage: &Stage, command: &str) -> Output {
    let server = Server::start(&scenario_with_command(command));
    let output = stage.run(&stage.agent(), &BASE_ARGS).against(&server).output();
    assert_eq!(output.code, 0, "{output:?}");
    output
}

/// Runs the scripted agent, which runs this command, on a new stage with this repository.
pub fn run_command_in(repository: &str, command: &str) -> Stage {
    let stage = Stage::new();
    shell(&stage, &stage.work(), repository);
    run_command(&stage, command);
    stage
}

pub fn diff(stage: &Stage, args: &[&str]) -> Output {
    stage.longhaul(["diff"]).args(args).output()
}

pub fn text(stage: &Stage, args: &[&str]) -> String {
    let output = diff(stage, args);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");
    output.stdout.replace(stage.only_run().id().as_str(), "RUN")
}

pub fn stdout_of(output: &Output) -> &str {
    assert_eq!(output.code, 0, "{output:?}");
    &output.stdout
}

pub fn json(stage: &Stage, args: &[&str]) -> Value {
    parsed(&diff(stage, &[&["--output-format", "json"], args].concat()))
}

fn parsed(output: &Output) -> Value {
    serde_json::from_str(stdout_of(output)).expect("an object is printed")
}

/// Lists the status and path of each changed file.
pub fn changed_files(diff: &Value) -> String {
    let files = diff["files"].as_array().expect("a list").iter();
    let lines = files.map(|file| {
        let field = |key: &str| file[key].as_str().map_or_else(|| file[key].to_string(), str::to_owned);
        format!("{} {}", field("status"), field("path"))
    });
    lines.collect::<Vec<_>>().join(", ")
}

const CHANGES: &str = "printf 'one\\nTWO\\nthree\\n' > changed; rm deleted; git mv old sub/new; git commit -qm 'Moved' -- old sub/new; \
                       printf '\\0\\1' > binary; echo noise > after.log; echo new > sub/added";

#[test]
fn diff_shows_the_changes_of_a_run() {
    play_with_each_agent(&scenario_with_command(CHANGES), "the diff of a run", |stage, agent, server| {
        shell(stage, &stage.work(), REPOSITORY);
        stage.run(agent, &BASE_ARGS).against(server).output().envelope(0);
        // Later changes are not part of the run.
        shell(
            stage,
            &stage.work(),
            "echo later >> changed; echo later > later; git add -A; git commit -qm later",
        );
        check(
            stage,
            &["@", "--", ".", ":!binary"],
            expect![[r#"
            run RUN: 4 files changed, 2 insertions(+), 4 deletions(-); 1 commit on main

            diff --git a/changed b/changed
            index 4cb29ea..ddc897f 100644
            --- a/changed
            +++ b/changed
            @@ -1,3 +1,3 @@
             one
            -two
            +TWO
             three
            diff --git a/deleted b/deleted
            deleted file mode 100644
            index 4cb29ea..0000000
            --- a/deleted
            +++ /dev/null
            @@ -1,3 +0,0 @@
            -one
            -two
            -three
            diff --git a/sub/added b/sub/added
            new file mode 100644
            index 0000000..3e75765
            --- /dev/null
            +++ b/sub/added
            @@ -0,0 +1 @@
            +new
            diff --git a/old b/sub/new
            similarity index 100%
            rename from old
            rename to sub/new
        "#]],
        );
        // The patch applies to another clone.
        shell(stage, stage.folder(), "git clone -q work clone; git -C clone checkout -q main~2");
        let patch = text(stage, &[]);
        let apply = stage.program("git").args(["-C", "clone", "apply"]).stdin(patch).output();
        assert_eq!(apply.code, 0, "{apply:?}");
        let [original, patched] =
            ["work", "clone"].map(|name| fs::read(stage.folder().join(name).join("binary")).ok());
        assert!(original.is_some() && original == patched && stage.folder().join("clone/sub/new").exists());
        check(
            stage,
            &["@", "--stat"],
            expect![[r#"
            run RUN: 5 files changed, 2 insertions(+), 4 deletions(-); 1 commit on main

             binary         | Bin 0 -> 2 bytes
             changed        |   2 +-
             deleted        |   3 ---
             sub/added      |   1 +
             old => sub/new |   0
        "#]],
        );
        check(
            stage,
            &["--name-only"],
            expect![[r#"
            binary
            changed
            deleted
            sub/added
            sub/new
        "#]],
        );
        check(
            stage,
            &["--name-only", "--", "sub", "chan*"],
            expect![[r#"
            changed
            sub/added
            sub/new
        "#]],
        );

        let summary = json(stage, &[]);
        let keys = |value: &Value| {
            value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>().join(" ")
        };
        expect![[r#"
            commits files from omitted run to totals workspace
            at branch git_error head omitted tree unrecorded_reason
            at branch git_error head live omitted tree unrecorded_reason
            binary deletions from insertions path status"#]]
        .assert_eq(&[&summary, &summary["from"], &summary["to"], &summary["files"][0]].map(keys).join("\n"));
        assert_eq!(
            summary["totals"],
            serde_json::json!({ "files": 5, "insertions": 2, "deletions": 4 }),
            "{summary}"
        );
        assert_eq!(summary["commits"][0]["subject"], "Moved");
        assert_eq!(
            (&summary["to"]["live"], &summary["to"]["head"]),
            (&false.into(), &summary["commits"][0]["id"])
        );
        assert_eq!(
            (&summary["from"]["branch"], &summary["run"]),
            (&"main".into(), &stage.only_run().id().as_str().into())
        );

        let show = stage.longhaul(["show", "@", "--output-format", "text"]).output().stdout;
        assert!(show.contains("  changed     5 files, +2 -4; longhaul diff "), "{show}");
        assert_eq!(parsed(&stage.longhaul(["show", "@"]).output())["changed"], summary["totals"]);
    });
}

fn check(stage: &Stage, args: &[&str], expected: Expect) {
    expected.assert_eq(&text(stage, args));
}

#[test]
fn diff_reports_no_changes() {
    let stage = run_command_in(REPOSITORY, "cat mine > /dev/null; touch old");
    assert_eq!(text(&stage, &[]), "run RUN changed nothing\n");
    assert_eq!(text(&stage, &["--name-only"]), "");
    let commits = run_command_in(
        REPOSITORY,
        "git commit -qm empty --allow-empty; git commit -qam 'All that was there'",
    );
    assert_eq!(text(&commits, &["--stat"]), "run RUN: no file changed; 2 commits on main\n");
    let elsewhere = run_command_in(REPOSITORY, "git checkout -q --orphan other; git commit -qm 'From here'");
    let text = text(&elsewhere, &[]);
    assert!(text.starts_with("run RUN: no file changed; HEAD moved from "), "{text}");
    let first = run_command_in(
        "git init -qb trunk; git config user.name me; git config user.email me@example.com; echo a > a",
        "echo b > b; git add b; git commit -qm First",
    );
    check(
        &first,
        &["--stat"],
        expect![[r#"
        run RUN: 1 file changed, 1 insertion(+), 0 deletions(-); 1 commit on trunk

         b | 1 +
    "#]],
    );
}

#[test]
fn users_repository_is_not_changed() {
    let stage = Stage::new();
    let git = stage.work().join(".git");
    shell(&stage, &stage.work(), REPOSITORY);
    let before = files(&git);
    run_command(&stage, "echo new > new; echo more >> mine");
    for args in [&[][..], &["--stat"], &["--output-format", "json"]] {
        assert_eq!(diff(&stage, args).code, 0);
    }
    assert!(files(&git) == before, "git's own files changed");
    assert_eq!(text(&stage, &["--name-only"]), "mine\nnew\n");
}

#[test]
fn run_works_without_git_and_diff_names_alternatives() {
    let stage = Stage::new();
    run_command(&stage, "echo hello > hello.txt");
    let output = diff(&stage, &[]);
    assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{output:?}");
    output.assert_error(&[
        "cannot show what run ",
        "it was not in a git repository",
        "longhaul logs ",
        "git init",
    ]);
    assert!(parsed(&stage.longhaul(["show", "@"]).output())["changed"].is_null());

    let stage = Stage::new();
    shell(&stage, &stage.work(), REPOSITORY);
    let empty_path = stage.folder().join("nothing");
    fs::create_dir(&empty_path).expect("the stage is new");
    let server = Server::start(WORK);
    assert_eq!(
        stage.run(&stage.agent(), &BASE_ARGS).against(&server).env("PATH", &empty_path).output().code,
        0
    );
    let output = diff(&stage, &[]);
    assert_eq!(output.code, 2, "{output:?}");
    output.assert_error(&["git could not be started", "log --since=", "longhaul logs "]);

    // A run of an older version that recorded no changes.
    fs::remove_file(stage.only_run().path().join("changes.json")).expect("the file was written");
    let output = diff(&stage, &["@"]);
    assert_eq!(output.code, 2, "{output:?}");
    output.assert_error(&["was not recorded", "log --since="]);

    let recorded = run_command_in(REPOSITORY, "echo new > new");
    let output = recorded.longhaul(["diff"]).env("PATH", "/nowhere").output();
    assert_eq!(output.code, 25, "{output:?}");
    output.assert_error(&["start git", "install git"]);
    fs::rename(recorded.work().join(".git"), recorded.folder().join("git")).expect("the file exists");
    let output = diff(&recorded, &[]);
    assert_eq!(output.code, 25, "{output:?}");
    output.assert_error(&["no longer in a git repository", "longhaul logs"]);
}

#[test]
fn unfinished_run_is_compared_with_the_current_workspace() {
    play_with_each_agent(&held_steps(), "the diff of an unfinished run", |stage, agent, server| {
        shell(stage, &stage.work(), REPOSITORY);
        let run = run_to_mid_tool(stage, agent, server);
        let unfinished = diff(stage, &[]);
        assert_eq!(unfinished.code, 0, "{unfinished:?}");
        assert_eq!(unfinished.stderr, "the run has not finished: compared with the current workspace\n");
        assert!(
            unfinished.stdout.contains("+one\n") && !unfinished.stdout.contains("+two\n"),
            "{unfinished:?}"
        );
        assert_eq!(json(stage, &[])["to"]["live"], true);
        run.kill();
        release(stage);
        // The first supervisor recorded the start, and the last one records the end.
        recover(stage, server, &[]).output().envelope(0);
        let names = text(stage, &["--name-only"]);
        assert_eq!(names, "go\nstarted\nsteps\n");
        let started_at = json(stage, &[])["from"]["at"].clone();

        let resumed = stage.longhaul(["resume", "@", "--repeat-task"]).against(server).output();
        assert_eq!(resumed.code, 0, "{resumed:?}");
        let diff = json(stage, &[]);
        assert_eq!((&diff["from"]["at"], &diff["to"]["live"]), (&started_at, &false.into()), "{diff}");
        assert_eq!(changed_files(&diff), "added go, added started, added steps");
        shell(stage, &stage.work(), "rm go started steps");
        assert_eq!(text(stage, &["--name-only"]), names, "a later removal does not count");
    });
}

/// Returns a `PATH` whose git waits while the file `hold` exists, and creates the file `held` when it starts
/// waiting.
fn slow_git(stage: &Stage, seconds: u32) -> String {
    let bin = stage.folder().join("bin");
    fs::create_dir(&bin).expect("the stage is new");
    let path = env::var("PATH").unwrap_or_default();
    let folder = stage.folder().display();
    stage.script("bin/git", &format!(
        "if test -e '{folder}/hold'; then touch '{folder}/held'; exec sleep {seconds}; fi\nPATH='{path}' exec git \"$@\""
    ));
    format!("{}:{path}", bin.display())
}

#[test]
fn takeover_finishes_recording_the_changes() {
    let stage = Stage::new();
    shell(&stage, &stage.work(), REPOSITORY);
    let path = slow_git(&stage, 3);
    let server = Server::start(&scenario_with_command("echo new > new; touch ../hold"));
    let run = stage.run(&stage.agent(), &BASE_ARGS).against(&server).env("PATH", &path).start();
    let held = stage.folder().join("held");
    wait_until("the end is being recorded", || held.exists());
    run.kill();
    fs::remove_file(stage.folder().join("hold")).expect("the file existed");
    assert!(stage.only_run().status().expect("a status").returncode.is_none(), "the run has not finished");
    let unrecorded = diff(&stage, &["--name-only"]);
    assert_eq!(unrecorded.stdout, "new\n", "{unrecorded:?}");
    assert!(
        unrecorded.stderr.contains("was not recorded: compared with the current workspace"),
        "{unrecorded:?}"
    );
    recover(&stage, &server, &[]).output().envelope(0);
    shell(&stage, &stage.work(), "echo later > new");
    assert!(text(&stage, &[]).ends_with("@@ -0,0 +1 @@\n+new\n"));
}

#[test]
fn slow_git_does_not_delay_the_run() {
    // Git hangs before the first run and after the second one, at the same time.
    let (at_start, at_end) = (Stage::new(), Stage::new());
    shell(&at_start, &at_start.work(), &format!("{REPOSITORY}; touch ../hold"));
    shell(&at_end, &at_end.work(), REPOSITORY);
    let servers = ["echo new > new; rm ../hold", "echo new > new; touch ../hold"]
        .map(|command| Server::start(&scenario_with_command(command)));
    let start = |stage: &Stage, server: &Server| {
        let path = slow_git(stage, 600);
        stage.run(&stage.agent(), &BASE_ARGS).against(server).env("PATH", path).start()
    };
    let runs = [start(&at_start, &servers[0]), start(&at_end, &servers[1])];
    assert_eq!(runs.map(|run| run.output().code), [0, 0]);

    let output = diff(&at_start, &[]);
    assert_eq!(output.code, 2, "{output:?}");
    output.assert_error(&["git took too long", "longhaul logs "]);
    let output = diff(&at_end, &["--name-only"]);
    assert_eq!(output.stdout, "new\n", "{output:?}");
    assert!(output.stderr.contains("(git took too long"), "{output:?}");
}

#[test]
fn moved_run_is_compared_at_its_new_location() {
    let source = run_command_in(REPOSITORY, "echo new > new; echo more >> mine; git commit -qam all");
    assert_eq!(source.longhaul(["export", "@", "--output", "moved"]).output().code, 0);
    let target = Stage::new();
    let moved: PathBuf = source.folder().join("moved");
    let agent: &Path = &target.agent();
    let import =
        target.longhaul(["import"]).args([&moved]).args(["--into", "there", "--agent-path"]).args([agent]);
    let imported = import.output();
    assert_eq!(imported.code, 0, "{imported:?}");
    assert_eq!(text(&target, &[]), text(&source, &[]));
}

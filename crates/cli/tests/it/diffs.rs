//! What a run changed: all of it and nothing else, whatever lay in the workspace before and comes after, and without a
//! trace in the user's repository.

use crate::call::{Ended, until};
use crate::harness::Stage;
use crate::recovering::{STEPS, in_mid_tool, recover, with_each_agent_at};
use crate::server::{Server, WORK};
use crate::transfer::{files, shell};
use expect_test::{Expect, expect};
use serde_json::Value;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Two commits, and work that somebody has not committed: changed, staged, removed, not added, put away.
pub const REPOSITORY: &str = "
    git init -qb main; git config user.name me; git config user.email me@example.com
    printf '*.log\\n' > .gitignore; mkdir sub
    for name in changed mine staged deleted put-away; do printf 'one\\ntwo\\nthree\\n' > $name; done
    for line in 1 2 3 4 5 6 7 8; do echo $line >> old; done; printf kept > sub/kept
    git add -A; git commit -qm first; git commit -qm second --allow-empty
    echo away > put-away; git stash -q; echo mine >> mine; echo staged > staged; git add staged; rm put-away
    echo mine > not-added; echo log > before.log";

/// A turn with one command, and an answer.
pub fn does(command: &str) -> String {
    let command = command.replace('\\', "\\\\").replace('"', "\\\"");
    WORK.replace("echo hello > hello.txt", &command)
}

pub const FREE: [&str; 5] = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];

/// A run of the scripted agent that carries out this command in the workspace.
pub fn ran(stage: &Stage, command: &str) -> Ended {
    let server = Server::plays(&does(command));
    let ended = stage.run(&stage.agent(), &FREE).against(&server).end();
    assert_eq!(ended.code, 0, "{ended:?}");
    ended
}

/// The same in this repository.
pub fn ran_in(repository: &str, command: &str) -> Stage {
    let stage = Stage::new();
    shell(&stage, &stage.work(), repository);
    ran(&stage, command);
    stage
}

pub fn diff(stage: &Stage, args: &[&str]) -> Ended {
    stage.longhaul(["diff"]).args(args).end()
}

pub fn text(stage: &Stage, args: &[&str]) -> String {
    let ended = diff(stage, args);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{ended:?}");
    ended.stdout.replace(stage.only_run().id().as_str(), "RUN")
}

pub fn text_of(ended: &Ended) -> &str {
    assert_eq!(ended.code, 0, "{ended:?}");
    &ended.stdout
}

pub fn json(stage: &Stage, args: &[&str]) -> Value {
    parsed(&diff(stage, &[&["--output-format", "json"], args].concat()))
}

fn parsed(ended: &Ended) -> Value {
    serde_json::from_str(text_of(ended)).expect("an object is printed")
}

/// The paths that it names, and what became of each.
pub fn told(diff: &Value) -> String {
    let files = diff["files"].as_array().expect("a list").iter();
    let words = files.map(|file| {
        let word = |key: &str| file[key].as_str().map_or_else(|| file[key].to_string(), str::to_owned);
        format!("{} {}", word("status"), word("path"))
    });
    words.collect::<Vec<_>>().join(", ")
}

const CHANGES: &str = "printf 'one\\nTWO\\nthree\\n' > changed; rm deleted; git mv old sub/new; git commit -qm 'Moved' -- old sub/new; \
                       printf '\\0\\1' > binary; echo noise > after.log; echo new > sub/added";

#[test]
fn a_run_is_told_by_what_it_changed() {
    with_each_agent_at(&does(CHANGES), "showing what a run changed", |stage, agent, server| {
        shell(stage, &stage.work(), REPOSITORY);
        stage.run(agent, &FREE).against(server).end().envelope(0);
        // What somebody else does later is not the run's.
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
        // It can be taken elsewhere.
        shell(stage, stage.folder(), "git clone -q work clone; git -C clone checkout -q main~2");
        let patch = text(stage, &[]);
        let apply = stage.program("git").args(["-C", "clone", "apply"]).stdin(patch).end();
        assert_eq!(apply.code, 0, "{apply:?}");
        let [here, there] =
            ["work", "clone"].map(|name| fs::read(stage.folder().join(name).join("binary")).ok());
        assert!(here.is_some() && here == there && stage.folder().join("clone/sub/new").exists());
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

        let told = json(stage, &[]);
        let keys = |value: &Value| {
            value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>().join(" ")
        };
        expect![[r#"
            commits files from omitted run to totals workspace
            at branch head tree
            at branch head now tree
            binary deletions from insertions path status"#]]
        .assert_eq(&[&told, &told["from"], &told["to"], &told["files"][0]].map(keys).join("\n"));
        assert_eq!(
            told["totals"],
            serde_json::json!({ "files": 5, "insertions": 2, "deletions": 4 }),
            "{told}"
        );
        assert_eq!(told["commits"][0]["subject"], "Moved");
        assert_eq!((&told["to"]["now"], &told["to"]["head"]), (&false.into(), &told["commits"][0]["id"]));
        assert_eq!(
            (&told["from"]["branch"], &told["run"]),
            (&"main".into(), &stage.only_run().id().as_str().into())
        );

        let shown = stage.longhaul(["show", "@", "--output-format", "text"]).end().stdout;
        assert!(shown.contains("  changed     5 files, +2 -4; longhaul diff "), "{shown}");
        assert_eq!(parsed(&stage.longhaul(["show", "@"]).end())["changed"], told["totals"]);
    });
}

fn check(stage: &Stage, args: &[&str], expected: Expect) {
    expected.assert_eq(&text(stage, args));
}

#[test]
fn a_run_that_changed_nothing_says_so() {
    let stage = ran_in(REPOSITORY, "cat mine > /dev/null; touch old");
    assert_eq!(text(&stage, &[]), "run RUN changed nothing\n");
    assert_eq!(text(&stage, &["--name-only"]), "");
    let commits =
        ran_in(REPOSITORY, "git commit -qm empty --allow-empty; git commit -qam 'All that was there'");
    assert_eq!(text(&commits, &["--stat"]), "run RUN: no file changed; 2 commits on main\n");
    let elsewhere = ran_in(REPOSITORY, "git checkout -q --orphan other; git commit -qm 'From here'");
    let told = text(&elsewhere, &[]);
    assert!(told.starts_with("run RUN: no file changed; HEAD went from "), "{told}");
    let first = ran_in(
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
fn the_users_repository_is_not_touched() {
    let stage = Stage::new();
    let git = stage.work().join(".git");
    shell(&stage, &stage.work(), REPOSITORY);
    let before = files(&git);
    ran(&stage, "echo new > new; echo more >> mine");
    for args in [&[][..], &["--stat"], &["--output-format", "json"]] {
        assert_eq!(diff(&stage, args).code, 0);
    }
    assert!(files(&git) == before, "git's own files have changed");
    assert_eq!(text(&stage, &["--name-only"]), "mine\nnew\n");
}

/// A repository says which programs git is to start. It may be an agent who wrote that.
/// The records of runs may lie in the repository.
#[test]
fn without_git_a_run_goes_on_and_says_what_else_tells() {
    let stage = Stage::new();
    ran(&stage, "echo hello > hello.txt");
    let ended = diff(&stage, &[]);
    assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{ended:?}");
    ended.says(&["tell what run ", "it was in no git repository", "longhaul logs ", "git init"]);
    assert!(parsed(&stage.longhaul(["show", "@"]).end())["changed"].is_null());

    let stage = Stage::new();
    shell(&stage, &stage.work(), REPOSITORY);
    let nothing = stage.folder().join("nothing");
    fs::create_dir(&nothing).expect("the stage is new");
    let server = Server::plays(WORK);
    assert_eq!(stage.run(&stage.agent(), &FREE).against(&server).env("PATH", &nothing).end().code, 0);
    let ended = diff(&stage, &[]);
    assert_eq!(ended.code, 2, "{ended:?}");
    ended.says(&["git could not be started", "log --since=", "longhaul logs "]);

    // One that was begun by a version that recorded nothing.
    fs::remove_file(stage.only_run().path().join("changes.json")).expect("it was written");
    let ended = diff(&stage, &["@"]);
    assert_eq!(ended.code, 2, "{ended:?}");
    ended.says(&["is not recorded", "log --since="]);

    let recorded = ran_in(REPOSITORY, "echo new > new");
    let ended = recorded.longhaul(["diff"]).env("PATH", "/nowhere").end();
    assert_eq!(ended.code, 25, "{ended:?}");
    ended.says(&["start git", "install git"]);
    fs::rename(recorded.work().join(".git"), recorded.folder().join("git")).expect("it is there");
    let ended = diff(&recorded, &[]);
    assert_eq!(ended.code, 25, "{ended:?}");
    ended.says(&["not in a git repository any more", "longhaul logs"]);
}

#[test]
fn a_run_under_way_is_compared_with_now() {
    // Long enough to look.
    let work = STEPS.replace("sleep 2", "sleep 6");
    with_each_agent_at(&work, "showing what a run changed so far", |stage, agent, server| {
        shell(stage, &stage.work(), REPOSITORY);
        let run = in_mid_tool(stage, agent, server);
        let at_work = diff(stage, &[]);
        assert_eq!(at_work.code, 0, "{at_work:?}");
        assert_eq!(at_work.stderr, "the run has not finished: compared with the current workspace\n");
        assert!(at_work.stdout.contains("+one\n") && !at_work.stdout.contains("+two\n"), "{at_work:?}");
        assert_eq!(json(stage, &[])["to"]["now"], true);
        run.kill();
        // Its beginning is that of its first supervisor, and its end is recorded by the last one.
        recover(stage, server, &[]).end().envelope(0);
        let over = text(stage, &["--name-only"]);
        assert_eq!(over, "begun\nsteps\n");
        let began = json(stage, &[])["from"]["at"].clone();

        let resumed = stage.longhaul(["resume", "@", "--repeat-task"]).against(server).end();
        assert_eq!(resumed.code, 0, "{resumed:?}");
        let told = json(stage, &[]);
        assert_eq!((&told["from"]["at"], &told["to"]["now"]), (&began, &false.into()), "{told}");
        assert_eq!(self::told(&told), "added begun, added steps");
        shell(stage, &stage.work(), "rm begun steps");
        assert_eq!(text(stage, &["--name-only"]), over, "what is removed later was there");
    });
}

/// A `PATH` on which git waits for as long as there is a file `hold`, and says so by a file `held`.
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
fn who_dies_while_the_end_is_recorded_is_replaced() {
    let stage = Stage::new();
    shell(&stage, &stage.work(), REPOSITORY);
    let path = slow_git(&stage, 3);
    let server = Server::plays(&does("echo new > new; touch ../hold"));
    let run = stage.run(&stage.agent(), &FREE).against(&server).env("PATH", &path).start();
    let held = stage.folder().join("held");
    until("the end is being recorded", || held.exists());
    run.kill();
    fs::remove_file(stage.folder().join("hold")).expect("it was there");
    assert!(stage.only_run().status().expect("a status").returncode.is_none(), "nobody was told yet");
    let unrecorded = diff(&stage, &["--name-only"]);
    assert_eq!(unrecorded.stdout, "new\n", "{unrecorded:?}");
    assert!(unrecorded.stderr.contains("is not recorded: compared with what it is now"), "{unrecorded:?}");
    recover(&stage, &server, &[]).end().envelope(0);
    shell(&stage, &stage.work(), "echo later > new");
    assert!(text(&stage, &[]).ends_with("@@ -0,0 +1 @@\n+new\n"));
}

#[test]
fn a_slow_git_is_not_waited_for() {
    let stage = Stage::new();
    shell(&stage, &stage.work(), &format!("{REPOSITORY}; touch ../hold"));
    let path = slow_git(&stage, 600);
    let server = Server::plays(&does("echo new > new; rm ../hold"));
    assert_eq!(stage.run(&stage.agent(), &FREE).against(&server).env("PATH", path).end().code, 0);
    let ended = diff(&stage, &[]);
    assert_eq!(ended.code, 2, "{ended:?}");
    ended.says(&["git took too long", "longhaul logs "]);

    let stage = Stage::new();
    shell(&stage, &stage.work(), REPOSITORY);
    let path = slow_git(&stage, 600);
    let server = Server::plays(&does("echo new > new; touch ../hold"));
    assert_eq!(stage.run(&stage.agent(), &FREE).against(&server).env("PATH", path).end().code, 0);
    let ended = diff(&stage, &["--name-only"]);
    assert_eq!(ended.stdout, "new\n", "{ended:?}");
    assert!(ended.stderr.contains("(git took too long"), "{ended:?}");
}

#[test]
fn a_run_that_moved_is_compared_where_it_is() {
    let here = ran_in(REPOSITORY, "echo new > new; echo more >> mine; git commit -qam all");
    assert_eq!(here.longhaul(["export", "@", "--output", "moved"]).end().code, 0);
    let there = Stage::new();
    let moved: PathBuf = here.folder().join("moved");
    let agent: &Path = &there.agent();
    let import =
        there.longhaul(["import"]).args([&moved]).args(["--into", "there", "--agent-path"]).args([agent]);
    let imported = import.end();
    assert_eq!(imported.code, 0, "{imported:?}");
    assert_eq!(text(&there, &[]), text(&here, &[]));
}

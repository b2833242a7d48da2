//! `longhaul diff` in workspaces of every kind: it shows every change of the run, and starts no program that
//! the repository names.

use crate::diffs::{
    BASE_ARGS, REPOSITORY, changed_files, diff, json, run_command_in, scenario_with_command, stdout_of, text,
};
use crate::harness::Stage;
use crate::server::{Server, WORK};
use crate::transfer::shell;
use expect_test::expect;
use serde_json::Value;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

const USER: &str = "git config user.name me; git config user.email me@example.com";

#[test]
fn programs_configured_by_a_repository_are_not_started() {
    let hostile = format!(
        "{REPOSITORY}; git init -q inner; cd inner; git config user.name me; git config user.email me@example.com
         echo i > i; git add i; git commit -qm i; cd ..; git add inner 2> /dev/null; git commit -qm inner -- inner
         printf '* filter=evil diff=evil\\n' > .gitattributes
         printf '#!/bin/sh\\ntouch \"%s\"\\ncat\\n' \"$PWD/../started\" > ../evil; chmod +x ../evil
         for config in .git/config inner/.git/config; do for key in core.fsmonitor core.pager core.sshCommand core.editor \\
         core.gitProxy diff.external diff.evil.command diff.evil.textconv filter.evil.clean filter.evil.smudge \\
         filter.evil.process gpg.program log.showSignature interactive.diffFilter uploadpack.packObjectsHook; do
         git config -f $config $key \"$PWD/../evil\"; done; git config -f $config filter.evil.required true
         done
         for hook in post-index-change reference-transaction pre-commit post-checkout fsmonitor-watchman; do
         cp ../evil .git/hooks/$hook; cp ../evil inner/.git/hooks/$hook; done
         echo dirty >> inner/i; test ! -e ../started || rm ../started"
    );
    let stage = Stage::new();
    shell(&stage, &stage.work(), &hostile);
    let hostile_program = stage.folder().join("evil");
    let server =
        Server::start(&scenario_with_command("echo new > new; echo more >> inner/i; echo more >> mine"));
    let run =
        stage.run(&stage.agent(), &BASE_ARGS).against(&server).env("GIT_EXTERNAL_DIFF", &hostile_program);
    assert_eq!(run.env("GIT_DIR", "/nowhere").env("GIT_CONFIG_COUNT", "x").output().code, 0);
    for args in [&[][..], &["--stat"], &["--output-format", "json"]] {
        let call = stage
            .longhaul(["diff"])
            .args(args)
            .env("GIT_EXTERNAL_DIFF", &hostile_program)
            .env("GIT_PAGER", &hostile_program);
        let output =
            call.env("GIT_DIR", "/nowhere").env("GIT_TRACE", stage.folder().join("started")).output();
        assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");
        assert!(output.stdout.contains("mine") && output.stdout.contains("new"), "{output:?}");
        assert!(!output.stdout.contains("inner"), "a nested repository is not shown: {output:?}");
    }
    assert!(!stage.folder().join("started").exists());
}

#[test]
fn nested_repository_is_compared_by_commit() {
    let inner =
        "git config user.name me; git config user.email me@example.com; git commit -qm i --allow-empty";
    let repository = format!(
        "{REPOSITORY}; git init -q inner; cd inner; {inner}; cd ..; git add inner 2> /dev/null; git commit -qm inner -- inner
         git init -q unknown; echo u > unknown/u"
    );
    let stage = run_command_in(
        &repository,
        "cd inner; git commit -qm more --allow-empty; echo x > x; echo y > ../unknown/y",
    );
    let output = diff(&stage, &["--name-only"]);
    assert_eq!((output.code, output.stdout.as_str()), (0, "inner\n"), "{output:?}");
    assert_eq!(
        output.stderr,
        "not compared, because too large, unreadable or separate repositories: unknown/\n"
    );
    assert!(stdout_of(&diff(&stage, &[])).contains("+Subproject commit "));
}

#[test]
fn changed_file_types_are_shown() {
    let repository = format!(
        "{REPOSITORY}; for name in to-link to-file to-script; do mkdir $name; echo x > $name/x; done; ln -s mine link
         echo x > to-dir; echo x > to-pipe; git add -A; git commit -qm more"
    );
    let stage = run_command_in(
        &repository,
        "rm -r to-link to-file to-dir to-pipe link; ln -s sub to-link; echo f > to-file; mkdir to-dir; echo y > to-dir/y; \
         mkfifo to-pipe; echo l > link; chmod +x mine; chmod +x to-script/x; mkdir empty; rm -r sub; ln -s . sub",
    );
    let output = diff(&stage, &["--output-format", "json"]);
    let diff: Value = serde_json::from_str(stdout_of(&output)).expect("an object is printed");
    expect![[r#"
        modified link
        modified mine
        added sub
        deleted sub/kept
        deleted to-dir
        added to-dir/y
        added to-file
        deleted to-file/x
        added to-link
        deleted to-link/x
        modified to-script/x"#]]
    .assert_eq(&changed_files(&diff).replace(", ", "\n"));
    assert_eq!(diff["omitted"], serde_json::json!(["to-pipe"]));
}

#[test]
fn repository_of_every_kind_is_compared() {
    let other = REPOSITORY.replace("git init -qb main", "git init -qb main --object-format=sha256");
    let split = format!("{REPOSITORY}; git config core.splitIndex true; git update-index --split-index");
    let clean = REPOSITORY.split("echo away").next().expect("the text has a first part").trim_end();
    let shallow = format!(
        "mkdir all; cd all; {clean}; cd ..; git clone -q --depth 1 \"file://$PWD/all\" x; mv x/.git .; rm -rf all x; git reset -q --hard; {USER}"
    );
    let worktree = format!(
        "mkdir ../all; cd ../all; {clean}; rm -r ../work; git worktree add -q -b side ../work; cd ../work"
    );
    let unborn = format!("git init -qb main; touch mine old; git add mine; {USER}");
    for (kind, repository) in [
        ("sha256", &other),
        ("split", &split),
        ("shallow", &shallow),
        ("worktree", &worktree),
        ("unborn", &unborn),
    ] {
        let stage = run_command_in(
            repository,
            "echo more >> mine; git add mine; git commit -qm more -- mine; echo new > new",
        );
        let names = text(&stage, &["--name-only"]);
        assert_eq!(names, "mine\nnew\n", "{kind}");
        let commits = json(&stage, &[]);
        let commits = commits["commits"].as_array().map(Vec::len);
        assert_eq!(commits, Some(1), "{kind}");
    }
}

#[test]
fn every_file_name_is_shown() {
    let stage = run_command_in(
        REPOSITORY,
        "echo x > 'sub/a\"b'; echo x > \"$(printf 'new\\nline')\"; echo x > \"$(printf 'b\\377d')\"; echo x > ' é '",
    );
    expect![[r#"
        " \303\251 "
        "b\377d"
        "new\nline"
        "sub/a\"b"
    "#]]
    .assert_eq(&text(&stage, &["--name-only"]));
    let printed = json(&stage, &[]);
    let paths: Vec<&Value> =
        printed["files"].as_array().expect("a list").iter().map(|file| &file["path"]).collect();
    assert!(paths.contains(&&"new\nline".into()), "{paths:?}");
    assert!(paths.contains(&&serde_json::json!({ "unix_bytes": b"b\xffd" })), "{paths:?}");
    // The command accepts this name as an argument.
    let name = OsString::from_vec(b"b\xffd".to_vec());
    let output = stage.longhaul(["diff", "--name-only", "--"]).args([name]).output();
    assert_eq!(output.stdout, "\"b\\377d\"\n", "{output:?}");
    // git treats no name as an option or a command.
    let output = diff(&stage, &["--name-only", "--", "--output=evil", "--stat"]);
    assert_eq!((output.code, output.stdout.as_str()), (0, ""), "{output:?}");
}

#[test]
fn run_in_a_subdirectory_shows_the_whole_repository() {
    let stage = Stage::new();
    shell(&stage, &stage.work(), REPOSITORY);
    let server = Server::start(&scenario_with_command("echo in > in; echo next > ../next"));
    let sub = stage.work().join("sub");
    let run = stage
        .longhaul(["run", "--agent-path"])
        .args([stage.agent()])
        .args(BASE_ARGS)
        .args(["--cwd"])
        .args([sub]);
    assert_eq!(run.against(&server).output().code, 0);
    assert_eq!(text(&stage, &["--name-only"]), "next\nsub/in\n");
}

#[test]
fn files_of_longhaul_are_not_shown() {
    let stage = Stage::new();
    shell(&stage, stage.folder(), &format!("{REPOSITORY}; printf 'user/\\nagent\\n' >> .git/info/exclude"));
    let server = Server::start(WORK);
    let runs = stage.folder().join("records");
    let runs_dir = ["--runs-dir".into(), runs.into_os_string()];
    assert_eq!(stage.run(&stage.agent(), &BASE_ARGS).args(runs_dir).against(&server).output().code, 0);
    assert_eq!(text(&stage, &["--name-only"]), "work/hello.txt\n");
}

#[test]
fn large_files_are_omitted_and_listed() {
    let repository = format!("{REPOSITORY}; truncate -s 65M large; mkfifo pipe");
    let stage = run_command_in(&repository, "echo more >> large; truncate -s 65M larger; echo new > new");
    let output = diff(&stage, &[]);
    let printed = stdout_of(&output);
    assert!(printed.contains(": 1 file changed, 1 insertion(+), 0 deletions(-)\n"), "{output:?}");
    assert!(output.stderr.ends_with("separate repositories: large, larger\n"), "{output:?}");
    assert_eq!(json(&stage, &[])["omitted"], serde_json::json!(["large", "larger"]));
    let bytes = stage.only_run().disk_bytes();
    assert!(bytes < 1 << 20, "{bytes} bytes");
    let data = format!(
        "{REPOSITORY}; for name in 1 2 3; do head -c 50M /dev/zero > data$name; done; echo small > small"
    );
    let stage = run_command_in(&data, "echo more >> data1; echo more >> data3; echo more >> small");
    let output = diff(&stage, &["--name-only"]);
    assert_eq!(
        (stdout_of(&output), output.stderr.ends_with(": data3\n")),
        ("data1\nsmall\n", true),
        "{output:?}"
    );
    let many = format!("{REPOSITORY}; mkdir many; cd many; seq 20001 | xargs touch");
    let stage = run_command_in(&many, "echo new > new");
    let output = diff(&stage, &[]);
    assert_eq!(output.code, 2, "{output:?}");
    output.assert_error(&[
        "there were too many uncommitted files",
        "the result includes changes that were uncommitted then",
        "diff ",
    ]);
}

//! Moving runs and workflows: one is exported on one machine, imported on another, and finished there.
//!
//! Each stage is a machine. One file is moved.

use crate::artifacts;
use crate::call::{Call, Output, wait_until};
use crate::harness::{LONGHAUL, Stage, with_each_agent};
use crate::server::Server;
use crate::sweep::DONE;
use crate::tidy;
use crate::workflows::{TWO_PHASES, only_workflow, replayed, run_loop};
use longhaul::RunMarker;
use longhaul_agent::Guards;
use longhaul_core::OutcomeKind;
use longhaul_store::RunDir;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Four steps. Each first checks whether it was taken. The second takes long enough to be interrupted.
const STEPS: &str = "
I take the first step.
$ grep -qs one steps || echo one >> steps
The second one takes a while.
$ grep -qs two steps || { test -e started || { touch started; sleep 30; }; echo two >> steps; }
Now the third.
$ grep -qs three steps || echo three >> steps
And the last.
$ grep -qs four steps || echo four >> steps
All four steps are taken.
";

/// A repository with every kind of content.
const REPOSITORY: &str = "
    git init -qb main; git config user.name me; git config user.email me@example.com
    printf '*.log\\nbuild/\\n' > .gitignore; mkdir src; printf first > src/kept
    for name in modified staged both deleted; do printf first > $name; done
    git add -A; git commit -qm first
    printf stashed > modified; git stash -q; git tag v1; git branch other
    printf second > src/kept; git commit -qam second
    printf changed > modified; printf changed > staged; printf one > both; git add staged both; printf two > both
    rm deleted; printf u > src/untracked; ln -s kept src/link; printf n > noise.log; mkdir build; printf b > build/out";

/// The state of a workspace, as git reports it.
const STATE: &str = "git --no-optional-locks status --porcelain; git log --format=%H; git symbolic-ref HEAD";

/// Runs a script in a directory and returns its output.
pub fn shell(stage: &Stage, dir: &Path, script: &str) -> String {
    let script = format!("cd '{}'; {script}", dir.display());
    let output = stage.program("sh").args(["-ec", &script]).output();
    assert_eq!(output.code, 0, "{script}: {output:?}");
    output.stdout
}

/// Returns the content of every file below a directory, or the target of a link, by path.
pub fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut contents = BTreeMap::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(directory) = dirs.pop() {
        for entry in fs::read_dir(&directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            let kind = fs::symlink_metadata(&path).expect("the path was listed");
            if kind.is_dir() {
                dirs.push(path);
                continue;
            }
            let content = if kind.is_symlink() {
                fs::read_link(&path).expect("a link").into_os_string().into_encoded_bytes()
            } else {
                fs::read(&path).expect("a file")
            };
            contents
                .insert(path.strip_prefix(dir).expect("the path is below the directory").to_owned(), content);
        }
    }
    contents
}

/// Returns the files of a workspace that git does not ignore.
fn work_files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = files(dir);
    files.retain(|path, _| {
        !(path.starts_with(".git") || path.starts_with("build") || path.ends_with("noise.log"))
    });
    files
}

/// Returns a run in the middle of its second step, without a supervisor.
fn orphaned_run(stage: &Stage, agent: &Path, server: &Server) -> RunDir {
    let args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
    let run = stage.run(agent, &args).against(server).start();
    wait_until("the tool runs", || stage.work().join("started").exists());
    run.kill();
    stage.only_run()
}

/// Kills all processes of a run, like a power failure.
fn power_off(run: &RunDir) {
    let marker = RunMarker::load(run).expect("a plan");
    wait_until("no process of the run remains", || {
        let processes = marker.processes();
        for pid in processes.iter().filter_map(|pid| Pid::from_raw(*pid as i32)) {
            // The process belongs to this test's run.
            let _ = kill_process(pid, Signal::KILL);
        }
        processes.is_empty()
    });
}

fn export(stage: &Stage, args: &[&str]) -> Call {
    stage.longhaul(["export"]).args(args)
}

fn import(stage: &Stage, file: &Path, args: &[&str]) -> Call {
    stage.longhaul(["import"]).args([file]).args(["--into", "there"]).args(args)
}

fn json(output: &Output) -> Value {
    assert_eq!(output.code, 0, "{output:?}");
    serde_json::from_str(&output.stdout).expect("JSON is printed")
}

/// Returns a machine with a finished run, and the file it was exported to.
fn export_finished_run() -> (Stage, PathBuf) {
    let stage = Stage::new();
    let args = ["p", "--permission-mode", "bypassPermissions"];
    stage.run(&stage.agent(), &args).env("LONGHAUL_SCRIPTED_INSTANT", "1").output().envelope(0);
    shell(&stage, &stage.work(), REPOSITORY);
    let file = stage.folder().join("run.longhaul");
    let output = export(&stage, &["@", "-o", "run.longhaul"]).output();
    assert_eq!(json(&output)["file"], file.display().to_string());
    (stage, file)
}

/// Moves a run with one agent and finishes it.
fn check_move(source: &Stage, agent: &Path) {
    let server = Server::start(STEPS);
    shell(source, &source.work(), REPOSITORY);
    let run = orphaned_run(source, agent, &server);

    let busy = export(source, &["@"]).output();
    busy.envelope(25);
    busy.assert_error(&["of its processes are still running", "longhaul recover", "longhaul cancel"]);
    power_off(&run);

    let state = shell(source, &source.work(), STATE);
    // Every file, including git's objects, references, index and stash, byte for byte.
    let (workspace, record) = (files(&source.work()), files(run.path()));
    let packed = export(source, &["@"]).output();
    let printed = json(&packed);
    let file = source.folder().join(format!("{}.longhaul", run.id()));
    assert_eq!(printed["file"], file.display().to_string());
    assert_eq!(printed["run"]["id"], run.id().as_str());
    assert_eq!(printed["sessions"][0]["found"], true, "{printed}");
    assert_eq!(printed["workspace"]["branch"], "main");
    assert!(packed.stderr.contains("in one place only"), "{packed:?}");
    assert_eq!(files(&source.work()), workspace, "the workspace is unchanged");
    assert_eq!(files(run.path()), record, "the run is unchanged");
    assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);

    let target = Stage::new();
    let into = target.folder().join("there");
    let printed = json(&import(&target, &file, &[]).output());
    let imported_run = target.only_run();
    assert_eq!(printed["run"]["id"], run.id().as_str());
    assert_eq!(printed["cwd"], into.display().to_string());
    assert_eq!(printed["workspace"], "unpacked");
    assert_eq!(printed["next"], format!("longhaul resume {}", run.id()));
    assert_eq!(shell(&target, &into, STATE), state);
    assert_eq!(work_files(&into), work_files(&source.work()));
    assert!(!into.join("noise.log").exists() && !into.join("build").exists());
    let plan = imported_run.plan().expect("a plan");
    assert_eq!(plan.spec.cwd, into);
    assert_eq!(plan.imported.expect("the run was imported").from_cwd.as_path(), source.work());
    let session = imported_run.status().expect("a status").session_id.expect("a session");
    let session_file = imported_run.sessions_path().join(format!("{session}.jsonl"));
    assert!(fs::metadata(session_file).expect("the session was exported").len() > 0);
    tidy::check(&target);
    let verified = target.longhaul(["ledger", "verify"]).output();
    assert_eq!(verified.code, 0, "no reader has indexed the imported run: {verified:?}");

    let output = target.longhaul(["resume", "@"]).against(&server).output();
    let envelope = output.envelope(0);
    assert_eq!((&envelope["result"], &envelope["run"]["id"]), (&DONE.into(), &run.id().as_str().into()));
    assert_eq!(
        (&envelope["session_id"], &envelope["run"]["attempts"]),
        (&session.as_str().into(), &2.into())
    );
    let steps = fs::read_to_string(into.join("steps")).expect("there are steps");
    assert_eq!(steps, "one\ntwo\nthree\nfour\n", "{envelope}");
    tidy::replayed_outcome(&imported_run);
    artifacts::assert_transcript_complete(&imported_run);
    assert_eq!(files(&source.work()), workspace, "the original workspace is unchanged");
    assert_eq!(json(&source.longhaul(["cancel", "@"]).output())["run"]["outcome"], "cancelled");
}

#[test]
fn run_continues_on_another_machine() {
    with_each_agent("moving a run", Stage::new, check_move);
}

/// The first proof is interrupted. An agent that continues adds its run to a file.
const WORKFLOW_SCRIPT: &str = "
I continue.
$ echo $LONGHAUL_RUN >> continued
It is proved now.
? Make a plan
Three lemmas.
? Prove
I prove it.
$ if test -e started; then echo $LONGHAUL_RUN >> proved; else touch started; sleep 30; fi
It is proved.
";

#[test]
fn workflow_continues_on_another_machine() {
    let (source, server) = (Stage::new(), Server::start(WORKFLOW_SCRIPT));
    shell(&source, &source.work(), REPOSITORY);
    let running = run_loop(&source, &server, TWO_PHASES, &["--serial"]).start();
    wait_until("the first proof is in progress", || source.work().join("started").exists());
    let workflow = only_workflow(&source);
    let id = workflow.id().as_str();
    let supervised = export(&source, &[id]).output();
    supervised.envelope(25);
    supervised.assert_error(&["it is running", &format!("longhaul attach {id}")]);
    running.kill();
    source.runs().iter().for_each(power_off);

    let (before, exported) = (files(workflow.path()), json(&export(&source, &[id]).output()));
    assert_eq!(files(workflow.path()), before, "the workflow is unchanged");
    assert_eq!((&exported["run"], &exported["workflow"]["id"]), (&Value::Null, &id.into()));
    assert_eq!(exported["workflow"]["runs"].as_array().map(Vec::len), Some(2), "{exported}");
    let file = source.folder().join(format!("{id}.longhaul"));

    let target = Stage::new();
    // An earlier import was killed before the workflow appeared.
    let calls = target.folder().join("calls");
    json(&import(&target, &file, &[]).env("LONGHAUL_STORE_LOG", &calls).output());
    fs::remove_dir_all(only_workflow(&target).path()).expect("the test owns it");
    let left = files(&target.home().join("runs"));
    let elsewhere = target.longhaul(["import"]).args([&file]).args(["--into", "elsewhere"]).output();
    assert_eq!(elsewhere.code, 2, "{elsewhere:?}");
    elsewhere.assert_error(&["was imported before, and works in", "--use-existing"]);
    assert!(!target.folder().join("elsewhere").exists());
    let imported = json(&import(&target, &file, &["--use-existing"]).output());
    assert_eq!(files(&target.home().join("runs")), left, "its runs are not imported again");
    let into = target.folder().join("there");
    assert_eq!((&imported["workflow"]["id"], &imported["workspace"]), (&id.into(), &"same".into()));
    assert_eq!(imported["next"], format!("longhaul recover {id}"), "{imported}");
    assert_eq!(work_files(&into), work_files(&source.work()));
    tidy::check(&target);

    let recovered = target.longhaul(["recover", id]).against(&server).output();
    assert_eq!(recovered.code, 0, "{recovered:?}");
    let lines = |name: &str| fs::read_to_string(into.join(name)).expect("written in the imported workspace");
    let continued: BTreeSet<String> = lines("continued").lines().map(str::to_owned).collect();
    assert_eq!(continued, BTreeSet::from([format!("{id}-1-prove-1")]));
    let attempts =
        target.runs().iter().map(|run| run.status().expect("a status").attempt).collect::<BTreeSet<_>>();
    assert_eq!(attempts, BTreeSet::from([1, 2]), "only the interrupted run has a second attempt");
    assert_eq!(lines("proved"), format!("{id}-1-prove-2\n{id}-1-prove-3\n"));
    let outcome = replayed(&only_workflow(&target)).state().outcome().expect("it is finished");
    assert_eq!(outcome.kind, OutcomeKind::Done);
    let finished = json(&export(&target, &[id, "--output", "finished"]).output());
    assert_eq!(finished["workflow"]["outcome"], "done", "{finished}");
    let cancelled = source.longhaul(["cancel", id]).output();
    assert_eq!(cancelled.code, 0, "{cancelled:?}");
    let again = import(&target, &file, &["--use-existing"]).output();
    again.envelope(25);
    again.assert_error(&["its id is used in", "LONGHAUL_HOME"]);

    // The disk is full when the workflow gets its name, after its runs.
    let calls = fs::read_to_string(calls).expect("the calls were logged");
    let named = calls.lines().find_map(|call| call.strip_suffix(&format!(" rename {id}")));
    let fault = format!("enospc@{}", named.expect("the workflow got its name"));
    let full = Stage::new();
    let failed = import(&full, &file, &[]).env("LONGHAUL_STORE_FAULT", fault).output();
    failed.assert_error(&["free some space"]);
    assert!(files(&full.home().join("runs")).is_empty() && !full.folder().join("there").exists());
}

#[test]
fn supervised_run_cannot_be_exported() {
    let (stage, server) = (Stage::new(), Server::start(STEPS));
    let args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
    let run = stage.run(&stage.agent(), &args).against(&server).start();
    wait_until("the tool runs", || stage.work().join("started").exists());
    let rejected = export(&stage, &["@"]).output();
    rejected.envelope(25);
    rejected.assert_error(&["it is running", "longhaul attach", "longhaul cancel"]);
    drop(run);
    assert!(
        !fs::read_dir(stage.folder())
            .expect("a folder")
            .any(|entry| { entry.expect("an entry").file_name().to_string_lossy().contains(".longhaul") })
    );
}

#[test]
fn finished_run_can_be_moved() {
    let (source, file) = export_finished_run();
    let target = Stage::new();
    // As if the run continued in another home of this machine.
    let (id, marker) =
        (source.only_run().id().to_string(), RunMarker::load(&source.only_run()).expect("a plan"));
    // Without the run marker, nothing connects the processes of another home with the imported run.
    if !cfg!(feature = "portable-processes") {
        let tool = target.program("tail").args(["-f", "/dev/null"]);
        let tool = marker.variables().iter().fold(tool, |tool, (name, value)| tool.env(name, value)).start();
        wait_until("the tool runs", || !marker.processes().is_empty());
        let busy = import(&target, &file, &[]).output();
        busy.envelope(25);
        let kill = format!("kill {}", marker.processes()[0]);
        busy.assert_error(&["1 of its processes are running on this machine", &kill]);
        drop(tool);
    }
    let printed = json(&import(&target, &file, &["--quiet"]).output());
    assert_eq!(target.only_run().id().as_str(), id);
    let imported = RunMarker::load(&target.only_run()).expect("a plan");
    assert_ne!(imported.variables(), marker.variables(), "the imported run has a new marker");
    assert_eq!(printed["run"]["outcome"], "done");
    assert_eq!(printed["next"], format!("longhaul show {id}"));
    target.longhaul(["attach", "@"]).output().envelope(0);
    tidy::replayed_outcome(&target.only_run());

    let again = import(&target, &file, &["--use-existing"]).output();
    again.envelope(25);
    again.assert_error(&["its id is used in", "LONGHAUL_HOME"]);
}

#[test]
fn session_of_another_configuration_is_exported_and_a_missing_one_is_reported() {
    let (stage, server) = (Stage::new(), Server::start(STEPS));
    let config = stage.folder().join("config");
    let args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
    let run = stage.run(&stage.agent(), &args).against(&server).env("CLAUDE_CONFIG_DIR", &config).start();
    wait_until("the tool runs", || stage.work().join("started").exists());
    run.signal(Signal::INT);
    run.output().envelope(130);
    for is_found in [true, false] {
        let packed = export(&stage, &["@", "--force"]).output();
        let printed = json(&packed);
        assert_eq!(printed["run"]["outcome"], "cancelled", "{printed}");
        assert_eq!(printed["sessions"][0]["found"], is_found, "{printed}");
        assert_eq!(packed.stderr.contains("was not found, and is not in the file"), !is_found, "{packed:?}");
        assert!(!packed.stderr.contains("in one place only"), "{packed:?}");
        if is_found {
            fs::remove_dir_all(&config).expect("the agent stored its session there");
        }
    }
}

#[test]
fn guards_follow_an_imported_run() {
    let (source, target) = (Stage::new(), Stage::new());
    let blocked = source.work().join("src").display().to_string();
    let in_home = source.user_home().join("keys");
    let args = ["p", "--permission-mode", "bypassPermissions", "--block-path"];
    let call = source.run(&source.agent(), &args).args([blocked.as_str(), "--block-path", "~/.ssh"]);
    // As a shell replaces `~`.
    let call = call.args(["--block-path"]).args([&in_home]);
    call.env("LONGHAUL_SCRIPTED_INSTANT", "1").output().envelope(0);
    shell(&source, &source.work(), REPOSITORY);
    json(&export(&source, &["@", "-o", "run.longhaul"]).output());
    json(&import(&target, &source.folder().join("run.longhaul"), &[]).output());
    let spec = target.only_run().plan().expect("a plan").spec;
    let guards = Guards::compile(&spec.guards, &spec.cwd).expect("the guards are valid");
    // A slash at the end would be another project.
    assert_eq!(spec.cwd.as_os_str(), target.folder().join("there").as_os_str());
    let target_home = target.user_home();
    let expected =
        [target.folder().join("there/src"), target_home.join(".ssh"), in_home, target_home.join("keys")];
    assert_eq!(guards.block_paths.absolute_paths().map(PathBuf::from).collect::<Vec<_>>(), expected);
}

#[test]
fn existing_file_is_not_overwritten() {
    let (stage, file) = export_finished_run();
    let before = fs::read(&file).expect("a file");
    let rejected = export(&stage, &["@", "--output", "run.longhaul"]).output();
    assert_eq!(rejected.code, 2, "{rejected:?}");
    rejected.assert_error(&["already exists", "--force"]);
    assert_eq!(fs::read(&file).expect("a file"), before);
    fs::write(&file, "something else").expect("the test owns the file");
    let text = ["@", "--force", "-o", "run.longhaul", "--output-format", "text"];
    let output = export(&stage, &text).output();
    assert_eq!((output.code, output.stderr.as_str()), (0, ""), "a finished run causes no warning");
    assert!(output.stdout.starts_with(&format!("File: {} (", file.display())), "{output:?}");
    assert!(fs::metadata(&file).expect("a file").len() > 1000);
    shell(&stage, stage.folder(), "mkfifo pipe; ln -s pipe link");
    for (name, error) in [
        ("pipe", "not a regular file"),
        ("link", "not a regular file"),
        ("work", "not a regular file"),
        ("-", "stdout"),
    ] {
        let rejected = export(&stage, &["@", "--force", "-o", name]).output();
        assert_eq!(rejected.code, 2, "{rejected:?}");
        rejected.assert_error(&[error, "hint: name", "--output"]);
    }
    let is_pipe = |file: PathBuf| fs::metadata(file).is_ok_and(|metadata| metadata.file_type().is_fifo());
    assert!(is_pipe(stage.folder().join("pipe")) && is_pipe(stage.folder().join("link")));
    let nowhere = export(&stage, &["@", "-o", "no/such/folder/file"]).output();
    assert_eq!(nowhere.code, 2, "{nowhere:?}");
    nowhere.assert_error(&["cannot write no/such/folder/file: there is no directory", "hint: create"]);
}

#[test]
fn workspace_without_git_is_not_exported() {
    let source = Stage::new();
    source.run(&source.agent(), &["p"]).env("LONGHAUL_SCRIPTED_INSTANT", "1").output().envelope(0);
    let packed = export(&source, &["@"]).output();
    assert_eq!(json(&packed)["workspace"], Value::Null);
    assert!(packed.stderr.contains("the workspace is not in the file"), "{packed:?}");
    let file = source.folder().join(format!("{}.longhaul", source.only_run().id()));

    let target = Stage::new();
    let rejected = import(&target, &file, &[]).output();
    assert_eq!(rejected.code, 2, "{rejected:?}");
    rejected.assert_error(&["the workspace is not in the file", "--use-existing"]);
    let missing = import(&target, &file, &["--use-existing"]).output();
    assert_eq!(missing.code, 2, "{missing:?}");
    missing.assert_error(&["work in there", "name the directory"]);
    fs::create_dir(target.folder().join("there")).expect("the stage is new");
    let imported = import(&target, &file, &["--use-existing"]).output();
    assert_eq!(json(&imported)["workspace"], "unknown");
    assert!(imported.stderr.contains("git cannot tell"), "{imported:?}");
}

#[test]
fn existing_workspace_is_used_unchanged() {
    let (source, file) = export_finished_run();
    let target = Stage::new();
    let into = target.folder().join("there");
    shell(
        &target,
        target.folder(),
        &format!("cp -a '{}' there; printf mine > there/modified", source.work().display()),
    );
    let before = files(&into);
    let rejected = import(&target, &file, &[]).output();
    assert_eq!(rejected.code, 2, "{rejected:?}");
    rejected.assert_error(&["it is not an empty directory", "--use-existing"]);
    let imported = import(&target, &file, &["--use-existing", "--output-format", "text"]).output();
    let id = target.only_run().id().to_string();
    assert_eq!(
        imported.stdout,
        format!("Run: {id}\nDirectory: {}\nNext: longhaul show {id}\n", into.display())
    );
    assert!(imported.stderr.contains("differ from the exported ones"), "{imported:?}");
    assert_eq!(files(&into), before);
}

#[test]
fn omitted_files_are_listed_on_export_and_import() {
    let (source, _) = export_finished_run();
    shell(
        &source,
        &source.work(),
        "for n in 1 2 3 4 5 6 7 8 9; do git init -q nested$n; git -C nested$n -c user.name=me -c user.email=me@example.com \
         commit -q --allow-empty -m $n; done",
    );
    let omitted = "separate repositories: nested1, nested2, nested3, nested4, nested5, nested6, nested7, nested8, 1 more";
    let packed = export(&source, &["@", "--force", "-o", "run.longhaul"]).output();
    assert!(packed.stderr.contains(omitted), "{packed:?}");
    assert_eq!(json(&packed)["workspace"]["omitted"][8], "nested9");
    let target = Stage::new();
    let imported_run = import(&target, &source.folder().join("run.longhaul"), &[]).output();
    assert!(imported_run.code == 0 && imported_run.stderr.contains(omitted), "{imported_run:?}");
}

#[test]
fn import_needs_the_path_of_a_missing_agent() {
    let (source, server) = (Stage::new(), Server::start(STEPS));
    let agent = source.agent();
    shell(&source, &source.work(), "git init -qb main");
    power_off(&orphaned_run(&source, &agent, &server));
    let file = source.folder().join("run.longhaul");
    json(&export(&source, &["@", "-o", "run.longhaul"]).output());
    fs::remove_file(agent).expect("the test owns the file");

    let target = Stage::new();
    let bare = import(&target, &file, &[]).env("PATH", bin_with_git(&target)).output();
    assert_eq!(bare.envelope(25)["run"]["fault"], "agent_missing");
    bare.assert_error(&["find Claude Code", "--agent-path"]);
    assert!(!target.folder().join("there").exists() && target.runs().is_empty());
    let agent = target.agent();
    let named = ["--agent-path", &agent.display().to_string()];
    json(&import(&target, &file, &named).output());
    assert_eq!(target.only_run().plan().expect("a plan").spec.agent.program.as_path(), agent);
    json(&source.longhaul(["cancel", "@"]).output());
}

#[test]
fn imported_run_of_another_agent_keeps_its_command() {
    let (source, server) = (Stage::new(), Server::start(STEPS));
    shell(&source, &source.work(), "git init -qb main");
    let script = format!("exec '{LONGHAUL}' \"$@\"");
    let agent = source.script("other-agent", &script);
    let args = [
        "run",
        "--agent",
        "acp",
        "p",
        "--preset",
        "drill",
        "--permission-mode",
        "bypassPermissions",
        "--cwd",
    ];
    let run = source.longhaul(args).args([source.work()]).args(["--"]).args([&agent]);
    let run = run.args(["drill-agent", "--acp"]).against(&server).start();
    wait_until("the tool runs", || source.work().join("started").exists());
    run.kill();
    power_off(&source.only_run());
    let file = source.folder().join("run.longhaul");
    json(&export(&source, &["@", "-o", "run.longhaul"]).output());
    fs::remove_file(agent).expect("the test owns the file");

    let target = Stage::new();
    let bin = bin_with_git(&target);
    let missing = import(&target, &file, &[]).env("PATH", &bin).output();
    missing.assert_error(&["cannot find the agent", "other-agent: there is no such file", "--agent-path"]);
    let agent = target.script("other-agent", &script);
    let named = ["--agent-path", &agent.display().to_string()];
    json(&import(&target, &file, &named).env("PATH", &bin).output());
    let imported = target.only_run().plan().expect("a plan").spec.agent;
    assert_eq!(
        (imported.program, imported.leading_args),
        (agent, vec!["drill-agent".to_owned(), "--acp".to_owned()])
    );
    json(&source.longhaul(["cancel", "@"]).output());
}

/// Creates a directory for `PATH` that only has git.
fn bin_with_git(stage: &Stage) -> PathBuf {
    let bin = stage.folder().join("bin");
    shell(stage, stage.folder(), "mkdir bin; ln -s \"$(command -v git)\" bin/git");
    bin
}

#[test]
fn invalid_file_is_rejected() {
    let target = Stage::new();
    let file = target.file("run.longhaul", "not a run");
    let rejected = import(&target, &file, &[]).output();
    rejected.envelope(25);
    rejected.assert_error(&["not an exported run", "hint:"]);
    let missing = import(&target, &target.folder().join("missing"), &[]).output();
    assert_eq!(missing.code, 2, "{missing:?}");
    missing.assert_error(&["cannot read", "hint: name a file that `longhaul export` wrote"]);
    assert!(!target.home().exists() && !target.folder().join("there").exists());
}

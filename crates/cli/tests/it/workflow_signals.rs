//! Workflows whose git processes or commands a signal ends, as a shutdown or a lack of memory does.

use crate::call::Call;
use crate::harness::Stage;
use crate::server::Server;
use crate::workflows::{envelope, only_workflow, run_loop};
use crate::worktrees::{PROVERS, PROVERS_SCRIPT, assert_tidy, commits, read, repository};
use std::env;
use std::fs;

/// Puts a program before git that runs `body` for every call with these arguments. `$*` holds the arguments, `$path`
/// the last one, and `$PPID` is the supervisor.
fn replace_git(stage: &Stage, call: Call, arguments: &str, body: &str) -> Call {
    let bin = stage.folder().join("bin");
    fs::create_dir_all(&bin).expect("the stage is writable");
    let path = env::var("PATH").expect("a path");
    stage.script(
        "bin/git",
        &format!(
            "case \" $* \" in *' {arguments}'*) for path; do :; done; {body};; esac\n\
             PATH='{path}' exec git \"$@\""
        ),
    );
    call.env("PATH", format!("{}:{path}", bin.display()))
}

/// Returns a command that is true only the first time.
fn once(stage: &Stage) -> String {
    format!("mkdir {} 2>/dev/null", stage.folder().join("once").display())
}

#[test]
fn git_that_a_signal_ends_is_repeated_and_nothing_is_lost() {
    let shared_script =
        PROVERS_SCRIPT.replace("echo gamma > gamma.txt", "echo gamma | tee gamma.txt > shared.txt");
    let (server, shared_server) = (&Server::start(PROVERS_SCRIPT), &Server::start(&shared_script));
    let check = |arguments: &str, before: &str, server: &Server, shared: &str| {
        let stage = Stage::new();
        repository(&stage);
        let body = format!("if {}; then {before} kill -KILL $$; fi", once(&stage));
        let call = run_loop(&stage, server, PROVERS, &[]);
        let output = replace_git(&stage, call, arguments, &body).output();
        envelope(&output, 0);
        assert!(stage.folder().join("once").exists(), "{arguments} was not called");
        assert_tidy(&stage);
        assert_eq!(read(&stage, "shared.txt"), shared, "{arguments} {before}");
        assert_eq!(read(&stage, "gamma.txt"), "gamma\n", "{arguments} {before}");
        assert_eq!((commits(&stage, "prove: gamma"), commits(&stage, "Merge branch")), (1, 2), "{arguments}");
    };
    // Each case waits for a second before it repeats.
    std::thread::scope(|scope| {
        for (arguments, before) in [
            ("rev-parse --show-toplevel", ""),
            ("merge-tree", ""),
            ("worktree add", ""),
            ("add --all", ""),
            ("commit --quiet", ""),
            ("merge-tree --write-tree -z", ""),
            ("merge --ff-only", ""),
            // Git sometimes leaves such a lock, even at SIGTERM.
            ("merge --ff-only", ": > .git/ORIG_HEAD.lock;"),
            ("update-ref -d", ": > .git/packed-refs.lock;"),
            // A removal in progress has deleted a file.
            ("worktree remove /", "rm \"$path/shared.txt\";"),
        ] {
            scope.spawn(move || check(arguments, before, server, "start\n"));
        }
        // A merge in progress has truncated the file that it writes.
        scope.spawn(|| check("merge --ff-only", ": > shared.txt;", shared_server, "gamma\n"));
    });
}

#[test]
fn sigterm_to_supervisor_and_git_suspends_the_workflow() {
    for (arguments, runs) in [("worktree add", 0), ("merge --ff-only", 3)] {
        let (stage, server) = (Stage::new(), Server::start(PROVERS_SCRIPT));
        repository(&stage);
        // Git dies first, so that the supervisor sees its death before its own signal arrives. The worktrees are
        // not created at the second try either.
        let condition = if runs == 3 { once(&stage) } else { "true".to_owned() };
        let body = format!("if {condition}; then (kill -TERM $$; kill -TERM $PPID); fi");
        let call = run_loop(&stage, &server, PROVERS, &[]);
        let output = replace_git(&stage, call, arguments, &body).output();
        let ended = envelope(&output, 143);
        assert_eq!(ended["workflow"]["outcome"], "suspended", "{ended}");
        assert_eq!(stage.runs().len(), runs, "{arguments}");
        let id = only_workflow(&stage).id().clone();
        let recovered = stage.longhaul(["recover", id.as_str()]).against(&server).output();
        envelope(&recovered, 0);
        assert_tidy(&stage);
        assert_eq!((commits(&stage, "prove: gamma"), commits(&stage, "Merge branch")), (1, 2), "{arguments}");
    }
}

#[test]
fn half_removed_worktree_deletes_no_file_of_the_project() {
    let (stage, server) = (Stage::new(), Server::start(PROVERS_SCRIPT));
    repository(&stage);
    let body = "rm \"$path/shared.txt\"; kill -KILL $PPID $$";
    let call = run_loop(&stage, &server, PROVERS, &[]);
    assert!(replace_git(&stage, call, "worktree remove /", body).start().output_unless_killed().is_none());
    envelope(&stage.longhaul(["recover"]).against(&server).output(), 0);
    assert_eq!(read(&stage, "shared.txt"), "start\n");
    assert_tidy(&stage);
}

/// Repeats a phase until a file exists.
fn until(command: &str) -> String {
    format!(
        "[repeat]\niterations = 3\nuntil = {{ command = '{command}' }}\n\
         [[phase]]\nname = \"work\"\nprompt = \"Work.\"\n"
    )
}

const WORK_SCRIPT: &str = "I work.\n$ touch done\nDone.\n";

#[test]
fn condition_that_a_signal_ends_is_repeated() {
    // The shell itself dies, or it reports that its last command died.
    for death in ["kill -TERM $$", "sh -c \"kill -KILL \\$\\$\"; exit"] {
        let (stage, server) = (Stage::new(), Server::start(WORK_SCRIPT));
        let file = until(&format!("{} && {{ {death}; }}; test -e done", once(&stage)));
        envelope(&run_loop(&stage, &server, &file, &[]).output(), 0);
        assert_eq!(stage.runs().len(), 1, "{death}");
    }
}

#[test]
fn condition_that_signals_always_end_stops_the_workflow() {
    for (death, end) in [("kill -KILL $$", "was ended by signal 9"), ("exit 143", "exited with 143")] {
        let (stage, server) = (Stage::new(), Server::start(WORK_SCRIPT));
        let ended = envelope(&run_loop(&stage, &server, &until(death), &[]).output(), 20);
        let errors = ended["errors"].to_string();
        assert!(errors.contains(&format!("`{death}` {end}, twice")), "{ended}");
        assert_eq!(stage.runs().len(), 1, "{death}");
    }
}

#[test]
fn sigterm_to_supervisor_and_condition_suspends_the_workflow() {
    let (stage, server) = (Stage::new(), Server::start(WORK_SCRIPT));
    // Without the environment, the sender carries no run marker, so that no sweep stops it between its signals.
    let shutdown = "env -i sh -c \"kill -TERM $$; kill -TERM $PPID\"";
    let file = until(&format!("{} && {{ {shutdown}; }}; test -e done", once(&stage)));
    let ended = envelope(&run_loop(&stage, &server, &file, &[]).output(), 143);
    assert_eq!(ended["workflow"]["outcome"], "suspended", "{ended}");
    envelope(&stage.longhaul(["recover"]).against(&server).output(), 0);
    assert_eq!(stage.runs().len(), 1);
}

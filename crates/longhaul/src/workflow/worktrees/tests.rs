//! Worktrees against a real repository: merging, conflicts, and moves that a kill interrupted.

use super::{DoneRun, WorktreeError, Worktrees, check_worktrees};
use longhaul_core::RunId;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

struct Project {
    _folder: TempDir,
    top: PathBuf,
    worktrees: Worktrees,
}

impl Project {
    /// Creates a repository with `a.txt` and `b.txt`, and no identity.
    fn new() -> Project {
        let folder = TempDir::new().expect("a temporary directory");
        let real = fs::canonicalize(folder.path()).expect("it exists");
        let (top, dir) = (real.join("project"), real.join("worktrees"));
        fs::create_dir_all(&top).and_then(|()| fs::create_dir(&dir)).expect("directories");
        let workflow = RunId::from("kxhfgg");
        let worktrees = Worktrees { workflow, top: top.clone(), home: real.join("home"), dir };
        let project = Project { _folder: folder, top, worktrees };
        project.git(&["init", "--quiet", "--initial-branch=main"]);
        project.write("a.txt", "a\n");
        project.write("b.txt", "b\n");
        project.commit("start");
        project
    }

    fn git(&self, args: &[&str]) -> String {
        git(&self.top, args)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.top.join(name), text).expect("the file can be written");
    }

    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.top.join(name)).ok()
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", message]);
    }

    /// Creates the worktree of item `number`, and changes files in it.
    fn work(&self, number: u32, files: &[(&str, &str)]) -> DoneRun {
        let run = RunId::from(format!("kxhfgg-1-prove-{number}"));
        let cwd = self.worktrees.cwd_of(&run, &self.top);
        self.worktrees.create(&run, &cwd).expect("the worktree is created");
        for (name, text) in files {
            fs::write(cwd.join(name), text).expect("the file can be written");
        }
        DoneRun { run, title: format!("prove: {number}") }
    }

    fn status(&self) -> String {
        self.git(&["status", "--porcelain"])
    }

    /// Returns the number of worktrees, with the project itself.
    fn worktree_count(&self) -> usize {
        self.git(&["worktree", "list"]).lines().count()
    }
}

fn git(dir: &Path, args: &[&str]) -> String {
    let identity = ["-c", "user.name=user", "-c", "user.email=user@localhost"];
    let output = Command::new("git")
        .args(identity)
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .expect("git starts");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn results_are_merged_in_order_and_their_worktrees_removed() {
    let project = Project::new();
    let hook = project.top.join(".git/hooks/post-merge");
    fs::write(&hook, "#!/bin/sh\ntouch hooked\n").expect("a hook");
    Command::new("chmod").arg("+x").arg(&hook).status().expect("chmod starts");
    let first = project.work(1, &[("a.txt", "a1\n")]);
    let second = project.work(2, &[("b.txt", "b2\n"), ("new.txt", "new\n")]);
    assert_eq!(project.worktree_count(), 3);
    assert_eq!(project.worktrees.merge(&[first.clone(), second.clone()]), Ok(()));
    assert_eq!(project.read("a.txt").as_deref(), Some("a1\n"));
    assert_eq!(project.read("new.txt").as_deref(), Some("new\n"));
    assert_eq!((project.status(), project.worktree_count()), (String::new(), 1));
    assert_eq!(project.git(&["branch", "--list", "longhaul/*"]), "");
    assert_eq!(project.read("hooked"), None, "a hook ran");
    let subjects = project.git(&["log", "--first-parent", "--format=%s"]);
    assert_eq!(subjects, "Merge branch 'longhaul/kxhfgg/1-prove-2'\nprove: 1\nstart\n");
    let head = project.git(&["rev-parse", "HEAD"]);
    assert_eq!(project.worktrees.merge(&[first, second]), Ok(()));
    assert_eq!(project.git(&["rev-parse", "HEAD"]), head, "nothing is merged twice");
}

#[test]
fn a_conflict_leaves_out_one_result_and_its_command_works() {
    let project = Project::new();
    let runs = [
        project.work(1, &[("a.txt", "first\n")]),
        project.work(2, &[("a.txt", "second\n")]),
        project.work(3, &[("b.txt", "third\n")]),
    ];
    let problem = project.worktrees.merge(&runs).expect_err("two results conflict");
    let command = format!("git -C {} merge longhaul/kxhfgg/1-prove-2", project.top.display());
    for text in ["1 of 3 results", "conflicts in a.txt", &command, "resume the workflow"] {
        assert!(problem.contains(text), "no {text} in {problem}");
    }
    assert_eq!(project.read("a.txt").as_deref(), Some("first\n"));
    assert_eq!(project.read("b.txt").as_deref(), Some("third\n"));
    assert_eq!((project.status(), project.worktree_count()), (String::new(), 2));
    // The user types the command, resolves the conflict and commits.
    let merged = Command::new("git").args(command.split(' ').skip(1)).output().expect("git starts");
    assert!(!merged.status.success(), "the conflict remains");
    project.write("a.txt", "both\n");
    project.commit("resolve");
    assert_eq!(project.worktrees.merge(&runs), Ok(()));
    assert_eq!((project.worktree_count(), project.read("a.txt").as_deref()), (1, Some("both\n")));
}

#[test]
fn work_of_the_user_stays() {
    let project = Project::new();
    let run = project.work(1, &[("a.txt", "agent\n"), ("new.txt", "agent\n"), ("ignored.txt", "agent\n")]);
    let merge = || project.worktrees.merge(std::slice::from_ref(&run));
    // A kill during a move can leave a file with this content, too.
    project.write("a.txt", "ag");
    project.write("new.txt", "user\n");
    for _ in 0..2 {
        let problem = merge().expect_err("the files are the user's");
        assert!(problem.contains("uncommitted changes: a.txt, new.txt. Commit or move"), "{problem}");
        assert!(!project.worktrees.move_path().exists());
    }
    assert_eq!(
        (project.read("a.txt").as_deref(), project.read("new.txt").as_deref()),
        (Some("ag"), Some("user\n"))
    );
    project.git(&["stash", "--quiet", "--include-untracked"]);
    fs::write(project.top.join(".git/info/exclude"), "ignored.txt\n").expect("the file can be written");
    project.write("ignored.txt", "user\n");
    git(&project.worktrees.path(&run.run), &["add", "--force", "ignored.txt"]);
    let problem = merge().expect_err("git refuses");
    assert!(problem.contains("ignored.txt") && !project.worktrees.move_path().exists(), "{problem}");
    assert_eq!(project.read("ignored.txt").as_deref(), Some("user\n"));
    fs::remove_file(project.top.join("ignored.txt")).expect("it exists");
    assert_eq!(merge(), Ok(()));
    assert_eq!(project.read("a.txt").as_deref(), Some("agent\n"));
}

#[test]
fn merge_options_of_the_branch_lose_no_result() {
    for options in ["--squash", "--no-commit --no-ff", "--strategy=ours"] {
        let project = Project::new();
        let run = project.work(1, &[("a.txt", "agent\n")]);
        project.git(&["config", "branch.main.mergeOptions", options]);
        assert_eq!(project.worktrees.merge(&[run]), Ok(()), "{options}");
        assert_eq!((project.read("a.txt").as_deref(), project.status()), (Some("agent\n"), String::new()));
        assert_eq!(project.git(&["log", "--format=%s"]), "prove: 1\nstart\n", "{options}");
    }
}

/// Git calls a merge driver while the merge is computed.
#[test]
fn a_commit_of_the_user_during_the_merge_is_kept() {
    let project = Project::new();
    let runs = [project.work(1, &[("a.txt", "first\n")]), project.work(2, &[("a.txt", "second\n")])];
    fs::write(project.top.join(".git/info/attributes"), "a.txt merge=commits\n").expect("a file");
    let commit = "test -e .git/committed || { touch .git/committed; \
        git -c user.name=u -c user.email=u@localhost commit --quiet --allow-empty -m user; }";
    project.git(&["config", "merge.commits.driver", commit]);
    assert_eq!(project.worktrees.merge(&runs), Ok(()));
    let subjects = project.git(&["log", "--first-parent", "--format=%s"]);
    assert!(subjects.ends_with("\nuser\nstart\n"), "{subjects}");
    assert_eq!((project.read("a.txt").as_deref(), project.status()), (Some("first\n"), String::new()));
}

#[test]
fn an_interrupted_move_does_not_change_another_branch() {
    let project = Project::new();
    let run = project.work(1, &[("a.txt", "agent\n")]);
    let git = project.worktrees.lock().expect("the lock is free");
    let tip = project.worktrees.commit_result(&git, &run).ok().expect("a result");
    let base = project.git(&["rev-parse", "HEAD"]).trim().to_owned();
    drop(git);
    let intended = format!("{{\"base\":\"{base}\",\"tip\":\"{tip}\",\"branch\":\"main\"}}");
    fs::write(project.worktrees.move_path(), intended).expect("the file can be written");
    project.git(&["switch", "--quiet", "--create", "other"]);
    project.write("a.txt", "agent\n");
    let merge = || project.worktrees.merge(std::slice::from_ref(&run));
    assert!(merge().is_err_and(|problem| problem.contains("uncommitted changes: a.txt")));
    project.git(&["restore", "a.txt"]);
    assert!(merge().is_err_and(|problem| problem.contains("switch main")));
    project.git(&["switch", "--quiet", "main"]);
    assert_eq!((merge(), project.read("a.txt").as_deref()), (Ok(()), Some("agent\n")));
    assert_eq!(project.git(&["rev-parse", "other"]).trim(), base);
}

#[test]
fn an_interrupted_move_is_completed() {
    // Files as a kill can leave them: cut off, missing, or not written yet.
    for (a, new, removed) in [("ag", Some(""), true), ("a\n", None, false), ("agent\n", Some("new\n"), true)]
    {
        let project = Project::new();
        let run = project.work(1, &[("a.txt", "agent\n"), ("new.txt", "new\n")]);
        fs::remove_file(project.worktrees.path(&run.run).join("b.txt")).expect("the file exists");
        let git = project.worktrees.lock().expect("the lock is free");
        let tip = project.worktrees.commit_result(&git, &run).ok().expect("a result");
        let base = project.git(&["rev-parse", "HEAD"]).trim().to_owned();
        drop(git);
        let intended = format!("{{\"base\":\"{base}\",\"tip\":\"{tip}\",\"branch\":\"main\"}}");
        fs::write(project.worktrees.dir.join("move.json"), intended).expect("the file can be written");
        project.write("a.txt", a);
        if let Some(text) = new {
            project.write("new.txt", text);
        }
        if removed {
            fs::remove_file(project.top.join("b.txt")).expect("the file exists");
        }
        assert_eq!(project.worktrees.merge(&[run]), Ok(()), "{a:?}");
        assert_eq!(project.read("a.txt").as_deref(), Some("agent\n"));
        assert_eq!((project.read("new.txt").as_deref(), project.read("b.txt")), (Some("new\n"), None));
        assert_eq!(project.status(), "");
        assert_eq!(project.git(&["rev-parse", "HEAD"]).trim(), tip);
    }
}

#[test]
fn a_half_created_worktree_is_replaced_and_a_complete_one_stays() {
    let project = Project::new();
    let run = project.work(1, &[("a.txt", "agent\n")]);
    let (path, start) = (project.worktrees.path(&run.run), project.worktrees.start_path(&run.run));
    project.worktrees.create(&run.run, &path).expect("it is complete");
    assert_eq!(fs::read_to_string(path.join("a.txt")).ok().as_deref(), Some("agent\n"));
    // Killed before the file of the start was written.
    fs::remove_file(&start).expect("the file exists");
    project.git(&["worktree", "lock", &path.to_string_lossy()]);
    project.worktrees.create(&run.run, &path).expect("it is replaced");
    assert_eq!(fs::read_to_string(path.join("a.txt")).ok().as_deref(), Some("a\n"));
    // The user removed the directory: the branch is checked out again.
    fs::remove_dir_all(&path).expect("the directory exists");
    project.worktrees.create(&run.run, &path).expect("it is replaced");
    assert!(path.join("a.txt").exists());
}

#[test]
fn worktree_that_git_refuses_to_remove_stays_and_its_later_work_is_merged() {
    let project = Project::new();
    let run = project.work(1, &[("a.txt", "agent\n")]);
    let path = project.worktrees.path(&run.run);
    project.git(&["worktree", "lock", &path.to_string_lossy()]);
    assert_eq!(project.worktrees.merge(std::slice::from_ref(&run)), Ok(()));
    assert_eq!((project.read("a.txt").as_deref(), project.worktree_count()), (Some("agent\n"), 2));
    assert_eq!(project.worktrees.leftovers(std::slice::from_ref(&run)), std::slice::from_ref(&path));
    fs::write(path.join("b.txt"), "later\n").expect("the worktree exists");
    project.git(&["worktree", "unlock", &path.to_string_lossy()]);
    assert_eq!(project.worktrees.merge(&[run]), Ok(()));
    assert_eq!((project.read("b.txt").as_deref(), project.worktree_count()), (Some("later\n"), 1));
}

#[test]
fn lost_worktree_is_merged_only_by_a_person() {
    let project = Project::new();
    let (run, lost) = (project.work(1, &[("a.txt", "agent\n")]), project.work(2, &[("b.txt", "lost\n")]));
    let (path, lost_path) = (project.worktrees.path(&run.run), project.worktrees.path(&lost.run));
    git(&path, &["commit", "--quiet", "--all", "-m", "committed"]);
    fs::write(path.join("b.txt"), "uncommitted\n").expect("the worktree exists");
    fs::remove_dir_all(&path).and_then(|()| fs::remove_dir_all(&lost_path)).expect("they exist");
    let runs = [run, lost];
    let merge = || project.worktrees.merge(&runs);
    let problem = merge().expect_err("work is lost");
    assert_eq!(project.read("a.txt").as_deref(), Some("a\n"));
    // The user keeps the commit of the first run, and drops the second.
    let commands: Vec<&str> = problem.split('`').skip(1).step_by(2).collect();
    assert_eq!(commands.len(), 3, "{problem}");
    let (keep, drop) = (commands[0], commands[2]);
    for (command, end) in
        [(keep, "merge longhaul/kxhfgg/1-prove-1"), (drop, "branch -D longhaul/kxhfgg/1-prove-2")]
    {
        let output = Command::new("sh").args(["-c", command]).output().expect("sh starts");
        assert!(output.status.success() && command.ends_with(end), "{output:?}");
    }
    assert_eq!((merge(), project.worktrees.leftovers(&runs)), (Ok(()), Vec::new()));
    assert_eq!(
        (project.read("a.txt").as_deref(), project.read("b.txt").as_deref()),
        (Some("agent\n"), Some("b\n"))
    );
    assert_eq!(
        (project.git(&["branch", "--list", "longhaul/*"]).as_str(), project.worktree_count()),
        ("", 1)
    );
}

#[test]
fn commits_of_nested_repositories_are_not_left_behind() {
    let project = Project::new();
    let run = project.work(1, &[]);
    let nested = project.worktrees.path(&run.run).join("lib");
    fs::create_dir(&nested).expect("a directory");
    git(&nested, &["init", "--quiet"]);
    fs::write(nested.join("work.txt"), "work\n").expect("a file");
    git(&nested, &["add", "--all"]);
    git(&nested, &["commit", "--quiet", "-m", "work"]);
    let merge = || project.worktrees.merge(std::slice::from_ref(&run));
    let problem = merge().expect_err("its commit is only in the worktree");
    assert!(problem.contains("names commits of lib that the project does not have"), "{problem}");
    assert_eq!((project.status(), project.worktree_count()), (String::new(), 2));
    assert!(nested.join("work.txt").exists());
    // As a submodule of the project, or a clone in it, has the commit after a fetch.
    git(&project.top, &["clone", "--quiet", &nested.to_string_lossy(), "lib"]);
    assert_eq!(merge(), Ok(()));
    assert!(project.git(&["ls-files", "--stage", "lib"]).starts_with("160000 "));
}

#[test]
fn work_in_a_submodule_is_not_left_behind() {
    let project = Project::new();
    let origin = project.top.with_file_name("origin");
    fs::create_dir(&origin).expect("a directory");
    git(&origin, &["init", "--quiet", "--initial-branch=main"]);
    git(&origin, &["commit", "--quiet", "--allow-empty", "-m", "start"]);
    let local = ["-c", "protocol.file.allow=always"];
    let add = ["submodule", "--quiet", "add", &origin.to_string_lossy(), "sub"];
    project.git(&[&local[..], &add].concat());
    project.commit("submodule");
    let run = project.work(1, &[]);
    let worktree = project.worktrees.path(&run.run);
    git(&worktree, &[&local[..], &["submodule", "--quiet", "update", "--init"]].concat());
    let sub = worktree.join("sub");
    git(&sub, &["commit", "--quiet", "--allow-empty", "-m", "work"]);
    let merge = || project.worktrees.merge(std::slice::from_ref(&run));
    assert!(merge().is_err_and(|problem| problem.contains("names commits of sub that")));
    git(&project.top.join("sub"), &["fetch", "--quiet", &sub.to_string_lossy()]);
    fs::write(sub.join("uncommitted"), "work\n").expect("a file");
    assert_eq!(merge(), Ok(()));
    assert_eq!(project.worktrees.leftovers(std::slice::from_ref(&run)), [worktree]);
    assert!(sub.join("uncommitted").exists());
}

/// Git removes what it can, then its entry, and fails.
#[test]
fn worktree_with_a_read_only_directory_is_removed() {
    let project = Project::new();
    let run = project.work(1, &[]);
    let cache = project.worktrees.path(&run.run).join("cache");
    fs::create_dir(&cache).and_then(|()| fs::write(cache.join("file"), "x\n")).expect("the worktree exists");
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o500)).expect("the test owns it");
    assert_eq!(project.worktrees.merge(std::slice::from_ref(&run)), Ok(()));
    assert_eq!((project.read("cache/file").as_deref(), project.worktree_count()), (Some("x\n"), 1));
    assert!(!project.worktrees.path(&run.run).exists() && project.worktrees.leftovers(&[run]).is_empty());
}

#[test]
fn ssh_does_not_prompt_unless_its_command_is_configured() {
    let project = Project::new();
    let ssh = || {
        let git = project.worktrees.lock().expect("the lock is free");
        let settings = ["alias.ssh-command=!printf %s \"$GIT_SSH_COMMAND\"".into()];
        git.with_settings(&settings).line(&["ssh-command"]).expect("git runs the alias")
    };
    assert_eq!(ssh(), "ssh -oBatchMode=yes");
    project.git(&["config", "core.sshCommand", "ssh -4"]);
    assert_eq!(ssh(), "");
}

#[test]
fn another_branch_receives_nothing() {
    let project = Project::new();
    let run = project.work(1, &[("a.txt", "agent\n")]);
    project.git(&["switch", "--quiet", "--create", "other"]);
    let problem = project.worktrees.merge(std::slice::from_ref(&run)).expect_err("it is another branch");
    assert!(problem.contains("switch main"), "{problem}");
    assert_eq!(project.read("a.txt").as_deref(), Some("a\n"));
}

#[test]
fn projects_that_cannot_have_worktrees_are_refused() {
    let project = Project::new();
    let home = project.top.join("home");
    fs::create_dir(&home).expect("a directory");
    fs::write(home.join("file"), "Longhaul's own").expect("a file");
    assert!(check_worktrees(&project.top, &home).is_ok());
    project.write("a.txt", "changed\n");
    project.write("c d.txt", "new\n");
    project.git(&["config", "status.showUntrackedFiles", "no"]);
    let error = check_worktrees(&project.top, &home).expect_err("there is uncommitted work");
    assert!(error.to_string().ends_with("has uncommitted changes: a.txt, c d.txt"), "{error}");
    let empty = project.top.join("home/empty");
    fs::create_dir(&empty).expect("a directory");
    git(&empty, &["init", "--quiet"]);
    assert!(matches!(check_worktrees(&empty, &home), Err(WorktreeError::NoCommit(_))));
    let outside = TempDir::new().expect("a temporary directory");
    assert!(matches!(check_worktrees(outside.path(), &home), Err(WorktreeError::NoRepository(_))));
}

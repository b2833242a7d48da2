//! Tests that workspaces of every kind are restored exactly, and that the original workspace stays unchanged.

use super::Homes;
use crate::git::UserRepo;
use crate::transfer::destination::DestinationDir;
use crate::transfer::restore::restore;
use crate::transfer::snapshot::WorkspaceSnapshot;
use crate::transfer::{
    Exported, ImportDestination, TransferError, WorkspaceManifest, WorkspaceMatch, WorkspaceOmitted, import,
};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every kind of uncommitted change.
const CHANGES: &str = "
    printf changed > modified; printf changed > staged; git add staged
    printf one > both; git add both; printf two > both
    rm deleted; git rm -q removed; git mv old new; chmod +x script; ln -s modified link
    mkdir -p deep/er; printf u > 'deep/er/un tracked é'; printf n > \"$(printf 'new\\nline')\"
    printf i > noise.log; mkdir ignored; printf i > ignored/file";

const COMMITS: &str = "
    printf '*.log\\nignored/\\n' > .gitignore
    for name in modified staged both deleted removed old script; do printf first > $name; done
    git add -A; git commit -qm first; printf kept > kept; git add -A; git commit -qm second";

/// Runs a script in a directory, without the git settings of the user who runs the tests.
fn shell(dir: &Path, script: &str) -> String {
    let mut command = Command::new("sh");
    command.args(["-ec", script]).current_dir(dir).env("HOME", dir).env("GIT_CONFIG_NOSYSTEM", "1");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "me").env(format!("GIT_{role}_EMAIL"), "me@example.com");
    }
    let output = command.output().expect("a shell exists");
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Returns every file below a directory, with its content, its executable bit and its link target.
fn files(dir: &Path, skip: &[&str]) -> BTreeMap<PathBuf, String> {
    use std::os::unix::fs::PermissionsExt;
    let mut result = BTreeMap::new();
    for entry in fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_owned();
        if skip.iter().any(|skip| name == *skip) {
            continue;
        }
        let metadata = fs::symlink_metadata(&path).expect("it was listed");
        if metadata.is_dir() {
            let children = files(&path, skip).into_iter();
            result.extend(children.map(|(file, content)| (Path::new(&name).join(file), content)));
        } else if metadata.is_symlink() {
            result
                .insert(name.into(), format!("link to {}", fs::read_link(&path).expect("a link").display()));
        } else {
            let content = fs::read(&path).expect("a file");
            let executable = metadata.permissions().mode() & 0o100 != 0;
            result.insert(name.into(), format!("{executable} {content:?}"));
        }
    }
    result
}

const STATE: &str = "git --no-optional-locks status --porcelain -z; git rev-parse -q --verify HEAD || echo none; \
                     git symbolic-ref -q HEAD || echo detached; git log --oneline -q 2>&1 || true";

fn take(cwd: &Path, scratch: &Path) -> Result<WorkspaceSnapshot, TransferError> {
    let repository = UserRepo::find_blocking(cwd)?.expect("a repository contains the directory");
    WorkspaceSnapshot::take(&repository, &[], scratch)
}

/// Captures the workspace in `work`, restores it, and asserts that both are equal and that the original did
/// not change.
fn check_round_trip(shape: &str, top: &str, prepare: &str, subdirectory: &str) -> WorkspaceManifest {
    let homes = Homes::new();
    let work = fs::canonicalize(homes.path("work")).expect("a path");
    shell(&work, prepare);
    let top = work.join(top);
    let cwd = top.join(subdirectory);
    let state = shell(&top, STATE);
    let before = files(&work, &[]);

    let (scratch, into) = (homes.path("scratch"), homes.path("into"));
    for dir in [&scratch, &into] {
        fs::create_dir(dir).expect("a new directory");
    }
    let snapshot = take(&cwd, &scratch).expect(shape);
    let bundle = homes.path("bundle");
    snapshot.bundle(&bundle).expect(shape);
    assert_eq!(files(&work, &[]), before, "{shape}: the workspace was touched");

    restore(&bundle, &snapshot.workspace, &into, &bundle, u64::MAX).expect(shape);
    assert_eq!(shell(&into, STATE), state, "{shape}");
    let skip = [".git", "noise.log", "ignored", "nested"];
    assert_eq!(files(&into, &skip), files(&top, &skip), "{shape}");
    assert!(!into.join("noise.log").exists() && !into.join("ignored").exists(), "{shape}");
    let refs = shell(
        &into,
        "git for-each-ref refs/longhaul; git fsck --strict --no-dangling 2>&1 | grep -v notice || true",
    );
    assert_eq!(refs, "", "{shape}");
    snapshot.workspace
}

#[test]
fn restores_workspaces() {
    let check = |shape: &str, prepare: &str| check_round_trip(shape, "", prepare, "");
    check("clean", &format!("git init -qb main; {COMMITS}"));
    let main = check("changed", &format!("git init -qb main; {COMMITS}; {CHANGES}"));
    assert_eq!((main.branch.as_deref(), main.omitted.len()), (Some("main"), 0));
    let detached = check("detached", &format!("git init -q; {COMMITS}; git checkout -q HEAD~; {CHANGES}"));
    assert_eq!(detached.branch, None);
    let unborn = check("unborn", "git init -qb trunk; printf a > a; git add a; printf b > b; printf c >> a");
    assert_eq!((unborn.head, unborn.branch.as_deref()), (None, Some("trunk")));
    check("empty", "git init -qb trunk");
    // A change that git detects by the index's time alone: same size, same second.
    let then = "touch -d @1000000000";
    let racy = format!(
        "{COMMITS}; git config core.trustctime false; printf one > f; {then} f; git add f; printf two > f
         {then} f .git/index"
    );
    check("racy", &format!("git init -qb main; {racy}"));
    check("other objects", &format!("git init -qb main --object-format=sha256; {COMMITS}; {CHANGES}"));
    check("a branch with slashes", &format!("git init -qb feat/x; {COMMITS}; {CHANGES}"));
    check(
        "split index",
        &format!("git init -qb main; git config core.splitIndex true; {COMMITS}; {CHANGES}"),
    );
}

#[test]
fn restores_workspaces_with_shared_repository() {
    let clone = format!("mkdir origin; cd origin; git init -qb main; {COMMITS}; cd ..;");
    let shallow = format!("{clone} git clone -q --depth 1 \"file://$PWD/origin\" top; cd top; {CHANGES}");
    assert_eq!(check_round_trip("shallow", "top", &shallow, "").shallow.len(), 1);
    let worktree = format!("{clone} cd origin; git worktree add -q -b side ../top; cd ../top; {CHANGES}");
    check_round_trip("worktree", "top", &worktree, "");
    let borrowed = format!("{clone} git clone -q --shared origin top; cd top; {CHANGES}");
    check_round_trip("borrowed objects", "top", &borrowed, "");
}

#[test]
fn restores_the_working_directory_below_the_top() {
    let prepare = format!("git init -qb main; {COMMITS}; mkdir -p 'a b/c'; printf x > 'a b/c/x'; {CHANGES}");
    let workspace = check_round_trip("below", "", &prepare, "a b/c");
    assert_eq!(workspace.subdirectory.as_path(), Path::new("a b/c"));
}

/// Returns the description of the workspace that the commands prepare.
fn exported_workspace(prepare: &str) -> WorkspaceManifest {
    let homes = Homes::new();
    let work = fs::canonicalize(homes.path("work")).expect("a path");
    shell(&work, prepare);
    fs::create_dir(homes.path("scratch")).expect("a new directory");
    take(&work, &homes.path("scratch")).expect("taken").workspace
}

#[test]
fn omits_nested_repositories_and_lists_them() {
    let nested = "git init -q nested; cd nested; printf n > n; git add n; git commit -qm n; cd ..";
    let empty = "mkdir -p 'a b'; git init -q 'a b/empty'; printf n > 'a b/empty/n'";
    let workspace = exported_workspace(&format!("git init -qb main; {COMMITS}; {nested}; {empty}"));
    assert_eq!(workspace.omitted, ["nested".into(), "a b/empty".into()]);
}

#[test]
fn lists_filtered_files() {
    let workspace = exported_workspace(
        "git init -qb main; printf '*.big filter=away' > .gitattributes; printf x > plain; printf x > a.big
         git config filter.away.clean 'printf pointer'; git add -A; git commit -qm 1; printf y > 'b c.big'",
    );
    assert_eq!(workspace.filtered, ["a.big".into(), "b c.big".into()]);
}

#[test]
fn restores_conflicts_as_files() {
    let homes = Homes::new();
    let work = fs::canonicalize(homes.path("work")).expect("a path");
    shell(
        &work,
        "git init -qb main; printf 1 > f; git add f; git commit -qm 1; git checkout -qb side; printf 2 > f
         git commit -qam 2; git checkout -q main; printf 3 > f; git commit -qam 3; git merge -q side || true",
    );
    let (scratch, into, bundle) = (homes.path("scratch"), homes.path("into"), homes.path("bundle"));
    for dir in [&scratch, &into] {
        fs::create_dir(dir).expect("a new directory");
    }
    let snapshot = take(&work, &scratch).expect("taken");
    snapshot.bundle(&bundle).expect("written");
    restore(&bundle, &snapshot.workspace, &into, &bundle, u64::MAX).expect("created");
    assert_eq!(files(&into, &[".git"]), files(&work, &[".git"]));
    assert_eq!(shell(&into, "git status --porcelain"), " M f\n");
}

/// An export must not run a program of the repository.
#[test]
fn runs_no_hook() {
    let hooks = "post-index-change reference-transaction pre-commit post-checkout fsmonitor-watchman";
    let prepare = format!(
        "git init -qb main; {COMMITS}; for hook in {hooks}; do
         printf '#!/bin/sh\\ntouch \"%s\"/../hooked' \"$PWD\" > .git/hooks/$hook; chmod +x .git/hooks/$hook; done
         git config core.fsmonitor .git/hooks/fsmonitor-watchman"
    );
    let homes = Homes::new();
    let work = fs::canonicalize(homes.path("work")).expect("a path");
    shell(&work, &prepare);
    fs::create_dir(homes.path("scratch")).expect("a new directory");
    shell(&work, "git add -A; rm ../hooked");
    let snapshot = take(&work, &homes.path("scratch")).expect("taken");
    snapshot.bundle(&homes.path("bundle")).expect("written");
    assert!(!homes.path("hooked").exists());
}

#[test]
fn reports_errors_of_git() {
    let homes = Homes::new();
    let work = fs::canonicalize(homes.path("work")).expect("a path");
    shell(
        &work,
        &format!(
            "git init -qb main; {COMMITS}; printf '*.big filter=away' > .gitattributes; printf x > a.big
             git config filter.away.clean false; git config filter.away.required true"
        ),
    );
    fs::create_dir(homes.path("scratch")).expect("a new directory");
    let snapshot = take(&work, &homes.path("scratch"));
    let error = snapshot.err().expect("the required filter fails");
    assert!(error.to_string().starts_with("git add: error: external filter 'false' failed"), "{error}");
    fs::write(work.join(".git"), "gitdir: /nowhere").expect_err("it is a directory");
    fs::remove_dir_all(work.join(".git")).expect("the test created it");
    fs::write(work.join(".git"), "gitdir: /nowhere").expect("written");
    UserRepo::find_blocking(&work).expect_err("a broken repository is an error");
}

#[test]
fn omits_a_workspace_outside_of_git() {
    let homes = Homes::new();
    homes.create_run();
    let exported = homes.export();
    assert_eq!(
        (exported.no_workspace, exported.manifest.workspace),
        (Some(WorkspaceOmitted::NotInGit), None)
    );
    let to = Homes::new();
    let into = to.path("new");
    let refused =
        import(&to.home, &exported.file, ImportDestination { use_existing: false, ..to.use_existing(&into) });
    assert!(matches!(refused, Err(TransferError::NoWorkspace(_))), "{refused:?}");
    assert!(!into.exists());

    let ignored = Homes::new();
    shell(&ignored.path(""), "git init -q; printf work > .gitignore");
    ignored.create_run();
    assert_eq!(ignored.export().no_workspace, Some(WorkspaceOmitted::NotInGit));
    let without_workspace = Homes::new();
    without_workspace.create_run();
    fs::remove_dir(without_workspace.path("work")).expect("it is empty");
    assert_eq!(without_workspace.export().no_workspace, Some(WorkspaceOmitted::Missing));
}

/// Exports a run after a script ran in this directory of the homes.
fn export_after(dir: &str, script: &str) -> (Homes, Exported) {
    let homes = Homes::new();
    shell(&homes.path(dir), script);
    homes.create_run();
    let exported = homes.export();
    (homes, exported)
}

/// The export does not contain a home or an exported file inside the workspace.
#[test]
fn omits_the_home_and_the_exported_file() {
    let (_homes, exported) = export_after("", "git init -qb main; printf x > work/x");
    let to = Homes::new();
    let into = to.path("new");
    let destination = ImportDestination { use_existing: false, ..to.use_existing(&into) };
    let imported = import(&to.home, &exported.file, destination).expect("imported");
    assert_eq!(imported.workspace, WorkspaceMatch::Unpacked);
    assert_eq!(imported.cwd, fs::canonicalize(into.join("work")).expect("a path"));
    assert_eq!(files(&into, &[".git"]).into_keys().collect::<Vec<_>>(), [PathBuf::from("work/x")]);
}

/// The bundle contains a run's own workspace, without its ignored files.
#[test]
fn omits_ignored_files_of_the_own_workspace_of_a_run() {
    let homes = Homes::new();
    homes.create_run();
    let own = homes.home.find("@").expect("a run").workspace_path();
    fs::create_dir(&own).expect("the run has none");
    shell(&own, "git init -qb main; printf secret > .gitignore; printf x > secret; printf x > file");
    let members = homes.export().manifest.members;
    let in_workspace = members.iter().filter(|member| member.name.contains("workspace/"));
    assert_eq!(in_workspace.count(), 0, "{members:?}");
}

#[test]
fn a_failed_import_leaves_the_directory_unchanged() {
    let (_homes, exported) = export_after("work", "git init -qb main; printf x > x");
    let to = Homes::new();
    // The agent is not installed.
    let missing = to.path("missing");
    let refused_without_agent = |into: &Path| {
        let destination =
            ImportDestination { into, use_existing: false, allow_large: false, agent_path: Some(&missing) };
        import(&to.home, &exported.file, destination).expect_err("the agent is missing");
    };
    let (empty, new) = (to.path("work"), to.path("not/yet/there"));
    refused_without_agent(&empty);
    refused_without_agent(&new);
    assert!(empty.exists() && !to.path("not").exists());
    // The run's directory cannot get its name. The workspace is already created then.
    let destination =
        ImportDestination { into: &new, use_existing: false, allow_large: false, agent_path: None };
    let day = jiff::Zoned::now().strftime("%Y-%m-%d").to_string();
    let day = to.home.runs_path().join(day);
    fs::create_dir_all(&day).expect("created");
    let error = {
        let run = day.join(exported.manifest.run.as_str());
        fs::write(&run, "not a run").expect("written");
        let error = import(&to.home, &exported.file, destination).expect_err("the id is taken");
        fs::remove_file(run).expect("the test created it");
        error
    };
    assert!(error.to_string().contains("its id is used in"), "{error}");
    assert!(!to.path("not").exists());
    // The state after a killed import.
    fs::create_dir_all(new.join(".longhaul-import/leftover")).expect("created");
    import(&to.home, &exported.file, destination).expect("the path is free");
    assert_eq!(files(&new, &[".git"]).into_keys().collect::<Vec<_>>(), [PathBuf::from("x")]);
    let second = ImportDestination { into: &empty, ..destination };
    assert!(
        matches!(import(&to.home, &exported.file, second), Err(TransferError::Store(_))),
        "the run is already imported"
    );
    fs::write(empty.join("x"), "").expect("written");
    let full = import(&Homes::new().home, &exported.file, second).expect_err("the directory is not empty");
    assert!(matches!(full, TransferError::NotEmpty(_)));
}

#[test]
fn only_one_import_uses_a_directory() {
    let homes = Homes::new();
    let into = homes.path("not/yet/there");
    let first = DestinationDir::create(&into).expect("the path is free");
    let unpacked = first.scratch().join("x");
    fs::write(&unpacked, "").expect("written");
    let second = DestinationDir::create(&into);
    assert!(matches!(second, Err(TransferError::InUse(_))), "{second:?}");
    assert!(unpacked.exists());
    drop(first);
    assert!(!into.exists());
    drop(DestinationDir::create(&into).expect("the path is free again"));
}

#[test]
fn compares_an_existing_workspace() {
    let (_homes, exported) =
        export_after("work", "git init -qb main; printf x > x; git add x; git commit -qm x; printf y > y");
    let check = |prepare: &str, expected| {
        let to = Homes::new();
        let into = to.path("work");
        shell(&into, prepare);
        let imported = import(&to.home, &exported.file, to.use_existing(&into)).expect("imported");
        assert_eq!(imported.workspace, expected, "{prepare}");
    };
    // The history does not matter, because the agent only sees the files.
    check("git init -q; printf x > x; printf y > y", WorkspaceMatch::Same);
    check("git init -q; printf x > x", WorkspaceMatch::Different);
    check("printf x > x; printf y > y", WorkspaceMatch::Unknown);
}

#[test]
fn large_workspace_needs_consent() {
    let (from, to) = (Homes::new(), Homes::new());
    from.create_run();
    let work = from.path("work");
    fs::create_dir_all(&work).expect("created");
    // One object with fifty files.
    shell(
        &work,
        "git init -qb main; head -c 1000000 /dev/zero > 0; for i in $(seq 50); do cp 0 $i; done; git add -A",
    );
    let file = from.export().file;
    assert!(fs::metadata(&file).expect("a file").len() < 1_000_000);
    let into = to.path("there");
    let small = ImportDestination { into: &into, use_existing: false, allow_large: false, agent_path: None };
    let error = import(&to.home, &file, small).expect_err("the workspace is too large").to_string();
    assert!(error.contains("more than ten times its size"), "{error}");
    assert!(!into.exists(), "nothing remains");
    import(&to.home, &file, ImportDestination { allow_large: true, ..small })
        .expect("large workspaces are allowed");
    assert!(into.join("50").exists());
}

//! Workspaces of every shape come back as they were, and the one that they come from is not touched.

use super::Homes;
use crate::transfer::restore::restore;
use crate::transfer::snapshot::{WorkspaceSnapshot, top_of};
use crate::transfer::{
    ImportDestination, TransferError, Workspace, WorkspaceMatch, WorkspaceOmitted, import,
};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Everything that a person may have done, without commits.
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

/// Plays a script in a directory, without settings of whoever runs the tests.
fn shell(dir: &Path, script: &str) -> String {
    let mut command = Command::new("sh");
    command.args(["-ec", script]).current_dir(dir).env("HOME", dir).env("GIT_CONFIG_NOSYSTEM", "1");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "me").env(format!("GIT_{who}_EMAIL"), "me@example.com");
    }
    let output = command.output().expect("there is a shell");
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Every file below a directory, with its content, whether it can be executed, and where it links to.
fn files(dir: &Path, skip: &[&str]) -> BTreeMap<PathBuf, String> {
    use std::os::unix::fs::PermissionsExt;
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_owned();
        if skip.iter().any(|skip| name == *skip) {
            continue;
        }
        let kind = fs::symlink_metadata(&path).expect("it was listed");
        if kind.is_dir() {
            let below = files(&path, skip).into_iter();
            found.extend(below.map(|(file, content)| (Path::new(&name).join(file), content)));
        } else if kind.is_symlink() {
            found.insert(name.into(), format!("link to {}", fs::read_link(&path).expect("a link").display()));
        } else {
            let content = fs::read(&path).expect("a file");
            let executable = kind.permissions().mode() & 0o100 != 0;
            found.insert(name.into(), format!("{executable} {content:?}"));
        }
    }
    found
}

const STATE: &str = "git --no-optional-locks status --porcelain -z; git rev-parse -q --verify HEAD || echo none; \
                     git symbolic-ref -q HEAD || echo detached; git log --oneline -q 2>&1 || true";

/// Takes the workspace in `work`, makes it anew, and asserts that nobody could tell the two apart, nor
/// whether the first was ever looked at.
fn comes_back(shape: &str, top: &str, prepare: &str, worked_in: &str) -> Workspace {
    let place = Homes::new();
    let work = fs::canonicalize(place.path("work")).expect("a path");
    shell(&work, prepare);
    let top = work.join(top);
    let cwd = top.join(worked_in);
    let state = shell(&top, STATE);
    let before = files(&work, &[]);

    let (scratch, into) = (place.path("scratch"), place.path("into"));
    for dir in [&scratch, &into] {
        fs::create_dir(dir).expect("a new directory");
    }
    assert_eq!(top_of(&cwd).expect("git works"), Some(top.clone()), "{shape}");
    let snapshot = WorkspaceSnapshot::take(&top, &cwd, &[], &scratch).expect(shape);
    let bundle = place.path("bundle");
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
fn workspaces_come_back_as_they_were() {
    let check = |shape: &str, prepare: &str| comes_back(shape, "", prepare, "");
    check("clean", &format!("git init -qb main; {COMMITS}"));
    let main = check("changed", &format!("git init -qb main; {COMMITS}; {CHANGES}"));
    assert_eq!((main.branch.as_deref(), main.omitted.len()), (Some("main"), 0));
    let detached = check("detached", &format!("git init -q; {COMMITS}; git checkout -q HEAD~; {CHANGES}"));
    assert_eq!(detached.branch, None);
    let unborn = check("unborn", "git init -qb trunk; printf a > a; git add a; printf b > b; printf c >> a");
    assert_eq!((unborn.head, unborn.branch.as_deref()), (None, Some("trunk")));
    check("empty", "git init -qb trunk");
    // A change that git tells by the index's time alone: same size, same second.
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
fn workspaces_that_share_a_repository_come_back() {
    let clone = format!("mkdir origin; cd origin; git init -qb main; {COMMITS}; cd ..;");
    let shallow = format!("{clone} git clone -q --depth 1 \"file://$PWD/origin\" top; cd top; {CHANGES}");
    assert_eq!(comes_back("shallow", "top", &shallow, "").shallow.len(), 1);
    let worktree = format!("{clone} cd origin; git worktree add -q -b side ../top; cd ../top; {CHANGES}");
    comes_back("worktree", "top", &worktree, "");
    let borrowed = format!("{clone} git clone -q --shared origin top; cd top; {CHANGES}");
    comes_back("borrowed objects", "top", &borrowed, "");
}

#[test]
fn a_directory_below_the_top_is_remembered() {
    let prepare = format!("git init -qb main; {COMMITS}; mkdir -p 'a b/c'; printf x > 'a b/c/x'; {CHANGES}");
    let workspace = comes_back("below", "", &prepare, "a b/c");
    assert_eq!(workspace.subdirectory.as_path(), Path::new("a b/c"));
}

#[test]
fn repositories_inside_are_named_and_left_out() {
    let nested = "git init -q nested; cd nested; printf n > n; git add n; git commit -qm n; cd ..";
    let place = Homes::new();
    let work = fs::canonicalize(place.path("work")).expect("a path");
    shell(&work, &format!("git init -qb main; {COMMITS}; {nested}"));
    fs::create_dir(place.path("scratch")).expect("a new directory");
    let snapshot = WorkspaceSnapshot::take(&work, &work, &[], &place.path("scratch")).expect("taken");
    assert_eq!(snapshot.workspace.omitted, ["nested".into()]);
}

#[test]
fn files_behind_a_filter_are_named() {
    let place = Homes::new();
    let work = fs::canonicalize(place.path("work")).expect("a path");
    shell(
        &work,
        "git init -qb main; printf '*.big filter=away' > .gitattributes; printf x > plain; printf x > a.big
         git config filter.away.clean 'printf pointer'; git add -A; git commit -qm 1; printf y > 'b c.big'",
    );
    fs::create_dir(place.path("scratch")).expect("a new directory");
    let snapshot = WorkspaceSnapshot::take(&work, &work, &[], &place.path("scratch")).expect("taken");
    assert_eq!(snapshot.workspace.filtered, ["a.big".into(), "b c.big".into()]);
}

#[test]
fn conflicts_come_back_as_files() {
    let place = Homes::new();
    let work = fs::canonicalize(place.path("work")).expect("a path");
    shell(
        &work,
        "git init -qb main; printf 1 > f; git add f; git commit -qm 1; git checkout -qb side; printf 2 > f
         git commit -qam 2; git checkout -q main; printf 3 > f; git commit -qam 3; git merge -q side || true",
    );
    let (scratch, into, bundle) = (place.path("scratch"), place.path("into"), place.path("bundle"));
    for dir in [&scratch, &into] {
        fs::create_dir(dir).expect("a new directory");
    }
    let snapshot = WorkspaceSnapshot::take(&work, &work, &[], &scratch).expect("taken");
    snapshot.bundle(&bundle).expect("written");
    restore(&bundle, &snapshot.workspace, &into, &bundle, u64::MAX).expect("made");
    assert_eq!(files(&into, &[".git"]), files(&work, &[".git"]));
    assert_eq!(shell(&into, "git status --porcelain"), " M f\n");
}

/// A program of the repository's must not run because somebody moves a run.
#[test]
fn no_hook_runs() {
    let hooks = "post-index-change reference-transaction pre-commit post-checkout fsmonitor-watchman";
    let prepare = format!(
        "git init -qb main; {COMMITS}; for hook in {hooks}; do
         printf '#!/bin/sh\\ntouch \"%s\"/../hooked' \"$PWD\" > .git/hooks/$hook; chmod +x .git/hooks/$hook; done
         git config core.fsmonitor .git/hooks/fsmonitor-watchman"
    );
    let place = Homes::new();
    let work = fs::canonicalize(place.path("work")).expect("a path");
    shell(&work, &prepare);
    fs::create_dir(place.path("scratch")).expect("a new directory");
    shell(&work, "git add -A; rm ../hooked");
    let snapshot = WorkspaceSnapshot::take(&work, &work, &[], &place.path("scratch")).expect("taken");
    snapshot.bundle(&place.path("bundle")).expect("written");
    assert!(!place.path("hooked").exists());
}

#[test]
fn git_says_why_it_cannot() {
    let place = Homes::new();
    let work = fs::canonicalize(place.path("work")).expect("a path");
    shell(&work, &format!("git init -qb main; {COMMITS}; git init -q nested"));
    fs::create_dir(place.path("scratch")).expect("a new directory");
    let taken = WorkspaceSnapshot::take(&work, &work, &[], &place.path("scratch"));
    let error = taken.err().expect("git adds no repository without a commit");
    assert!(error.to_string().starts_with("git add: error: 'nested/' does not have a commit"), "{error}");
    assert!(error.hint().is_some());
    fs::write(work.join(".git"), "gitdir: /nowhere").expect_err("it is a directory");
    fs::remove_dir_all(work.join(".git")).expect("it is ours");
    fs::write(work.join(".git"), "gitdir: /nowhere").expect("written");
    assert!(matches!(top_of(&work), Err(TransferError::Git { .. })), "a broken repository is told");
}

#[test]
fn what_is_not_in_git_stays_behind() {
    let place = Homes::new();
    place.begin();
    let exported = place.export();
    assert_eq!(
        (exported.no_workspace, exported.manifest.workspace),
        (Some(WorkspaceOmitted::NotInGit), None)
    );
    let to = Homes::new();
    let into = to.path("new");
    let refused = import(&to.home, &exported.file, ImportDestination { as_is: false, ..to.as_is(&into) });
    assert!(matches!(refused, Err(TransferError::NoWorkspace(_))), "{refused:?}");
    assert!(!into.exists());

    let ignored = Homes::new();
    shell(&ignored.path(""), "git init -q; printf work > .gitignore");
    ignored.begin();
    assert_eq!(ignored.export().no_workspace, Some(WorkspaceOmitted::NotInGit));
    let gone = Homes::new();
    gone.begin();
    fs::remove_dir(gone.path("work")).expect("it is empty");
    assert_eq!(gone.export().no_workspace, Some(WorkspaceOmitted::Gone));
}

/// A home or an exported file inside of the workspace is not packed into itself.
#[test]
fn what_is_ours_is_not_in_the_snapshot() {
    let place = Homes::new();
    shell(&place.path(""), "git init -qb main; printf x > work/x");
    place.begin();
    let exported = place.export();
    let to = Homes::new();
    let into = to.path("new");
    let destination = ImportDestination { as_is: false, ..to.as_is(&into) };
    let imported = import(&to.home, &exported.file, destination).expect("imported");
    assert_eq!(imported.workspace, WorkspaceMatch::Unpacked);
    assert_eq!(imported.cwd, fs::canonicalize(into.join("work")).expect("a path"));
    assert_eq!(files(&into, &[".git"]).into_keys().collect::<Vec<_>>(), [PathBuf::from("work/x")]);
}

#[test]
fn a_failure_leaves_the_directory_as_it_was() {
    let place = Homes::new();
    shell(&place.path("work"), "git init -qb main; printf x > x");
    place.begin();
    let exported = place.export();
    let to = Homes::new();
    // Its agent is not here.
    let missing = to.path("missing");
    let with = |into: &Path| {
        let destination =
            ImportDestination { into, as_is: false, allow_large: false, agent_path: Some(&missing) };
        import(&to.home, &exported.file, destination).expect_err("there is no agent");
    };
    let (empty, new) = (to.path("work"), to.path("not/yet/there"));
    with(&empty);
    with(&new);
    assert!(empty.exists() && !to.path("not").exists());
    // The run cannot get its name; the workspace is made by then.
    let taken = ImportDestination { into: &new, as_is: false, allow_large: false, agent_path: None };
    let day = jiff::Zoned::now().strftime("%Y-%m-%d").to_string();
    let day = to.home.runs_path().join(day);
    fs::create_dir_all(&day).expect("made");
    let error = {
        let run = day.join(exported.manifest.run.as_str());
        fs::write(&run, "in the way").expect("written");
        let error = import(&to.home, &exported.file, taken).expect_err("the id is taken");
        fs::remove_file(run).expect("it is ours");
        error
    };
    assert!(error.to_string().contains("a run of this id is in"), "{error}");
    assert!(!to.path("not").exists());
    // As an import that was killed would leave it.
    fs::create_dir_all(new.join(".longhaul-import/left")).expect("made");
    import(&to.home, &exported.file, taken).expect("nothing is in the way any more");
    assert_eq!(files(&new, &[".git"]).into_keys().collect::<Vec<_>>(), [PathBuf::from("x")]);
    let again = ImportDestination { into: &empty, ..taken };
    assert!(
        matches!(import(&to.home, &exported.file, again), Err(TransferError::Store(_))),
        "it is here already"
    );
    fs::write(empty.join("x"), "").expect("written");
    let full = import(&Homes::new().home, &exported.file, again).expect_err("it holds something");
    assert!(matches!(full, TransferError::NotEmpty(_)));
}

#[test]
fn a_workspace_that_is_there_is_compared() {
    let place = Homes::new();
    shell(&place.path("work"), "git init -qb main; printf x > x; git add x; git commit -qm x; printf y > y");
    place.begin();
    let exported = place.export();
    let check = |prepare: &str, arrival| {
        let to = Homes::new();
        let into = to.path("work");
        shell(&into, prepare);
        let imported = import(&to.home, &exported.file, to.as_is(&into)).expect("imported");
        assert_eq!(imported.workspace, arrival, "{prepare}");
    };
    // Whatever its history: the files are what the agent sees.
    check("git init -q; printf x > x; printf y > y", WorkspaceMatch::Same);
    check("git init -q; printf x > x", WorkspaceMatch::Different);
    check("printf x > x; printf y > y", WorkspaceMatch::Unknown);
}

#[test]
fn files_that_would_fill_the_disk_need_consent() {
    let (from, to) = (Homes::new(), Homes::new());
    from.begin();
    let work = from.path("work");
    fs::create_dir_all(&work).expect("it is made");
    // One object, and fifty files.
    shell(
        &work,
        "git init -qb main; head -c 1000000 /dev/zero > 0; for i in $(seq 50); do cp 0 $i; done; git add -A",
    );
    let file = from.export().file;
    assert!(fs::metadata(&file).expect("a file").len() < 1_000_000);
    let into = to.path("there");
    let small = ImportDestination { into: &into, as_is: false, allow_large: false, agent_path: None };
    let error = import(&to.home, &file, small).expect_err("too much").to_string();
    assert!(error.contains("more than ten times its size"), "{error}");
    assert!(!into.exists(), "nothing is left");
    import(&to.home, &file, ImportDestination { allow_large: true, ..small }).expect("it is allowed");
    assert!(into.join("50").exists());
}

//! What a workspace looks like, as a number that changes with it: whether an agent that stops again and again does
//! anything in between.

use std::collections::hash_map::DefaultHasher;
use std::fs::{self, Metadata};
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

// A large checkout has as many files; looking at them takes about a second.
const ENTRIES_MAX: usize = 200_000;
// What tools write for themselves is no work, and may be a hundred times as much.
const TOOLS: [&str; 6] = ["node_modules", "target", "__pycache__", ".venv", ".mypy_cache", ".pytest_cache"];

/// The path, size and time of every file: no two states of a workspace in use are alike in all of them. Of a git
/// repository its commits count, and not what git keeps for itself: a look at it writes that.
pub(crate) fn fingerprint(workspace: &Path) -> u64 {
    let mut number = 0_u64;
    let mut entries = 0;
    let mut dirs = vec![PathBuf::new()];
    while let Some(dir) = dirs.pop() {
        // What cannot be read looks like nothing, and so does what is gone by now.
        for entry in fs::read_dir(workspace.join(&dir)).into_iter().flatten().flatten() {
            entries += 1;
            if entries > ENTRIES_MAX {
                return number;
            }
            let path = dir.join(entry.file_name());
            match entry.metadata() {
                Ok(metadata) if !metadata.is_dir() => number = number.wrapping_add(look_of(&path, &metadata)),
                Ok(_) if entry.file_name() == ".git" => {
                    number = number.wrapping_add(commits(workspace, &path))
                }
                Ok(_) if TOOLS.iter().any(|tool| entry.file_name() == *tool) => {}
                Ok(_) => dirs.push(path),
                Err(_) => {}
            }
        }
    }
    number
}

/// Where the repository's own branch points to, as its log tells.
fn commits(workspace: &Path, git: &Path) -> u64 {
    let path = git.join("logs/HEAD");
    fs::metadata(workspace.join(&path)).map_or(0, |metadata| look_of(&path, &metadata))
}

// The order in which a directory is read is nobody's promise: the looks of its files are added up.
fn look_of(path: &Path, metadata: &Metadata) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    metadata.len().hash(&mut hasher);
    let changed = metadata.modified().ok().and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
    changed.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::fingerprint;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn work_changes_it_and_looking_does_not() {
        let dir = tempfile::tempdir().expect("a directory");
        let at = |path: &str| dir.path().join(path);
        let write = |path: &str, text: &str| {
            fs::create_dir_all(at(path).parent().expect("a parent")).expect("directories");
            fs::write(at(path), text).expect("a file");
        };
        let mut last = fingerprint(dir.path());
        assert_eq!(last, fingerprint(dir.path()));
        let mut changes = |what: &str, expected: bool, act: &dyn Fn()| {
            act();
            let now = fingerprint(dir.path());
            assert_eq!(now != last, expected, "{what}");
            last = now;
        };
        changes("a file", true, &|| write("src/main.rs", "fn main() {}"));
        changes("its text", true, &|| write("src/main.rs", "fn main() { }"));
        changes("a commit", true, &|| write(".git/logs/HEAD", "0 1 first"));
        changes("git's own files", false, &|| write(".git/index", "looked at"));
        changes("what tools keep", false, &|| write("target/debug/main", "built"));
        changes("another file deep down", true, &|| write("a/b/c/d", ""));
        changes("a link to itself", true, &|| symlink(dir.path(), at("loop")).expect("a link"));
        changes("a file that is gone", true, &|| fs::remove_file(at("a/b/c/d")).expect("it was there"));
    }
}

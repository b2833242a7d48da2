//! Fingerprints a workspace. This shows whether an agent that stops repeatedly changes anything in between.

use std::collections::hash_map::DefaultHasher;
use std::fs::{self, Metadata};
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

// A large checkout has this many files. Reading their metadata takes about a second.
const ENTRIES_MAX: usize = 200_000;
// Directories of tools. Their content is not part of the work, and may be a hundred times larger.
const TOOL_DIRS: [&str; 6] =
    ["node_modules", "target", "__pycache__", ".venv", ".mypy_cache", ".pytest_cache"];

/// Returns a number that depends on the path, size and modification time of every file. At least one of them
/// changes while a workspace is in use. The number includes the commits of a git repository but not git's own
/// files, because even a query writes those. Returns `None` if the workspace has too many entries.
pub(crate) fn fingerprint(workspace: &Path) -> Option<u64> {
    fingerprint_of_entries(workspace, ENTRIES_MAX)
}

fn fingerprint_of_entries(workspace: &Path, entries_max: usize) -> Option<u64> {
    let mut fingerprint = 0_u64;
    let mut entries = 0;
    let mut dirs = vec![PathBuf::new()];
    while let Some(dir) = dirs.pop() {
        // Entries that cannot be read or no longer exist add nothing.
        for entry in fs::read_dir(workspace.join(&dir)).into_iter().flatten().flatten() {
            entries += 1;
            if entries > entries_max {
                return None;
            }
            let path = dir.join(entry.file_name());
            match entry.metadata() {
                Ok(metadata) if !metadata.is_dir() => {
                    fingerprint = fingerprint.wrapping_add(file_hash(&path, &metadata))
                }
                Ok(_) if entry.file_name() == ".git" => {
                    fingerprint = fingerprint.wrapping_add(commits(workspace, &path))
                }
                Ok(_) if TOOL_DIRS.iter().any(|tool| entry.file_name() == *tool) => {}
                Ok(_) => dirs.push(path),
                Err(_) => {}
            }
        }
    }
    Some(fingerprint)
}

/// Returns a hash of the log of `HEAD`, which changes with every commit and checkout.
fn commits(workspace: &Path, git: &Path) -> u64 {
    let path = git.join("logs/HEAD");
    fs::metadata(workspace.join(&path)).map_or(0, |metadata| file_hash(&path, &metadata))
}

// The caller adds up the hashes, because the order of directory entries is not fixed.
fn file_hash(path: &Path, metadata: &Metadata) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    metadata.len().hash(&mut hasher);
    let changed = metadata.modified().ok().and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
    changed.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::{fingerprint, fingerprint_of_entries};
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn changes_with_work_but_not_with_reading() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = |name: &str| dir.path().join(name);
        let write = |name: &str, text: &str| {
            fs::create_dir_all(path(name).parent().expect("a parent")).expect("directories");
            fs::write(path(name), text).expect("a file");
        };
        let mut last = fingerprint(dir.path());
        assert_eq!(last, fingerprint(dir.path()));
        let mut changes = |change: &str, expected: bool, act: &dyn Fn()| {
            act();
            let now = fingerprint(dir.path());
            assert_eq!(now != last, expected, "{change}");
            last = now;
        };
        changes("a file", true, &|| write("src/main.rs", "fn main() {}"));
        changes("its text", true, &|| write("src/main.rs", "fn main() { }"));
        changes("a commit", true, &|| write(".git/logs/HEAD", "0 1 first"));
        changes("git's own files", false, &|| write(".git/index", "refreshed"));
        changes("a directory of a tool", false, &|| write("target/debug/main", "built"));
        changes("a nested file", true, &|| write("a/b/c/d", ""));
        changes("a link to itself", true, &|| symlink(dir.path(), path("loop")).expect("a link"));
        changes("a deleted file", true, &|| fs::remove_file(path("a/b/c/d")).expect("the file exists"));
    }

    /// Files beyond the limit may change unseen.
    #[test]
    fn workspace_beyond_the_limit_has_none() {
        let dir = tempfile::tempdir().expect("a directory");
        for name in ["a", "b"] {
            fs::write(dir.path().join(name), "").expect("a file");
        }
        assert!(fingerprint_of_entries(dir.path(), 2).is_some());
        assert_eq!(fingerprint_of_entries(dir.path(), 1), None);
    }
}

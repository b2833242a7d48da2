//! Reads a workspace, hashes it and lists the differences from the files that a scenario expects. It never
//! writes, never follows a symbolic link and never leaves the given folder.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use sha2::{Digest, Sha256};

/// File contents by path relative to the workspace, with `/` between the parts.
pub type WorkspaceFiles = BTreeMap<String, Vec<u8>>;

/// The file with one line for each step of the work, if the scenario lists the steps.
pub const EFFECTS: &str = "effects.log";

/// Removes `effects.log` from `files` and checks it. Returns one line for each expected effect that does not
/// occur exactly once, and for each unexpected effect.
pub fn effect_errors(files: &mut WorkspaceFiles, expected: &[String]) -> Vec<String> {
    if expected.is_empty() {
        return Vec::new();
    }
    let log = files.remove(EFFECTS).unwrap_or_default();
    let mut counts = BTreeMap::<String, u32>::new();
    for line in String::from_utf8_lossy(&log).lines() {
        *counts.entry(line.to_owned()).or_default() += 1;
    }
    let mut errors = Vec::new();
    for effect in expected {
        match counts.remove(effect) {
            Some(1) => {}
            Some(count) => errors.push(format!("{effect}: {count} times")),
            None => errors.push(format!("{effect}: never")),
        }
    }
    errors.extend(counts.keys().map(|line| format!("{line}: unexpected")));
    errors
}

/// Returns the hash of `files`: hexadecimal SHA-256 over the sorted paths and contents, each with its length.
pub fn hash(files: &WorkspaceFiles) -> String {
    let mut hasher = Sha256::new();
    for (path, content) in files {
        for part in [path.as_bytes(), content.as_slice()] {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns every regular file below `root`.
pub fn read(root: &Path) -> io::Result<WorkspaceFiles> {
    let mut files = WorkspaceFiles::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|error| cannot_read(&folder, &error))? {
            let entry = entry.map_err(|error| cannot_read(&folder, &error))?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                let content = fs::read(&path).map_err(|error| cannot_read(&path, &error))?;
                let inside = path.strip_prefix(root).unwrap_or(&path).to_string_lossy();
                files.insert(inside.into_owned(), content);
            }
        }
    }
    Ok(files)
}

fn cannot_read(path: &Path, error: &io::Error) -> io::Error {
    io::Error::other(format!("cannot read {}: {error}", path.display()))
}

/// Returns one line for each file that is missing, is unexpected or has other contents than expected.
pub fn differences(expected: &WorkspaceFiles, actual: &WorkspaceFiles) -> Vec<String> {
    let mut lines = Vec::new();
    for (path, content) in expected {
        match actual.get(path) {
            None => lines.push(format!("{path}: missing")),
            Some(actual) if actual != content => {
                lines.push(format!(
                    "{path}: {} bytes differ from the expected {}",
                    actual.len(),
                    content.len()
                ));
            }
            Some(_) => {}
        }
    }
    lines.extend(
        actual.keys().filter(|path| !expected.contains_key(*path)).map(|path| format!("{path}: unexpected")),
    );
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_occur_once_or_are_errors() {
        let check = |log: &str, errors: &[&str]| {
            let mut files = WorkspaceFiles::from([(EFFECTS.into(), log.as_bytes().to_vec())]);
            assert_eq!(effect_errors(&mut files, &["a".into(), "b".into()]), errors);
            assert!(files.is_empty());
        };
        check("b\na\n", &[]);
        check("a\na\nc\n", &["a: 2 times", "b: never", "c: unexpected"]);
        let mut files = WorkspaceFiles::from([(EFFECTS.into(), Vec::new())]);
        assert!(effect_errors(&mut files, &[]).is_empty() && files.len() == 1);
    }

    #[test]
    fn read_returns_the_written_files() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        fs::create_dir_all(folder.path().join("src/deep"))?;
        fs::write(folder.path().join("src/deep/a.txt"), "one\n")?;
        fs::write(folder.path().join("b.txt"), "two\n")?;
        let expected = WorkspaceFiles::from([
            ("b.txt".into(), b"two\n".to_vec()),
            ("src/deep/a.txt".into(), b"one\n".to_vec()),
        ]);
        let actual = read(folder.path())?;
        assert_eq!(hash(&expected), hash(&actual));
        assert_eq!(differences(&expected, &actual), Vec::<String>::new());
        fs::write(folder.path().join("b.txt"), "tw0\n")?;
        let actual = read(folder.path())?;
        assert_ne!(hash(&expected), hash(&actual));
        assert_eq!(differences(&expected, &actual), ["b.txt: 4 bytes differ from the expected 4"]);
        Ok(())
    }
}

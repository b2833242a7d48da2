//! Checks whether a directory can be written to, without writing.

use crate::next_commands::quoted;
use rustix::fs::{Access, access};
use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// A directory that exists or would be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WritableDir {
    pub path: PathBuf,
    /// The longest part of the path that exists.
    pub lowest: PathBuf,
    pub is_directory: bool,
    /// The error of creating something in it, or `None` if that is possible.
    pub error: Option<Errno>,
}

impl WritableDir {
    pub fn probe(path: &Path) -> WritableDir {
        let lowest = path.ancestors().find(|part| part.symlink_metadata().is_ok()).unwrap_or(Path::new("/"));
        let access_result = access(lowest, Access::WRITE_OK | Access::EXEC_OK);
        WritableDir {
            path: path.to_owned(),
            lowest: lowest.to_owned(),
            is_directory: lowest.is_dir(),
            error: access_result.err(),
        }
    }

    pub fn exists(&self) -> bool {
        self.path == self.lowest
    }

    /// Returns why the directory cannot be written to, and a remedy.
    pub fn problem(&self) -> Option<(String, String)> {
        let (path, lowest) = (self.path.display(), self.lowest.display());
        let not_a_directory = || {
            let found = format!("{path} cannot be used: {lowest} is not a directory");
            (found, "move the file away".to_owned())
        };
        let not_writable = |error: Errno| {
            let found = match self.exists() {
                true => format!("{path} cannot be written to: {error}"),
                false => format!("{path} cannot be created: {lowest} cannot be written to: {error}"),
            };
            let lowest = quoted(&lowest.to_string());
            let remedy = match error {
                Errno::ROFS => format!("mount its file system writable: findmnt --target {lowest}"),
                _ => format!("check its owner: ls -ld {lowest}"),
            };
            (found, remedy)
        };
        if self.is_directory { self.error.map(not_writable) } else { Some(not_a_directory()) }
    }
}

#[cfg(test)]
mod tests {
    use super::WritableDir;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn reports_problems() {
        let folder = tempfile::tempdir().expect("there is a temporary folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "").expect("it can be written");
        fs::create_dir(at("there")).expect("it can be made");
        symlink(at("nowhere"), at("dangling")).expect("it can be made");
        let check = |name: &str, exists: bool, problem: Option<&str>| {
            let dir = WritableDir::probe(&at(name));
            let found = dir.problem().map(|(found, _)| found.replace(&at("").display().to_string(), ""));
            assert_eq!((dir.exists(), found.as_deref()), (exists, problem), "{name}");
        };
        check("there", true, None);
        check("there/a/b", false, None);
        check("file", true, Some("file cannot be used: file is not a directory"));
        check("file/a", false, Some("file/a cannot be used: file is not a directory"));
        check("dangling/a", false, Some("dangling/a cannot be used: dangling is not a directory"));
        let unwritable = |path: &str, lowest: &str| WritableDir {
            path: path.into(),
            lowest: lowest.into(),
            is_directory: true,
            error: Some(rustix::io::Errno::ROFS),
        };
        let detail = |dir: WritableDir| dir.problem().expect("it has a problem").0;
        assert_eq!(
            detail(unwritable("/a", "/a")),
            "/a cannot be written to: Read-only file system (os error 30)"
        );
        assert_eq!(
            detail(unwritable("/a/b", "/a")),
            "/a/b cannot be created: /a cannot be written to: Read-only file system (os error 30)"
        );
    }
}

//! Reads files of the project for prompts and conditions. Never follows a path or link out of it.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Component, Path};

/// Checks that a path is relative and stays below its directory.
///
/// # Errors
/// Returns why the path is not allowed.
pub(crate) fn check_path(path: &Path) -> Result<(), String> {
    let is_below = |component| matches!(component, Component::Normal(_) | Component::CurDir);
    if path.as_os_str().is_empty() {
        return Err("the path is empty".to_owned());
    }
    if path.components().all(is_below) {
        return Ok(());
    }
    Err(format!("{} is not a path inside the project: write it relative, without `..`", path.display()))
}

/// Reads a text file of the project, or returns `None` if there is none.
///
/// # Errors
/// Returns an error if the file is not UTF-8, and the errors of [`read_project_bytes`].
pub(crate) fn read_project_file(
    project_dir: &Path,
    path: &Path,
    bytes_max: u64,
) -> Result<Option<String>, String> {
    let bytes = read_project_bytes(project_dir, path, bytes_max)?;
    let text = bytes.map(String::from_utf8).transpose();
    text.map_err(|_| format!("{} is not UTF-8 text", path.display()))
}

/// Reads a file of the project, or returns `None` if there is none.
///
/// # Errors
/// Returns an error if the file is outside the project, not a regular file, larger than `bytes_max`, or unreadable.
pub fn read_project_bytes(
    project_dir: &Path,
    path: &Path,
    bytes_max: u64,
) -> Result<Option<Vec<u8>>, String> {
    check_path(path)?;
    let name = path.display();
    let project_dir = fs::canonicalize(project_dir)
        .map_err(|error| format!("cannot read {}: {error}", project_dir.display()))?;
    let file = match fs::canonicalize(project_dir.join(path)) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(format!("cannot read {name}: {error}")),
    };
    if !file.starts_with(&project_dir) {
        return Err(format!("{name} is a link out of the project"));
    }
    let failed = |error| format!("cannot read {name}: {error}");
    // Before it is opened: to open a named pipe would wait for its writer.
    if !fs::metadata(&file).map_err(failed)?.is_file() {
        return Err(format!("{name} is not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(&file).map_err(failed)?.take(bytes_max + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > bytes_max {
        return Err(format!("{name} is larger than {} KiB", bytes_max / 1024));
    }
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::read_project_file;
    use std::fs;
    use std::path::Path;

    #[test]
    fn reads_only_files_of_the_project() {
        let home = tempfile::tempdir().expect("a directory");
        let project = home.path().join("project");
        fs::create_dir_all(project.join("notes")).expect("a directory");
        fs::write(home.path().join("secret"), "secret").expect("a file");
        fs::write(project.join("notes/a.md"), "text").expect("a file");
        fs::write(project.join("large"), "12345").expect("a file");
        fs::write(project.join("binary"), [0xff]).expect("a file");
        std::os::unix::fs::symlink("../secret", project.join("link")).expect("a link");
        std::os::unix::fs::symlink("notes/a.md", project.join("inside")).expect("a link");
        let read = |path: &str| read_project_file(&project, Path::new(path), 4);

        assert_eq!(read("notes/a.md"), Ok(Some("text".to_owned())));
        assert_eq!(read("inside"), Ok(Some("text".to_owned())));
        assert_eq!((read("none"), read("large/none")), (Ok(None), Ok(None)));
        let rejected = [
            ("../secret", "../secret is not a path inside the project: write it relative, without `..`"),
            ("/etc/passwd", "/etc/passwd is not a path inside the project: write it relative, without `..`"),
            ("link", "link is a link out of the project"),
            ("notes", "notes is not a regular file"),
            ("large", "large is larger than 0 KiB"),
            ("binary", "binary is not UTF-8 text"),
            ("", "the path is empty"),
        ];
        for (path, reason) in rejected {
            assert_eq!(read(path), Err(reason.to_owned()), "{path}");
        }
    }
}

//! Locates and reads configuration files. The project's file is the nearest one at or above the run's
//! directory; the user's file has one location.

use super::FileOwner;
use super::file::{File, FileTrust, Reader, Setting};
use super::keys::{Keys, ValueKind};
use super::trusted;
use crate::failure::Failure;
use longhaul_store::{open_regular, read_at_most};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

pub const PROJECT_FILE: &str = "longhaul.toml";
const USER_FILE: &str = "longhaul/config.toml";

// Every key with its comment takes 20 kB; a larger file is not a configuration.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Returns the path of the user's file, whether it exists or not, or `None` if its location is unknown.
pub fn user_file() -> Option<PathBuf> {
    Some(config_dir(|name| env::var_os(name))?.join(USER_FILE))
}

/// Returns the directory of the user's configuration files, by these variables.
pub fn config_dir(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    // The XDG specification says to ignore relative paths.
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))
}

/// Returns the nearest project file at or above this directory, without checking its type.
pub fn project_file(directory: &Path) -> Option<PathBuf> {
    // The agent works in the target of a symbolic link, so the search starts there.
    let directory = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    let candidates = directory.ancestors().map(|folder| folder.join(PROJECT_FILE));
    candidates.into_iter().find(|path| fs::symlink_metadata(path).is_ok())
}

/// The two files. A missing file is empty.
#[derive(Clone, Debug, Default)]
pub struct ConfigFiles {
    pub user: File,
    pub project: File,
}

/// Reads the user's file, and the project's if a directory is given.
pub fn read(keys: &Keys<'_>, directory: Option<&Path>) -> Result<ConfigFiles, Failure> {
    let user = user_file();
    let home = env::var_os("HOME").map(PathBuf::from);
    let read = |owner, path: &Path| {
        let text = text(path)?;
        let trust = match owner {
            FileOwner::User => FileTrust::Trusted,
            FileOwner::Project => trusted::file_trust(path, &text),
        };
        let (home, user_file) = (home.as_deref(), user.as_deref());
        Reader { keys, owner, path, text: &text, home, user_file, trust }.read()
    };
    let read_project = |path: PathBuf| -> Result<File, Failure> {
        let file = read(FileOwner::Project, &path)?;
        check_inside(keys, &path, &file)?;
        Ok(file)
    };
    let found = user.as_deref().filter(|path| fs::symlink_metadata(path).is_ok());
    let project = directory.and_then(project_file);
    Ok(ConfigFiles {
        user: found.map(|path| read(FileOwner::User, path)).transpose()?.unwrap_or_default(),
        project: project.map(read_project).transpose()?.unwrap_or_default(),
    })
}

/// Rejects a project that names files outside of itself. Error messages quote the named file, and a project
/// must not cause them to quote the user's other files.
fn check_inside(keys: &Keys<'_>, path: &Path, file: &File) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let is_path =
        |setting: &&Setting| keys.find(None, &setting.key).is_some_and(|key| key.kind == ValueKind::Path);
    let settings = file.plain.iter().chain(file.profiles.values().flatten());
    for (setting, value) in
        settings.filter(is_path).filter_map(|setting| Some((setting, setting.values.first()?)))
    {
        // A missing file is reported by its flag.
        let outside = fs::canonicalize(value).is_ok_and(|real| !real.starts_with(folder));
        if outside {
            let error = format!(
                "cannot read {}: `{}` is `{value}`, which is not in the project",
                setting.origin(),
                setting.key
            );
            return Err(Failure::usage(error, "name a file below the directory of longhaul.toml"));
        }
    }
    Ok(())
}

pub fn text(path: &Path) -> Result<String, Failure> {
    let failure =
        |error: &str, hint: &str| Failure::usage(format!("cannot read {}: {error}", path.display()), hint);
    let bytes = open_regular(path).and_then(|file| read_at_most(file, FILE_BYTES_MAX));
    let bytes = bytes.map_err(|error| {
        failure(&error.to_string(), "fix it, or ignore configuration files with --no-config")
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count();
        failure(
            &format!("line {line} is not UTF-8"),
            "convert it, for example with `iconv -f ENCODING -t utf-8 FILE`",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn config_dir_follows_xdg() {
        let check = |variables: &[(&str, &str)], expected: Option<&str>| {
            let value =
                |name: &str| variables.iter().find(|(set, _)| *set == name).map(|(_, value)| value.into());
            assert_eq!(config_dir(value), expected.map(PathBuf::from), "{variables:?}");
        };
        check(&[("HOME", "/u")], Some("/u/.config"));
        check(&[("HOME", "/u"), ("XDG_CONFIG_HOME", "/c")], Some("/c"));
        check(&[("HOME", "/u"), ("XDG_CONFIG_HOME", "c")], Some("/u/.config"));
        check(&[("HOME", "/u"), ("XDG_CONFIG_HOME", "")], Some("/u/.config"));
        check(&[("HOME", "u")], None);
        check(&[], None);
    }
}

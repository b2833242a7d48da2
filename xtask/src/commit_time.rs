//! The time that reproducible builds and archives carry.

use std::path::Path;
use std::process::Command;
use std::{env, io};

/// Variable that overrides the time, by convention of reproducible builds.
pub const SOURCE_DATE_EPOCH: &str = "SOURCE_DATE_EPOCH";

/// Returns `SOURCE_DATE_EPOCH`, else the time of the last commit, in seconds since 1970.
///
/// # Errors
/// Returns an error if the variable is no number, or if there is neither the variable nor a commit.
pub fn commit_time(root: &Path) -> io::Result<u64> {
    let text = match env::var(SOURCE_DATE_EPOCH) {
        Ok(text) => text,
        Err(_) => {
            let output =
                Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root).output()?;
            String::from_utf8_lossy(&output.stdout).into_owned()
        }
    };
    text.trim().parse().map_err(|_| {
        io::Error::other(format!(
            "no time for the packages: set {SOURCE_DATE_EPOCH} to seconds since 1970, or build in a git repository"
        ))
    })
}

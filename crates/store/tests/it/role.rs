//! Starts a role of a test in a separate process: the same test binary, with one test selected.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the directory of the role if this process was started to play `name`.
pub fn called_for(name: &str) -> Option<PathBuf> {
    let requested = std::env::var_os("LONGHAUL_TEST_ROLE")?;
    (requested == name).then(|| std::env::var_os("LONGHAUL_TEST_DIR").expect("a role has a directory").into())
}

/// Returns a command that plays `name`, the path of a test, in `dir`, after the shell ran `setup`.
pub fn call(name: &str, dir: &Path, setup: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("{setup}\nexec \"$0\" \"$@\"")])
        .arg(std::env::current_exe().expect("a path"))
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env("LONGHAUL_TEST_ROLE", name)
        .env("LONGHAUL_TEST_DIR", dir);
    command
}

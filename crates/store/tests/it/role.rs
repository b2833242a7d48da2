//! Parts that tests play in a process of their own: this same test binary, called for one test.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The directory to play in, if this process was called to play `name`.
pub fn called_for(name: &str) -> Option<PathBuf> {
    let asked = std::env::var_os("LONGHAUL_TEST_ROLE")?;
    (asked == name).then(|| std::env::var_os("LONGHAUL_TEST_DIR").expect("a role has a directory").into())
}

/// A process that plays `name`, which is the path of a test, in `dir`, after the shell has done
/// `setup`.
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

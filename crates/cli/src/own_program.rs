//! The path of this program, for other programs that start it.

use crate::failure::{Failure, OrFailure};
use longhaul_agent::Program;
use std::path::PathBuf;
use std::{env, fs};

/// Returns this program with a subcommand, or `None` if its own path is unknown.
pub fn subcommand(name: &str) -> Option<Program> {
    let path = env::current_exe().ok()?;
    Some(Program { path, leading_args: vec![name.to_owned()] })
}

/// Returns the path that stays valid after an update: a link in `PATH` rather than its target.
pub fn lasting_path() -> Result<PathBuf, Failure> {
    let exe = env::current_exe().or_unexpected("cannot find this program")?;
    let real = fs::canonicalize(&exe).or_unexpected("cannot find this program")?;
    let name = exe.file_name().unwrap_or_default();
    let search_path = env::var_os("PATH").unwrap_or_default();
    let links = env::split_paths(&search_path).filter(|dir| dir.is_absolute()).map(|dir| dir.join(name));
    let is_same = |link: &PathBuf| fs::canonicalize(link).is_ok_and(|path| path == real);
    Ok(links.into_iter().find(is_same).unwrap_or(exe))
}

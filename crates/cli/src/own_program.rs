//! The path of this program, for other programs that start it.

use crate::failure::{Failure, OrFailure};
use crate::next_commands::quoted;
use longhaul_agent::Program;
use longhaul_core::Outcome;
use std::path::{Path, PathBuf};
use std::{env, fs};

// During an update, the program is missing for a moment.
const UPDATE_SECONDS: u32 = 60;

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

/// Returns the shell command that runs this program with these words as a check of a run.
pub fn own_check(words: &str) -> Result<String, Failure> {
    Ok(own_check_of(&lasting_path()?, words, UPDATE_SECONDS))
}

/// A run can outlive its program. An agent cannot fix that, so the check needs a person if the program stays missing.
fn own_check_of(program: &Path, words: &str, wait_seconds: u32) -> String {
    let program = quoted(&program.to_string_lossy());
    let code = Outcome::NEEDS_PERSON.exit_code();
    format!(
        "i=0; until test -x {program}; do [ $i = {wait_seconds} ] && echo cannot check: there is no program {program} && \
         exit {code}; i=$((i+1)); sleep 1; done; {program} {words}"
    )
}

#[cfg(test)]
mod tests {
    use super::own_check_of;
    use std::path::Path;
    use std::process::Command;

    #[test]
    fn check_without_its_program_needs_a_person() {
        let check = |program: &str, expected: (i32, &str)| {
            let command = own_check_of(Path::new(program), "-c 'echo checked; exit 24'", 1);
            let output = Command::new("/bin/sh").args(["-c", &command]).output().expect("there is a shell");
            let stdout = String::from_utf8_lossy(&output.stdout);
            assert_eq!((output.status.code(), &*stdout), (Some(expected.0), expected.1), "{command}");
        };
        check("/bin/sh", (24, "checked\n"));
        check("/no such/longhaul", (23, "cannot check: there is no program /no such/longhaul\n"));
    }
}

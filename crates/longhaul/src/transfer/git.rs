//! Runs git without a shell, without the repository's hooks and without the variables that a calling git has
//! set. Failures are reported with git's own message.

use super::TransferError;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

// The first lines of git's error output name the cause.
const ERROR_LINES_MAX: usize = 4;

/// Overrides of user settings that would run programs, write extra files, or start background processes that
/// outlive this one.
const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.splitIndex=false",
    "core.untrackedCache=false",
    // Otherwise git refuses to add a file whose converted line ends cannot be restored.
    "core.safecrlf=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.addEmbeddedRepo=false",
];

/// Variables that only name the location of git and of its settings. All other variables of git are removed,
/// because they name repositories, programs and files.
const RETAINED_VARIABLES: &[&str] = &[
    "GIT_CEILING_DIRECTORIES",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_EXEC_PATH",
];

/// Author of the temporary commits, which never become part of a history.
const AUTHOR: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "longhaul"),
    ("GIT_AUTHOR_EMAIL", "longhaul@localhost"),
    ("GIT_COMMITTER_NAME", "longhaul"),
    ("GIT_COMMITTER_EMAIL", "longhaul@localhost"),
];

/// Settings of git calls: the directory, with additional variables.
#[derive(Clone, Debug)]
pub(super) struct Git {
    dir: PathBuf,
    env: Vec<(&'static str, OsString)>,
}

impl Git {
    /// Creates the settings for the repository that contains `dir`.
    pub(super) fn new(dir: &Path) -> Git {
        Git { dir: dir.to_owned(), env: Vec::new() }
    }

    /// Adds a variable.
    pub(super) fn with_variable(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Git {
        self.env.push((name, value.as_ref().to_owned()));
        self
    }

    /// Runs git and returns its output.
    ///
    /// # Errors
    /// Returns [`TransferError::NoGit`] if git cannot be started, and [`TransferError::Git`] if it fails.
    pub(super) fn call<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Vec<u8>, TransferError> {
        let output = self.output(args)?;
        if output.status.success() { Ok(output.stdout) } else { Err(failure(args, &output)) }
    }

    /// Runs git and returns its output, or `None` if it answers "no" with exit code 1.
    ///
    /// # Errors
    /// Returns the errors of [`Git::call`].
    pub(super) fn ask<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Option<Vec<u8>>, TransferError> {
        let output = self.output(args)?;
        match output.status.code() {
            Some(0) => Ok(Some(output.stdout)),
            Some(1) => Ok(None),
            Some(_) | None => Err(failure(args, &output)),
        }
    }

    /// Runs git and returns its one-line output as text.
    ///
    /// # Errors
    /// Returns the errors of [`Git::call`].
    pub(super) fn line<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String, TransferError> {
        Ok(text(self.call(args)?))
    }

    /// Runs git and returns the path that it prints.
    ///
    /// # Errors
    /// Returns the errors of [`Git::call`].
    pub(super) fn path<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<PathBuf, TransferError> {
        let mut line = self.call(args)?;
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        Ok(OsString::from_vec(line).into())
    }

    /// Passes each line of git's output to `each`, and stops git if `each` breaks.
    ///
    /// # Errors
    /// Returns the errors of [`Git::call`].
    pub(super) fn lines<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        mut each: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), TransferError> {
        let mut command = self.command(args);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(TransferError::NoGit)?;
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let stopped = stdout.split(b'\n').map_while(Result::ok).any(|line| each(&line).is_break());
        if stopped {
            // Git may have exited already.
            let _ = child.kill();
        }
        let output = child.wait_with_output().map_err(TransferError::NoGit)?;
        if stopped || output.status.success() { Ok(()) } else { Err(failure(args, &output)) }
    }

    fn output<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Output, TransferError> {
        self.command(args).output().map_err(TransferError::NoGit)
    }

    fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = git_in(&self.dir);
        command
            .args(args)
            .envs(AUTHOR)
            // Large files stay pointers, because a moved repository has no server to fetch them from.
            .env("GIT_LFS_SKIP_SMUDGE", "1")
            .envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// Creates a git command in this directory, without arguments.
pub(crate) fn git_in(dir: &Path) -> Command {
    let mut command = Command::new("git");
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    let inherited = env::vars_os().map(|(name, _)| name).filter(|name| name.as_bytes().starts_with(b"GIT_"));
    for name in inherited.filter(|name| !RETAINED_VARIABLES.iter().any(|retained| name == retained)) {
        command.env_remove(name);
    }
    command
        .current_dir(dir)
        .stdin(Stdio::null())
        .envs([("GIT_OPTIONAL_LOCKS", "0"), ("GIT_NO_REPLACE_OBJECTS", "1"), ("GIT_TERMINAL_PROMPT", "0")])
        .env("LC_ALL", "C");
    command
}

/// Converts a line of git's output to text.
pub(super) fn text(line: Vec<u8>) -> String {
    String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned()
}

fn failure<S: AsRef<OsStr>>(args: &[S], output: &Output) -> TransferError {
    let action = args.first().map_or_else(String::new, |arg| arg.as_ref().to_string_lossy().into_owned());
    TransferError::Git { action, git_error: error_message(output) }
}

/// Returns the first lines of git's error output, or its exit status if there are none.
pub(crate) fn error_message(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = error.lines().filter(|line| !line.trim().is_empty()).collect();
    match lines.len() {
        0 => output.status.to_string(),
        count => lines[..count.min(ERROR_LINES_MAX)].join("; "),
    }
}

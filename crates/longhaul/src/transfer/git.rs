//! Calling git: never through a shell, without the repository's hooks, and without whatever a calling git
//! has put into our environment. What it refuses is told in its own words.

use super::TransferError;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

// Of its complaint: the first lines name what is wrong.
const SAID_LINES_MAX: usize = 4;

/// Settings of the user's that would run programs, write beside the files that we name, or put the work
/// off to a process that outlives us.
const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.splitIndex=false",
    "core.untrackedCache=false",
    // Said where somebody converts line ends: it would refuse to add what does not come back the same.
    "core.safecrlf=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.addEmbeddedRepo=false",
];

/// What of git's own environment says where git is and where its settings are. All else of it is somebody else's: it
/// names repositories, programs and files, and what is to be written where.
const KEPT: &[&str] = &[
    "GIT_CEILING_DIRECTORIES",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_EXEC_PATH",
];

/// Commits of ours are nobody's work: they are never in a history.
const SIGNED: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "longhaul"),
    ("GIT_AUTHOR_EMAIL", "longhaul@localhost"),
    ("GIT_COMMITTER_NAME", "longhaul"),
    ("GIT_COMMITTER_EMAIL", "longhaul@localhost"),
];

/// Git, in one directory, with one environment.
#[derive(Clone, Debug)]
pub(super) struct Git {
    dir: PathBuf,
    env: Vec<(&'static str, OsString)>,
}

impl Git {
    /// Git in the repository that `dir` belongs to.
    pub(super) fn at(dir: &Path) -> Git {
        Git { dir: dir.to_owned(), env: Vec::new() }
    }

    /// The same with a variable.
    pub(super) fn with(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Git {
        self.env.push((name, value.as_ref().to_owned()));
        self
    }

    /// What it prints.
    ///
    /// # Errors
    /// [`MoveError::NoGit`] and [`MoveError::Git`].
    pub(super) fn call<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Vec<u8>, TransferError> {
        let output = self.output(args)?;
        if output.status.success() { Ok(output.stdout) } else { Err(refusal(args, &output)) }
    }

    /// What it prints, if it does not say no by its exit code 1.
    ///
    /// # Errors
    /// As [`Git::call`].
    pub(super) fn ask<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Option<Vec<u8>>, TransferError> {
        let output = self.output(args)?;
        match output.status.code() {
            Some(0) => Ok(Some(output.stdout)),
            Some(1) => Ok(None),
            Some(_) | None => Err(refusal(args, &output)),
        }
    }

    /// What it prints in one line, as text.
    ///
    /// # Errors
    /// As [`Git::call`].
    pub(super) fn word<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String, TransferError> {
        Ok(text(self.call(args)?))
    }

    /// The path that it prints.
    ///
    /// # Errors
    /// As [`Git::call`].
    pub(super) fn path<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<PathBuf, TransferError> {
        let mut line = self.call(args)?;
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        Ok(OsString::from_vec(line).into())
    }

    /// Shows each line that it prints, until that breaks off; then git is stopped.
    ///
    /// # Errors
    /// As [`Git::call`].
    pub(super) fn lines<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        mut each: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), TransferError> {
        let mut command = self.command(args);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(TransferError::NoGit)?;
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let is_cut = stdout.split(b'\n').map_while(Result::ok).any(|line| each(&line).is_break());
        if is_cut {
            // It may have ended.
            let _ = child.kill();
        }
        let output = child.wait_with_output().map_err(TransferError::NoGit)?;
        if is_cut || output.status.success() { Ok(()) } else { Err(refusal(args, &output)) }
    }

    fn output<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Output, TransferError> {
        self.command(args).output().map_err(TransferError::NoGit)
    }

    fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = git_in(&self.dir);
        command
            .args(args)
            .envs(SIGNED)
            // Large files that are kept elsewhere stay pointers: a moved repository has nowhere to fetch from.
            .env("GIT_LFS_SKIP_SMUDGE", "1")
            .envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// Git in this directory, for whatever is added to it.
pub(crate) fn git_in(dir: &Path) -> Command {
    let mut command = Command::new("git");
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    let own = env::vars_os().map(|(name, _)| name).filter(|name| name.as_bytes().starts_with(b"GIT_"));
    for name in own.filter(|name| !KEPT.iter().any(|kept| name == kept)) {
        command.env_remove(name);
    }
    command
        .current_dir(dir)
        .stdin(Stdio::null())
        .envs([("GIT_OPTIONAL_LOCKS", "0"), ("GIT_NO_REPLACE_OBJECTS", "1"), ("GIT_TERMINAL_PROMPT", "0")])
        .env("LC_ALL", "C");
    command
}

/// A line of git's as text.
pub(super) fn text(line: Vec<u8>) -> String {
    String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned()
}

fn refusal<S: AsRef<OsStr>>(args: &[S], output: &Output) -> TransferError {
    let said = complaint(output);
    let action = args.first().map_or_else(String::new, |arg| arg.as_ref().to_string_lossy().into_owned());
    TransferError::Git { action, git_error: said }
}

/// Why git refused, in its words.
pub(crate) fn complaint(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = error.lines().filter(|line| !line.trim().is_empty()).collect();
    match lines.len() {
        0 => output.status.to_string(),
        count => lines[..count.min(SAID_LINES_MAX)].join("; "),
    }
}

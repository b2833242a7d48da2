//! Runs git without a shell, without the repository's hooks and without the variables that a calling git has
//! set. Failures are reported with git's own message.

mod scratch_repo;
mod user_repo;

pub(crate) use scratch_repo::ScratchRepo;
pub(crate) use user_repo::UserRepo;

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader};
use std::ops::{ControlFlow, RangeInclusive};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::{env, fs};
use thiserror::Error;
use tokio::io::AsyncWriteExt;

/// Message of git if no parent directory is a repository (2.47). A broken repository has a different one.
const NO_REPOSITORY: &str = "fatal: not a git repository (or any";
// Git exits with 128 plus the number of the signal that ended a process which it started.
const SIGNAL_CODES: RangeInclusive<i32> = 129..=192;
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

/// Author of commits, unless variables name another one. Temporary commits never become part of a history.
const AUTHOR: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "longhaul"),
    ("GIT_AUTHOR_EMAIL", "longhaul@localhost"),
    ("GIT_COMMITTER_NAME", "longhaul"),
    ("GIT_COMMITTER_EMAIL", "longhaul@localhost"),
];

/// A failed call of git.
#[derive(Debug, Error)]
pub enum GitError {
    /// Git cannot be started.
    #[error("cannot start git: {0}")]
    NotStarted(io::Error),
    /// Git failed.
    #[error("git {action}: {git_error}")]
    Failed {
        /// Subcommand of git.
        action: String,
        /// First lines of git's error output.
        git_error: String,
        /// Whether a signal ended git, which then has decided nothing.
        is_interrupted: bool,
    },
}

impl GitError {
    pub(crate) fn unexpected(action: &str, git_error: &str) -> GitError {
        GitError::Failed { action: action.to_owned(), git_error: git_error.to_owned(), is_interrupted: false }
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        matches!(self, GitError::Failed { is_interrupted: true, .. })
    }

    pub(crate) fn is_no_repository(&self) -> bool {
        matches!(self, GitError::Failed { git_error, .. } if git_error.starts_with(NO_REPOSITORY))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Git {
    dir: PathBuf,
    /// Each as `name=value`.
    settings: Vec<OsString>,
    env: Vec<(&'static str, OsString)>,
    /// Standard input of git, if it must hold a lock.
    lock: Option<Arc<fs::File>>,
}

impl Git {
    pub(crate) fn new(dir: &Path) -> Git {
        Git { dir: dir.to_owned(), settings: Vec::new(), env: Vec::new(), lock: None }
    }

    pub(crate) fn with_variable(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Git {
        self.env.push((name, value.as_ref().to_owned()));
        self
    }

    /// Adds settings.
    pub(crate) fn with_settings(mut self, settings: &[OsString]) -> Git {
        self.settings.extend_from_slice(settings);
        self
    }

    /// Has each git process inherit this locked, empty file, so that the lock lasts until the process ends, even
    /// if this one dies before.
    pub(crate) fn with_lock(self, lock: Arc<fs::File>) -> Git {
        Git { lock: Some(lock), ..self }
    }

    pub(crate) fn in_dir(&self, dir: &Path) -> Git {
        Git { dir: dir.to_owned(), ..self.clone() }
    }

    /// Runs git and returns its output.
    pub(crate) fn call<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Vec<u8>, GitError> {
        success(args, self.command(args).output())
    }

    /// Runs git and returns its output, or `None` if it answers "no" with exit code 1.
    pub(crate) fn ask<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Option<Vec<u8>>, GitError> {
        Ok(self.decide(args)?.ok())
    }

    /// Runs git and returns its output, as an error if git answers "no" with exit code 1.
    pub(crate) fn decide<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Result<Vec<u8>, Vec<u8>>, GitError> {
        answer(args, self.command(args).output())
    }

    /// Runs git as [`Git::call`] does. Dropping the future kills the git process.
    pub(crate) async fn call_async<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Vec<u8>, GitError> {
        self.feed(args, &[]).await
    }

    /// Runs git as [`Git::ask`] does. Dropping the future kills the git process.
    pub(crate) async fn ask_async<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Option<Vec<u8>>, GitError> {
        Ok(answer(args, self.output(args, &[]).await)?.ok())
    }

    /// Runs git with this input and returns its output. Dropping the future kills the git process.
    pub(crate) async fn feed<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Result<Vec<u8>, GitError> {
        success(args, self.output(args, input).await)
    }

    async fn output<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> io::Result<Output> {
        let mut command = tokio::process::Command::from(self.command(args));
        command
            .stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn()?;
        let stdin = child.stdin.take();
        let write_input = async move {
            if let Some(mut stdin) = stdin {
                // If git stops reading early, its error output explains the failure.
                let _ = stdin.write_all(input).await;
            }
        };
        tokio::join!(write_input, child.wait_with_output()).1
    }

    pub(crate) fn line<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String, GitError> {
        Ok(text(self.call(args)?))
    }

    pub(crate) fn path<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<PathBuf, GitError> {
        let mut line = self.call(args)?;
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        Ok(OsString::from_vec(line).into())
    }

    /// Passes each line of git's output to `each`, and stops git if `each` breaks.
    pub(crate) fn lines<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        mut each: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), GitError> {
        let mut command = self.command(args);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(GitError::NotStarted)?;
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let stopped = stdout.split(b'\n').map_while(Result::ok).any(|line| each(&line).is_break());
        if stopped {
            // Git may have exited already.
            let _ = child.kill();
        }
        let output = child.wait_with_output().map_err(GitError::NotStarted)?;
        if stopped || output.status.success() { Ok(()) } else { Err(failure(args, &output)) }
    }

    fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new("git");
        for setting in SETTINGS.iter().map(OsStr::new).chain(self.settings.iter().map(OsString::as_os_str)) {
            command.arg("-c").arg(setting);
        }
        let inherited =
            env::vars_os().map(|(name, _)| name).filter(|name| name.as_bytes().starts_with(b"GIT_"));
        for name in inherited.filter(|name| !RETAINED_VARIABLES.iter().any(|retained| name == retained)) {
            command.env_remove(name);
        }
        let lock = self.lock.as_ref().and_then(|lock| lock.try_clone().ok());
        command
            .args(args)
            .current_dir(&self.dir)
            .stdin(lock.map_or_else(Stdio::null, Stdio::from))
            .envs([
                ("GIT_OPTIONAL_LOCKS", "0"),
                ("GIT_NO_REPLACE_OBJECTS", "1"),
                // No user may be there to answer a prompt.
                ("GIT_TERMINAL_PROMPT", "0"),
                ("GIT_ASKPASS", ""),
                ("SSH_ASKPASS_REQUIRE", "never"),
            ])
            .envs(AUTHOR)
            // Large files stay pointers, because a moved repository has no server to fetch them from.
            .env("GIT_LFS_SKIP_SMUDGE", "1")
            .env("LC_ALL", "C")
            .envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// Creates a repository in a directory. Each setting of `identity`, such as `user.name`, applies if git has none
/// configured.
///
/// # Errors
/// Returns an error if git cannot be started or fails.
pub fn create_repository(dir: &Path, identity: &[(&str, &str)]) -> Result<(), GitError> {
    let git = Git::new(dir);
    git.call(&["init", "--quiet"])?;
    for (key, value) in identity {
        if git.ask(&["config", "--get", key])?.unwrap_or_default().trim_ascii().is_empty() {
            git.call(&["config", key, value])?;
        }
    }
    Ok(())
}

pub(crate) fn text(line: Vec<u8>) -> String {
    String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned()
}

/// Returns pathspecs that exclude the files at or below these paths, which are relative to the repository's top.
pub(crate) fn pathspecs<P: AsRef<Path>>(excluded: &[P]) -> Vec<OsString> {
    let pathspec = |path: &P| {
        let mut pathspec = OsString::from(":(exclude,top,literal)");
        pathspec.push(path.as_ref());
        pathspec
    };
    excluded.iter().map(pathspec).collect()
}

/// Splits the output of a git command with `-z`.
pub(crate) fn paths(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    output.split(|byte| *byte == 0).filter(|path| !path.is_empty())
}

fn success<S: AsRef<OsStr>>(args: &[S], output: io::Result<Output>) -> Result<Vec<u8>, GitError> {
    let output = output.map_err(GitError::NotStarted)?;
    if output.status.success() { Ok(output.stdout) } else { Err(failure(args, &output)) }
}

fn answer<S: AsRef<OsStr>>(
    args: &[S],
    output: io::Result<Output>,
) -> Result<Result<Vec<u8>, Vec<u8>>, GitError> {
    match output {
        Ok(output) if output.status.code() == Some(1) => Ok(Err(output.stdout)),
        output => success(args, output).map(Ok),
    }
}

fn failure<S: AsRef<OsStr>>(args: &[S], output: &Output) -> GitError {
    let action = args.first().map_or_else(String::new, |arg| arg.as_ref().to_string_lossy().into_owned());
    let status = output.status;
    let is_interrupted =
        status.signal().is_some() || status.code().is_some_and(|code| SIGNAL_CODES.contains(&code));
    GitError::Failed { action, git_error: error_message(output), is_interrupted }
}

fn error_message(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    let mut lines: Vec<&str> = Vec::new();
    for line in error.lines().map(str::trim).skip_while(|line| line.is_empty()) {
        // Git's advice is for a person at a terminal. It follows an empty line, but so does a command after a colon.
        if line.is_empty() && !lines.last().is_some_and(|last| last.ends_with(':')) {
            break;
        }
        lines.extend(Some(line).filter(|line| !line.is_empty()));
    }
    let is_shown = |index: usize| index < ERROR_LINES_MAX || lines[index - 1].ends_with(':');
    let count = (0..lines.len()).take_while(|index| is_shown(*index)).count();
    match count {
        0 => output.status.to_string(),
        count => lines[..count].join("; ").replace(":; ", ": "),
    }
}

#[cfg(test)]
mod tests {
    use super::{Output, error_message};
    use std::process::ExitStatus;

    #[test]
    fn error_is_not_truncated_within_a_sentence() {
        let check = |stderr: &str, expected: &str| {
            let output = Output { status: ExitStatus::default(), stdout: Vec::new(), stderr: stderr.into() };
            assert_eq!(error_message(&output), expected);
        };
        let locked = "fatal: Unable to create '/p/.git/index.lock': File exists.\n\nAnother git process seems to be \
                      running in this repository, e.g.\nan editor opened by 'git commit'. Please make sure all \
                      processes\nare terminated then try again.\n";
        check(locked, "fatal: Unable to create '/p/.git/index.lock': File exists.");
        let dubious = "fatal: detected dubious ownership in repository at '/p'\nTo add an exception for this directory, call:\n\n\tgit config safe.directory /p\n";
        check(
            dubious,
            "fatal: detected dubious ownership in repository at '/p'; To add an exception for this directory, call: \
             git config safe.directory /p",
        );
        check("\nerror: a\nerror: b\n", "error: a; error: b");
        // As git lists changed and new files that a merge would overwrite.
        check("error: a:\n\tx\nCommit.\nerror: b:\n\ty\nMove.\n", "error: a: x; Commit.; error: b: y");
        check("", "exit status: 0");
    }
}

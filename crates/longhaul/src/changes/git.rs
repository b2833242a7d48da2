//! Runs git asynchronously. Dropping the future kills the git process.

use super::ChangesError;
use crate::transfer::{error_message, git_in};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// Settings of git calls: the directory, with additional git settings and variables.
#[derive(Clone, Debug)]
pub(super) struct Git {
    dir: PathBuf,
    /// Each as `name=value`.
    settings: Vec<OsString>,
    env: Vec<(&'static str, OsString)>,
}

impl Git {
    /// Creates the settings for the repository that contains `dir`.
    pub(super) fn new(dir: &Path) -> Git {
        Git { dir: dir.to_owned(), settings: Vec::new(), env: Vec::new() }
    }

    /// Adds a variable.
    pub(super) fn with_variable(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Git {
        self.env.push((name, value.as_ref().to_owned()));
        self
    }

    /// Replaces the settings.
    pub(super) fn with_settings(self, settings: &[OsString]) -> Git {
        Git { settings: settings.to_vec(), ..self }
    }

    /// Runs git and returns its output.
    ///
    /// # Errors
    /// Returns [`ChangesError::NoGit`] if git cannot be started, and [`ChangesError::Git`] if it fails.
    pub(super) async fn call<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Vec<u8>, ChangesError> {
        self.feed(args, &[]).await
    }

    /// Runs git with this input and returns its output.
    ///
    /// # Errors
    /// Returns the errors of [`Git::call`].
    pub(super) async fn feed<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        input: &[u8],
    ) -> Result<Vec<u8>, ChangesError> {
        let output = self.output(args, input).await?;
        if output.status.success() { Ok(output.stdout) } else { Err(failure(args, &output)) }
    }

    /// Runs git and returns its output, or `None` if it answers "no" with exit code 1.
    ///
    /// # Errors
    /// Returns the errors of [`Git::call`].
    pub(super) async fn ask<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Option<Vec<u8>>, ChangesError> {
        let output = self.output(args, &[]).await?;
        match output.status.code() {
            Some(0) => Ok(Some(output.stdout)),
            Some(1) => Ok(None),
            Some(_) | None => Err(failure(args, &output)),
        }
    }

    async fn output<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Result<Output, ChangesError> {
        let mut command = Command::from(git_in(&self.dir));
        for setting in &self.settings {
            command.arg("-c").arg(setting);
        }
        command
            .args(args)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().map_err(ChangesError::NoGit)?;
        let stdin = child.stdin.take();
        let write_input = async move {
            if let Some(mut stdin) = stdin {
                // If git stops reading early, its error output explains the failure.
                let _ = stdin.write_all(input).await;
            }
        };
        let ((), output) = tokio::join!(write_input, child.wait_with_output());
        output.map_err(ChangesError::NoGit)
    }
}

fn failure<S: AsRef<OsStr>>(args: &[S], output: &Output) -> ChangesError {
    let action = args.first().map_or_else(String::new, |arg| arg.as_ref().to_string_lossy().into_owned());
    ChangesError::Git { action, git_error: error_message(output) }
}

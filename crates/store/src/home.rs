//! Locates the directory that holds the runs on this machine. It never reads the environment: variables are
//! an argument.
//!
//! ```text
//! HOME/runs/<YYYY-MM-DD>/<run id>/     one run: see `run_dir.rs`; for a run outside the home, a link to it
//! HOME/sessions/<agent>/<id>.lock      the run that holds a session: see `session_lock.rs`
//! HOME/ledger.sqlite3                  the index of all runs, with SQLite's own files: see `ledger.rs`
//! HOME/ledger-stale/<run id>           runs whose ledger entry may be stale: see `ledger/stale.rs`
//! ```

use crate::StoreError;
use crate::files::make_dirs;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The directory that holds every run of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    path: PathBuf,
}

impl Home {
    /// Creates a home in a new directory, which is removed when it is dropped.
    #[cfg(test)]
    pub(crate) fn temporary() -> (tempfile::TempDir, Home) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let home = Home::open(Some(dir.path().join("home")), |_| None).expect("a home");
        (dir, home)
    }

    /// Locates the home: `explicit`, else `LONGHAUL_HOME`, else `$XDG_STATE_HOME/longhaul`, else
    /// `~/.local/state/longhaul`. Creates nothing, so that commands that only read create nothing.
    ///
    /// # Errors
    /// Returns [`StoreError::HomeRelative`] if `LONGHAUL_HOME` is relative, and [`StoreError::HomeUnknown`] if no
    /// variable names an absolute path.
    pub fn locate(
        explicit: Option<PathBuf>,
        lookup: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Home, StoreError> {
        // An empty variable counts as not set, as usual on Unix.
        let variable = |name| lookup(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = variable("LONGHAUL_HOME");
        if let Some(path) = home.as_ref().filter(|path| explicit.is_none() && path.is_relative()) {
            return Err(StoreError::HomeRelative(path.clone()));
        }
        let path = explicit
            .or(home)
            // The XDG specification says to ignore relative paths. A relative `HOME` names no fixed place either.
            .or_else(|| {
                let state = variable("XDG_STATE_HOME").filter(|path| path.is_absolute());
                state.map(|path| path.join("longhaul"))
            })
            .or_else(|| {
                let user = variable("HOME").filter(|path| path.is_absolute());
                user.map(|path| path.join(".local/state/longhaul"))
            })
            .ok_or(StoreError::HomeUnknown)?;
        // Agents run in other directories, where a relative home would be a different one.
        let path = std::path::absolute(&path).map_err(StoreError::io("find home", &path))?;
        Ok(Home { path })
    }

    /// Locates the home as [`Home::locate`] does, and creates it with mode 0700 if it does not exist. An
    /// existing home keeps its mode. Everything in it has mode 0700 or 0600.
    pub fn open(
        explicit: Option<PathBuf>,
        lookup: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Home, StoreError> {
        let home = Home::locate(explicit, lookup)?;
        make_dirs(&home.runs_path()).map_err(|error| match (blocking_file(&home.runs_path()), error) {
            (Some(path), _) => StoreError::HomeNotDirectory { home: home.path.clone(), path },
            (None, StoreError::Io { cause, .. }) => StoreError::io("create home", &home.path)(cause),
            (None, error) => error,
        })?;
        Ok(home)
    }

    /// Returns the home's directory, absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the directory of all runs, by date.
    pub fn runs_path(&self) -> PathBuf {
        self.path.join("runs")
    }

    pub(crate) fn sessions_path(&self) -> PathBuf {
        self.path.join("sessions")
    }
}

/// Returns the lowest part of `path` that exists, if it is not a directory.
fn blocking_file(path: &Path) -> Option<PathBuf> {
    let lowest = path.ancestors().find(|part| part.symlink_metadata().is_ok())?;
    (!lowest.is_dir()).then(|| lowest.to_owned())
}

#[cfg(test)]
mod tests;

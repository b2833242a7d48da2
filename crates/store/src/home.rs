//! Where runs live on this machine. Nothing here reads the environment: variables are an argument.
//!
//! ```text
//! HOME/runs/<YYYY-MM-DD>/<run id>/     one run: see `rundir.rs`; a link to it where it was put elsewhere
//! HOME/sessions/<agent>/<id>.lock      who works on a session: see `session_lock.rs`
//! HOME/ledger.sqlite3                  the index of all runs, and what SQLite keeps beside it: see `ledger.rs`
//! HOME/ledger-missed/<run id>          runs that it may know too little of
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
    /// Where the home is: `explicit`, else `LONGHAUL_HOME`, else `$XDG_STATE_HOME/longhaul`, else
    /// `~/.local/state/longhaul`. Touches nothing, so that reading commands create nothing.
    ///
    /// # Errors
    /// [`StoreError::HomeUnknown`] if no variable is set; [`StoreError::Io`] if a relative path
    /// cannot be made absolute because the working directory is gone.
    pub fn locate(
        explicit: Option<PathBuf>,
        lookup: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Home, StoreError> {
        // An empty variable counts as not set, as everywhere under Unix.
        let variable = |name| lookup(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let path = explicit
            .or_else(|| variable("LONGHAUL_HOME"))
            // The XDG specification has relative paths ignored.
            .or_else(|| {
                let state = variable("XDG_STATE_HOME").filter(|path| path.is_absolute());
                state.map(|path| path.join("longhaul"))
            })
            .or_else(|| variable("HOME").map(|path| path.join(".local/state/longhaul")))
            .ok_or(StoreError::HomeUnknown)?;
        // Agents run elsewhere; a relative home would be another one there.
        let path = std::path::absolute(&path).map_err(StoreError::io("find home", &path))?;
        Ok(Home { path })
    }

    /// [`Home::locate`], and makes the directory, 0700, unless it is there. The mode of one that
    /// is there is its owner's business; everything in it is 0700 and 0600.
    ///
    /// # Errors
    /// As `locate`; [`StoreError::HomeNotDirectory`] if a file is in the way; [`StoreError::Io`]
    /// if it cannot be made.
    pub fn open(
        explicit: Option<PathBuf>,
        lookup: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Home, StoreError> {
        let home = Home::locate(explicit, lookup)?;
        make_dirs(&home.runs_path()).map_err(|cause| match file_in_the_way(&home.runs_path()) {
            Some(path) => StoreError::HomeNotDirectory { home: home.path.clone(), path },
            None => StoreError::Io { doing: "create home", path: home.path.clone(), cause },
        })?;
        Ok(home)
    }

    /// The directory itself, absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where runs are, by date.
    pub fn runs_path(&self) -> PathBuf {
        self.path.join("runs")
    }

    /// Where the locks on sessions are, by agent.
    pub(crate) fn sessions_path(&self) -> PathBuf {
        self.path.join("sessions")
    }
}

/// The lowest part of `path` that exists, if it is not a directory.
fn file_in_the_way(path: &Path) -> Option<PathBuf> {
    let lowest = path.ancestors().find(|part| part.symlink_metadata().is_ok())?;
    (!lowest.is_dir()).then(|| lowest.to_owned())
}

#[cfg(test)]
mod tests;

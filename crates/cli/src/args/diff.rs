//! What `longhaul diff` takes.

use clap::Args;
use std::ffi::OsString;

/// Said at the end of the help.
pub const COMPARED: &str = "Compared are all files of the git repository that git does not ignore, as they were before the run \
                            began and when it was over, committed or not; of a run that is not over, as they are now.";

#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The run: the first letters of its id, `@` for the last one, or its directory [default: the last one]
    #[arg(value_name = "RUN", default_value = "@", hide_default_value = true)]
    pub run: String,
    /// Print how much changed in each file, instead of the changes
    #[arg(long)]
    pub stat: bool,
    /// Print the names of the files alone
    #[arg(long, conflicts_with = "stat")]
    pub name_only: bool,
    /// Only these files and folders, as git takes them, from the top of the repository on
    #[arg(last = true, value_name = "PATH")]
    pub paths: Vec<OsString>,
}

//! The arguments of `longhaul diff`.

use clap::Args;
use std::ffi::OsString;

#[derive(Debug, Args)]
pub struct DiffArgs {
    /// Run id prefix, name, directory, or `@` for the latest run
    #[arg(value_name = "RUN", default_value = "@", hide_default_value = true)]
    pub run: String,
    /// Print how much changed in each file, instead of the changes
    #[arg(long)]
    pub stat: bool,
    /// Print only file names
    #[arg(long, conflicts_with = "stat")]
    pub name_only: bool,
    /// Only these files and folders, as git pathspecs relative to the top of the repository
    #[arg(last = true, value_name = "PATH")]
    pub paths: Vec<OsString>,
}

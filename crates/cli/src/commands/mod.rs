//! One file per command.

pub mod drill;
mod dry_run;
pub mod run;
pub mod simulate;

//! Moves a run or a workflow to another directory or machine in one file: its records, the agent's sessions, and the
//! workspace with its changes. It continues there under the same id.
//!
//! ```text
//! manifest.json          the members of the file, with sizes and hashes
//! run/…                  the run's directory
//! run/sessions/ID.jsonl  the sessions that the exporting machine had
//! workspace.bundle       the workspace as a git bundle, if it is in a git repository
//! ```
//!
//! For a workflow, `workflow/…` is its directory, and `runs/ID/…` replaces `run/…` for each of its runs.
//!
//! The file is a gzipped tar with plain files only. [`export()`] changes neither the run nor the workspace.
//! [`import()`] checks everything before it creates anything.

mod archive;
mod destination;
mod error;
mod export;
mod import;
mod manifest;
mod restore;
mod scratch;
mod snapshot;

pub use error::TransferError;
pub use export::{Exported, WorkspaceOmitted, export, export_workflow};
pub use import::{ImportDestination, ImportReport, WorkspaceMatch, import};
pub use manifest::{ArchiveMember, FORMAT, Manifest, SessionEntry, WorkspaceManifest};

#[cfg(test)]
mod tests;

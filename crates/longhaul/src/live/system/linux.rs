//! Linux: finds a run's processes by their environment, and refers to processes by pidfd.

pub(super) mod file_watch;
pub(super) mod marked_processes;
pub(super) mod process_handle;

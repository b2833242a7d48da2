//! Linux: finds a run's processes by the run marker, refers to processes by pidfd, and receives events of files.

mod file_watch;
mod marked_processes;
mod process_handle;

pub(crate) use file_watch::FileWatch;
pub(crate) use marked_processes::{
    ProcessWatch, StartNote, agent_of_attempt, belongs_to, output_of_agent, processes_of, search,
};
pub(crate) use process_handle::{AdoptedProcess, ProcessHandle};

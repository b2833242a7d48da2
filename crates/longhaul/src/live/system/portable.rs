//! Any system: remembers a run's processes in its directory, refers to processes by PID and start time, and polls files.

mod file_watch;
mod process_handle;
mod remembered_processes;

pub(crate) use file_watch::FileWatch;
pub(crate) use process_handle::{AdoptedProcess, ProcessHandle};
pub(crate) use remembered_processes::{
    ProcessWatch, StartNote, agent_of_attempt, belongs_to, output_of_agent, processes_of, search,
};

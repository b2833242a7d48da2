//! Asks the system about processes, memory and file changes. Everything that differs between systems is behind these
//! names. It decides nothing and starts no process.

mod linux;
mod process_table;

pub(crate) use linux::file_watch::FileWatch;
pub(crate) use linux::marked_processes::{agent_of_attempt, belongs_to, output_of_agent, processes_of};
pub(crate) use linux::process_handle::{AdoptedProcess, ProcessHandle};
pub(crate) use process_table::{
    ProcessStat, available_bytes, connections, is_frozen, oom_kills, resident_bytes, start_ticks,
};

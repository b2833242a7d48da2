//! Asks the system about processes, memory and file changes. Everything that differs between systems is behind these
//! names. It decides nothing and starts no process.
//!
//! On Linux, the run marker identifies the processes of a run. Other systems hide the environment of processes: there,
//! and with the feature `portable-processes`, a run's processes are remembered in its directory.

mod process_table;

#[cfg(all(target_os = "linux", not(feature = "portable-processes")))]
mod linux;
#[cfg(all(target_os = "linux", not(feature = "portable-processes")))]
use linux as platform;

#[cfg(any(not(target_os = "linux"), feature = "portable-processes"))]
mod portable;
#[cfg(any(not(target_os = "linux"), feature = "portable-processes"))]
use portable as platform;

pub(crate) use platform::{
    AdoptedProcess, FileWatch, ProcessHandle, ProcessWatch, StartNote, agent_of_attempt, belongs_to,
    output_of_agent, processes_of, search,
};
pub use process_table::is_frozen;
pub(crate) use process_table::{
    ProcessStat, available_bytes, connections, oom_kills, resident_bytes, start_ticks,
};

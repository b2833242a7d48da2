//! The scripted agent as a process, against the API: what its host sees, and what is left when it is killed.

mod faults;
mod host;
mod interrupts;
mod modes;
mod sessions;
mod work;

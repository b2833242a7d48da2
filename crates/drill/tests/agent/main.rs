//! Tests the scripted agent as a process, against the API: its events, and its state after a kill.

mod acp;
mod faults;
mod host;
mod interrupts;
mod modes;
mod sessions;
mod work;

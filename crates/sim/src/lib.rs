//! Simulator of the core under injected faults.

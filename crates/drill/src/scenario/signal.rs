//! The signals a drill sends to an agent, by the names that `kill` takes.

use serde::{Deserialize, Serialize};

/// A signal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Signal {
    /// Ends the process at once, and nothing else: its tools live on.
    #[default]
    Kill,
    /// Freezes the process until it is continued, which nobody does.
    Stop,
    /// What Ctrl-C sends.
    Int,
    /// What asks a process to end.
    Term,
    /// What a closing terminal sends.
    Hup,
}

impl From<Signal> for rustix::process::Signal {
    fn from(signal: Signal) -> Self {
        match signal {
            Signal::Kill => Self::KILL,
            Signal::Stop => Self::STOP,
            Signal::Int => Self::INT,
            Signal::Term => Self::TERM,
            Signal::Hup => Self::HUP,
        }
    }
}

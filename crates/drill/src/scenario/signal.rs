//! Defines the signals that a drill sends to an agent, with the names that a `kill` fault accepts.

use serde::{Deserialize, Serialize};

/// A signal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Signal {
    /// SIGKILL: ends only this process; its tools keep running.
    #[default]
    Kill,
    /// SIGSTOP: freezes the process until SIGCONT, which is never sent.
    Stop,
    /// SIGINT, as sent by Ctrl-C.
    Int,
    /// SIGTERM: asks the process to exit.
    Term,
    /// SIGHUP, as sent by a closing terminal.
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

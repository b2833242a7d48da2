//! The flags that report a run's decisions to people and other programs.

use clap::Args;
use std::fmt;
use std::path::PathBuf;

/// The channels that receive notifications of a run.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Notifications")]
pub struct NotifyArgs {
    /// Notify when the run finishes, needs a person, or waits longer than 15 minutes; repeatable
    ///
    /// CHANNEL is `desktop`, `ntfy:TOPIC`, `ntfy:https://HOST/TOPIC`, `slack:VARIABLE` (an environment
    /// variable with the URL of a webhook), or a shell command that reads one JSON object from stdin. A
    /// failed notification changes nothing. See https://github.com/longhaul/longhaul/blob/main/docs/events.md
    #[arg(long, value_name = "CHANNEL")]
    pub notify: Vec<String>,
}

impl NotifyArgs {
    pub fn commands(&self) -> Option<Vec<String>> {
        (!self.notify.is_empty()).then(|| self.notify.clone())
    }
}

/// Destination of a run's decisions.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Notifications")]
pub struct EventsArgs {
    /// Write each decision as a JSON line to FILE, stdout (`-`) or a descriptor (`fd:3`)
    ///
    /// A line is written once its decision is on disk. See https://github.com/longhaul/longhaul/blob/main/docs/events.md
    #[arg(long, value_name = "FILE|-|fd:N", value_parser = destination, hide_short_help = true)]
    pub events: Option<EventsDestination>,
}

/// Receiver of the events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventsDestination {
    Stdout,
    /// A descriptor that this program was started with.
    Descriptor(u16),
    File(PathBuf),
}

impl fmt::Display for EventsDestination {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EventsDestination::Stdout => out.write_str("stdout"),
            EventsDestination::Descriptor(number) => write!(out, "fd:{number}"),
            EventsDestination::File(path) => path.display().fmt(out),
        }
    }
}

fn destination(text: &str) -> Result<EventsDestination, String> {
    let hint = "expected a file, `-`, or a descriptor like `fd:3`; write `./fd:3` for a file of that name";
    match (text, text.strip_prefix("fd:").map(str::parse)) {
        ("", _) | (_, Some(Err(_) | Ok(0))) => Err(hint.to_owned()),
        ("-", _) | (_, Some(Ok(1))) => Ok(EventsDestination::Stdout),
        (_, Some(Ok(number))) => Ok(EventsDestination::Descriptor(number)),
        (path, None) => Ok(EventsDestination::File(path.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::{EventsDestination, destination};

    #[test]
    fn parses_destinations() {
        let file = |path: &str| EventsDestination::File(path.into());
        for (text, expected) in [
            ("-", EventsDestination::Stdout),
            ("fd:1", EventsDestination::Stdout),
            ("fd:3", EventsDestination::Descriptor(3)),
            ("events.jsonl", file("events.jsonl")),
            ("./fd:3", file("./fd:3")),
        ] {
            assert_eq!(destination(text), Ok(expected), "{text}");
        }
        for text in ["", "fd:", "fd:0", "fd:x", "fd:-1", "fd:70000"] {
            assert!(destination(text).is_err(), "{text}");
        }
    }
}

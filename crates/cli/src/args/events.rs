//! The flag that streams a run's decisions to other programs.

use super::Command;
use clap::Args;
use std::path::PathBuf;

/// Destination of a run's decisions.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Notifications")]
pub struct EventsArgs {
    /// Write each decision as a JSON line to FILE, stdout (`-`) or a descriptor (`fd:3`)
    ///
    /// A line is written once its decision is on disk. See docs/events.md.
    #[arg(long, value_name = "FILE|-|fd:N", value_parser = destination, hide_short_help = true)]
    pub events: Option<EventsDestination>,
}

impl EventsArgs {
    /// Returns whether stdout is reserved for the events.
    pub fn are_on_stdout(&self) -> bool {
        self.events == Some(EventsDestination::Stdout)
    }
}

impl Command {
    /// Returns whether stdout is reserved for a run's events.
    pub fn streams_events_to_stdout(&self) -> bool {
        let events = match self {
            Command::Run(args) => &args.events,
            Command::Resume(args) => &args.events,
            Command::Research(args) => &args.events,
            Command::Recover(args) => &args.events,
            Command::Attach(args) => &args.events,
            Command::Rerun(_)
            | Command::Runs(_)
            | Command::Status(_)
            | Command::Cost(_)
            | Command::Show(_)
            | Command::Why(_)
            | Command::Diff(_)
            | Command::Report(_)
            | Command::Gc(_)
            | Command::Ledger(_)
            | Command::Doctor(_)
            | Command::Config(_)
            | Command::Schema(_)
            | Command::Completions(_)
            | Command::Man(_)
            | Command::Logs(_)
            | Command::Cancel(_)
            | Command::Handoff(_)
            | Command::Export(_)
            | Command::Import(_)
            | Command::Playbook(_)
            | Command::Hook(_)
            | Command::Drill(_)
            | Command::Simulate(_)
            | Command::Watchdog(_)
            | Command::FinishTool
            | Command::DrillAgent { .. } => return false,
        };
        events.are_on_stdout()
    }
}

/// Receiver of the events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventsDestination {
    Stdout,
    /// A descriptor that this program was started with.
    Descriptor(u16),
    File(PathBuf),
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

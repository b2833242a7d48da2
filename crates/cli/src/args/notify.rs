//! The flag that sends notifications.

use clap::Args;

/// The channels that receive notifications of a run.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Telling others")]
pub struct NotifyArgs {
    /// Send a notification when the run is finished, needs a person, or starts to wait for more than 15 minutes:
    /// `desktop`, `ntfy:TOPIC`, `ntfy:https://HOST/TOPIC`, `slack:VARIABLE` (an environment variable with the URL of a
    /// webhook), or a COMMAND for the shell, which reads one JSON object from its stdin. May be repeated. A notification
    /// that fails changes nothing. See docs/events.md
    #[arg(long, value_name = "CHANNEL")]
    pub notify: Vec<String>,
}

impl NotifyArgs {
    /// The channels, if any are named.
    pub fn commands(&self) -> Option<Vec<String>> {
        (!self.notify.is_empty()).then(|| self.notify.clone())
    }
}

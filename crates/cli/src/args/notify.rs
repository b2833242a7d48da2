//! The flag that sends notifications.

use clap::Args;

/// The channels that receive notifications of a run.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Notifications")]
pub struct NotifyArgs {
    /// Notify when the run finishes, needs a person, or waits longer than 15 minutes; repeatable
    ///
    /// CHANNEL is `desktop`, `ntfy:TOPIC`, `ntfy:https://HOST/TOPIC`, `slack:VARIABLE` (an environment
    /// variable with the URL of a webhook), or a shell command that reads one JSON object from stdin. A
    /// failed notification changes nothing. See docs/events.md.
    #[arg(long, value_name = "CHANNEL")]
    pub notify: Vec<String>,
}

impl NotifyArgs {
    /// Returns the channels, or `None` if there are none.
    pub fn commands(&self) -> Option<Vec<String>> {
        (!self.notify.is_empty()).then(|| self.notify.clone())
    }
}

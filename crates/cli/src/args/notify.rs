//! The flag that has commands called when a person wants to know.

use clap::Args;

/// Who is told how a run ends.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Telling others")]
pub struct NotifyArgs {
    /// Call this command, in a shell and in the directory of the work, when the run is over, when it needs a person, and
    /// when it begins to wait for more than 15 minutes. What there is to tell comes on its standard input, as one JSON
    /// object. Several are all called. What becomes of them changes nothing. See docs/events.md
    #[arg(long, value_name = "COMMAND")]
    pub notify: Vec<String>,
}

impl NotifyArgs {
    /// The commands, if any are named.
    pub fn named(&self) -> Option<Vec<String>> {
        (!self.notify.is_empty()).then(|| self.notify.clone())
    }
}

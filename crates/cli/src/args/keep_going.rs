//! The flags that keep a run going when its agent stops on its own.

use clap::Args;
use std::num::NonZeroU32;

/// How to keep an agent going that stops on its own.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "When the work is done")]
pub struct KeepGoingArgs {
    /// Keep prompting the agent until it confirms that the work is done, or a limit is reached
    ///
    /// The agent reports that with a tool, twice in a row.
    #[arg(long)]
    pub keep_going: bool,
    /// Ask for improvements beyond the task [default: if the run may take 24h or more]
    #[arg(long, hide_short_help = true)]
    pub keep_improving: bool,
    /// Also accept this line at the end of the last message, twice in a row, as done
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
    pub done_when: Option<String>,
    /// State used and remaining time and cost every N stops; 0 means never [default: 5]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub status_every: Option<u32>,
    /// Stops in a row without a change in the workspace, after which the run fails [default: 3]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub max_idle_stops: Option<NonZeroU32>,
}

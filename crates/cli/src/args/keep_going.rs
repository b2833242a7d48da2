//! The flags that keep a run going when its agent stops on its own.

use super::limits::set;
use clap::Args;
use longhaul_core::{KeepGoing, Policy, Span};
use std::num::NonZeroU32;

// A limit this long asks for more than a first solution.
const IMPROVE_FROM: Span = Span::from_hours(24);

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

impl KeepGoingArgs {
    /// Sets how the agent is kept going. The policy has its limits already.
    pub fn apply(&self, policy: &mut Policy) {
        if !self.keep_going {
            return;
        }
        let limits = &policy.limits;
        let mut keep_going = KeepGoing::DEFAULT;
        keep_going.keep_improving = self.keep_improving || limits.time.max(limits.wall) >= Some(IMPROVE_FROM);
        set(&mut keep_going.status_every, self.status_every);
        set(&mut keep_going.idle_stops_max, self.max_idle_stops.map(Into::into));
        keep_going.done_when.clone_from(&self.done_when);
        policy.keep_going = Some(keep_going);
    }
}

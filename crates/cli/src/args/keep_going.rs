//! The flags that keep a run going when its agent stops by itself.

use clap::Args;
use std::num::NonZeroU32;

/// How an agent is kept going that stops by itself.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Keeping going")]
pub struct KeepGoingArgs {
    /// Tell the agent to go on each time it stops by itself, until it says twice running that the work is finished, or
    /// a limit is reached. It says so by a tool that it is offered
    #[arg(long)]
    pub keep_going: bool,
    /// Ask it for more than the task: to improve the work until no part of it can be made better [default: if the run
    /// may take 24h or more]
    #[arg(long, requires = "keep_going")]
    pub keep_improving: bool,
    /// Let it also say that the work is finished by ending its last message with this line, twice running
    #[arg(long, value_name = "TEXT", requires = "keep_going")]
    pub done_when: Option<String>,
    /// After how many stops it is told the time and money used and left; 0 is never [default: 5]
    #[arg(long, value_name = "N", requires = "keep_going")]
    pub status_every: Option<u32>,
    /// After how many stops in a row that change nothing in the workspace the run ends as failed [default: 3]
    #[arg(long, value_name = "N", requires = "keep_going")]
    pub max_idle_stops: Option<NonZeroU32>,
}

//! What `longhaul recover` takes.

use super::{EventsArgs, NotifyArgs};
use crate::duration_arg::duration;
use clap::Args;
use longhaul_core::Span;

#[derive(Debug, Args)]
pub struct RecoverArgs {
    /// The run: the first letters of its id, `@` for the last one, or its directory [default: every run]
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    /// Leave alone what has not been active for longer than this
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "168h", conflicts_with = "run")]
    pub active_within: Option<Span>,
    /// Print the runs that would be recovered, and start nothing
    #[arg(long)]
    pub list: bool,
    /// Have this done at every boot, or at every login where user services begin with one
    #[arg(long, conflicts_with_all = ["run", "list"])]
    pub install: bool,
    /// Take back --install
    #[arg(long, conflicts_with_all = ["run", "list", "active_within", "install"])]
    pub uninstall: bool,
    /// Print the service that --install would write, and change nothing
    #[arg(long, conflicts_with_all = ["run", "list", "install", "uninstall"])]
    pub print_service: bool,
    /// Last, because their heading in the help holds for everything behind them.
    #[command(flatten)]
    pub notify: NotifyArgs,
    #[command(flatten)]
    pub events: EventsArgs,
}

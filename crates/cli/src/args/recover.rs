//! The arguments of `longhaul recover`.

use super::{EventsArgs, NotifyArgs};
use crate::duration_arg::duration;
use clap::Args;
use longhaul_core::Span;

#[derive(Debug, Args)]
pub struct RecoverArgs {
    /// Run id prefix, name, directory, or `@` for the latest run [default: every orphaned run]
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    /// Only runs active within this duration
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "168h", conflicts_with = "run")]
    pub active_within: Option<Span>,
    /// Print the runs that would be recovered; start nothing
    #[arg(long)]
    pub list: bool,
    /// Recover at every boot, or at every login if user services start with one
    #[arg(long, conflicts_with_all = ["run", "list"])]
    pub install: bool,
    /// Undo --install
    #[arg(long, conflicts_with_all = ["run", "list", "active_within", "install"])]
    pub uninstall: bool,
    /// Print the service that --install would write; change nothing
    #[arg(long, conflicts_with_all = ["run", "list", "install", "uninstall"])]
    pub print_service: bool,
    /// Last, because their help headings apply to all flags after them.
    #[command(flatten)]
    pub notify: NotifyArgs,
    #[command(flatten)]
    pub events: EventsArgs,
}

//! What `longhaul hook` takes.

use clap::Args;

#[derive(Debug, Args)]
pub struct HookArgs {}

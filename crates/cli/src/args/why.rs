//! What `longhaul why` takes.

use clap::Args;

#[derive(Debug, Args)]
pub struct WhyArgs {
    /// The run: the first letters of its id, `@` for the last one, or its directory
    #[arg(value_name = "RUN")]
    pub run: String,
}

//! What `longhaul why` takes.

use clap::Args;

#[derive(Debug, Args)]
pub struct WhyArgs {
    /// The run: the first letters of its id, its name, `@` for the last one, or its directory
    #[arg(value_name = "RUN", default_value = "@")]
    pub run: String,
}

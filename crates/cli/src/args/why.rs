//! The arguments of `longhaul why`.

use clap::Args;

#[derive(Debug, Args)]
pub struct WhyArgs {
    /// Run id prefix, name, directory, or `@` for the latest run
    #[arg(value_name = "RUN", default_value = "@")]
    pub run: String,
}

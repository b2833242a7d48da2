//! `longhaul schema`.

use crate::schemas;
use clap::Args;
use clap::builder::PossibleValuesParser;

#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// The schema [default: list them]
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(schemas::names()), hide_possible_values = true)]
    pub name: Option<String>,
}

//! The arguments of `longhaul playbook show`.

use super::ProjectArgs;
use clap::Args;

#[derive(Debug, Args)]
pub struct ShowPlaybookArgs {
    /// Only the points with these ids
    #[arg(value_name = "ID")]
    pub points: Vec<String>,
    /// Only this section, by its title or id prefix: pat, mis, pref, ctx, oth
    #[arg(long, value_name = "SECTION")]
    pub section: Option<String>,
    #[command(flatten)]
    pub project: ProjectArgs,
}

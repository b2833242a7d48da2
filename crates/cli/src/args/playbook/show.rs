//! What `longhaul playbook show` takes.

use super::ProjectArgs;
use clap::Args;

#[derive(Debug, Args)]
pub struct ShowPlaybookArgs {
    /// Only these points, by their names
    #[arg(value_name = "ID")]
    pub points: Vec<String>,
    /// Only this section, by its title or by how its points' names begin: pat, mis, pref, ctx, oth
    #[arg(long, value_name = "SECTION")]
    pub section: Option<String>,
    #[command(flatten)]
    pub project: ProjectArgs,
}

//! What `longhaul simulate` takes.

use super::PolicyArgs;
use super::policy::preset;
use clap::Args;
use longhaul_core::Preset;

#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// The policy to simulate, by name: the same as --preset
    #[arg(long = "policy", value_name = "PRESET", value_parser = preset, conflicts_with = "preset")]
    pub policy_name: Option<Preset>,
    /// The faults to meet: a built-in profile, a TOML file, or `history` for those of your own past runs
    #[arg(long, value_name = "PROFILE|FILE|history", default_value = "flaky")]
    pub faults: String,
    /// How many runs to simulate
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub runs: u32,
    /// The seed that everything is drawn from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Last, because its heading in the help holds for everything behind it.
    #[command(flatten)]
    pub policy: PolicyArgs,
}

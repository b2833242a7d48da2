//! The arguments of `longhaul simulate`.

use super::PolicyArgs;
use clap::Args;

#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// Faults to inject: a built-in profile, a TOML file, or `history` for those of your past runs
    #[arg(long, value_name = "PROFILE|FILE|history", default_value = "flaky")]
    pub faults: String,
    /// Number of simulated runs
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub runs: u32,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Last, because its help heading applies to all flags after it.
    #[command(flatten)]
    pub policy: PolicyArgs,
}

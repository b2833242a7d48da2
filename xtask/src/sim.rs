//! `cargo xtask sim`: builds the swarm in release mode and passes the arguments to it. Seeds that failed
//! before are simulated first.

use crate::programs::{cargo, succeed};
use std::io;
use std::path::Path;

pub fn run(root: &Path, args: &[String]) -> io::Result<()> {
    let is_outages = args.first().is_some_and(|arg| arg == "--outages");
    let example = if is_outages { "outages" } else { "swarm" };
    let mut command = cargo();
    command
        .args(["run", "--quiet", "--release", "--package", "longhaul-sim", "--example", example, "--"])
        .current_dir(root);
    if !is_outages {
        command.arg("--failed").arg(root.join("crates/sim/seeds/failed.txt"));
    }
    succeed(command.args(args.iter().filter(|arg| *arg != "--outages")))
}

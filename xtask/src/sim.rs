//! `cargo xtask sim`: builds the swarm in release mode and passes the arguments to it. Seeds that failed
//! before are simulated first.

use crate::programs::{cargo, succeed};
use std::io;
use std::path::Path;

pub fn run(root: &Path, args: &[String]) -> io::Result<()> {
    let mut command = cargo();
    command
        .args(["run", "--quiet", "--release", "--package", "longhaul-sim", "--example", "swarm", "--"])
        .current_dir(root);
    command.arg("--failed").arg(root.join("crates/sim/seeds"));
    succeed(command.args(args))
}

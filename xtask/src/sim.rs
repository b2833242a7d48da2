//! `cargo xtask sim`: builds the swarm in release mode and passes the arguments to it. Seeds that failed
//! before are simulated first.

use crate::{cargo, root};
use std::process::ExitCode;

pub fn run(args: &[String]) -> ExitCode {
    let root = root();
    let mut command = cargo();
    command
        .args(["run", "--quiet", "--release", "--package", "longhaul-sim", "--example", "swarm", "--"])
        .current_dir(&root);
    command.arg("--failed").arg(root.join("crates/sim/seeds/failed.txt"));
    match command.args(args).status() {
        Ok(status) => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)),
        Err(error) => {
            eprintln!("cannot run cargo: {error}");
            ExitCode::FAILURE
        }
    }
}

//! `cargo xtask bench [NAME…] [--quick]`: measures what the project promises of speed and memory,
//! and writes it to `benches/RESULTS.md`. Everything runs against loopback; Linux only.
//!
//! A missed bar is reported with its figure and is no error: figures of a busy machine must not turn
//! a build red. `--quick` is a smoke test at a tenth of the size or less, and writes no file.

mod api;
mod disk;
mod drills;
mod endings;
mod fleet;
mod instant;
mod launch;
mod longline;
mod machine;
mod place;
mod process;
mod sample;
mod section;
mod stream;
mod version;
mod waiting;
mod walls;

use crate::{cargo, real_agent};
use section::Section;
use std::path::{Path, PathBuf};
use std::{env, io};

/// What every bench may use.
pub struct Bench {
    root: PathBuf,
    /// The release binary.
    longhaul: PathBuf,
    /// The pinned real agent.
    claude: PathBuf,
    quick: bool,
}

impl Bench {
    /// How many of something: fewer when quick.
    fn count(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick } else { full }
    }
}

/// Every bench by name, in the order of the results file. Those that need the machine for
/// themselves come first, those that mostly wait come last.
const BENCHES: &[(&str, fn(&Bench) -> io::Result<Section>)] = &[
    ("version", version::bench),
    ("launch", launch::bench),
    ("instant", instant::bench),
    ("stream", stream::bench),
    ("longline", longline::bench),
    ("waiting", waiting::bench),
    ("fleet", fleet::bench),
    ("endings", endings::bench),
    ("walls", walls::bench),
    ("drills", drills::bench),
];

/// Runs the benches named, or all of them.
pub fn bench(root: &Path, args: &[String]) -> io::Result<()> {
    let quick = args.iter().any(|arg| arg == "--quick");
    let chosen: Vec<&str> = args.iter().map(String::as_str).filter(|arg| *arg != "--quick").collect();
    let names: Vec<&str> = BENCHES.iter().map(|(name, _)| *name).collect();
    if let Some(unknown) = chosen.iter().find(|name| !names.contains(name)) {
        return Err(io::Error::other(format!("no bench is called {unknown}; there are: {}", names.join(", "))));
    }
    let bench = Bench {
        root: root.to_owned(),
        longhaul: build(root, &["--package", "longhaul-cli"], "longhaul")?,
        claude: real_agent::install(root)?,
        quick,
    };
    let mut missed = 0;
    for (name, run) in BENCHES.iter().filter(|(name, _)| chosen.is_empty() || chosen.contains(name)) {
        eprintln!("▶ bench {name}");
        let machine = machine::described(root, &bench.longhaul, &bench.claude);
        let section = run(&bench)?;
        missed += section.missed();
        let markdown = section.markdown(name, &machine);
        println!("{markdown}");
        if !quick {
            section::save(&root.join("benches/RESULTS.md"), &names, name, &markdown)?;
        }
    }
    eprintln!("{missed} bars missed");
    Ok(())
}

/// Builds a program in release and returns where it is.
fn build(root: &Path, args: &[&str], program: &str) -> io::Result<PathBuf> {
    let status = cargo().args(["build", "--quiet", "--release"]).args(args).current_dir(root).status()?;
    if !status.success() {
        return Err(io::Error::other(format!("build {program}: {status}")));
    }
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("release").join(program))
}

//! `cargo xtask bench [NAME…] [--quick] [--longhaul FILE]`: measures what the project promises of speed and memory,
//! and writes it to `benches/RESULTS.md`. Everything runs against loopback; Linux only.
//!
//! A missed bar is reported with its figure and is no error: figures of a busy machine must not turn
//! a build red. `--quick` is a smoke test at a tenth of the size or less, and writes no file.
//! `--longhaul` measures a program that was built before.

mod api;
mod disk;
mod drills;
mod endings;
mod fleet;
mod hooks;
mod instant;
mod launch;
mod ledger;
mod logs;
mod long_line;
pub mod machine;
mod outages;
mod process;
mod recover;
mod report;
mod runs;
mod sample;
pub mod sandbox;
pub mod section;
mod stream;
mod version;
mod waiting;

use crate::{cargo, real_agent};
use machine::Ticks;
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

type Run = fn(&Bench) -> io::Result<Section>;

/// Every bench by name, in the order of the results file. Those that need the machine for
/// themselves come first, those that mostly wait come last.
const BENCHES: &[(&str, Run)] = &[
    ("version", version::bench),
    ("launch", launch::bench),
    ("hooks", hooks::bench),
    ("recover", recover::bench),
    ("instant", instant::bench),
    ("stream", stream::bench),
    ("ledger", ledger::bench),
    ("report", report::bench),
    ("logs", logs::bench),
    ("longline", long_line::bench),
    ("waiting", waiting::bench),
    ("fleet", fleet::bench),
    ("endings", endings::bench),
    ("walls", outages::bench),
    ("drills", drills::bench),
];

/// What was asked for on the command line.
#[derive(Default)]
struct Options {
    names: Vec<String>,
    quick: bool,
    /// Measured instead of a fresh build.
    longhaul: Option<PathBuf>,
}

/// Runs the benches named, or all of them.
pub fn bench(root: &Path, args: &[String]) -> io::Result<()> {
    let asked = asked(args)?;
    let bench = Bench {
        root: root.to_owned(),
        longhaul: asked
            .longhaul
            .map_or_else(|| build(root, &["--package", "longhaul-cli"], "longhaul"), Ok)?,
        claude: real_agent::found(root)?,
        quick: asked.quick,
    };
    let mut missed = 0;
    let all = asked.names.is_empty();
    for (name, run) in BENCHES.iter().filter(|(name, _)| all || asked.names.iter().any(|asked| asked == name))
    {
        eprintln!("▶ bench {name}");
        let machine = machine::described(root, &bench.longhaul, &bench.claude);
        let ticks = Ticks::now();
        let section = run(&bench)?;
        missed += section.missed();
        let markdown = section.markdown(name, &format!("{machine} · {}", Ticks::stolen_since(ticks)));
        println!("{markdown}");
        if !bench.quick {
            section::save(&root.join("benches/RESULTS.md"), &names(), name, &markdown)?;
        }
    }
    eprintln!("{missed} bars missed");
    Ok(())
}

fn names() -> Vec<&'static str> {
    BENCHES.iter().map(|(name, _)| *name).collect()
}

fn asked(args: &[String]) -> io::Result<Options> {
    let mut asked = Options::default();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--quick" => asked.quick = true,
            "--longhaul" => {
                let file = args.next().ok_or_else(|| io::Error::other("--longhaul needs a file"))?;
                asked.longhaul = Some(std::path::absolute(file)?);
            }
            name if names().contains(&name) => asked.names.push(name.to_owned()),
            name => {
                return Err(io::Error::other(format!(
                    "no bench is called {name}; there are: {}",
                    names().join(", ")
                )));
            }
        }
    }
    Ok(asked)
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

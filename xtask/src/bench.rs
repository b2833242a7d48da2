//! `cargo xtask bench [NAME…] [--quick] [--longhaul FILE]`: measures speed and memory against the promised
//! bars, and writes the results to `benches/RESULTS.md`. Everything runs against loopback; Linux only.
//!
//! A missed bar is reported with its figure and is not an error, because a busy machine must not break a
//! build. `--quick` is a smoke test at a tenth of the size or less, and writes no file. `--longhaul` measures
//! an existing binary.

mod api;
mod build_time;
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
mod resume;
mod runs;
mod sample;
pub mod sandbox;
pub mod section;
mod stream;
mod version;
mod waiting;

use crate::{cargo, real_agent};
use machine::Ticks;
use section::ResultSection;
use std::path::{Path, PathBuf};
use std::{env, io};

/// The inputs of every bench.
pub struct Bench {
    root: PathBuf,
    /// Path of the release binary.
    longhaul: PathBuf,
    /// Path of the pinned real agent.
    claude: PathBuf,
    quick: bool,
}

impl Bench {
    /// Returns `full`, or `quick` for a quick bench.
    fn count(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick } else { full }
    }
}

type Run = fn(&Bench) -> io::Result<ResultSection>;

/// All benches by name, in the order of the results file. Benches that need an idle machine come first.
/// Benches that mostly wait come last.
const BENCHES: &[(&str, Run)] = &[
    ("version", version::bench),
    ("launch", launch::bench),
    ("hooks", hooks::bench),
    ("recover", recover::bench),
    ("resume", resume::bench),
    ("instant", instant::bench),
    ("stream", stream::bench),
    ("ledger", ledger::bench),
    ("report", report::bench),
    ("logs", logs::bench),
    ("longline", long_line::bench),
    ("waiting", waiting::bench),
    ("fleet", fleet::bench),
    ("endings", endings::bench),
    ("outages", outages::bench),
    ("drills", drills::bench),
    ("build", build_time::bench),
];

/// Options of the command line.
#[derive(Default)]
struct Options {
    names: Vec<String>,
    quick: bool,
    /// Binary to measure instead of a fresh build.
    longhaul: Option<PathBuf>,
}

/// Runs the named benches, or all of them.
pub fn bench(root: &Path, args: &[String]) -> io::Result<()> {
    let options = options(args)?;
    let bench = Bench {
        root: root.to_owned(),
        longhaul: options
            .longhaul
            .map_or_else(|| build(root, &["--package", "longhaul-cli"], "longhaul"), Ok)?,
        claude: real_agent::locate(root)?,
        quick: options.quick,
    };
    let mut missed = 0;
    let run_all = options.names.is_empty();
    for (name, run) in
        BENCHES.iter().filter(|(name, _)| run_all || options.names.iter().any(|requested| requested == name))
    {
        eprintln!("▶ bench {name}");
        let machine = machine::describe(root, &bench.longhaul, &bench.claude);
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

fn options(args: &[String]) -> io::Result<Options> {
    let mut options = Options::default();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--quick" => options.quick = true,
            "--longhaul" => {
                let file = args.next().ok_or_else(|| io::Error::other("--longhaul needs a file"))?;
                options.longhaul = Some(std::path::absolute(file)?);
            }
            name if names().contains(&name) => options.names.push(name.to_owned()),
            name => {
                return Err(io::Error::other(format!(
                    "no bench `{name}`; the benches are: {}",
                    names().join(", ")
                )));
            }
        }
    }
    Ok(options)
}

/// Builds a program in release mode and returns its path.
fn build(root: &Path, args: &[&str], program: &str) -> io::Result<PathBuf> {
    let status = cargo().args(["build", "--quiet", "--release"]).args(args).current_dir(root).status()?;
    if !status.success() {
        return Err(io::Error::other(format!("build {program}: {status}")));
    }
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("release").join(program))
}

//! `cargo xtask bench`: measures speed and memory against the promised bars, and writes the results to
//! `benches/RESULTS.md`. Everything runs against loopback; Linux only.

mod build_time;
mod calls;
mod disk;
mod fleet;
mod hooks;
mod instant;
mod launch;
mod ledger;
mod logs;
mod long_line;
mod recording;
mod recover;
mod report;
mod resume;
mod runs;
mod stream;
mod version;
mod waiting;
mod workflow;

use crate::programs::{Programs, release_build};
use crate::results::{ResultFile, ResultSection};
use crate::sample::{median, ms};
use crate::{machine, real_agent};
use clap::Args;
use clap::builder::PossibleValuesParser;
use std::path::{Path, PathBuf, absolute};
use std::time::Duration;
use std::{array, io};

pub struct Bench {
    root: PathBuf,
    programs: Programs,
    quick: bool,
}

impl Bench {
    fn count(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick } else { full }
    }

    /// Takes the measurements in turn, as often as `full` or `quick`. Returns the milliseconds of each.
    fn samples<const N: usize>(
        &self,
        full: usize,
        quick: usize,
        mut measurements: [&mut dyn FnMut() -> io::Result<Duration>; N],
    ) -> io::Result<[Vec<f64>; N]> {
        let mut samples = array::from_fn(|_| Vec::new());
        for _ in 0..self.count(full, quick) {
            for (measurement, samples) in measurements.iter_mut().zip(&mut samples) {
                samples.push(ms(measurement()?));
            }
        }
        Ok(samples)
    }

    fn medians<const N: usize>(
        &self,
        full: usize,
        quick: usize,
        measurements: [&mut dyn FnMut() -> io::Result<Duration>; N],
    ) -> io::Result<[f64; N]> {
        Ok(self.samples(full, quick, measurements)?.map(|samples| median(&samples)))
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
    ("calls", calls::bench),
    ("stream", stream::bench),
    ("ledger", ledger::bench),
    ("report", report::bench),
    ("logs", logs::bench),
    ("longline", long_line::bench),
    ("waiting", waiting::bench),
    ("fleet", fleet::bench),
    ("workflow", workflow::bench),
    ("build", build_time::bench),
];

#[derive(Args)]
pub struct BenchOptions {
    /// Benches to run; all of them if none is named
    #[arg(value_parser = PossibleValuesParser::new(BENCHES.iter().map(|(name, _)| *name)))]
    names: Vec<String>,
    /// Run a smoke test at a tenth of the size or less, and write no file
    #[arg(long)]
    quick: bool,
    /// Measure this binary instead of a fresh build
    #[arg(long, value_name = "FILE", value_parser = |file: &str| absolute(file))]
    longhaul: Option<PathBuf>,
}

pub fn bench(root: &Path, options: BenchOptions) -> io::Result<()> {
    let names: Vec<&str> = BENCHES.iter().map(|(name, _)| *name).collect();
    let file = ResultFile {
        path: "benches/RESULTS.md",
        head: "# Bench results\n\n`cargo xtask bench` writes this file. Each section states its date, machine and \
               versions.\nA missed bar is shown with its figure.\n",
        sections: &names,
    };
    let build = || release_build(root, &["--package", "longhaul-cli"], "longhaul");
    let programs =
        Programs { longhaul: options.longhaul.map_or_else(build, Ok)?, claude: real_agent::locate(root)? };
    let bench = Bench { root: root.to_owned(), programs, quick: options.quick };
    for (name, run) in BENCHES {
        if !options.names.is_empty() && !options.names.iter().any(|requested| requested == name) {
            continue;
        }
        let markdown = machine::measure(root, &bench.programs, name, || run(&bench))?;
        if !bench.quick {
            file.save(root, name, &markdown)?;
        }
    }
    Ok(())
}

//! Describes the machine of a measurement. Every fact is read from the machine.

use std::path::Path;
use std::process::Command;
use std::{fs, thread};

/// The processor time of the machine since it started, in the kernel's ticks.
#[derive(Clone, Copy, Default)]
pub struct Ticks {
    all: u64,
    stolen: u64,
}

impl Ticks {
    pub fn now() -> Ticks {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let fields = stat.lines().next().unwrap_or_default().split_whitespace().skip(1);
        let ticks: Vec<u64> = fields.take(8).filter_map(|field| field.parse().ok()).collect();
        Ticks { all: ticks.iter().sum(), stolen: ticks.get(7).copied().unwrap_or(0) }
    }

    /// Returns the share of time that the host took from the machine since `start`. The kernel counts stolen
    /// time as used by the running process, so processor times are too high by this share.
    pub fn stolen_since(start: Ticks) -> String {
        let now = Ticks::now();
        let share = (now.stolen - start.stolen) as f64 / (now.all - start.all).max(1) as f64;
        format!("{:.0} % of processor time stolen", share * 100.0)
    }
}

/// Returns one line with date, machine and versions.
pub fn describe(root: &Path, longhaul: &Path, claude: &Path) -> String {
    let cores = thread::available_parallelism().map_or(0, |cores| cores.get());
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib: u64 = memory.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    let parts = [
        output_of(Command::new("date").args(["-u", "+%Y-%m-%d %H:%M UTC"])),
        format!("{cores} cores, {} GiB", kib >> 20),
        output_of(Command::new("uname").args(["-sr"])),
        format!("load {} before", load()),
        output_of(Command::new(longhaul).arg("--version")),
        format!("commit {}", commit(root)),
        output_of(Command::new(claude).arg("--version")),
    ];
    parts.join(" · ")
}

/// Returns the load average, so that a reader can see whether the machine was busy.
fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split_whitespace().next().unwrap_or("unknown").to_owned()
}

fn commit(root: &Path) -> String {
    output_of(Command::new("git").args(["describe", "--always", "--dirty"]).current_dir(root))
}

fn output_of(command: &mut Command) -> String {
    let output = command.output().map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    output.ok().filter(|text| !text.is_empty()).unwrap_or_else(|| "unknown".to_owned())
}

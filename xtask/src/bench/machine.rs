//! What a figure depends on besides the code: asked of the machine, never typed in.

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

    /// What a host took away since then. The kernel counts it as used by whoever was running, so that
    /// figures of processor time are too high by as much of the time that was not idle.
    pub fn stolen_since(then: Ticks) -> String {
        let now = Ticks::now();
        let share = (now.stolen - then.stolen) as f64 / (now.all - then.all).max(1) as f64;
        format!("{:.0} % of the processors stolen meanwhile", share * 100.0)
    }
}

/// One line: date, machine, versions.
pub fn described(root: &Path, longhaul: &Path, claude: &Path) -> String {
    let cores = thread::available_parallelism().map_or(0, |cores| cores.get());
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib: u64 = memory.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    let parts = [
        answer(Command::new("date").args(["-u", "+%Y-%m-%d %H:%M UTC"])),
        format!("{cores} cores, {} GiB", kib >> 20),
        answer(Command::new("uname").args(["-sr"])),
        format!("load {} before", load()),
        answer(Command::new(longhaul).arg("--version")),
        format!("commit {}", commit(root)),
        answer(Command::new(claude).arg("--version")),
    ];
    parts.join(" · ")
}

/// Whoever measures on a busy machine is told so.
fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split_whitespace().next().unwrap_or("unknown").to_owned()
}

fn commit(root: &Path) -> String {
    answer(Command::new("git").args(["describe", "--always", "--dirty"]).current_dir(root))
}

fn answer(command: &mut Command) -> String {
    let output = command.output().map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    output.ok().filter(|answer| !answer.is_empty()).unwrap_or_else(|| "unknown".to_owned())
}

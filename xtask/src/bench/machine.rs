//! What a figure depends on besides the code: asked of the machine, never typed in.

use std::path::Path;
use std::process::Command;
use std::{fs, thread};

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

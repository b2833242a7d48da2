//! Measures something under recorded conditions: date, machine and versions. Every fact is read from the
//! machine.

use crate::programs::Programs;
use crate::results::ResultSection;
use std::path::Path;
use std::process::Command;
use std::{fs, io, thread};

pub fn measure(
    root: &Path,
    programs: &Programs,
    name: &str,
    measure: impl FnOnce() -> io::Result<ResultSection>,
) -> io::Result<String> {
    eprintln!("▶ {name}");
    let (machine, ticks) = (describe(root, programs)?, Ticks::now());
    let section = measure()?;
    let markdown = section.markdown(name, &format!("{machine} · {}", ticks.stolen_since()));
    println!("{markdown}");
    // A missed bar is no error, because a busy machine must not break a build.
    eprintln!("{} bars missed", section.missed());
    Ok(markdown)
}

/// The processor time of the machine since it started, in the kernel's ticks.
struct Ticks {
    all: u64,
    stolen: u64,
}

impl Ticks {
    fn now() -> Ticks {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let fields = stat.lines().next().unwrap_or_default().split_whitespace().skip(1);
        let ticks: Vec<u64> = fields.take(8).filter_map(|field| field.parse().ok()).collect();
        Ticks { all: ticks.iter().sum(), stolen: ticks.get(7).copied().unwrap_or(0) }
    }

    /// Renders the share of time that the host took from the machine since then. The kernel counts stolen time
    /// as used by the running process, so processor times are too high by this share.
    fn stolen_since(&self) -> String {
        let now = Ticks::now();
        let share = (now.stolen - self.stolen) as f64 / (now.all - self.all).max(1) as f64;
        format!("{:.0} % of processor time stolen", share * 100.0)
    }
}

fn describe(root: &Path, programs: &Programs) -> io::Result<String> {
    let cores = thread::available_parallelism().map_or(0, |cores| cores.get());
    let first_word = |file: &str, index: usize| {
        let text = fs::read_to_string(file).unwrap_or_default();
        text.split_whitespace().nth(index).unwrap_or("unknown").to_owned()
    };
    let kib: u64 = first_word("/proc/meminfo", 1).parse().unwrap_or(0);
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.args(args).current_dir(root);
        git
    };
    // The results of the benches before this one do not count.
    let is_clean = git(&["diff", "HEAD", "--quiet", "--", ":!benches"]).status()?.success();
    let parts = [
        output_of(Command::new("date").args(["-u", "+%Y-%m-%d %H:%M UTC"])),
        format!("{cores} cores, {} GiB", kib >> 20),
        output_of(Command::new("uname").args(["-sr"])),
        // Shows whether the machine was busy.
        format!("load {} before", first_word("/proc/loadavg", 0)),
        output_of(Command::new(&programs.longhaul).arg("--version")),
        format!(
            "commit {}{}",
            output_of(&mut git(&["rev-parse", "--short", "HEAD"])),
            if is_clean { "" } else { "-dirty" }
        ),
        output_of(Command::new(&programs.claude).arg("--version")),
    ];
    Ok(parts.join(" · "))
}

fn output_of(command: &mut Command) -> String {
    let output = command.output().map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    output.ok().filter(|text| !text.is_empty()).unwrap_or_else(|| "unknown".to_owned())
}

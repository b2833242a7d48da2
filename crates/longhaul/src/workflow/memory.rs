//! Measures the memory that is available for another run.

use std::fs;

/// Returns the available memory in bytes, or `None` if the system does not report it.
pub(super) fn available_bytes() -> Option<u64> {
    parse(&fs::read_to_string("/proc/meminfo").ok()?)
}

fn parse(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn reads_available_memory() {
        let meminfo =
            "MemTotal:        8000000 kB\nMemFree:          100000 kB\nMemAvailable:    2000000 kB\n";
        assert_eq!(parse(meminfo), Some(2_000_000 * 1024));
        assert_eq!((parse("MemTotal: 8 kB\n"), parse("MemAvailable: many\n"), parse("")), (None, None, None));
    }
}

//! Checks the directory of runs: permissions, file system and free space.

use super::finding::Finding;
use super::writable_dir::WritableDir;
use crate::next_commands::quoted;
use crate::open_home;
use crate::output::phrases::bytes;
use rustix::fs::{StatFs, statfs, statvfs};
use rustix::process::geteuid;
use std::fs;
use std::os::unix::fs::MetadataExt;

const HOME: &str = "home";
const DISK: &str = "disk";
const ELSEWHERE: &str = "set LONGHAUL_HOME to a directory on a local disk";
const FREE_SPACE: &str = "free disk space: a run without space for its journal is aborted";

// A journal and a stream need little space, but a disk with so little left fills up soon.
const FREE_BYTES_MIN: u64 = 16 << 20;
// A build fills this quickly, and a full disk aborts a run.
const FREE_BYTES_LOW: u64 = 1 << 30;

/// Network file systems by their magic number on Linux (`linux/magic.h`).
const NETWORKS: [(u32, &str); 9] = [
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFE53_4D42, "SMB"),
    (0xFF53_4D42, "CIFS"),
    (0x00C3_6400, "Ceph"),
    (0x0102_1997, "9P"),
    (0x5346_414F, "AFS"),
    (0x6B41_4653, "AFS"),
    (0x7375_7245, "Coda"),
];

pub fn check() -> Vec<Finding> {
    let home = match open_home::locate() {
        Ok(home) => home,
        Err(failure) => {
            let remedy = failure.hint.unwrap_or_else(|| ELSEWHERE.to_owned());
            return vec![Finding::problem(HOME, failure.error, remedy)];
        }
    };
    let dir = WritableDir::probe(home.path());
    let disk = Disk::new(&dir);
    [Some(directory(&dir)), disk.map(Disk::finding)].into_iter().flatten().collect()
}

fn directory(dir: &WritableDir) -> Finding {
    // The directory of runs may have another owner than its parent.
    let inner = WritableDir::probe(&dir.path.join("runs"));
    if let Some((found, remedy)) = dir.problem().or_else(|| inner.problem()) {
        return Finding::problem(HOME, found, format!("{remedy}; or set LONGHAUL_HOME to another directory"));
    }
    let path = dir.path.display();
    let Some(metadata) = fs::metadata(&dir.path).ok().filter(|_| dir.exists()) else {
        return Finding::ok(HOME, format!("{path}, created by the first run"));
    };
    let mode = metadata.mode() & 0o7777;
    let found = format!("{path}, mode {mode:04o}");
    match permission_problem(mode, metadata.uid() == geteuid().as_raw()) {
        None => Finding::ok(HOME, found),
        Some((error, remedy)) => Finding::warning(
            HOME,
            format!("{found}: {error}"),
            format!("{remedy} {}", quoted(&path.to_string())),
        ),
    }
}

/// Returns a problem and the command that fixes it. Others may read the directory, because the files in it are private
/// to their owner.
fn permission_problem(mode: u32, is_owner: bool) -> Option<(&'static str, &'static str)> {
    match (is_owner, mode & 0o022) {
        (false, _) => Some(("it is owned by another user", "chown -R \"$(id -u)\"")),
        (true, 0) => None,
        (true, _) => Some(("other users can write to it", "chmod go-w")),
    }
}

struct Disk {
    free: u64,
    is_out_of_files: bool,
    network: Option<&'static str>,
}

impl Disk {
    /// Returns the state of the disk, or `None` if the file system does not report it.
    fn new(dir: &WritableDir) -> Option<Disk> {
        let stat = statvfs(&dir.lowest).ok().filter(|stat| stat.f_blocks > 0)?;
        Some(Disk {
            free: stat.f_bavail.saturating_mul(stat.f_frsize),
            is_out_of_files: stat.f_files > 0 && stat.f_favail == 0,
            network: statfs(&dir.lowest).ok().as_ref().and_then(network),
        })
    }

    fn finding(self) -> Finding {
        let free = format!("{} free", bytes(self.free));
        match self {
            Disk { is_out_of_files: true, .. } => {
                Finding::problem(DISK, format!("{free}, but no inodes are left"), "delete files")
            }
            Disk { free: 0..FREE_BYTES_MIN, .. } => Finding::problem(DISK, free, FREE_SPACE),
            Disk { network: Some(name), .. } => {
                let found =
                    format!("{free}, on a network file system ({name}): file locks may not work there");
                Finding::warning(DISK, found, ELSEWHERE)
            }
            Disk { free: ..FREE_BYTES_LOW, .. } => Finding::warning(DISK, free, FREE_SPACE),
            Disk { network: None, .. } => Finding::ok(DISK, free),
        }
    }
}

fn network(stat: &StatFs) -> Option<&'static str> {
    // Magic numbers have 32 bits, whatever type the platform uses.
    let number = stat.f_type as u32;
    NETWORKS.iter().find(|(magic, _)| *magic == number).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::super::finding::Severity;
    use super::{Disk, permission_problem};

    #[test]
    fn checks_disks() {
        let check =
            |free: u64, is_out_of_files: bool, network: Option<&'static str>, expected: (Severity, &str)| {
                let finding = Disk { free, is_out_of_files, network }.finding();
                assert_eq!((finding.state, finding.detail.as_str()), expected);
            };
        check(5 << 30, false, None, (Severity::Ok, "5.0 GiB free"));
        check(500 << 20, false, None, (Severity::Warning, "500.0 MiB free"));
        check(0, false, None, (Severity::Problem, "0 B free"));
        check(15 << 20, false, Some("NFS"), (Severity::Problem, "15.0 MiB free"));
        check(5 << 30, true, None, (Severity::Problem, "5.0 GiB free, but no inodes are left"));
        let network = "5.0 GiB free, on a network file system (NFS): file locks may not work there";
        check(5 << 30, false, Some("NFS"), (Severity::Warning, network));
    }

    #[test]
    fn checks_permissions() {
        let check = |mode: u32, is_owner: bool, expected: Option<&str>| {
            let error = permission_problem(mode, is_owner).map(|(error, _)| error);
            assert_eq!(error, expected, "{mode:o}");
        };
        check(0o700, true, None);
        check(0o755, true, None);
        check(0o775, true, Some("other users can write to it"));
        check(0o1777, true, Some("other users can write to it"));
        check(0o700, false, Some("it is owned by another user"));
    }
}

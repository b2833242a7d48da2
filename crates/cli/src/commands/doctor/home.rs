//! Where runs are kept: whether it can be written, by whom, on what, and how much room there is.

use super::finding::Finding;
use super::writable_dir::WritableDir;
use crate::open_home;
use crate::output::phrases::bytes;
use longhaul::quoted;
use rustix::fs::{StatFs, statfs, statvfs};
use rustix::process::geteuid;
use std::fs;
use std::os::unix::fs::MetadataExt;

const HOME: &str = "home";
const DISK: &str = "disk";
const ELSEWHERE: &str = "set LONGHAUL_HOME to a directory on a local disk";

// A journal and a stream need little, but a disk so full is soon full.
const FREE_BYTES_MIN: u64 = 16 << 20;
// Whoever builds something fills this in no time, and a run breaks off on a full disk.
const FREE_BYTES_LOW: u64 = 1 << 30;

/// File systems behind a network, by what Linux calls them (`linux/magic.h`).
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

/// Looks at it and at its disk.
pub fn check() -> Vec<Finding> {
    let home = match open_home::locate() {
        Ok(home) => home,
        Err(failure) => {
            let remedy = failure.hint.unwrap_or_else(|| ELSEWHERE.to_owned());
            return vec![Finding::problem(HOME, failure.error, remedy)];
        }
    };
    let place = WritableDir::probe(home.path());
    let disk = Disk::new(&place);
    [Some(directory(&place)), disk.map(Disk::judge)].into_iter().flatten().collect()
}

fn directory(place: &WritableDir) -> Finding {
    // The runs' own directory may have another owner than the one around it.
    let inner = WritableDir::probe(&place.path.join("runs"));
    if let Some((found, remedy)) = place.problem().or_else(|| inner.problem()) {
        return Finding::problem(HOME, found, format!("{remedy}; or set LONGHAUL_HOME to another directory"));
    }
    let path = place.path.display();
    let Some(known) = fs::metadata(&place.path).ok().filter(|_| place.is_there()) else {
        return Finding::ok(HOME, format!("{path}, made by the first run"));
    };
    let rights = Permissions { mode: known.mode() & 0o7777, is_ours: known.uid() == geteuid().as_raw() };
    let found = format!("{path}, mode {:04o}", rights.mode);
    match rights.complaint() {
        None => Finding::ok(HOME, found),
        Some((error, remedy)) => Finding::warning(
            HOME,
            format!("{found}: {error}"),
            format!("{remedy} {}", quoted(&path.to_string())),
        ),
    }
}

/// Who may do what in it.
struct Permissions {
    mode: u32,
    is_ours: bool,
}

impl Permissions {
    /// What is wrong with it, and the command that mends it. What is in there is for its owner alone, whoever may read the
    /// directory itself.
    fn complaint(&self) -> Option<(&'static str, &'static str)> {
        match (self.is_ours, self.mode & 0o022) {
            (false, _) => Some(("it belongs to somebody else", "chown -R \"$(id -u)\"")),
            (true, 0) => None,
            (true, _) => Some(("others can put runs there", "chmod go-w")),
        }
    }
}

/// What it is kept on.
struct Disk {
    free: u64,
    /// None are left for new files.
    is_out_of_files: bool,
    network: Option<&'static str>,
}

impl Disk {
    /// Nothing where the file system does not tell.
    fn new(place: &WritableDir) -> Option<Disk> {
        let found = statvfs(&place.lowest).ok().filter(|found| found.f_blocks > 0)?;
        Some(Disk {
            free: found.f_bavail.saturating_mul(found.f_frsize),
            is_out_of_files: found.f_files > 0 && found.f_favail == 0,
            network: statfs(&place.lowest).ok().as_ref().and_then(network),
        })
    }

    fn judge(self) -> Finding {
        let free = format!("{} free", bytes(self.free));
        match self {
            Disk { is_out_of_files: true, .. } => {
                Finding::problem(DISK, format!("{free}, but no file more can be made"), "delete files")
            }
            Disk { free: 0..FREE_BYTES_MIN, .. } => Finding::problem(DISK, free, "make room"),
            Disk { network: Some(name), .. } => {
                let found = format!("{free}, on a network file system ({name}): locks may not hold there");
                Finding::warning(DISK, found, ELSEWHERE)
            }
            Disk { free: ..FREE_BYTES_LOW, .. } => Finding::warning(DISK, free, "make room"),
            Disk { network: None, .. } => Finding::ok(DISK, free),
        }
    }
}

/// The network file system that this is, if it is one.
fn network(found: &StatFs) -> Option<&'static str> {
    // Their numbers have 32 bits, whatever type a platform keeps them in.
    let number = found.f_type as u32;
    NETWORKS.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::super::finding::Severity;
    use super::{Disk, Permissions};

    #[test]
    fn disks() {
        let check =
            |free: u64, is_out_of_files: bool, network: Option<&'static str>, expected: (Severity, &str)| {
                let finding = Disk { free, is_out_of_files, network }.judge();
                assert_eq!((finding.state, finding.detail.as_str()), expected);
            };
        check(5 << 30, false, None, (Severity::Ok, "5.0 GiB free"));
        check(500 << 20, false, None, (Severity::Warning, "500.0 MiB free"));
        check(0, false, None, (Severity::Problem, "0 B free"));
        check(15 << 20, false, Some("NFS"), (Severity::Problem, "15.0 MiB free"));
        check(5 << 30, true, None, (Severity::Problem, "5.0 GiB free, but no file more can be made"));
        let network = "5.0 GiB free, on a network file system (NFS): locks may not hold there";
        check(5 << 30, false, Some("NFS"), (Severity::Warning, network));
    }

    #[test]
    fn rights() {
        let check = |mode: u32, is_ours: bool, expected: Option<&str>| {
            let error = Permissions { mode, is_ours }.complaint().map(|(error, _)| error);
            assert_eq!(error, expected, "{mode:o}");
        };
        check(0o700, true, None);
        check(0o755, true, None);
        check(0o775, true, Some("others can put runs there"));
        check(0o1777, true, Some("others can put runs there"));
        check(0o700, false, Some("it belongs to somebody else"));
    }
}

//! Checks the system features that runs rely on.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub use linux::check;

/// Warns that no such feature was ever tested here.
#[cfg(not(target_os = "linux"))]
pub fn check() -> Vec<super::finding::Finding> {
    let found = "Longhaul was built for this system, but never tested on it; it finds a run's processes without their \
                 environment";
    let remedy = "after a crash, check for leftover processes with `ps`";
    vec![super::finding::Finding::warning("processes", found, remedy)]
}

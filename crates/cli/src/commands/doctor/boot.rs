//! Checks that the service that recovers runs at boot has the agents' variables. It reads no values.

use super::finding::Finding;
use crate::commands::recover::env_file::{EnvFile, needed};
use crate::commands::recover::{is_enabled, is_installed};
use crate::open_home;

const BOOT: &str = "recovery_at_boot";

/// Returns the finding, or `None` if the service is not installed. Another check reports a home that cannot be read.
pub fn check() -> Option<Finding> {
    let path = EnvFile::path().filter(|_| is_installed())?;
    let needed = open_home::locate().ok().and_then(|home| needed(&home).ok())?;
    if !is_enabled() {
        let found = "the service is installed, but not enabled";
        return Some(Finding::warning(BOOT, found, "enable it: longhaul recover --install"));
    }
    let shown = path.display().to_string();
    let file = match EnvFile::read(path) {
        Ok(file) => file,
        Err(error) => {
            return Some(Finding::warning(
                BOOT,
                format!("cannot read {shown}: {error}"),
                "check its owner and permissions",
            ));
        }
    };
    if let Some(command) = file.protect() {
        return Some(Finding::warning(BOOT, format!("other users can read {shown}"), command));
    }
    let missing = file.missing(&needed);
    Some(if missing.is_empty() {
        Finding::ok(BOOT, format!("reads the agent's variables from {shown}"))
    } else {
        let found = format!(
            "{shown} does not set {}: runs that need them do not recover or notify",
            missing.join(", ")
        );
        Finding::warning(BOOT, found, "the commands that set it: longhaul recover --install")
    })
}

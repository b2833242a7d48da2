//! The service that is started at boot, in the format of each system.
//!
//! Produces text only and never installs anything. All formats are available on every system.

mod launchd;
mod systemd;

use crate::failure::Failure;
use std::ffi::OsStr;

pub use launchd::{LABEL, launchd_text};
pub use systemd::systemd_text;

/// Marks files that Longhaul wrote: only those are replaced or removed. It contains no double hyphen, which
/// would end an XML comment.
pub const MARK: &str = "Written by longhaul, which replaces and removes it as a whole.";

/// The program to start, with its arguments and environment.
#[derive(Debug)]
pub struct Unit {
    program: String,
    args: Vec<String>,
    env: Vec<(&'static str, String)>,
    /// The file with the agent's variables. They may be secret, so their values are not in the unit.
    env_file: String,
}

impl Unit {
    /// Creates a unit. Both paths must be absolute.
    pub fn new(program: &OsStr, args: Vec<String>, env_file: &OsStr) -> Result<Unit, Failure> {
        let description = "the path of longhaul";
        let program = plain(description, program)?;
        if systemd::needs_env(&program) && program.contains('=') {
            return Err(unencodable(description));
        }
        let env_file = plain("the path of the file with the agent's variables", env_file)?;
        Ok(Unit { program, args, env: Vec::new(), env_file })
    }

    /// Adds a variable whose value is not secret.
    pub fn with_env(mut self, name: &'static str, value: &OsStr) -> Result<Unit, Failure> {
        self.env.push((name, plain(name, value)?));
        Ok(self)
    }
}

/// Rejects text that is not UTF-8 or has control characters. Unit files cannot contain the former, XML cannot
/// contain the latter.
fn plain(description: &str, text: &OsStr) -> Result<String, Failure> {
    let text = text.to_str().filter(|text| !text.contains(char::is_control));
    text.map(str::to_owned).ok_or_else(|| unencodable(description))
}

fn unencodable(description: &str) -> Failure {
    let error = format!("cannot write a service: {description} has characters that its file cannot contain");
    Failure::not_started(error, "use names that consist of plain text")
}

#[cfg(test)]
mod tests;

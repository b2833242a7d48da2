//! What is started at boot, and how each system wants it written. Text only: nothing here is installed,
//! and the forms of all systems are made on any of them.

mod launchd;
mod systemd;

use std::ffi::OsStr;

pub use launchd::LABEL;

/// Files with these words are ours: only they are replaced or removed. No two hyphens, which end a comment
/// of XML.
pub const MARK: &str = "Written by longhaul, which replaces and removes it as a whole.";

/// The program that a system starts, with its arguments and what it would not find in its environment.
#[derive(Debug)]
pub struct Unit {
    program: String,
    args: Vec<String>,
    env: Vec<(&'static str, String)>,
    /// The file with the agent's variables. It has secrets in it, so that their values are not in the unit.
    env_file: String,
}

/// Something that no unit file can hold: what it is for.
#[derive(Debug, PartialEq, Eq)]
pub struct UnencodableValue(pub &'static str);

impl Unit {
    /// The program and the file with the agent's variables, each by its absolute path.
    pub fn new(program: &OsStr, args: Vec<String>, env_file: &OsStr) -> Result<Unit, UnencodableValue> {
        let what = "the path of longhaul";
        let program = plain(what, program)?;
        if systemd::needs_env(&program) && program.contains('=') {
            return Err(UnencodableValue(what));
        }
        let env_file = plain("the path of the file with the agent's variables", env_file)?;
        Ok(Unit { program, args, env: Vec::new(), env_file })
    }

    /// With this variable, whose value everybody may know.
    pub fn with_env(mut self, name: &'static str, value: &OsStr) -> Result<Unit, UnencodableValue> {
        self.env.push((name, plain(name, value)?));
        Ok(self)
    }

    /// As a systemd unit file (240 or newer).
    pub fn systemd(&self) -> String {
        systemd::text(self)
    }

    /// As a launchd property list.
    pub fn launchd(&self) -> String {
        launchd::text(self)
    }
}

/// Neither system's files can hold bytes that are no text, and XML no control characters either.
fn plain(what: &'static str, text: &OsStr) -> Result<String, UnencodableValue> {
    let text = text.to_str().filter(|text| !text.contains(char::is_control));
    text.map(str::to_owned).ok_or(UnencodableValue(what))
}

#[cfg(test)]
mod tests;

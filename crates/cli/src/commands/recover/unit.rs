//! The service that is started at boot, as a unit of systemd's user manager.
//!
//! Produces text only and never installs anything.

use std::ffi::OsStr;

/// Marks files that Longhaul wrote: only those are replaced or removed.
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

/// A value that cannot be written to a unit file, by its description.
#[derive(Debug, PartialEq, Eq)]
pub struct UnencodableValue(pub &'static str);

impl Unit {
    /// Creates a unit. Both paths must be absolute.
    pub fn new(program: &OsStr, args: Vec<String>, env_file: &OsStr) -> Result<Unit, UnencodableValue> {
        let description = "the path of longhaul";
        let program = plain(description, program)?;
        if needs_env(&program) && program.contains('=') {
            return Err(UnencodableValue(description));
        }
        let env_file = plain("the path of the file with the agent's variables", env_file)?;
        Ok(Unit { program, args, env: Vec::new(), env_file })
    }

    /// Adds a variable whose value is not secret.
    pub fn with_env(mut self, name: &'static str, value: &OsStr) -> Result<Unit, UnencodableValue> {
        self.env.push((name, plain(name, value)?));
        Ok(self)
    }

    /// Renders the unit file, for systemd 240 or newer.
    pub fn text(&self) -> String {
        let env_program = if needs_env(&self.program) { "/usr/bin/env " } else { "" };
        let words = [&self.program].into_iter().chain(&self.args);
        let command = words.map(|word| argument(word)).collect::<Vec<_>>().join(" ");
        let env: String = self
            .env
            .iter()
            .map(|(name, value)| format!("Environment={}\n", quoted(&format!("{name}={value}"))))
            .collect();
        // This setting takes a path without quotes.
        let env_file = self.env_file.replace('%', "%%");
        format!(
            "# {MARK}
[Unit]
Description=Longhaul: recover runs whose supervisor died
# A supervisor that keeps dying needs a person.
StartLimitIntervalSec=600
StartLimitBurst=5

[Service]
# The unit is active immediately, and lasts as long as the runs.
Type=exec
ExecStart={env_program}{command}
# A supervisor that was killed is restarted. One that reported its outcomes has done its work.
Restart=on-abnormal
RestartSec=10
# Agents outlive their supervisor, and the next one adopts them.
KillMode=process
# The default signal, SIGTERM, suspends the runs: after a shutdown they continue at the next boot.
# If a tool takes too much memory, the agent and its supervisor handle it.
OOMPolicy=continue
# Agents write private output into the directories of their runs.
StandardOutput=null
{env}# The agent's variables, which may be secret. The user writes this file.
EnvironmentFile=-{env_file}

[Install]
WantedBy=default.target
"
        )
    }
}

/// Rejects text that is not UTF-8 or has control characters, which a unit file cannot contain.
fn plain(description: &'static str, text: &OsStr) -> Result<String, UnencodableValue> {
    let text = text.to_str().filter(|text| !text.contains(char::is_control));
    text.map(str::to_owned).ok_or(UnencodableValue(description))
}

/// Returns whether systemd (252) rejects a program of this name. Such a program is started by `env`, which
/// accepts any name without `=`.
fn needs_env(program: &str) -> bool {
    program.contains(['"', '\'', '\\', '*', '?', '[', '$'])
}

/// Encodes a word of a command. `$` starts a variable there.
fn argument(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        quoted(&word.replace('$', "$$"))
    }
}

/// Quotes a text. `%` starts a specifier everywhere.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\"").replace('%', "%%"))
}

#[cfg(test)]
mod tests;

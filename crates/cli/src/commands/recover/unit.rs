//! The service that is started at boot, in the format of each system.
//!
//! Produces text only and never installs anything. All formats are available on every system.

use crate::failure::Failure;
use std::ffi::OsStr;

/// Name of the launchd agent and of its file.
pub const LABEL: &str = "longhaul.recover";
/// Marks files that Longhaul wrote: only those are replaced or removed. It contains no double hyphen, which
/// would end an XML comment.
pub const MARK: &str = "Written by longhaul, which replaces and removes it as a whole.";

/// Reads variables from the file in the first argument, if it exists, and executes the remaining arguments.
const READ_AND_START: &str = r#"set -a; [ ! -r "$0" ] || . "$0"; exec "$@""#;

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
        if needs_env(&program) && program.contains('=') {
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

/// Renders a unit of systemd's user manager, for version 240 or newer.
pub fn systemd_text(unit: &Unit) -> String {
    let env_program = if needs_env(&unit.program) { "/usr/bin/env " } else { "" };
    let words = [&unit.program].into_iter().chain(&unit.args);
    let command = words.map(|word| systemd_word(word)).collect::<Vec<_>>().join(" ");
    let env: String = unit
        .env
        .iter()
        .map(|(name, value)| format!("Environment={}\n", systemd_quoted(&format!("{name}={value}"))))
        .collect();
    // This setting takes a path without quotes.
    let env_file = unit.env_file.replace('%', "%%");
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

/// Returns whether systemd (252) rejects a program of this name. Such a program is started by `env`, which
/// accepts any name without `=`.
fn needs_env(program: &str) -> bool {
    program.contains(['"', '\'', '\\', '*', '?', '[', '$'])
}

/// Encodes a word of a command. `$` starts a variable there.
fn systemd_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        systemd_quoted(&word.replace('$', "$$"))
    }
}

/// Quotes a text. `%` starts a specifier everywhere.
fn systemd_quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\"").replace('%', "%%"))
}

/// Renders a launchd agent: a property list in `~/Library/LaunchAgents`.
pub fn launchd_text(unit: &Unit) -> String {
    // launchd cannot read a file of variables; a shell can.
    let shell = ["/bin/sh", "-c", READ_AND_START, &unit.env_file, &unit.program];
    let words = shell.into_iter().chain(unit.args.iter().map(String::as_str));
    let words: String = words.map(|word| format!("    <string>{}</string>\n", xml_escaped(word))).collect();
    let env: String = unit
        .env
        .iter()
        .map(|(name, value)| format!("    <key>{name}</key>\n    <string>{}</string>\n", xml_escaped(value)))
        .collect();
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- {MARK} -->
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>{LABEL}</string>
  <key>ProgramArguments</key>
  <array>
{words}  </array>
  <key>EnvironmentVariables</key>
  <dict>
{env}  </dict>
  <key>RunAtLoad</key>
  <true/>
  <!-- A supervisor that crashed is restarted; one that reported its outcomes is not. -->
  <key>KeepAlive</key>
  <dict>
    <key>Crashed</key>
    <true/>
  </dict>
  <!-- Agents outlive their supervisor, and the next one adopts them. -->
  <key>AbandonProcessGroup</key>
  <true/>
</dict>
</plist>
"#
    )
}

fn xml_escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests;

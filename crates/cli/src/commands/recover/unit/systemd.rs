//! A unit of systemd's user manager.

use super::{MARK, Unit};

/// Renders a unit file for version 240 or newer.
pub fn systemd_text(unit: &Unit) -> String {
    let env_program = if needs_env(&unit.program) { "/usr/bin/env " } else { "" };
    let words = [&unit.program].into_iter().chain(&unit.args);
    let command = words.map(|word| argument(word)).collect::<Vec<_>>().join(" ");
    let env: String = unit
        .env
        .iter()
        .map(|(name, value)| format!("Environment={}\n", quoted(&format!("{name}={value}"))))
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
pub(super) fn needs_env(program: &str) -> bool {
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

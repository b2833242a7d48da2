//! A launchd agent: a property list in `~/Library/LaunchAgents`.

use super::{MARK, Unit};

/// Reads variables from the file in the first argument, if it exists, and executes the remaining arguments.
const READ_AND_START: &str = r#"set -a; [ ! -r "$0" ] || . "$0"; exec "$@""#;

/// Name of the launchd agent and of its file.
pub const LABEL: &str = "longhaul.recover";

pub fn launchd_text(unit: &Unit) -> String {
    // launchd cannot read a file of variables; a shell can.
    let shell = ["/bin/sh", "-c", READ_AND_START, &unit.env_file, &unit.program];
    let words = shell.into_iter().chain(unit.args.iter().map(String::as_str));
    let words: String = words.map(|word| format!("    <string>{}</string>\n", escaped(word))).collect();
    let env: String = unit
        .env
        .iter()
        .map(|(name, value)| format!("    <key>{name}</key>\n    <string>{}</string>\n", escaped(value)))
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

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

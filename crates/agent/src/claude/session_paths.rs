//! The location of the agent's sessions, below its configuration directory (`$CLAUDE_CONFIG_DIR`, else
//! `~/.claude`). Never accesses a file.

use super::session_file::SessionDocument;
use longhaul_core::SessionId;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const PROJECTS_DIR: &str = "projects";
// Since 2.1.330 at the latest.
const SUB_AGENTS_DIR: &str = "subagents";
// Longer names are truncated and made unique by a hash.
const NAME_CHARS_MAX: usize = 200;

/// How an agent stores its sessions: one file each, in directories below its configuration directory.
#[derive(Clone, Copy, Debug)]
pub struct SessionLayout;

impl SessionLayout {
    /// Returns the configuration directory of an agent that is started with these variables.
    pub fn config_dir(&self, variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
        let configured = variable("CLAUDE_CONFIG_DIR").filter(|dir| !dir.is_empty()).map(PathBuf::from);
        configured.or_else(|| self.default_config_dir(variable))
    }

    /// Returns the configuration directory that an agent uses if no variable names another one.
    pub fn default_config_dir(&self, variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
        variable("HOME").map(|home| PathBuf::from(home).join(".claude"))
    }

    /// Returns the path, below the configuration directory, of the directory that holds all session
    /// directories.
    pub fn projects_dir(&self) -> &'static Path {
        Path::new(PROJECTS_DIR)
    }

    /// Returns the path, below the configuration directory, where an agent working in `cwd` looks for the
    /// file of this session. `cwd` must be a canonical path.
    pub fn file(&self, cwd: &Path, session: &SessionId) -> PathBuf {
        session_file(cwd, session.as_str())
    }

    /// Returns the path, below the configuration directory, of the directory that holds a file of each sub-agent of
    /// this session.
    pub fn sub_agents_dir(&self, cwd: &Path, session: &SessionId) -> PathBuf {
        self.file(cwd, session).with_extension("").join(SUB_AGENTS_DIR)
    }

    /// Parses the bytes of a session file.
    pub fn parse(&self, bytes: Vec<u8>) -> SessionDocument {
        SessionDocument::parse(bytes)
    }
}

/// Returns the file of a session that started in `cwd`, which must be a canonical path.
pub fn session_file(cwd: &Path, session: &str) -> PathBuf {
    Path::new(PROJECTS_DIR).join(encode(&cwd.to_string_lossy())).join(format!("{session}.jsonl"))
}

/// Encodes a path as a directory name: all characters except ASCII letters and digits become dashes.
fn encode(path: &str) -> String {
    // The agent counts UTF-16 units, as JavaScript does.
    let dashed: String = path
        .encode_utf16()
        .map(|unit| match u8::try_from(unit) {
            Ok(letter) if letter.is_ascii_alphanumeric() => char::from(letter),
            Ok(_) | Err(_) => '-',
        })
        .collect();
    if dashed.len() <= NAME_CHARS_MAX {
        return dashed;
    }
    let hash =
        path.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
    format!("{}-{}", &dashed[..NAME_CHARS_MAX], base36(hash.unsigned_abs()))
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(number % 36, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{base36, encode, session_file};
    use std::path::Path;

    #[test]
    fn encodes_directory_names() {
        let check = |path: &str, name: &str| assert_eq!(encode(path), name);
        check("/demo", "-demo");
        check("/home/a b/x.y_z@!#$%", "-home-a-b-x-y-z-----");
        check("/höme/日本", "-h-me---");
        check(&format!("/{}", "a".repeat(199)), &format!("-{}", "a".repeat(199)));
        // Recorded from the agent, for a path with characters of two UTF-16 units.
        let long = format!("/tmp/encsbuwlse0/{}/{}é😀", "l".repeat(120), "m".repeat(120));
        check(&long, &format!("-tmp-encsbuwlse0-{}-{}-v0vvee", "l".repeat(120), "m".repeat(62)));
        check("/emoji😀x", "-emoji--x");
        assert_eq!(base36(0), "0");
        assert_eq!(base36(u32::MAX), "1z141z3");
    }

    #[test]
    fn returns_session_files() {
        let file = session_file(Path::new("/demo"), "54f67155");
        assert_eq!(file, Path::new("projects/-demo/54f67155.jsonl"));
    }
}

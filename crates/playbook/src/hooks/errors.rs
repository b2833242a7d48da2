//! Logs errors of hooks. Hooks never fail, because a failing hook would block the agent; the user sees the
//! errors in `playbook status`.

use crate::LearningPaths;
use crate::paths::create_private_dir;
use longhaul_core::Moment;
use longhaul_store::{Durability, read_regular, read_regular_to_string, replace, rfc3339};
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;

// Some thousand lines, more than anyone reads.
const BYTES_MAX: u64 = 256 << 10;
const BYTES_RETAINED: usize = 64 << 10;
// Texts from the agent are cut to this length.
const DESCRIPTION_CHARS_MAX: usize = 1000;

/// An error of a hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HookError {
    /// When it happened, like `2026-11-23T00:30:00.123Z`.
    pub at: String,
    /// Event of the agent.
    pub event: String,
    /// Description of the error.
    pub description: String,
}

/// Logs an error. If the file exceeds its limit, the oldest lines are removed.
pub fn log_error(paths: &LearningPaths, at: Moment, event: &str, description: &str) -> io::Result<()> {
    let description = description.chars().take(DESCRIPTION_CHARS_MAX).collect();
    let error = HookError { at: rfc3339(at), event: event.to_owned(), description };
    let line = serde_json::to_string(&error)? + "\n";
    create_private_dir(paths.dir())?;
    let path = paths.hook_errors();
    if fs::metadata(&path).is_ok_and(|metadata| metadata.len() > BYTES_MAX) {
        let text = read_regular(&path)?;
        let start = text.len().saturating_sub(BYTES_RETAINED);
        let first_line = text[start..]
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(text.len(), |index| start + index + 1);
        replace(&path, &text[first_line..], Durability::Process).map_err(io::Error::other)?;
    }
    OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?.write_all(line.as_bytes())
}

/// Returns the logged errors, oldest first. Invalid lines are skipped.
pub fn logged_errors(paths: &LearningPaths) -> Vec<HookError> {
    let text = read_regular_to_string(&paths.hook_errors()).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_errors_up_to_limit() {
        let (_home, paths) = LearningPaths::temporary();
        assert_eq!(logged_errors(&paths), []);
        log_error(&paths, Moment(0), "SessionEnd", "no\nroom").expect("it can be written");
        OpenOptions::new()
            .append(true)
            .open(paths.hook_errors())
            .and_then(|mut file| file.write_all(b"garbage\n"))
            .expect("it can be written");
        let expected = HookError {
            at: "1970-01-01T00:00:00.000Z".to_owned(),
            event: "SessionEnd".to_owned(),
            description: "no\nroom".to_owned(),
        };
        assert_eq!(logged_errors(&paths), [expected]);
        for at in 0..400 {
            log_error(&paths, Moment(at), "PreCompact", &"é".repeat(2000)).expect("it can be written");
        }
        let errors = logged_errors(&paths);
        assert!(fs::metadata(paths.hook_errors()).expect("it is there").len() < BYTES_MAX + 4096);
        assert_eq!(errors.last().map(|last| last.at.as_str()), Some("1970-01-01T00:00:00.399Z"));
        assert!(
            errors
                .iter()
                .all(|error| error.event == "PreCompact" && error.description.chars().count() == 1000)
        );
    }
}

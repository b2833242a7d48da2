//! What hooks could not do. They never fail, for their agent's sake; a person finds it in `playbook status`.

use crate::LearningPaths;
use longhaul_core::Moment;
use longhaul_store::{Durability, replace, rfc3339};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};

// Some thousand lines: whoever has more of them has read enough.
const BYTES_MAX: u64 = 256 << 10;
const BYTES_KEPT: usize = 64 << 10;
// A word of the agent's that is too long is as clear when it is cut.
const WHAT_CHARS_MAX: usize = 1000;

/// Something that a hook could not do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HookError {
    /// When, as `2026-11-23T00:30:00.123Z`.
    pub at: String,
    /// At which event of the agent.
    pub event: String,
    /// What happened.
    pub description: String,
}

/// Puts it down. The file has a limit: its oldest lines go.
///
/// # Errors
/// What the system says; nothing more can be done about it.
pub fn note(place: &LearningPaths, at: Moment, event: &str, what: &str) -> io::Result<()> {
    let what = what.chars().take(WHAT_CHARS_MAX).collect();
    let trouble = HookError { at: rfc3339(at), event: event.to_owned(), description: what };
    let line = serde_json::to_string(&trouble)? + "\n";
    DirBuilder::new().mode(0o700).recursive(true).create(place.dir())?;
    let path = place.hook_errors();
    if fs::metadata(&path).is_ok_and(|found| found.len() > BYTES_MAX) {
        let text = fs::read(&path)?;
        let begin = text.len().saturating_sub(BYTES_KEPT);
        let whole =
            text[begin..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |at| begin + at + 1);
        replace(&path, &text[whole..], Durability::Process).map_err(io::Error::other)?;
    }
    OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?.write_all(line.as_bytes())
}

/// What was put down, the oldest first. A line that cannot be understood is passed over.
pub fn troubles(place: &LearningPaths) -> Vec<HookError> {
    let text = fs::read_to_string(place.hook_errors()).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_down_is_found_again_and_has_a_limit() {
        let home = tempfile::tempdir().expect("there is a temporary folder");
        let place = LearningPaths::in_home(home.path());
        assert_eq!(troubles(&place), []);
        note(&place, Moment(0), "SessionEnd", "no\nroom").expect("it can be written");
        OpenOptions::new()
            .append(true)
            .open(place.hook_errors())
            .and_then(|mut file| file.write_all(b"garbage\n"))
            .expect("it can be written");
        let told = HookError {
            at: "1970-01-01T00:00:00.000Z".to_owned(),
            event: "SessionEnd".to_owned(),
            description: "no\nroom".to_owned(),
        };
        assert_eq!(troubles(&place), [told]);
        for at in 0..400 {
            note(&place, Moment(at), "PreCompact", &"é".repeat(2000)).expect("it can be written");
        }
        let kept = troubles(&place);
        assert!(fs::metadata(place.hook_errors()).expect("it is there").len() < BYTES_MAX + 4096);
        assert_eq!(kept.last().map(|last| last.at.as_str()), Some("1970-01-01T00:00:00.399Z"));
        assert!(
            kept.iter()
                .all(|trouble| trouble.event == "PreCompact" && trouble.description.chars().count() == 1000)
        );
    }
}

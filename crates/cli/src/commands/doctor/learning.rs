//! Checks that the judge of the installed playbook hooks can be asked. It asks nothing.

use super::finding::Finding;
use crate::api_judge::unusable_reason;
use crate::commands::playbook::settings::installed;
use std::fs;

const LEARNING: &str = "learning";

/// Returns the finding, or `None` if no hooks are installed.
pub fn check() -> Option<Finding> {
    let file = installed().into_iter().next()?;
    // The flag that `playbook install` writes. That judge uses the agent's login, which has a check of its own.
    let uses_claude = fs::read_to_string(&file).is_ok_and(|text| text.contains("--judge claude"));
    let reason = unusable_reason().filter(|_| !uses_claude);
    Some(match reason {
        None => Finding::ok(LEARNING, format!("hooks installed in {}", file.display())),
        Some(reason) => {
            let remedy = "set it, or: longhaul playbook install --judge claude";
            Finding::warning(LEARNING, format!("sessions cannot be judged: {reason}"), remedy)
        }
    })
}

//! Checks the learning database, and that the judge of the installed playbook hooks can be asked. It asks nothing.

use super::finding::Finding;
use crate::api_judge::unusable_reason;
use crate::commands::playbook::settings::installed;
use crate::open_home;
use longhaul_playbook::{LearningDb, LearningPaths};
use longhaul_store::{DatabaseError, read_regular_to_string};

const LEARNING: &str = "learning";

/// Returns the finding, or `None` if no hooks are installed and the database is intact.
pub fn check() -> Option<Finding> {
    let home = open_home::locate().ok()?;
    if let Err(error) = LearningDb::check(&LearningPaths::in_home(home.path())) {
        let remedy = match &error {
            // It moves the database aside.
            DatabaseError::Damaged { .. } => "longhaul playbook status",
            DatabaseError::Locked(_) | DatabaseError::Newer(_) | DatabaseError::Refused { .. } => {
                error.hint()
            }
        };
        return Some(Finding::problem(LEARNING, error.to_string(), remedy));
    }
    let (files, unreadable) = installed();
    if let Some(error) = unreadable {
        return Some(Finding::warning(LEARNING, error.message, error.hint));
    }
    let file = files.into_iter().next()?;
    // The flag that `playbook install` writes. That judge uses the agent's login, which has a check of its own.
    let uses_claude = read_regular_to_string(&file).is_ok_and(|text| text.contains("--judge claude"));
    let reason = unusable_reason().filter(|_| !uses_claude);
    Some(match reason {
        None => Finding::ok(LEARNING, format!("hooks installed in {}", file.display())),
        Some(reason) => {
            let remedy = "set it, or: longhaul playbook install --judge claude";
            Finding::warning(LEARNING, format!("sessions cannot be judged: {reason}"), remedy)
        }
    })
}

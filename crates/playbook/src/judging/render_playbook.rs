//! Renders a playbook for judges, in the same format as for sessions: one point per line by section, with its
//! counters.

use super::reflection::Reflection;
use crate::Playbook;
use crate::points::render_points;

/// Text for an empty playbook, because a model may take an empty space for an error.
const NO_POINTS: &str = "(there are no points yet)";

/// Renders the points of a playbook. No point can close the tag around it.
pub(super) fn points(playbook: &Playbook) -> String {
    let points: Vec<_> = playbook.points().collect();
    if points.is_empty() {
        NO_POINTS.to_owned()
    } else {
        render_points(&points, 0).replace("</playbook>", "< /playbook>")
    }
}

pub(super) fn with_updated_counters(playbook: &Playbook, reflection: &Reflection) -> Playbook {
    let mut counted = playbook.clone();
    for tag in &reflection.tags {
        counted.count(&tag.name, tag.tag);
    }
    counted
}

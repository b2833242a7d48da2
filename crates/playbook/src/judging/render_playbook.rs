//! A playbook as judges are shown it: as sessions are, a point a line by section, with its counters.

use super::reflection::Reflection;
use crate::Playbook;
use crate::points::render_points;

/// What stands where there are no points: an empty space may be taken for an oversight.
const NO_POINTS: &str = "(there are no points yet)";

/// The points of a playbook. None of them closes the tag that they stand in.
pub(super) fn points(playbook: &Playbook) -> String {
    let points: Vec<_> = playbook.points().collect();
    if points.is_empty() {
        NO_POINTS.to_owned()
    } else {
        render_points(&points, 0).replace("</playbook>", "< /playbook>")
    }
}

/// The playbook with its counters as they will be after this.
pub(super) fn counted(playbook: &Playbook, reflection: &Reflection) -> Playbook {
    let mut counted = playbook.clone();
    for tag in &reflection.tags {
        counted.count(&tag.name, tag.tag);
    }
    counted
}

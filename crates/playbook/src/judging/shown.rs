//! A playbook as judges are shown it: a point a line, by section, with its counters.

use super::reflection::{Reflection, Verdict};
use crate::{Playbook, Section};

/// What stands where there are no points: an empty space may be taken for an oversight.
const NO_POINTS: &str = "(there are no points yet)";

/// The points of a playbook.
pub(super) fn points(playbook: &Playbook) -> String {
    let sections = Section::ALL.iter().filter(|section| !playbook.section(**section).is_empty());
    let blocks = sections.map(|section| {
        let points = playbook.section(*section).iter().map(|point| {
            let (name, text) = (&point.name, point.text.split_whitespace().collect::<Vec<_>>().join(" "));
            format!("[{name}] helpful={} harmful={} :: {text}", point.helpful, point.harmful)
        });
        format!("## {section}\n{}", points.collect::<Vec<_>>().join("\n"))
    });
    let blocks: Vec<String> = blocks.collect();
    if blocks.is_empty() { NO_POINTS.to_owned() } else { blocks.join("\n\n") }
}

/// The playbook with its counters as they will be after this.
pub(super) fn counted(playbook: &Playbook, reflection: &Reflection) -> Playbook {
    let mut counted = playbook.clone();
    for point in Section::ALL.iter().flat_map(|section| playbook.section(*section)) {
        let verdicts = reflection.tags.iter().filter(|tag| tag.name == point.name).map(|tag| tag.tag);
        let (mut helpful, mut harmful) = (point.helpful, point.harmful);
        for verdict in verdicts {
            match verdict {
                Verdict::Helpful => helpful = helpful.saturating_add(1),
                Verdict::Harmful => harmful = harmful.saturating_add(1),
                Verdict::Neutral => {}
            }
        }
        for section in Section::ALL {
            for counted in counted.section_mut(*section).iter_mut().filter(|other| other.name == point.name) {
                (counted.helpful, counted.harmful) = (helpful, harmful);
            }
        }
    }
    counted
}

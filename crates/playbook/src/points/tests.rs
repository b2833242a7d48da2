mod applying;
mod duplicates;
mod injecting;
mod reading;

use crate::{Playbook, Section};

/// Parses a playbook with one point per line, `mis-001 2/1 text`, below the title of its section.
pub(super) fn playbook(text: &str) -> Playbook {
    let mut playbook = Playbook::default();
    let mut section = Section::Others;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(title) = line.strip_prefix("## ") {
            section = Section::from_title(title).expect("a section");
            continue;
        }
        let mut words = line.splitn(3, ' ');
        let mut word = || words.next().unwrap_or_default();
        let mut point = crate::Point::new(word().into(), "");
        let (helpful, harmful) = word().split_once('/').unwrap_or_default();
        point.helpful = helpful.parse().unwrap_or_default();
        point.harmful = harmful.parse().unwrap_or_default();
        point.text = word().to_owned();
        playbook.section_mut(section).push(point);
    }
    playbook
}

/// Renders a playbook in the same format.
pub(super) fn to_text(playbook: &Playbook) -> String {
    let mut text = String::new();
    for section in Section::ALL.iter().filter(|section| !playbook.section(**section).is_empty()) {
        text += &format!("## {section}\n");
        for point in playbook.section(*section) {
            text += &format!("{} {}/{} {}\n", point.name, point.helpful, point.harmful, point.text);
        }
    }
    text
}

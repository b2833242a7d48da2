//! Finds the points that an agent cites in brackets: `[pat-001]`, or `[kpt_001]` of old playbooks.

use crate::{PointId, Section};

/// Adds the points that a text cites, without duplicates.
pub(super) fn collect(text: &str, cited: &mut Vec<PointId>) {
    for (index, _) in text.match_indices('[') {
        let inside = text[index + 1..].split_once(']').map(|(inside, _)| inside);
        if let Some(name) = inside.filter(|name| is_name(name)).map(PointId::from)
            && !cited.contains(&name)
        {
            cited.push(name);
        }
    }
}

fn is_name(name: &str) -> bool {
    let number = match name.split_once('-') {
        Some((slug, number)) if Section::ALL.iter().any(|section| section.slug() == slug) => Some(number),
        Some(_) => None,
        None => name.strip_prefix("kpt_"),
    };
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

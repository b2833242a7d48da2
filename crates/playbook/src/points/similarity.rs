//! Points that say the same in other words: found by how alike their texts are, and joined into the first of them. Joining
//! two that differ loses one of them for good; two that stay apart cost a line. So whatever is in doubt stays apart.

mod word_overlap;
mod words;

pub use word_overlap::WordOverlap;
pub(super) use words::terms;

use super::AppliedChange;
use super::apply::absorb;
use crate::{Playbook, Point, Section};

/// How alike two texts must be to be one, unless the user says otherwise.
pub const THRESHOLD: f64 = 0.85;

/// A measure of how alike texts are. [`Wording`] goes by their words alone; one by embeddings can stand in its place.
pub trait Similarity {
    /// How alike two texts are: from 0, nothing in common, to 1, the same.
    fn similarity(&self, a: &str, b: &str) -> f64;

    /// The pairs of these texts that are at least so alike, by their places, the first below the second. A measure that
    /// prepares each text once, or knows which pairs cannot be alike, has a faster way than this.
    fn pairs(&self, texts: &[&str], threshold: f64) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        for (a, text) in texts.iter().enumerate() {
            for (b, other) in texts.iter().enumerate().skip(a + 1) {
                if self.similarity(text, other) >= threshold {
                    pairs.push((a, b));
                }
            }
        }
        pairs
    }
}

/// The threshold that a variable asks for, between 0 and 1, and what is wrong with it.
pub fn threshold(asked: Option<&str>) -> (f64, Option<String>) {
    let Some(asked) = asked.map(str::trim).filter(|asked| !asked.is_empty()) else {
        return (THRESHOLD, None);
    };
    match asked.parse::<f64>().ok().filter(|threshold| !threshold.is_nan()) {
        Some(threshold) if (0.0..=1.0).contains(&threshold) => (threshold, None),
        Some(threshold) => {
            let threshold = threshold.clamp(0.0, 1.0);
            (threshold, Some(format!("`{asked}` is not between 0 and 1; taken as {threshold}")))
        }
        None => (THRESHOLD, Some(format!("`{asked}` is no number between 0 and 1; taken as {THRESHOLD}"))),
    }
}

/// Joins points that say the same, in whatever sections they are: the first in order stays as it is, with the counters of
/// all. What is alike to one of a group belongs to it.
pub(super) fn merge_duplicates(
    playbook: &mut Playbook,
    similarity: &dyn Similarity,
    threshold: f64,
) -> Vec<AppliedChange> {
    let firsts = firsts(playbook, similarity, threshold);
    let mut joined = Vec::new();
    let mut place = 0;
    let mut gone: Vec<(usize, Point)> = Vec::new();
    for section in Section::ALL.iter().copied() {
        for point in std::mem::take(playbook.section_mut(section)) {
            match firsts.get(place).filter(|first| **first < place) {
                Some(first) => gone.push((*first, point)),
                None => playbook.section_mut(section).push(point),
            }
            place += 1;
        }
    }
    for (first, point) in gone {
        // Whoever stays has moved up by as many as went before it.
        let before = firsts.iter().enumerate().take(first).filter(|(place, first)| **first < *place).count();
        if let Some(stays) = playbook.points_mut().nth(first - before) {
            let (from, text) = (point.name.clone(), point.text.clone());
            joined.push(AppliedChange::Joined { name: stays.name.clone(), from, text });
            absorb(stays, point);
        }
    }
    joined
}

/// For each point the place of the first that says the same, which may be its own.
fn firsts(playbook: &Playbook, similarity: &dyn Similarity, threshold: f64) -> Vec<usize> {
    let points: Vec<(Section, &Point)> = playbook.points().collect();
    let texts: Vec<&str> = points.iter().map(|(_, point)| point.text.as_str()).collect();
    let mut firsts: Vec<usize> = (0..texts.len()).collect();
    let alike = similarity.pairs(&texts, threshold);
    for (a, b) in alike.into_iter().filter(|(a, b)| mean_the_same(points[*a], points[*b])) {
        let (a, b) = (first(&firsts, a), first(&firsts, b));
        if let Some(later) = firsts.get_mut(a.max(b)) {
            *later = a.min(b);
        }
    }
    (0..texts.len()).map(|place| first(&firsts, place)).collect()
}

/// Whether two points with the same text mean the same. `edit generated files` is advised in one section, and in
/// [`Section::Mistakes`] advised against; what denies something in its own words does so in every section.
fn mean_the_same(a: (Section, &Point), b: (Section, &Point)) -> bool {
    let is_mistake = |(section, _): (Section, &Point)| section == Section::Mistakes;
    is_mistake(a) == is_mistake(b) || words::words(&a.1.text).denials > 0
}

fn first(firsts: &[usize], mut place: usize) -> usize {
    while let Some(earlier) = firsts.get(place).copied().filter(|earlier| *earlier < place) {
        place = earlier;
    }
    place
}

impl Playbook {
    /// The pairs of points that say the same by this measure, as [`learn`](super::learn) would join them.
    pub fn near_duplicates(&self, similarity: &dyn Similarity, threshold: f64) -> Vec<(&Point, &Point)> {
        let points: Vec<&Point> = self.points().map(|(_, point)| point).collect();
        let firsts = firsts(self, similarity, threshold);
        let pairs = firsts.iter().enumerate().filter(|(place, first)| **first < *place);
        pairs.filter_map(|(place, first)| Some((*points.get(*first)?, *points.get(place)?))).collect()
    }
}

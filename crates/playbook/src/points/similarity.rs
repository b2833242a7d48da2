//! Finds points with equivalent texts and joins them into the first.
//!
//! Joining two different points loses one for good, while keeping two equal ones costs a line. So doubtful
//! pairs stay separate.

mod words;

pub(super) use words::{terms, words};

use super::AppliedChange;
use crate::{Playbook, Point, Section};
use words::Words;

/// Default for the minimum similarity of duplicates.
pub const THRESHOLD: f64 = 0.85;

/// Parses the threshold of a variable, between 0 and 1. Also returns a warning if the value is invalid.
pub fn threshold(setting: Option<&str>) -> (f64, Option<String>) {
    let Some(setting) = setting.map(str::trim).filter(|setting| !setting.is_empty()) else {
        return (THRESHOLD, None);
    };
    match setting.parse::<f64>().ok().filter(|threshold| !threshold.is_nan()) {
        Some(threshold) if (0.0..=1.0).contains(&threshold) => (threshold, None),
        Some(threshold) => {
            let threshold = threshold.clamp(0.0, 1.0);
            (threshold, Some(format!("`{setting}` is not between 0 and 1; using {threshold}")))
        }
        None => (THRESHOLD, Some(format!("`{setting}` is not a number between 0 and 1; using {THRESHOLD}"))),
    }
}

/// Joins duplicates across all sections. The first of each group stays and gets the counters of all. A point
/// that resembles one of a group belongs to the group.
pub(super) fn merge_duplicates(playbook: &mut Playbook, threshold: f64) -> Vec<AppliedChange> {
    let firsts = firsts(playbook, threshold);
    let mut points: Vec<(Section, Option<Point>)> = Vec::new();
    for section in Section::ALL.iter().copied() {
        let taken = std::mem::take(playbook.section_mut(section)).into_iter();
        points.extend(taken.map(|point| (section, Some(point))));
    }
    let mut joined = Vec::new();
    for (index, first) in firsts.into_iter().enumerate().filter(|(index, first)| first < index) {
        if let Some(point) = points[index].1.take()
            && let Some(original) = &mut points[first].1
        {
            let (from, text) = (point.name.clone(), point.text.clone());
            joined.push(AppliedChange::Joined { name: original.name.clone(), from, text });
            absorb(original, point);
        }
    }
    for (section, point) in points {
        playbook.section_mut(section).extend(point);
    }
    joined
}

/// Returns for each point the index of the first equivalent one, which may be its own.
fn firsts(playbook: &Playbook, threshold: f64) -> Vec<usize> {
    let points: Vec<(Section, Words)> =
        playbook.points().map(|(section, point)| (section, words(&point.text))).collect();
    let pairs = (0..points.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
    groups(points.len(), pairs.filter(|(a, b)| are_equivalent(&points[*a], &points[*b], threshold)))
}

/// Returns for each of `count` elements the first one of its group. Pairs are in one group.
pub(super) fn groups(count: usize, pairs: impl Iterator<Item = (usize, usize)>) -> Vec<usize> {
    let mut firsts: Vec<usize> = (0..count).collect();
    for (a, b) in pairs {
        let (a, b) = (first(&firsts, a), first(&firsts, b));
        if let Some(later) = firsts.get_mut(a.max(b)) {
            *later = a.min(b);
        }
    }
    (0..count).map(|index| first(&firsts, index)).collect()
}

/// Returns whether two points mean the same. `edit generated files` is advice in one section and a mistake in
/// [`Section::Mistakes`]. A text with a negation means the same in every section.
fn are_equivalent(a: &(Section, Words), b: &(Section, Words), threshold: f64) -> bool {
    let is_mistake = |point: &(Section, Words)| point.0 == Section::Mistakes;
    (is_mistake(a) == is_mistake(b) || a.1.denials > 0) && similarity(&a.1, &b.1) >= threshold
}

/// Returns the similarity of two texts: the length of the shorter one as a share of the longer one, 1 if they are
/// equal, and 0 if they may differ in meaning. The longer text must have all words of the shorter one in their order,
/// and may add plain ones: another word, number, name, negation or order can change the meaning.
pub(super) fn similarity(a: &Words, b: &Words) -> f64 {
    let (short, long) = if a.words.len() <= b.words.len() { (a, b) } else { (b, a) };
    let mut rest = short.words.iter().peekable();
    let adds_plain_words = long.words.iter().all(|word| rest.next_if_eq(&word).is_some() || !word.is_exact);
    if short.words.is_empty() || rest.next().is_some() || !adds_plain_words || a.denials != b.denials {
        return 0.0;
    }
    short.words.len() as f64 / long.words.len() as f64
}

fn first(firsts: &[usize], mut index: usize) -> usize {
    while let Some(earlier) = firsts.get(index).copied().filter(|earlier| *earlier < index) {
        index = earlier;
    }
    index
}

impl Playbook {
    /// Returns the pairs of points that [`apply`](fn@super::apply) would join.
    pub fn near_duplicates(&self, threshold: f64) -> Vec<(&Point, &Point)> {
        let points: Vec<&Point> = self.points().map(|(_, point)| point).collect();
        let firsts = firsts(self, threshold);
        let pairs = firsts.iter().enumerate().filter(|(index, first)| **first < *index);
        pairs.filter_map(|(index, first)| Some((*points.get(*first)?, *points.get(index)?))).collect()
    }
}

/// Adds the counters and unknown fields of another point to a point.
pub(super) fn absorb(point: &mut Point, other: Point) {
    point.helpful = point.helpful.saturating_add(other.helpful);
    point.harmful = point.harmful.saturating_add(other.harmful);
    for (key, value) in other.unknown_fields {
        point.unknown_fields.entry(key).or_insert(value);
    }
}

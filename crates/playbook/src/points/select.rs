//! Selects the points of a large playbook that a session receives: those relevant to the prompt and those
//! with a good record. Part of the space is reserved for preferences and mistakes, whatever the prompt is
//! about.

use super::TextSize;
use super::similarity::terms;
use crate::{Point, Section};
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

// The topic of a prompt is at its start, even if a log is pasted after it.
const PROMPT_BYTES_MAX: usize = 16 << 10;
// Preferences apply to every prompt but seldom share a word with it. A third leaves most of the space to
// relevant points.
const RESERVED_SHARE: u64 = 3;
// Relevance counts about twice as much as the best record.
const TOPIC_WEIGHT: f64 = 2.0;
// A point that helped a hundred times scores half as much again as one that never did harm.
const FREQUENCY_WEIGHT: f64 = 0.1;

/// Returns the indices of the points that fit into this space, most important first.
pub(super) fn choose(
    points: &[(Section, &Point)],
    prompt: &str,
    room: TextSize,
    size: impl Fn(&Point) -> TextSize,
    heading_size: impl Fn(Section) -> TextSize,
) -> Vec<usize> {
    let ranked = rank(points, prompt);
    let mut headings: BTreeSet<Section> = BTreeSet::new();
    let mut chosen: Vec<usize> = Vec::new();
    let mut used = TextSize::default();
    let mut take = |indices: &mut dyn Iterator<Item = usize>, room: TextSize| {
        for index in indices {
            let (section, point) = points[index];
            if chosen.contains(&index) {
                continue;
            }
            let heading =
                if headings.contains(&section) { TextSize::default() } else { heading_size(section) };
            let total = used + heading + size(point);
            // A long point that does not fit must not exclude shorter ones.
            if total.fits_in(room) {
                used = total;
                headings.insert(section);
                chosen.push(index);
            }
        }
    };
    let is_reserved = |index: &usize| is_reserved(points[*index].0);
    take(&mut ranked.iter().copied().filter(is_reserved), room.divided_by(RESERVED_SHARE));
    take(&mut ranked.iter().copied(), room);
    chosen
}

fn is_reserved(section: Section) -> bool {
    match section {
        Section::Preferences | Section::Mistakes => true,
        Section::Patterns | Section::Context | Section::Others => false,
    }
}

/// Returns the indices of the points, best first. Of two equal points the earlier one comes first.
fn rank(points: &[(Section, &Point)], prompt: &str) -> Vec<usize> {
    let end = (0..=prompt.len().min(PROMPT_BYTES_MAX)).rev().find(|end| prompt.is_char_boundary(*end));
    let prompt_terms = terms(&prompt[..end.unwrap_or(0)]);
    let terms: Vec<BTreeSet<String>> = points.iter().map(|(_, point)| terms(&point.text)).collect();
    let mut frequency: HashMap<&str, f64> = HashMap::new();
    for term in terms.iter().flatten() {
        *frequency.entry(term).or_default() += 1.0;
    }
    let count = points.len() as f64;
    // A term that every point contains is not informative.
    let rarity = |term: &String| (1.0 + count / frequency.get(term.as_str()).copied().unwrap_or(1.0)).ln();
    let half_score = (1.0 + count).ln();
    let score = |(terms, (_, point)): (&BTreeSet<String>, &(Section, &Point))| {
        let topic: f64 = terms.intersection(&prompt_terms).map(rarity).sum();
        TOPIC_WEIGHT * topic / (topic + half_score) + record(point)
    };
    let scores: Vec<f64> = terms.iter().zip(points).map(score).collect();
    let mut ranked: Vec<usize> = (0..points.len()).collect();
    ranked.sort_by(|a, b| scores[*b].partial_cmp(&scores[*a]).unwrap_or(Ordering::Equal));
    ranked
}

/// Returns the reliability of a point: one half if it was never judged, approaching one the more it helped
/// and zero the more it did harm.
fn record(point: &Point) -> f64 {
    let (helpful, harmful) = (point.helpful as f64, point.harmful as f64);
    (helpful + 1.0) / (helpful + harmful + 2.0) + FREQUENCY_WEIGHT * (1.0 + (helpful - harmful).max(0.0)).ln()
}

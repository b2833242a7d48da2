//! Which points of a large playbook a session is told: those about what it is asked, and those with a good record. Part of the
//! room is always for what the user wants and what went wrong before, whatever the prompt is about.

use super::similarity::terms;
use crate::{Point, Section};
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

// A prompt with a log pasted behind it says what it is about at its beginning.
const PROMPT_BYTES_MAX: usize = 16 << 10;
// What the user wants holds for every prompt, and seldom shares a word with one. A third leaves most of the room to what is
// asked for.
const KEPT_SHARE: u64 = 3;
// Being about what is asked counts for about twice as much as the best record.
const TOPIC_WEIGHT: f64 = 2.0;
// A point that helped a hundred times is worth half as much again as one that never harmed.
const OFTEN_WEIGHT: f64 = 0.1;

/// One of the chosen points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    index: usize,
}

impl Chosen {
    /// The places of what was chosen, as they were given.
    pub(super) fn in_order(chosen: &[Chosen]) -> impl Iterator<Item = usize> {
        chosen.iter().map(|chosen| chosen.index).collect::<BTreeSet<usize>>().into_iter()
    }
}

/// The points that fit into this room, the most important first.
pub(super) fn choose(
    points: &[(Section, &Point)],
    prompt: &str,
    room: u64,
    cost: impl Fn(&Point) -> u64,
    heading: impl Fn(Section) -> u64,
) -> Vec<Chosen> {
    let ranked = ranked(points, prompt);
    let mut headings: BTreeSet<Section> = BTreeSet::new();
    let mut chosen: Vec<Chosen> = Vec::new();
    let mut used = 0;
    let mut take = |places: &mut dyn Iterator<Item = usize>, room: u64| {
        for place in places {
            let (section, point) = points[place];
            let begins = if headings.contains(&section) { 0 } else { heading(section) };
            let is_chosen = chosen.iter().any(|chosen| chosen.index == place);
            // A long one that does not fit keeps no short one out.
            if !is_chosen && used + begins + cost(point) <= room {
                used += begins + cost(point);
                headings.insert(section);
                chosen.push(Chosen { index: place });
            }
        }
    };
    let is_kept = |place: &usize| is_kept(points[*place].0);
    take(&mut ranked.iter().copied().filter(is_kept), room / KEPT_SHARE);
    take(&mut ranked.iter().copied(), room);
    chosen
}

fn is_kept(section: Section) -> bool {
    match section {
        Section::Preferences | Section::Mistakes => true,
        Section::Patterns | Section::Context | Section::Others => false,
    }
}

/// The places of the points, the best first; of two that are as good, the earlier.
fn ranked(points: &[(Section, &Point)], prompt: &str) -> Vec<usize> {
    let end = (0..=prompt.len().min(PROMPT_BYTES_MAX)).rev().find(|end| prompt.is_char_boundary(*end));
    let asked = terms(&prompt[..end.unwrap_or(0)]);
    let terms: Vec<BTreeSet<String>> = points.iter().map(|(_, point)| terms(&point.text)).collect();
    let mut having: HashMap<&str, f64> = HashMap::new();
    for term in terms.iter().flatten() {
        *having.entry(term).or_default() += 1.0;
    }
    let count = points.len() as f64;
    // What every point speaks of says little about any.
    let rarity = |term: &String| (1.0 + count / having.get(term.as_str()).copied().unwrap_or(1.0)).ln();
    let enough = (1.0 + count).ln();
    let worth = |(terms, (_, point)): (&BTreeSet<String>, &(Section, &Point))| {
        let topic: f64 = terms.intersection(&asked).map(rarity).sum();
        TOPIC_WEIGHT * topic / (topic + enough) + record(point)
    };
    let worths: Vec<f64> = terms.iter().zip(points).map(worth).collect();
    let mut ranked: Vec<usize> = (0..points.len()).collect();
    ranked.sort_by(|a, b| worths[*b].partial_cmp(&worths[*a]).unwrap_or(Ordering::Equal));
    ranked
}

/// How far a point can be relied on: one half if it was never judged, towards one the more it helped and towards nothing the
/// more it did harm.
fn record(point: &Point) -> f64 {
    let (helpful, harmful) = (point.helpful as f64, point.harmful as f64);
    (helpful + 1.0) / (helpful + harmful + 2.0) + OFTEN_WEIGHT * (1.0 + (helpful - harmful).max(0.0)).ln()
}

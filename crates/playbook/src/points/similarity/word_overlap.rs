//! How alike two texts are by their words alone: no model, nothing to download, the same answer on every machine.

use super::Similarity;
use super::words::{Word, Words, words};
use std::collections::{BTreeMap, HashMap};

/// The measure by words: the cosine between the words of two texts and their neighbourhoods, halved where they say different
/// things with nearly the same words.
#[derive(Clone, Copy, Debug, Default)]
pub struct WordOverlap;

// A text whose words are all there in another order is nearly the same; one with a word put in between is not.
const NEIGHBOURS_WEIGHT: f64 = 0.75;
// Far below every threshold that makes sense, and still in the order of how alike they look.
const OTHERWISE: f64 = 0.5;

impl Similarity for WordOverlap {
    fn similarity(&self, a: &str, b: &str) -> f64 {
        let (a, b) = (Text::new(a), Text::new(b));
        let dot: f64 =
            a.features.iter().filter_map(|(key, weight)| Some(weight * b.features.get(key)?)).sum();
        alike(&a, &b, dot)
    }

    fn pairs(&self, texts: &[&str], threshold: f64) -> Vec<(usize, usize)> {
        let texts: Vec<Text> = texts.iter().map(|text| Text::new(text)).collect();
        let mut having: HashMap<&Feature, Vec<(usize, f64)>> = HashMap::new();
        let mut pairs = Vec::new();
        for (b, text) in texts.iter().enumerate() {
            // Only what shares a word with it is looked at.
            let mut dots = vec![0.0; b];
            for (key, weight) in &text.features {
                let others = having.entry(key).or_default();
                for (a, other) in others.iter() {
                    if let Some(dot) = dots.get_mut(*a) {
                        *dot += weight * other;
                    }
                }
                others.push((b, *weight));
            }
            for (a, dot) in dots.iter().enumerate() {
                // Nothing makes two texts more alike than their words are.
                if dot / (texts[a].length * text.length).max(f64::MIN_POSITIVE) + ROUNDING >= threshold
                    && alike(&texts[a], text, *dot) >= threshold
                {
                    pairs.push((a, b));
                }
            }
        }
        pairs
    }
}

// Sums of the same numbers in another order differ so much at most; the same words are the same.
const ROUNDING: f64 = 1e-9;

/// A word, or two in their order.
type Feature = (Word, Option<Word>);

struct Text {
    words: Words,
    exact: Vec<Word>,
    /// In order: a sum of floats depends on it.
    features: BTreeMap<Feature, f64>,
    length: f64,
}

impl Text {
    fn new(text: &str) -> Text {
        let words = words(text);
        let mut features: BTreeMap<Feature, f64> = BTreeMap::new();
        for (place, word) in words.words.iter().enumerate() {
            *features.entry((word.clone(), None)).or_default() += 1.0;
            if let Some(next) = words.words.get(place + 1) {
                *features.entry((word.clone(), Some(next.clone()))).or_default() += NEIGHBOURS_WEIGHT.sqrt();
            }
        }
        let length = features.values().map(|weight| weight * weight).sum::<f64>().sqrt();
        let mut exact: Vec<Word> = words.words.iter().filter(|word| word.is_exact).cloned().collect();
        exact.sort();
        exact.dedup();
        Text { words, exact, features, length }
    }

    fn has(&self, word: &Word) -> bool {
        self.features.contains_key(&(word.clone(), None))
    }
}

fn alike(a: &Text, b: &Text, dot: f64) -> f64 {
    if a.words.words.is_empty() || b.words.words.is_empty() {
        return 0.0;
    }
    let cosine = dot / (a.length * b.length);
    let cosine = if cosine > 1.0 - ROUNDING { 1.0 } else { cosine };
    if is_other(a, b) { cosine * OTHERWISE } else { cosine }
}

/// Whether they say different things, however many words they share: another number, flag or name; one thing in the place of
/// another (what has a synonym for a word looks the same, and stays apart); a denial more; two sides that changed places.
fn is_other(a: &Text, b: &Text) -> bool {
    let has_own = |a: &Text, b: &Text| a.words.words.iter().any(|word| !b.has(word));
    let is_directed = a.words.is_directed || b.words.is_directed;
    a.exact != b.exact
        || a.words.denials != b.words.denials
        || has_own(a, b) && has_own(b, a)
        || is_directed && shared(a, b) != shared(b, a)
}

/// The words of the one that are in the other, in the order of the one.
fn shared<'a>(a: &'a Text, b: &Text) -> Vec<&'a Word> {
    a.words.words.iter().filter(|word| b.has(word)).collect()
}

//! Measures the similarity of texts by their words alone: no model, no download, and the same result on every
//! machine.

use super::words::{Word, Words, words};
use std::collections::{BTreeMap, HashMap};

// With this weight, a text with reordered words is nearly the same, and one with an inserted word is not.
const WORD_PAIR_WEIGHT: f64 = 0.75;
// Far below every sensible threshold, but still ordered by similarity.
const DIFFERENT_MEANING_FACTOR: f64 = 0.5;

/// Returns the similarity of two texts, from 0 for unrelated to 1 for equal: the cosine of their words and word
/// pairs, halved if similar words have different meanings.
#[cfg(test)]
pub(in super::super) fn similarity(a: &str, b: &str) -> f64 {
    let (a, b) = (Text::new(a), Text::new(b));
    let dot: f64 = a.features.iter().filter_map(|(key, weight)| Some(weight * b.features.get(key)?)).sum();
    adjusted_cosine(&a, &b, dot)
}

/// Returns the pairs of texts with at least this similarity, as indices, the first less than the second.
pub(in super::super) fn pairs(texts: &[&str], threshold: f64) -> Vec<(usize, usize)> {
    let texts: Vec<Text> = texts.iter().map(|text| Text::new(text)).collect();
    let mut texts_by_feature: HashMap<&Feature, Vec<(usize, f64)>> = HashMap::new();
    let mut pairs = Vec::new();
    for (b, text) in texts.iter().enumerate() {
        // Only pairs with a common word are compared.
        let mut dots = vec![0.0; b];
        for (key, weight) in &text.features {
            let others = texts_by_feature.entry(key).or_default();
            for (a, other) in others.iter() {
                if let Some(dot) = dots.get_mut(*a) {
                    *dot += weight * other;
                }
            }
            others.push((b, *weight));
        }
        for (a, dot) in dots.iter().enumerate() {
            // The similarity never exceeds the cosine.
            if dot / (texts[a].length * text.length).max(f64::MIN_POSITIVE) + ROUNDING >= threshold
                && adjusted_cosine(&texts[a], text, *dot) >= threshold
            {
                pairs.push((a, b));
            }
        }
    }
    pairs
}

// Maximum difference between sums of the same numbers in another order, so that equal words give exactly 1.
const ROUNDING: f64 = 1e-9;

/// A word, or two adjacent words.
type Feature = (Word, Option<Word>);

struct Text {
    words: Words,
    exact: Vec<Word>,
    /// Sorted, because a sum of floats depends on the order.
    features: BTreeMap<Feature, f64>,
    length: f64,
}

impl Text {
    fn new(text: &str) -> Text {
        let words = words(text);
        let mut features: BTreeMap<Feature, f64> = BTreeMap::new();
        for (index, word) in words.words.iter().enumerate() {
            *features.entry((word.clone(), None)).or_default() += 1.0;
            if let Some(next) = words.words.get(index + 1) {
                *features.entry((word.clone(), Some(next.clone()))).or_default() += WORD_PAIR_WEIGHT.sqrt();
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

fn adjusted_cosine(a: &Text, b: &Text, dot: f64) -> f64 {
    if a.words.words.is_empty() || b.words.words.is_empty() {
        return 0.0;
    }
    let cosine = dot / (a.length * b.length);
    let cosine = if cosine > 1.0 - ROUNDING { 1.0 } else { cosine };
    if has_different_meaning(a, b) { cosine * DIFFERENT_MEANING_FACTOR } else { cosine }
}

/// Returns whether texts have different meanings despite common words: another number, flag or name, a
/// replaced word, another negation, or swapped sides. A synonym looks like a replaced word, so such texts
/// stay separate.
fn has_different_meaning(a: &Text, b: &Text) -> bool {
    let has_extra_word = |a: &Text, b: &Text| a.words.words.iter().any(|word| !b.has(word));
    let is_directed = a.words.is_directed || b.words.is_directed;
    a.exact != b.exact
        || a.words.denials != b.words.denials
        || has_extra_word(a, b) && has_extra_word(b, a)
        || is_directed && shared(a, b) != shared(b, a)
}

/// Returns the words of `a` that are in `b`, in the order of `a`.
fn shared<'a>(a: &'a Text, b: &Text) -> Vec<&'a Word> {
    a.words.words.iter().filter(|word| b.has(word)).collect()
}

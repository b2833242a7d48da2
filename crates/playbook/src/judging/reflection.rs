//! Defines the answer of the reflector, and merges those on several parts of one transcript.

use crate::points::{PointVerdict, Tag};
use longhaul_core::shorten;
use serde::{Deserialize, Serialize};

/// Maximum length of the joined analyses. A curator reads some thousand words, plus the playbook, with care.
const ANALYSIS_CHARS_MAX: usize = 24_000;
/// Maximum length of the joined reasons for one verdict.
const RATIONALE_CHARS_MAX: usize = 600;

/// The reflector's answer about a session or a slice of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reflection {
    /// What happened and what to learn from it. The curator reads this.
    #[serde(default)]
    pub analysis: String,
    /// Verdicts about the points.
    #[serde(default, rename = "bullet_tags")]
    pub tags: Vec<Tag>,
}

/// Merges several reflections into one. A point gets one verdict for the transcript: `helpful` if more parts
/// found it helpful than harmful, `harmful` if fewer, else `neutral`. Only reasons for that verdict are
/// included. Each analysis gets an equal share of the length.
pub(super) fn merge(parts: Vec<Reflection>) -> Reflection {
    let mut names = Vec::new();
    for tag in parts.iter().flat_map(|part| &part.tags) {
        if !names.contains(&&tag.name) {
            names.push(&tag.name);
        }
    }
    let tags = names.iter().map(|name| {
        let tags = || parts.iter().flat_map(|part| &part.tags).filter(|tag| tag.name == **name);
        let verdict = verdict(tags().map(|tag| tag.tag));
        let mut reasons: Vec<&str> =
            tags().filter(|tag| tag.tag == verdict).map(|tag| tag.rationale.trim()).collect();
        reasons.retain(|reason| !reason.is_empty());
        reasons.dedup();
        let rationale = shorten(&reasons.join("; "), RATIONALE_CHARS_MAX);
        Tag { name: (*name).clone(), tag: verdict, rationale }
    });
    let tags = tags.collect();
    let analyses: Vec<&str> =
        parts.iter().map(|part| part.analysis.trim()).filter(|analysis| !analysis.is_empty()).collect();
    let share = ANALYSIS_CHARS_MAX / analyses.len().max(1);
    let analyses: Vec<String> = analyses.iter().map(|analysis| shorten(analysis, share)).collect();
    Reflection { analysis: analyses.join("\n\n"), tags }
}

fn verdict(verdicts: impl Iterator<Item = PointVerdict>) -> PointVerdict {
    let balance = verdicts.fold(0_i64, |balance, verdict| match verdict {
        PointVerdict::Helpful => balance + 1,
        PointVerdict::Harmful => balance - 1,
        PointVerdict::Neutral => balance,
    });
    match balance {
        1.. => PointVerdict::Helpful,
        0 => PointVerdict::Neutral,
        ..0 => PointVerdict::Harmful,
    }
}

#[cfg(test)]
mod tests {
    use super::{Reflection, merge};
    use crate::points::{PointVerdict, Tag};

    #[test]
    fn merges_verdicts_per_point() {
        use PointVerdict::{Harmful, Helpful, Neutral};
        let check = |verdicts: &[PointVerdict], expected: PointVerdict| {
            let tag =
                |tag: &PointVerdict| Tag { name: "pat-001".into(), tag: *tag, rationale: format!("{tag:?}") };
            let part = |verdict| Reflection { analysis: String::new(), tags: vec![tag(verdict)] };
            let expected = [Tag {
                name: "pat-001".into(),
                tag: expected,
                rationale: if verdicts.contains(&expected) { format!("{expected:?}") } else { String::new() },
            }];
            assert_eq!(merge(verdicts.iter().map(part).collect()).tags, expected, "{verdicts:?}");
            // Several verdicts in one answer also become one.
            let single = Reflection { analysis: String::new(), tags: verdicts.iter().map(tag).collect() };
            assert_eq!(merge(vec![single]).tags, expected, "{verdicts:?} at once");
        };
        check(&[Helpful], Helpful);
        check(&[Helpful, Helpful], Helpful);
        check(&[Helpful, Neutral], Helpful);
        check(&[Harmful, Neutral, Neutral], Harmful);
        check(&[Helpful, Harmful], Neutral);
        check(&[Harmful, Harmful, Helpful], Harmful);
        check(&[Neutral], Neutral);
    }

    #[test]
    fn analyses_share_length_limit() {
        let analysis = |text: &str| Reflection { analysis: text.to_owned(), tags: Vec::new() };
        let merged = |texts: &[&str]| merge(texts.iter().map(|text| analysis(text)).collect()).analysis;
        assert_eq!(merged(&[]), "");
        assert_eq!(merged(&[" One.\n", "", "Two."]), "One.\n\nTwo.");
        let long = "ä".repeat(100_000);
        assert_eq!(merged(&[&long]).chars().count(), 24_001);
        let shared = merged(&[&long, "short", &long]);
        assert!(shared.contains("\n\nshort\n\n") && shared.chars().count() < 24_010);
    }
}

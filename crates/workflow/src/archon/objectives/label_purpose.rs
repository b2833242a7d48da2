//! Decides by the words of a label whether the list below it assigns work. It never looks at the list.

/// Words of labels whose lists assign work.
const ASSIGNING_WORDS: [&str; 6] = ["objective", "objectives", "target", "targets", "assign", "assigned"];
/// Nouns of labels whose lists report on files.
const REPORT_WORDS: [&str; 7] = ["finding", "findings", "outcome", "outcomes", "result", "results", "status"];
/// States of files without work to assign. They count as the first or the last word of a label, because
/// `Targets that were blocked by A` are targets.
const STATE_WORDS: [&str; 10] = [
    "done",
    "completed",
    "finished",
    "solved",
    "blocked",
    "blockers",
    "deferred",
    "paused",
    "skipped",
    "excluded",
];
/// Words in a row that forbid work on files.
const FORBIDDING_PHRASES: [[&str; 2]; 5] =
    [["do", "not"], ["don", "t"], ["not", "assign"], ["not", "assigned"], ["not", "dispatched"]];

/// Purpose of a list, according to its label.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LabelPurpose {
    /// It assigns work.
    Assigned,
    /// It assigns no work.
    Excluded,
    /// It may do either.
    Open,
}

impl LabelPurpose {
    /// Reads the words of a label or of a heading.
    pub(super) fn new(label: &str) -> LabelPurpose {
        let label = label.to_lowercase();
        // A name of a file, such as `Results/Status.lean`, says nothing.
        let text = label.split_whitespace().filter(|word| !word.contains(".lean"));
        let words: Vec<&str> = text
            .flat_map(|word| word.split(|c: char| !c.is_alphanumeric()))
            .filter(|word| !word.is_empty())
            .collect();
        let ends = [words.first(), words.last()];
        let is_excluded = words.iter().any(|word| REPORT_WORDS.contains(word))
            || ends.into_iter().flatten().any(|word| STATE_WORDS.contains(word))
            || words.windows(2).any(|pair| FORBIDDING_PHRASES.iter().any(|phrase| pair == phrase));
        match is_excluded {
            true => LabelPurpose::Excluded,
            false if words.iter().any(|word| ASSIGNING_WORDS.contains(word)) => LabelPurpose::Assigned,
            false => LabelPurpose::Open,
        }
    }
}

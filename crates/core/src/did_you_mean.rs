//! Suggests ids that are similar to a mistyped one. Never selects one.

/// Maximum number of suggestions; more are not worth reading.
const SUGGESTIONS_MAX: usize = 3;
/// An id with more wrong letters than this is a different id.
const LETTERS_WRONG_MAX: usize = 3;

/// Returns the known ids most similar to `input`, best first: ids that start with it, then ids that differ in
/// a few letters.
pub fn did_you_mean<'a>(input: &str, ids: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let input = input.trim().to_ascii_lowercase();
    if input.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<(usize, &str)> = ids
        .into_iter()
        .filter_map(|id| letters_wrong(&input, &id.to_ascii_lowercase()).map(|wrong| (wrong, id)))
        .collect();
    found.sort_unstable();
    found.truncate(SUGGESTIONS_MAX);
    found.into_iter().map(|(_, id)| id).collect()
}

/// Returns how many letters differ, or `None` if too many do.
fn letters_wrong(input: &str, id: &str) -> Option<usize> {
    if id.starts_with(input) {
        return Some(0);
    }
    // Counts the letters that must be changed, added, dropped or swapped with their neighbor.
    let wrong = strsim::osa_distance(input, id);
    // A short id with half of its letters wrong is not similar.
    (wrong <= LETTERS_WRONG_MAX && wrong * 3 <= input.len()).then_some(wrong)
}

#[cfg(test)]
mod tests {
    use super::did_you_mean;

    const KNOWN: [&str; 4] = [
        "0e9bdb0f-0ac1-426d-a6e3-2ba958d9e0e0",
        "0e9bdb0f-1111-426d-a6e3-2ba958d9e0e0",
        "51ebc698-ac36-4bd2-b075-19a02cd1a002",
        "nightly refactoring",
    ];

    fn check(input: &str, found: &[&str]) {
        assert_eq!(did_you_mean(input, KNOWN), found, "{input}");
    }

    #[test]
    fn suggests_similar_ids() {
        check("0e9b", &KNOWN[..2]);
        check("51EBC698", &KNOWN[2..3]);
        check("51ebc698-ac36-4bd2-b075-19a02cd1a020", &KNOWN[2..3]);
        check("51ebc698-ac36-4bd2-b075-19a02cd1a00", &KNOWN[2..3]);
        check("15ebc698-ac36-4bd2-b75-19a02cd1a002", &KNOWN[2..3]);
        check("nightly refactering", &KNOWN[3..]);
        check("ffffffff-ffff-4fff-bfff-ffffffffffff", &[]);
        check("", &[]);
        check("x", &[]);
    }
}

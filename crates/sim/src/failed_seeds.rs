//! The file of seeds that failed once, which are always simulated first. Each line has one seed and, after
//! `#`, the violated oracle. This module only parses and formats text; it never reads the file.

use crate::SeedFailure;

/// Returns the seeds in the file's text. Skips a line without a seed.
pub fn parse_failed(text: &str) -> Vec<u64> {
    text.lines().filter_map(|line| line.split('#').next()?.trim().parse().ok()).collect()
}

/// Returns the file's text with these failures added. Each seed occurs once.
pub fn with_failed(text: &str, failures: &[SeedFailure]) -> String {
    let existing = parse_failed(text);
    let mut text = text.to_owned();
    for failure in failures.iter().filter(|failure| !existing.contains(&failure.seed)) {
        text.push_str(&format!("{} # {}\n", failure.seed, failure.violation.oracle));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Oracle, Violation};

    #[test]
    fn failed_seed_is_stored_once() {
        let failure =
            SeedFailure { seed: 7, violation: Violation { oracle: Oracle::Ends, message: String::new() } };
        let text = with_failed("# seeds\n5 # truth\n", std::slice::from_ref(&failure));
        assert_eq!(text, "# seeds\n5 # truth\n7 # ends\n");
        assert_eq!(parse_failed(&text), [5, 7]);
        assert_eq!(with_failed(&text, &[failure]), text);
    }
}

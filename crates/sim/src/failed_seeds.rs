//! The file of seeds that once failed: they are flown first, for ever. One seed a line, and behind
//! `#` which oracle objected when it was found. It is text in, text out; nothing is read here.

use crate::Failure;

/// The seeds in the file's text. A line that names none is skipped.
pub fn parse_failed(text: &str) -> Vec<u64> {
    text.lines().filter_map(|line| line.split('#').next()?.trim().parse().ok()).collect()
}

/// The file's text with these failures added to it, each once.
pub fn with_failed(text: &str, failures: &[Failure]) -> String {
    let known = parse_failed(text);
    let mut text = text.to_owned();
    for failure in failures.iter().filter(|failure| !known.contains(&failure.seed)) {
        text.push_str(&format!("{} # {}\n", failure.seed, failure.objection.oracle));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Oracle, Violation};

    #[test]
    fn a_failed_seed_is_kept_once() {
        let failure =
            Failure { seed: 7, objection: Violation { oracle: Oracle::Ends, message: String::new() } };
        let text = with_failed("# seeds\n5 # truth\n", std::slice::from_ref(&failure));
        assert_eq!(text, "# seeds\n5 # truth\n7 # ends\n");
        assert_eq!(parse_failed(&text), [5, 7]);
        assert_eq!(with_failed(&text, &[failure]), text);
    }
}

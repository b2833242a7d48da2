//! The framework's own verification of a phase, as its report `VERIFICATION.md` states it.

use crate::front_matter::FrontMatter;

/// The result of the verification of a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verification {
    /// The phase reached its goal.
    Passed,
    /// Something is missing.
    GapsFound,
    /// A person must test or decide something.
    HumanNeeded,
    /// A status that this version does not know, or none. It is no proof.
    Unknown(String),
}

impl Verification {
    /// Reads the status of a report: from its front matter, else from the line `**Status:** …`.
    pub fn parse(report: &str) -> Verification {
        let front_matter = FrontMatter::parse(report, &mut Vec::new());
        let status = front_matter.get("status").map(|claim| claim.value.clone());
        let line = || report.lines().find_map(|line| line.trim().strip_prefix("**Status:**"));
        let status = status.or_else(|| line().map(str::to_owned)).unwrap_or_default();
        let status = status.trim();
        match status.to_ascii_lowercase().replace([' ', '-'], "_").as_str() {
            "passed" | "pass" | "verified" | "complete" => Verification::Passed,
            "gaps_found" | "failed" => Verification::GapsFound,
            "human_needed" => Verification::HumanNeeded,
            _ => Verification::Unknown(status.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Verification::{self, GapsFound, HumanNeeded, Passed};

    #[test]
    fn status_is_read_from_the_front_matter_or_the_text() {
        let unknown = |status: &str| Verification::Unknown(status.to_owned());
        for (report, expected) in [
            ("---\nphase: 01-boil\nstatus: passed\nscore: 3/3\n---\n**Status:** gaps_found\n", Passed),
            ("---\nstatus: \"gaps_found\"\n---\n", GapsFound),
            ("---\nstatus: human_needed  # two items\n---\n", HumanNeeded),
            ("# Report\n\n**Status:** Human needed\n", HumanNeeded),
            ("---\nstatus: in review\n---\n", unknown("in review")),
            ("# Report\n\nAll passed.\n", unknown("")),
        ] {
            assert_eq!(Verification::parse(report), expected, "{report}");
        }
    }
}

//! The framework's own verification of a phase, as its report `VERIFICATION.md` states it.

use crate::OpenWork;
use crate::front_matter::FrontMatter;

/// Returns the work that a report leaves. Its status is in the front matter, else in the line `**Status:** …`. A status
/// that this version does not know, or none, is no proof.
pub(crate) fn work_left(report: &str) -> OpenWork {
    let front_matter = FrontMatter::parse(report, &mut Vec::new());
    let status = front_matter.get("status").map(|claim| claim.value.clone());
    let line = || report.lines().find_map(|line| line.trim().strip_prefix("**Status:**"));
    let status = status.or_else(|| line().map(str::to_owned)).unwrap_or_default();
    let status = status.trim();
    match status.to_ascii_lowercase().replace([' ', '-'], "_").as_str() {
        "passed" | "pass" | "verified" | "complete" => OpenWork::Nothing,
        "gaps_found" | "failed" => OpenWork::Gaps,
        "human_needed" => OpenWork::NeedsPerson("human_needed".to_owned()),
        _ => OpenWork::NeedsPerson(status.to_owned()),
    }
}

//! Finds phases, plans and summaries in the paths below `phases`. It never reads a file.

use crate::PhaseId;
use std::collections::BTreeMap;

/// A directory of a phase, such as `phases/02-core-commands`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PhaseDir {
    pub id: PhaseId,
    pub path: String,
    /// Rest of the directory's name, such as `core-commands`.
    pub slug: String,
    /// Whether plans have a summary, by their ids in order.
    pub plans: BTreeMap<String, bool>,
    /// Whether the directory has plans, and not only summaries of deleted ones.
    pub has_plans: bool,
    /// Path of the report on the whole phase, `02-VERIFICATION.md`.
    pub report: Option<String>,
}

/// Returns the directories of phases, in the order of their ids.
pub(crate) fn phase_dirs(paths: &[String]) -> Vec<PhaseDir> {
    let mut dirs: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for path in paths {
        let Some((dir, file)) = path.strip_prefix("phases/").and_then(|path| path.split_once('/')) else {
            continue;
        };
        dirs.entry(dir).or_default().push(file);
    }
    let mut dirs: Vec<PhaseDir> = dirs.iter().filter_map(|(dir, files)| phase_dir(dir, files)).collect();
    dirs.sort_by(|a, b| a.id.cmp(&b.id));
    dirs
}

fn phase_dir(name: &str, files: &[&str]) -> Option<PhaseDir> {
    let (code, rest) = split_code(name);
    let (id, slug) = PhaseId::split(rest)?;
    let number = rest.strip_suffix(slug).unwrap_or_default();
    let keys = |kind: Kind| {
        let keys = files.iter().filter_map(|file| kind_of(file, code));
        let keys = keys.filter(move |(found, _)| *found == kind);
        // `PLAN.md` is the only plan of its phase.
        keys.map(|(_, key)| if key.is_empty() { number.to_owned() } else { key })
    };
    let mut plans: BTreeMap<String, bool> = keys(Kind::Plan).map(|key| (key, false)).collect();
    let has_plans = !plans.is_empty();
    for summary in keys(Kind::Summary) {
        // The plan of `02-01-SUMMARY.md` can be called `01-PLAN.md` or `02-01-setup-PLAN.md`.
        let short = summary.strip_prefix(number).and_then(|rest| rest.strip_prefix('-'));
        let is_its_plan = |plan: &str| short == Some(plan) || without_words(plan) == without_words(&summary);
        let mut is_found = false;
        for (_, is_complete) in plans.iter_mut().filter(|(plan, _)| is_its_plan(plan)) {
            (*is_complete, is_found) = (true, true);
        }
        // The plan of a summary may have been deleted. Other summaries cover the whole phase.
        if !is_found && (is_plan_id(&summary) || !has_plans) {
            plans.insert(summary, true);
        }
    }
    let report = [format!("{number}-"), format!("{code}{number}-"), String::new()];
    let mut report = report.into_iter().map(|prefix| format!("{prefix}VERIFICATION.md"));
    let report = report.find(|report| files.contains(&report.as_str()));
    Some(PhaseDir {
        id,
        report: report.map(|file| format!("phases/{name}/{file}")),
        path: format!("phases/{name}"),
        slug: slug.trim_start_matches('-').to_owned(),
        plans,
        has_plans,
    })
}

/// Returns the two numbers of a plan such as `02-01-setup`, or all of another key.
fn without_words(key: &str) -> &str {
    let is_number = |part: &str| part.parse::<PhaseId>().is_ok();
    let mut parts = key.splitn(3, '-');
    match (parts.next(), parts.next()) {
        (Some(phase), Some(plan)) if is_number(phase) && is_number(plan) => {
            &key[..phase.len() + 1 + plan.len()]
        }
        _ => key,
    }
}

/// Splits the code of the project off a name: `CK-` of `CK-01-setup`. GSD accepts up to six letters, in any case.
fn split_code(name: &str) -> (&str, &str) {
    let letters = name.len() - name.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
    let rest = name[letters..].strip_prefix('-').filter(|_| (1..=6).contains(&letters));
    let rest = rest.filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    name.split_at(rest.map_or(0, |_| letters + 1))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plan,
    Summary,
}

/// Returns whether a file is a plan or a summary, and its key: `02-01` of `02-01-PLAN.md`, or `01-A` of `01-PLAN-A.md`.
/// In the directory `plans`, `SUMMARY-01-a.md` belongs to `PLAN-01-a.md`.
fn kind_of(path: &str, code: &str) -> Option<(Kind, String)> {
    let (dir, file) = path.rsplit_once('/').unwrap_or(("", path));
    let file = file.strip_prefix(code).unwrap_or(file);
    let parts: Vec<&str> = file.strip_suffix(".md")?.split('-').collect();
    let is_number = |part: &str| part.starts_with(|c: char| c.is_ascii_digit());
    let is_nested_summary =
        dir == "plans" && parts.windows(2).any(|pair| pair[0] == "SUMMARY" && is_number(pair[1]));
    let kind = if parts.last() == Some(&"SUMMARY") || is_nested_summary {
        Kind::Summary
    } else {
        let index = parts.iter().position(|part| *part == "PLAN")?;
        // `01-PLAN-CHECK.md` is a report on a plan.
        let is_report = |part: &&str| part.len() > 1 && part.chars().all(|c| c.is_ascii_uppercase());
        if parts[index + 1..].iter().any(is_report) {
            return None;
        }
        Kind::Plan
    };
    let key: Vec<&str> = parts.into_iter().filter(|part| !["PLAN", "SUMMARY"].contains(part)).collect();
    key.first().is_none_or(|part| is_number(part)).then(|| (kind, key.join("-")))
}

/// Whether a text has the form of `02-01`: the phase, and a number within it.
pub(crate) fn is_plan_id(text: &str) -> bool {
    let mut parts = text.split('-');
    let mut is_number = || parts.next().is_some_and(|part| part.starts_with(|c: char| c.is_ascii_digit()));
    is_number() && is_number()
}

#[cfg(test)]
mod tests {
    use super::phase_dirs;

    #[track_caller]
    fn check(files: &str, expected: &str) {
        let paths: Vec<String> = files.split(' ').map(|file| format!("phases/{file}.md")).collect();
        let shown = phase_dirs(&paths).into_iter().map(|dir| {
            let plans = dir
                .plans
                .iter()
                .map(|(id, has_summary)| format!(" {id}{}", if *has_summary { "+" } else { "-" }));
            format!("{} {}:{}", dir.id, dir.slug, plans.collect::<String>())
        });
        assert_eq!(shown.collect::<Vec<_>>().join("|"), expected);
    }

    #[test]
    fn plans_and_summaries_are_paired() {
        check("02-a/02-01-PLAN 02-a/02-01-SUMMARY 02-a/02-02-PLAN 02-a/02-RESEARCH", "2 a: 02-01+ 02-02-");
        check("02-a/02-01-SUMMARY", "2 a: 02-01+");
        check("02-a/PLAN 02-a/SUMMARY 03-b/PLAN", "2 a: 02+|3 b: 03-");
        check("02-a/01-PLAN 02-a/02-PLAN 02-a/02-01-SUMMARY", "2 a: 01+ 02-");
        check("02-a/02-PLAN-A 02-a/02-PLAN-B 02-a/02-A-SUMMARY", "2 a: 02-A+ 02-B-");
        check("02-a/01-PLAN-core 02-a/01-PLAN-core-SUMMARY", "2 a: 01-core+");
        check(
            "02A-a/02A-01-PLAN 02A-a/02A-01-SUMMARY 02a.1-b/02a.1-01-PLAN",
            "2A a: 02A-01+|2A.1 b: 02a.1-01-",
        );
    }

    #[test]
    fn words_of_a_plan_can_be_missing_in_its_summary() {
        check(
            "02-b/02-01-setup-PLAN 02-b/02-01-SUMMARY 02-b/02-02-more-PLAN 02-b/02-03-PLAN 02-b/02-03-x-SUMMARY",
            "2 b: 02-01-setup+ 02-02-more- 02-03+",
        );
    }

    #[test]
    fn names_can_have_the_code_of_the_project() {
        check(
            "CK-02-b/02-01-PLAN CK-02-b/02-02-PLAN CK-02-b/02-01-SUMMARY CK-01-a/PLAN",
            "1 a: 01-|2 b: 02-01+ 02-02-",
        );
        check("ck-01A-a/ck-01A-01-PLAN ck-01A-a/ck-01A-01-SUMMARY", "1A a: 01A-01+");
        check("SEVENTY-01-a/01-01-PLAN C2-01-a/01-01-PLAN CK-a/01-01-PLAN", "");
        for report in ["02-VERIFICATION.md", "CK-02-VERIFICATION.md", "VERIFICATION.md"] {
            let path = format!("phases/CK-02-b/{report}");
            assert_eq!(phase_dirs(std::slice::from_ref(&path))[0].report, Some(path));
        }
    }

    #[test]
    fn plans_and_summaries_can_have_a_directory() {
        check(
            "02-a/plans/PLAN-01-core 02-a/plans/SUMMARY-01-core 02-a/plans/PLAN-02-more 02-a/plans/PLAN-01-OUTLINE",
            "2 a: 01-core+ 02-more-",
        );
        check("02-a/plans/2-PLAN-01-core 02-a/plans/2-SUMMARY-01-core", "2 a: 2-01-core+");
        // Outside of this directory, GSD reads no such summaries.
        check("02-a/PLAN-01-core 02-a/SUMMARY-01-core", "2 a: 01-core-");
    }

    #[test]
    fn other_files_are_no_plans() {
        check("02-a/02-01-PLAN 02-a/02-PLAN-CHECK 02-a/02-SUMMARY 02-a/REVISION-SUMMARY", "2 a: 02-01-");
        check(
            "02.1-a/x/02.1-01-PLAN phase-3-b/03-01-PLAN notes/01-01-PLAN 01-setup-PLAN",
            "2.1 a: 02.1-01-|3 b: 03-01-",
        );
    }
}

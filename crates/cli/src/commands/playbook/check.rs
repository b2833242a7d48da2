//! `longhaul playbook check`: whether a playbook can be understood, and what is wrong in it. It changes nothing.

use super::change_report::points;
use super::project;
use crate::args::playbook::CheckArgs;
use crate::args::{GlobalArgs, OutputFormat};
use crate::failure::{Failure, UNEXPECTED_ERROR};
use crate::output;
use crate::output::color::{Colors, Style};
use crate::output::phrases::one_line;
use longhaul_playbook::points::WordOverlap;
use longhaul_playbook::{FileError, Found, PointId, Section};
use serde::Serialize;
use std::collections::BTreeMap;

/// What is printed.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CheckOutput {
    /// The file.
    path: String,
    /// Whether there is one.
    exists: bool,
    /// Whether it can be understood.
    readable: bool,
    /// The version of its format.
    version: Option<String>,
    /// When it was last changed, as the file says it.
    last_updated: Option<String>,
    /// How many points there are, by section.
    points: BTreeMap<&'static str, usize>,
    /// What a person should see to.
    findings: Vec<String>,
    /// What is odd about the file and is read all the same.
    warnings: Vec<String>,
    /// Points that say the same, and become one when something is learnt.
    near_duplicates: Vec<Duplicate>,
}

/// Two points that say the same.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Duplicate {
    /// The one that stays.
    name: PointId,
    /// The one that goes.
    duplicate: PointId,
}

/// Carries out the command and returns its exit code: 0 if nobody need see to anything, else 1.
pub fn check(global: &GlobalArgs, args: &CheckArgs) -> Result<u8, Failure> {
    let file = project::file(&args.project)?;
    let (threshold, flaw) = project::similarity_threshold();
    let path = file.path().display().to_string();
    let mut checked = match file.read() {
        Ok(found) => CheckOutput { path, ..found_in(&found, threshold) },
        Err(error @ (FileError::Damaged { .. } | FileError::Newer { .. })) => CheckOutput {
            path,
            exists: true,
            findings: vec![format!("{error}; {}", error.hint())],
            ..CheckOutput::default()
        },
        Err(error) => return Err(project::failure(&error)),
    };
    checked.warnings.extend(flaw);
    match output::format(global) {
        OutputFormat::Text => output::print_text(&text(&checked, Colors::stdout())),
        OutputFormat::Json | OutputFormat::StreamJson => output::print_json(&checked),
    }
    Ok(if checked.findings.is_empty() { 0 } else { UNEXPECTED_ERROR })
}

fn found_in(found: &Found, threshold: f64) -> CheckOutput {
    let Found { text, playbook, warnings: noticed } = found;
    let duplicates = playbook.near_duplicates(&WordOverlap, threshold).into_iter();
    CheckOutput {
        path: String::new(),
        exists: text.is_some(),
        readable: true,
        version: Some(playbook.version()),
        last_updated: playbook.last_updated.clone(),
        points: Section::ALL
            .iter()
            .map(|section| (section.title(), playbook.section(*section).len()))
            .collect(),
        findings: playbook.lint(),
        warnings: noticed.clone(),
        near_duplicates: duplicates
            .map(|(first, second)| Duplicate { name: first.name.clone(), duplicate: second.name.clone() })
            .collect(),
    }
}

fn text(checked: &CheckOutput, paint: Colors) -> String {
    let count: usize = checked.points.values().sum();
    let state = match (checked.exists, checked.readable) {
        (false, _) => "there is none yet".to_owned(),
        (true, false) => "cannot be used".to_owned(),
        (true, true) => {
            let version = checked.version.as_deref().unwrap_or_default();
            let since =
                checked.last_updated.as_deref().map_or(String::new(), |at| format!(", last changed {at}"));
            format!("version {version}, {}{since}", points(count))
        }
    };
    let mut out = format!("{}: {}\n", checked.path, one_line(&state));
    let mut tell = |word: &str, meaning: Style, text: &str| {
        out += &format!("{} {}\n", paint.styled(word, Some(meaning)), one_line(text));
    };
    checked.findings.iter().for_each(|finding| tell("wrong:", Style::Bad, finding));
    checked.warnings.iter().for_each(|warnings| tell("noticed:", Style::Warning, warnings));
    for Duplicate { name, duplicate } in &checked.near_duplicates {
        tell("alike:", Style::Warning, &format!("[{duplicate}] says what [{name}] says; they become one"));
    }
    out
}

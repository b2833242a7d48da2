//! `longhaul playbook check`: parses a playbook and reports problems. It changes nothing.

use super::project;
use crate::args::GlobalArgs;
use crate::args::playbook::ProjectArgs;
use crate::failure::{Failure, UNEXPECTED_ERROR};
use crate::output;
use crate::output::color::{Colors, Style};
use crate::output::phrases::{counted, one_line};
use longhaul_playbook::points::{self, TextSize};
use longhaul_playbook::{FileError, LoadedPlaybook, Playbook, PointId, Section};
use serde::Serialize;
use std::collections::BTreeMap;

/// Output of the command.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CheckOutput {
    /// Path of the playbook.
    path: String,
    /// Whether the file exists.
    exists: bool,
    /// Whether the file can be parsed.
    readable: bool,
    /// Version of the file format.
    version: Option<String>,
    /// Time of the last change according to the file.
    last_updated: Option<String>,
    /// Number of points in each section.
    points: BTreeMap<&'static str, usize>,
    /// Problems that a person should fix.
    findings: Vec<String>,
    /// Irregularities of the file that are accepted.
    warnings: Vec<String>,
    /// Near-duplicate points. They are merged when something is learned.
    near_duplicates: Vec<Duplicate>,
}

/// Two near-duplicate points.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Duplicate {
    /// Point that stays.
    name: PointId,
    /// Point that is removed.
    duplicate: PointId,
}

/// Runs the command and returns its exit code: 0 without findings, else 1.
pub fn check(global: &GlobalArgs, args: &ProjectArgs) -> Result<u8, Failure> {
    let file = project::file(args)?;
    let (threshold, flaw) = project::similarity_threshold();
    let path = file.path().display().to_string();
    // Learning refuses a link out of the project first.
    let mut report = match file.check_link().and_then(|()| file.read()) {
        Ok(loaded) => CheckOutput { path, ..inspect(&loaded, threshold) },
        Err(error @ (FileError::Damaged { .. } | FileError::Newer { .. } | FileError::Outside { .. })) => {
            CheckOutput {
                path,
                exists: file.path().exists(),
                findings: vec![format!("{error}; {}", error.hint())],
                ..CheckOutput::default()
            }
        }
        Err(error) => return Err(error.into()),
    };
    report.warnings.extend(flaw);
    output::print_output(global, &report, || text(&report, Colors::stdout()));
    Ok(if report.findings.is_empty() { 0 } else { UNEXPECTED_ERROR })
}

fn inspect(loaded: &LoadedPlaybook, threshold: f64) -> CheckOutput {
    let LoadedPlaybook { text, playbook, warnings } = loaded;
    let duplicates = playbook.near_duplicates(threshold).into_iter();
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
        warnings: warnings.iter().cloned().chain(size_warning(playbook)).collect(),
        near_duplicates: duplicates
            .map(|(first, second)| Duplicate { name: first.name.clone(), duplicate: second.name.clone() })
            .collect(),
    }
}

fn size_warning(playbook: &Playbook) -> Option<String> {
    let count = |limit: TextSize| {
        let injection = points::inject(playbook, "", limit, &project::templates());
        // A hook reports a template that cannot be used.
        injection.ok().flatten().map_or(0, |injection| injection.points)
    };
    let (all, received) = (count(TextSize::limit(None)), count(TextSize::hook_limit(None)));
    (received < all).then(|| {
        format!(
            "a session receives about {received} of the {all} points: Claude Code takes no more from a hook"
        )
    })
}

fn text(report: &CheckOutput, colors: Colors) -> String {
    let count: usize = report.points.values().sum();
    let state = match (report.exists, report.readable) {
        (false, _) => "does not exist yet".to_owned(),
        (true, false) => "cannot be used".to_owned(),
        (true, true) => {
            let version = report.version.as_deref().unwrap_or_default();
            let since =
                report.last_updated.as_deref().map_or(String::new(), |at| format!(", last changed {at}"));
            format!("version {version}, {}{since}", counted(count as u64, "point"))
        }
    };
    let mut out = format!("{}: {}\n", report.path, one_line(&state));
    let mut add_line = |word: &str, style: Style, text: &str| {
        out += &format!("{} {}\n", colors.styled(word, Some(style)), one_line(text));
    };
    report.findings.iter().for_each(|finding| add_line("problem:", Style::Bad, finding));
    report.warnings.iter().for_each(|warning| add_line("warning:", Style::Warning, warning));
    for Duplicate { name, duplicate } in &report.near_duplicates {
        add_line(
            "duplicate:",
            Style::Warning,
            &format!("[{duplicate}] repeats [{name}]; they will be merged"),
        );
    }
    out
}

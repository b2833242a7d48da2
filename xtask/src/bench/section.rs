//! The results of one bench as a section of `benches/RESULTS.md`. A bench replaces its own section and no
//! other.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

/// The results of one bench.
pub struct ResultSection {
    /// Description of the bench, in a sentence or two.
    pub about: &'static str,
    pub rows: Vec<ResultRow>,
    /// Another table in Markdown, or an empty string.
    pub appendix: String,
}

/// One figure.
pub struct ResultRow {
    label: String,
    bar: String,
    measured: String,
    /// Ratio to another figure of the same run.
    ratio: String,
    /// Whether the bar was met. `None` without a bar.
    met: Option<bool>,
}

impl ResultRow {
    /// Creates a figure that must not be above its bar.
    pub fn at_most(label: impl Into<String>, bar: f64, unit: &str, measured: f64) -> ResultRow {
        ResultRow {
            label: label.into(),
            bar: format!("≤ {}", quantity(bar, unit)),
            measured: quantity(measured, unit),
            ratio: String::new(),
            // NaN means that nothing was measured, and meets no bar.
            met: Some(measured <= bar),
        }
    }

    /// Creates a condition that must hold.
    pub fn condition(
        label: impl Into<String>,
        bar: impl Into<String>,
        measured: impl Into<String>,
        met: bool,
    ) -> ResultRow {
        ResultRow {
            label: label.into(),
            bar: bar.into(),
            measured: measured.into(),
            ratio: String::new(),
            met: Some(met),
        }
    }

    /// Creates a figure without a bar.
    pub fn without_bar(label: impl Into<String>, unit: &str, measured: f64) -> ResultRow {
        let measured = quantity(measured, unit);
        ResultRow { label: label.into(), bar: String::new(), measured, ratio: String::new(), met: None }
    }

    /// Adds the ratio to another figure of the same run.
    pub fn with_ratio(mut self, ratio: f64, reference: &str) -> ResultRow {
        // If the reference is too short to measure, there is no ratio.
        if ratio.is_finite() {
            self.ratio = format!("{} × {reference}", figure(ratio));
        }
        self
    }

    /// Adds the origin of the bar in parentheses.
    pub fn with_origin(mut self, origin: &str) -> ResultRow {
        self.bar = format!("{} ({origin})", self.bar);
        self
    }

    fn verdict(&self) -> &'static str {
        match self.met {
            Some(true) => "met",
            Some(false) => "**missed**",
            None => "",
        }
    }
}

fn quantity(value: f64, unit: &str) -> String {
    format!("{} {unit}", figure(value)).trim_end().to_owned()
}

/// Renders three significant digits.
fn figure(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 || size == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

impl ResultSection {
    /// Returns the number of missed bars.
    pub fn missed(&self) -> usize {
        self.rows.iter().filter(|row| row.met == Some(false)).count()
    }

    /// Renders the section in Markdown.
    pub fn markdown(&self, name: &str, machine: &str) -> String {
        let mut out = format!("## {name}\n\n{}\n\n{machine}\n", self.about);
        if !self.rows.is_empty() {
            out += "\n| figure | bar | measured | ratio in the same run | verdict |\n|---|---|---|---|---|\n";
        }
        for row in &self.rows {
            let ResultRow { label, bar, measured, ratio, met: _ } = row;
            let _ = writeln!(out, "| {label} | {bar} | {measured} | {ratio} | {} |", row.verdict());
        }
        if !self.appendix.is_empty() {
            let _ = write!(out, "\n{}", self.appendix);
        }
        out
    }
}

const HEAD: &str = "# Bench results\n\n`cargo xtask bench` writes this file. Each section states its date, machine and \
                    versions.\nA missed bar is shown with its figure.\n";

/// Writes the section to the file, in the order of `names`.
pub fn save(file: &Path, names: &[&str], name: &str, section: &str) -> io::Result<()> {
    let old = fs::read_to_string(file).unwrap_or_default();
    let mut out = HEAD.to_owned();
    for section_name in names {
        if *section_name == name {
            let _ = write!(out, "\n{section}");
        } else if let Some(other) = find_section(&old, section_name) {
            let _ = write!(out, "\n## {}\n", other.trim_end());
        }
    }
    if let Some(parent) = file.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(file, out)
}

fn find_section<'a>(old: &'a str, name: &str) -> Option<&'a str> {
    old.split("\n## ").skip(1).find(|section| section.lines().next() == Some(name))
}

#[cfg(test)]
mod tests;

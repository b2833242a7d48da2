//! The results of one measurement as a section of a Markdown file. A measurement replaces its own section and
//! no other.

use std::fmt::{Display, Write as _};
use std::path::Path;
use std::{fs, io};

pub struct ResultSection {
    about: &'static str,
    rows: Vec<ResultRow>,
    /// Another table in Markdown, or an empty string.
    pub appendix: String,
}

pub struct ResultRow {
    label: String,
    bar: String,
    measured: String,
    /// Ratio to another figure of the same run.
    ratio: String,
    /// Whether the bar was met. `None` without a bar.
    met: Option<bool>,
}

impl ResultSection {
    pub fn new(about: &'static str) -> ResultSection {
        ResultSection { about, rows: Vec::new(), appendix: String::new() }
    }

    /// Adds a figure, which must not be above its bar.
    pub fn figure(
        &mut self,
        label: impl Into<String>,
        bar: impl Into<Option<f64>>,
        unit: &str,
        measured: f64,
    ) -> &mut ResultRow {
        let bar = bar.into();
        // NaN means that nothing was measured, and meets no bar.
        let met = bar.map(|bar| measured <= bar);
        let bar = bar.map_or_else(String::new, |bar| format!("≤ {}", quantity(bar, unit)));
        self.push(label.into(), bar, quantity(measured, unit), met)
    }

    pub fn condition(
        &mut self,
        label: impl Into<String>,
        bar: impl Display,
        measured: impl Display,
        met: bool,
    ) -> &mut ResultRow {
        self.push(label.into(), bar.to_string(), measured.to_string(), Some(met))
    }

    pub fn equal<T: Display + PartialEq>(&mut self, label: impl Into<String>, expected: T, measured: T) {
        let met = expected == measured;
        self.condition(label, expected, measured, met);
    }

    /// Adds a condition that all of several items must pass. Without items, it is missed.
    pub fn every(&mut self, label: impl Into<String>, passed: usize, all: usize) {
        let met = passed == all && all > 0;
        self.condition(label, format!("{all} of {all}"), format!("{passed} of {all}"), met);
    }

    fn push(&mut self, label: String, bar: String, measured: String, met: Option<bool>) -> &mut ResultRow {
        self.rows.push(ResultRow { label, bar, measured, ratio: String::new(), met });
        self.rows.last_mut().expect("a row was just added")
    }

    pub fn missed(&self) -> usize {
        self.rows.iter().filter(|row| row.met == Some(false)).count()
    }

    pub fn markdown(&self, name: &str, conditions: &str) -> String {
        let mut out = format!("## {name}\n\n{}\n\n{conditions}\n", self.about);
        if !self.rows.is_empty() {
            out += "\n| figure | bar | measured | ratio in the same run | verdict |\n|---|---|---|---|---|\n";
        }
        for ResultRow { label, bar, measured, ratio, met } in &self.rows {
            let verdict = met.map_or("", |met| if met { "met" } else { "**missed**" });
            let _ = writeln!(out, "| {label} | {bar} | {measured} | {ratio} | {verdict} |");
        }
        if !self.appendix.is_empty() {
            let _ = write!(out, "\n{}", self.appendix);
        }
        out
    }
}

impl ResultRow {
    pub fn ratio(&mut self, ratio: f64, reference: &str) -> &mut ResultRow {
        // If the reference is too short to measure, there is no ratio.
        if ratio.is_finite() {
            self.ratio = format!("{} × {reference}", figure(ratio));
        }
        self
    }

    pub fn origin(&mut self, origin: &str) -> &mut ResultRow {
        self.bar = format!("{} ({origin})", self.bar);
        self
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

pub fn table_row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

pub struct ResultFile<'a> {
    pub path: &'static str,
    pub head: &'static str,
    pub sections: &'a [&'a str],
}

pub const FAULTS_CLAUDE: &str = "Faults with the real Claude Code";
pub const FAULTS_ACP: &str = "Faults with the scripted agent over the Agent Client Protocol";
pub const SWEEPS_CLAUDE: &str = "Sweeps with the real Claude Code";
pub const SWEEPS_SCRIPTED: &str = "Sweeps with the scripted agent";
pub const SWEEPS_ACP: &str = "Sweeps with the scripted agent over the Agent Client Protocol";

pub const RESILIENCE: ResultFile = ResultFile {
    path: "benches/RESILIENCE.md",
    head: "# Resilience\n",
    sections: &[FAULTS_CLAUDE, FAULTS_ACP, SWEEPS_CLAUDE, SWEEPS_SCRIPTED, SWEEPS_ACP],
};

impl ResultFile<'_> {
    pub fn save(&self, root: &Path, name: &str, section: &str) -> io::Result<()> {
        let file = root.join(self.path);
        let old = fs::read_to_string(&file).unwrap_or_default();
        let mut out = self.head.to_owned();
        for section_name in self.sections {
            if *section_name == name {
                let _ = write!(out, "\n{}\n", section.trim_end());
            } else if let Some(other) = find_section(&old, section_name) {
                let _ = write!(out, "\n## {}\n", other.trim_end());
            }
        }
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(file, out)
    }
}

fn find_section<'a>(old: &'a str, name: &str) -> Option<&'a str> {
    old.split("\n## ").skip(1).find(|section| section.lines().next() == Some(name))
}

#[cfg(test)]
mod tests;

//! What one bench found, as a table of `benches/RESULTS.md`, and the file itself: a bench that ran
//! replaces its own section and no other.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

/// The findings of one bench.
pub struct Section {
    /// What was done, in a sentence or two.
    pub about: &'static str,
    pub rows: Vec<Row>,
    /// A table of another shape, in Markdown; or nothing.
    pub appendix: String,
}

/// One figure.
pub struct Row {
    label: String,
    bar: String,
    measured: String,
    /// Against something measured in the same run.
    ratio: String,
    /// Nothing for what is only told.
    met: Option<bool>,
}

impl Row {
    /// A figure that must not be above its bar.
    pub fn at_most(what: impl Into<String>, bar: f64, unit: &str, measured: f64) -> Row {
        Row {
            label: what.into(),
            bar: format!("≤ {}", quantity(bar, unit)),
            measured: quantity(measured, unit),
            ratio: String::new(),
            // A figure that is none, because nothing was measured, meets no bar.
            met: Some(measured <= bar),
        }
    }

    /// Something that must hold.
    pub fn must(
        what: impl Into<String>,
        bar: impl Into<String>,
        measured: impl Into<String>,
        met: bool,
    ) -> Row {
        Row {
            label: what.into(),
            bar: bar.into(),
            measured: measured.into(),
            ratio: String::new(),
            met: Some(met),
        }
    }

    /// A figure without a bar.
    pub fn render(what: impl Into<String>, unit: &str, measured: f64) -> Row {
        let measured = quantity(measured, unit);
        Row { label: what.into(), bar: String::new(), measured, ratio: String::new(), met: None }
    }

    /// The same, with what it is as a multiple of something else from the same run.
    pub fn against(mut self, ratio: f64, yardstick: &str) -> Row {
        // A yardstick too short to be measured is none.
        if ratio.is_finite() {
            self.ratio = format!("{} × {yardstick}", figure(ratio));
        }
        self
    }

    /// The same, with the bar's origin.
    pub fn because(mut self, origin: &str) -> Row {
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

/// Three digits that count, and no more.
fn figure(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 || size == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

impl Section {
    /// How many bars were missed.
    pub fn missed(&self) -> usize {
        self.rows.iter().filter(|row| row.met == Some(false)).count()
    }

    /// The section in Markdown.
    pub fn markdown(&self, name: &str, machine: &str) -> String {
        let mut out = format!("## {name}\n\n{}\n\n{machine}\n", self.about);
        if !self.rows.is_empty() {
            out += "\n| what | bar | measured | in the same run | verdict |\n|---|---|---|---|---|\n";
        }
        for row in &self.rows {
            let Row { label: what, bar, measured, ratio, met: _ } = row;
            let _ = writeln!(out, "| {what} | {bar} | {measured} | {ratio} | {} |", row.verdict());
        }
        if !self.appendix.is_empty() {
            let _ = write!(out, "\n{}", self.appendix);
        }
        out
    }
}

const HEAD: &str = "# Bench results\n\nWritten by `cargo xtask bench`, every figure measured; each section says when, \
                    where and with what.\nA bar that was missed is shown with its figure.\n";

/// Puts the section into the file, in the order of `names`.
pub fn save(file: &Path, names: &[&str], name: &str, section: &str) -> io::Result<()> {
    let old = fs::read_to_string(file).unwrap_or_default();
    let mut out = HEAD.to_owned();
    for each in names {
        if *each == name {
            let _ = write!(out, "\n{section}");
        } else if let Some(kept) = kept(&old, each) {
            let _ = write!(out, "\n## {}\n", kept.trim_end());
        }
    }
    if let Some(parent) = file.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(file, out)
}

fn kept<'a>(old: &'a str, name: &str) -> Option<&'a str> {
    old.split("\n## ").skip(1).find(|section| section.lines().next() == Some(name))
}

#[cfg(test)]
mod tests;

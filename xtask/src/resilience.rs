//! `benches/RESILIENCE.md`: each command that measures resilience owns one part of the file, between markers,
//! and replaces only that part.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

const TITLE: &str = "# Resilience\n";

/// A part of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Faults,
    SweepsClaude,
    SweepsScripted,
    Walkthroughs,
    Limits,
}

impl Part {
    /// Every part, in the order of the file.
    const ALL: [Part; 5] =
        [Part::Faults, Part::SweepsClaude, Part::SweepsScripted, Part::Walkthroughs, Part::Limits];

    fn marker(self) -> &'static str {
        match self {
            Part::Faults => "faults",
            Part::SweepsClaude => "sweeps claude",
            Part::SweepsScripted => "sweeps scripted",
            Part::Walkthroughs => "walkthroughs",
            Part::Limits => "limits",
        }
    }
}

/// Writes a part to the file in the workspace.
pub fn save(root: &Path, part: Part, text: &str) -> io::Result<()> {
    let file = root.join("benches/RESILIENCE.md");
    let old = match fs::read_to_string(&file) {
        Ok(old) => old,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    fs::write(file, with_part(&old, part, text))
}

/// Returns the file's text with this part replaced.
fn with_part(old: &str, part: Part, text: &str) -> String {
    let mut file = TITLE.to_owned();
    for each in Part::ALL {
        let marker = each.marker();
        if let Some(text) = if each == part { Some(text) } else { find_part(old, marker) } {
            // Writing to a string cannot fail.
            let _ = write!(file, "\n<!-- {marker} -->\n{}\n<!-- /{marker} -->\n", text.trim());
        }
    }
    file
}

fn find_part<'a>(old: &'a str, marker: &str) -> Option<&'a str> {
    let (_, rest) = old.split_once(&format!("<!-- {marker} -->\n"))?;
    Some(rest.split_once(&format!("\n<!-- /{marker} -->"))?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn save_replaces_only_its_part() {
        let mut file = String::new();
        for (part, text) in [
            (Part::Walkthroughs, "a"),
            (Part::Faults, "b\n\nb"),
            (Part::Walkthroughs, "c"),
            (Part::SweepsClaude, "d"),
        ] {
            file = with_part(&file, part, text);
        }
        assert_eq!(
            file,
            "# Resilience\n\n<!-- faults -->\nb\n\nb\n<!-- /faults -->\n\n<!-- sweeps claude -->\nd\n\
             <!-- /sweeps claude -->\n\n<!-- walkthroughs -->\nc\n<!-- /walkthroughs -->\n"
        );
    }
}

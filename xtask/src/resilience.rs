//! `benches/RESILIENCE.md`: each command that measures what a run survives has a part of it between marks of its own,
//! and replaces that part and no other.

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
    Stories,
    Limits,
}

impl Part {
    /// Every part, in the order of the file.
    const ALL: [Part; 5] =
        [Part::Faults, Part::SweepsClaude, Part::SweepsScripted, Part::Stories, Part::Limits];

    fn mark(self) -> &'static str {
        match self {
            Part::Faults => "faults",
            Part::SweepsClaude => "sweeps claude",
            Part::SweepsScripted => "sweeps scripted",
            Part::Stories => "stories",
            Part::Limits => "limits",
        }
    }
}

/// Puts a part into the file of the workspace.
pub fn save(root: &Path, part: Part, text: &str) -> io::Result<()> {
    let file = root.join("benches/RESILIENCE.md");
    let old = match fs::read_to_string(&file) {
        Ok(old) => old,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    fs::write(file, with(&old, part, text))
}

/// The file with this part as `text`.
fn with(old: &str, part: Part, text: &str) -> String {
    let mut file = TITLE.to_owned();
    for each in Part::ALL {
        let marker = each.mark();
        if let Some(text) = if each == part { Some(text) } else { kept(old, marker) } {
            // Writing to a string cannot fail.
            let _ = write!(file, "\n<!-- {marker} -->\n{}\n<!-- /{marker} -->\n", text.trim());
        }
    }
    file
}

fn kept<'a>(old: &'a str, marker: &str) -> Option<&'a str> {
    let (_, from) = old.split_once(&format!("<!-- {marker} -->\n"))?;
    Some(from.split_once(&format!("\n<!-- /{marker} -->"))?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_replaces_itself_and_no_other() {
        let mut file = String::new();
        for (part, text) in
            [(Part::Stories, "a"), (Part::Faults, "b\n\nb"), (Part::Stories, "c"), (Part::SweepsClaude, "d")]
        {
            file = with(&file, part, text);
        }
        assert_eq!(
            file,
            "# Resilience\n\n<!-- faults -->\nb\n\nb\n<!-- /faults -->\n\n<!-- sweeps claude -->\nd\n\
             <!-- /sweeps claude -->\n\n<!-- stories -->\nc\n<!-- /stories -->\n"
        );
    }
}

//! `cargo xtask archon-labels`: compares `.archon` trees that a person labeled with the stage and the objectives
//! that Longhaul reads from them. It never changes a tree.

use crate::labels::{read, read_labels};
use clap::Args;
use longhaul_workflow::archon::{ProgressError, ProjectProgress};
use serde::Deserialize;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub struct ArchonLabelOptions {
    /// Directory with `labels.json` and the trees that it names
    dir: PathBuf,
}

/// A labeled tree.
#[derive(Deserialize)]
struct Label {
    /// Directory of the tree.
    dir: String,
    /// The stage. `None` if the text states no known one.
    stage: Option<String>,
    /// The objectives, as the text names them, in any order.
    objectives: Vec<String>,
    /// Whether people disagree about the label, so that it fails nothing.
    #[serde(default)]
    unclear: bool,
}

pub fn archon_labels(options: &ArchonLabelOptions) -> io::Result<()> {
    let labels: Vec<Label> = read_labels(&options.dir)?;
    let (mut stages, mut objectives, mut failures) = (0, 0, 0);
    for label in &labels {
        let text =
            String::from_utf8_lossy(&read(&progress_path(&options.dir.join(&label.dir)))?).into_owned();
        let differences = differences(label, &ProjectProgress::parse(&text));
        stages += usize::from(differences.stage.is_none());
        objectives += usize::from(differences.objectives.is_none());
        let agrees = differences.stage.is_none() && differences.objectives.is_none();
        failures += usize::from(!agrees && !label.unclear);
        println!("{}: {}", label.dir, if agrees { "agrees" } else { "differs" });
        for difference in [differences.stage, differences.objectives].into_iter().flatten() {
            println!("  {difference}{}", if label.unclear { " (the label is unclear)" } else { "" });
        }
    }
    println!("stage: {stages} of {0} labels, objectives: {objectives} of {0} labels", labels.len());
    match failures {
        0 => Ok(()),
        _ => Err(io::Error::other(format!("{failures} of {} trees differ from their labels", labels.len()))),
    }
}

/// Returns the file of a whole project, or of its `.archon` directory.
fn progress_path(tree: &Path) -> PathBuf {
    let whole = tree.join(".archon/PROGRESS.md");
    if whole.exists() { whole } else { tree.join("PROGRESS.md") }
}

/// Descriptions of the differences between a label and a text. `None` if they agree.
#[derive(Debug, Default, PartialEq, Eq)]
struct Differences {
    stage: Option<String>,
    objectives: Option<String>,
}

fn differences(label: &Label, read: &Result<ProjectProgress, ProgressError>) -> Differences {
    let stage = read.as_ref().ok().map(|progress| progress.stage.as_str());
    let is_same_stage = match read {
        Ok(progress) => label.stage.as_deref() == Some(progress.stage.as_str()),
        // Without a known stage, the workflow starts nothing.
        Err(_) => label.stage.is_none(),
    };
    let mut names: Vec<&str> = read.as_ref().map_or_else(
        |_| Vec::new(),
        |progress| progress.objectives.iter().map(|objective| objective.name.as_str()).collect(),
    );
    names.sort_unstable();
    let mut expected: Vec<&str> = label.objectives.iter().map(String::as_str).collect();
    expected.sort_unstable();
    Differences {
        stage: (!is_same_stage).then(|| {
            let error = read.as_ref().err().map(|error| format!(" ({error})")).unwrap_or_default();
            let (labeled, found) = (label.stage.as_deref().unwrap_or("none"), stage.unwrap_or("none"));
            format!("stage: labeled {labeled}, read {found}{error}")
        }),
        objectives: (names != expected).then(|| format!("objectives: labeled {expected:?}, read {names:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::{ArchonLabelOptions, archon_labels};
    use std::fs;

    fn agrees(labels: &str, progress: &str) -> bool {
        let dir = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(dir.path().join("tree/.archon")).expect("it is new");
        fs::write(dir.path().join("tree/.archon/PROGRESS.md"), progress).expect("it is writable");
        fs::write(dir.path().join("labels.json"), labels).expect("it is writable");
        archon_labels(&ArchonLabelOptions { dir: dir.path().to_owned() }).is_ok()
    }

    #[test]
    fn differing_trees_fail_unless_their_label_is_unclear() {
        let progress = "## Current Stage\nprover\n## Current Objectives\n1. **B.lean**\n2. **A.lean**\n";
        let label = |stage: &str, objectives: &str, rest: &str| {
            format!(r#"[{{"dir":"tree","stage":{stage},"objectives":{objectives}{rest}}}]"#)
        };
        let both = r#"["A.lean","B.lean"]"#;
        assert!(agrees(&label("\"prover\"", both, ""), progress));
        for (stage, objectives) in [("\"polish\"", both), ("null", both), ("\"prover\"", r#"["A.lean"]"#)] {
            assert!(!agrees(&label(stage, objectives, ""), progress), "{stage} {objectives}");
            assert!(agrees(&label(stage, objectives, r#","unclear":true"#), progress));
        }
        assert!(agrees(&label("null", "[]", ""), "## Current Stage\nall complete\n"));
        assert!(!agrees(&label("\"COMPLETE\"", "[]", ""), "## Current Stage\nall complete\n"));
        assert!(!agrees("[]", progress), "no label is no agreement");
    }
}

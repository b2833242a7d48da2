//! `cargo xtask gsd-labels`: compares `.planning` trees that a person labeled with the state that Longhaul reads
//! from them. It never changes a tree.

use crate::labels::{read, read_labels};
use clap::Args;
use longhaul_gsd::{Files, Project};
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};

/// Fields that are compared.
const FIELDS: [&str; 9] = [
    "current_phase",
    "current_phase_name",
    "phases_total",
    "phases_complete",
    "plans_total",
    "plans_complete",
    "requirements_total",
    "requirements_complete",
    "milestone",
];
/// Share of the trees that must agree in each field, in percent: people contradict themselves in some trees.
const AGREEMENT_PERCENT_MIN: usize = 90;

#[derive(Args)]
pub struct GsdLabelOptions {
    /// Directory with `labels.json` and the trees that it names
    dir: PathBuf,
    /// Print the warnings of each tree
    #[arg(long)]
    warnings: bool,
}

/// Agreement of one field over all trees.
#[derive(Debug, Default, PartialEq, Eq)]
struct Agreement {
    label: usize,
    accept: usize,
    /// Trees without a value that no label and no accepted answer allows.
    null: usize,
    differs: usize,
}

/// Relation between a label and a value.
#[derive(Debug, PartialEq, Eq)]
enum Relation {
    Label,
    Accept,
    Null,
    Differs,
}

pub fn gsd_labels(options: &GsdLabelOptions) -> io::Result<()> {
    let labels: Vec<Value> = read_labels(&options.dir)?;
    let mut agreements: Vec<Agreement> = FIELDS.iter().map(|_| Agreement::default()).collect();
    for label in &labels {
        let dir = label["dir"].as_str().ok_or_else(|| io::Error::other("a label has no `dir`"))?;
        let project = Project::from_files(read_tree(&options.dir.join(dir))?);
        let status = serde_json::to_value(&project.status)?;
        for (field, agreement) in FIELDS.iter().zip(&mut agreements) {
            let relation = relation(label, field, &status[field]);
            match relation {
                Relation::Label => agreement.label += 1,
                Relation::Accept => agreement.accept += 1,
                Relation::Null => agreement.null += 1,
                Relation::Differs => agreement.differs += 1,
            }
            if matches!(relation, Relation::Null | Relation::Differs) {
                let (source, accept) = (&status["sources"][field], &label["accept"][field]);
                let accept = if accept.is_null() { String::new() } else { format!(" or {accept}") };
                println!(
                    "{dir}: {field} is labeled {}{accept}, read {} ({source})",
                    label[field], status[field]
                );
            }
        }
        if options.warnings {
            for warning in &project.status.warnings {
                println!("{dir}: {}:{} {}", warning.file, warning.line.unwrap_or_default(), warning.text);
            }
        }
    }
    println!("\n{:<24}{:>8}{:>8}{:>8}{:>8}", "field", "label", "accept", "null", "differs");
    for (field, found) in FIELDS.iter().zip(&agreements) {
        println!("{field:<24}{:>8}{:>8}{:>8}{:>8}", found.label, found.accept, found.null, found.differs);
    }
    let is_low =
        |found: &Agreement| (found.label + found.accept) * 100 < labels.len() * AGREEMENT_PERCENT_MIN;
    let low: Vec<&str> =
        FIELDS.iter().zip(&agreements).filter(|(_, found)| is_low(found)).map(|(field, _)| *field).collect();
    match low[..] {
        [] => Ok(()),
        _ => Err(io::Error::other(format!("too few of {} trees agree in: {}", labels.len(), low.join(", ")))),
    }
}

/// Compares a value with its label. A missing value agrees only if the label or an accepted answer is null.
fn relation(label: &Value, field: &str, found: &Value) -> Relation {
    let found = text(found);
    let is_accepted =
        label["accept"][field].as_array().is_some_and(|all| all.iter().any(|one| text(one) == found));
    match found {
        found if found == text(&label[field]) => Relation::Label,
        _ if is_accepted => Relation::Accept,
        None => Relation::Null,
        Some(_) => Relation::Differs,
    }
}

/// Labels write all phases as strings, a status only some.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// Reads a tree whose directory lists the paths below `phases` in `listing.txt`.
fn read_tree(dir: &Path) -> io::Result<Files> {
    let read = |name: &str| match read(&dir.join(name)) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    };
    let paths = read("listing.txt")?.unwrap_or_default();
    Ok(Files {
        state: read("STATE.md")?,
        roadmap: read("ROADMAP.md")?,
        requirements: read("REQUIREMENTS.md")?,
        paths: paths.lines().map(str::to_owned).collect(),
        ..Files::default()
    })
}

#[cfg(test)]
mod tests {
    use super::{GsdLabelOptions, gsd_labels};
    use std::fs;

    fn agrees(current_phase: &str, rest: &str) -> bool {
        let dir = tempfile::tempdir().expect("a directory");
        let tree = dir.path().join("tree");
        fs::create_dir(&tree).expect("it is new");
        fs::write(tree.join("STATE.md"), "Phase: 2\n").expect("it is writable");
        fs::write(tree.join("ROADMAP.md"), "### Phase 2: Pour\n").expect("it is writable");
        fs::write(tree.join("listing.txt"), "phases/02-pour/02-01-PLAN.md\n").expect("it is writable");
        let fields = r#""current_phase_name":"Pour","phases_total":1,"phases_complete":0,"plans_total":1,"plans_complete":0"#;
        let labels = format!(r#"[{{"dir":"tree","current_phase":{current_phase},{fields}{rest}}}]"#);
        fs::write(dir.path().join("labels.json"), labels).expect("it is writable");
        gsd_labels(&GsdLabelOptions { dir: dir.path().to_owned(), warnings: false }).is_ok()
    }

    #[test]
    fn label_or_accepted_answer_must_agree() {
        assert!(agrees("\"2\"", ""));
        assert!(agrees("\"3\"", r#","accept":{"current_phase":[null,"2"]}"#));
        assert!(!agrees("\"3\"", r#","accept":{"current_phase":[null]}"#));
        assert!(!agrees("null", ""));
        // Null agrees only if it is accepted.
        assert!(!agrees("\"2\"", r#","milestone":"v1.0""#));
        assert!(agrees("\"2\"", r#","milestone":"v1.0","accept":{"milestone":[null]}"#));
    }
}

use super::{ResultRow, ResultSection, save};
use std::fs;

const NAMES: &[&str] = &["first", "second", "third"];

fn section(measured: f64) -> ResultSection {
    ResultSection {
        about: "About it.",
        rows: vec![ResultRow::at_most("time", 4.0, "ms", measured)],
        appendix: String::new(),
    }
}

#[test]
fn bench_replaces_only_its_own_section() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("benches/RESULTS.md");
    for (name, measured) in [("third", 3.0), ("first", 1.0), ("third", 5.0)] {
        save(&file, NAMES, name, &section(measured).markdown(name, "a machine")).expect("saved");
    }
    let text = fs::read_to_string(&file).expect("written");
    let headings: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
    assert_eq!(headings, ["## first", "## third"]);
    assert!(text.contains("| time | ≤ 4.00 ms | 1.00 ms |  | met |"), "{text}");
    assert!(text.contains("| time | ≤ 4.00 ms | 5.00 ms |  | **missed** |"), "{text}");
    assert!(!text.contains("3.00 ms"), "{text}");
}

#[test]
fn unmeasured_figure_misses_its_bar() {
    assert_eq!(section(f64::NAN).missed(), 1);
    assert_eq!(section(f64::INFINITY).missed(), 1);
    assert_eq!(section(4.0).missed(), 0);
}

use super::{ResultFile, ResultSection};
use std::fs;

const FILE: ResultFile =
    ResultFile { path: "benches/RESULTS.md", head: "# Results\n", sections: &["first", "second", "third"] };

fn section(measured: f64) -> ResultSection {
    let mut section = ResultSection::new("About it.");
    section.figure("time", 4.0, "ms", measured);
    section
}

#[test]
fn measurement_replaces_only_its_own_section() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (name, measured) in [("third", 3.0), ("first", 1.0), ("third", 5.0)] {
        FILE.save(dir.path(), name, &section(measured).markdown(name, "a machine")).expect("saved");
    }
    let text = fs::read_to_string(dir.path().join(FILE.path)).expect("written");
    let headings: Vec<&str> = text.lines().filter(|line| line.starts_with('#')).collect();
    assert_eq!(headings, ["# Results", "## first", "## third"]);
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

#[test]
fn condition_without_items_is_missed() {
    let missed = |passed, all| {
        let mut section = ResultSection::new("About it.");
        section.every("items", passed, all);
        section.missed()
    };
    assert_eq!((missed(2, 2), missed(1, 2), missed(0, 0)), (0, 1, 1));
}

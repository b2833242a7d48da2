use super::{Assignment, Objective};

const FILES: [&str; 8] = [
    "Basic.lean",
    "Algebra/Basic.lean",
    "Algebra/Ring.lean",
    "Algebra/SubRing.lean",
    "Topology/Algebra/Ring.lean",
    "Topology/Flat.lean",
    ".lake/packages/mathlib/Topology/Flat.lean",
    ".lake/packages/mathlib/Order.lean",
];

fn assign(names: &[&str]) -> Result<Assignment, String> {
    let objectives: Vec<Objective> =
        names.iter().zip(1..).map(|(name, line)| Objective { name: (*name).to_owned(), line }).collect();
    Assignment::new(&objectives, &FILES.map(str::to_owned))
}

#[test]
fn names_and_paths_resolve_to_one_file() {
    for (name, file) in [
        ("Flat.lean", "Topology/Flat.lean"),
        ("SubRing.lean", "Algebra/SubRing.lean"),
        ("Algebra/Basic.lean", "Algebra/Basic.lean"),
        ("./Basic.lean", "Basic.lean"),
        ("./Algebra/Ring.lean", "Algebra/Ring.lean"),
        // This path exists, although another one ends with it.
        ("Algebra/Ring.lean", "Algebra/Ring.lean"),
    ] {
        assert_eq!(assign(&[name]).expect("it is unique").files, [file], "{name}");
    }
}

#[test]
fn ambiguous_name_lists_its_files() {
    let error = assign(&["Flat.lean", "Ring.lean"]).expect_err("there are two");
    assert_eq!(
        error,
        "PROGRESS.md, line 2: `Ring.lean` is the name of 2 files: Algebra/Ring.lean, Topology/Algebra/Ring.lean; \
         write the path of one, such as `Algebra/Ring.lean`"
    );
    let error = assign(&["Basic.lean"]).expect_err("there are two");
    assert!(error.contains("2 files: Algebra/Basic.lean, Basic.lean; "), "{error}");
}

#[test]
fn hint_of_an_ambiguous_name_resolves() {
    for name in ["Ring.lean", "Basic.lean"] {
        let error = assign(&[name]).expect_err("there are two");
        let hint = error.split('`').rev().nth(1).expect("the error has a hint");
        assert_eq!(assign(&[hint]).expect("the hint works").files.len(), 1, "{error}");
    }
}

#[test]
fn missing_files_and_files_of_dependencies_are_unresolved() {
    let assignment = assign(&["Order.lean", "Nowhere/Flat.lean", "Flat.lean", "ing.lean"]);
    let assignment = assignment.expect("nothing is ambiguous");
    let unresolved: Vec<(&str, usize)> =
        assignment.unresolved.iter().map(|objective| (objective.name.as_str(), objective.line)).collect();
    assert_eq!(unresolved, [("Order.lean", 1), ("Nowhere/Flat.lean", 2), ("ing.lean", 4)]);
    assert_eq!(assignment.files, ["Topology/Flat.lean"]);
}

#[test]
fn files_keep_the_order_of_the_plan_and_occur_once() {
    let names = ["SubRing.lean", "Flat.lean", "Algebra/SubRing.lean", "./Basic.lean"];
    let assignment = assign(&names).expect("nothing is ambiguous");
    assert_eq!(assignment.files, ["Algebra/SubRing.lean", "Topology/Flat.lean", "Basic.lean"]);
}

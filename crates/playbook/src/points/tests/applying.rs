use super::{playbook, to_text};
use crate::points::{Applied, ChangeSummary, PointVerdict, THRESHOLD, Tag, apply};
use crate::{Playbook, PointId};
use expect_test::{Expect, expect};
use serde_json::{Value, json};

const SMALL: &str = "
    ## PATTERNS & APPROACHES
    pat-001 5/0 run the linter first
    pat-003 1/2 keep functions short
    ## MISTAKES TO AVOID
    mis-001 0/0 editing generated files
    ## OTHERS
    kpt_001 2/1 the api folder is vendored
";

fn render(result: &Applied) -> String {
    let Applied { playbook, changes } = result;
    let applied: String = changes.applied.iter().map(|change| format!("{}\n", json!(change))).collect();
    let skipped: String = changes
        .skipped
        .iter()
        .map(|change| format!("not {}: {}\n", change.description, change.reason))
        .collect();
    let numbers = Playbook::read(&playbook.text()).expect("a playbook").0;
    assert_eq!(&numbers, playbook);
    format!("{}{applied}{skipped}", to_text(playbook))
}

fn check(operations: Value, expected: Expect) {
    let operations = operations.as_array().expect("a list");
    let result = apply(&playbook(SMALL), &[], operations, THRESHOLD);
    expected.assert_eq(&render(&result));
}

#[test]
fn summarizes_changes_in_one_line() {
    let operations = json!([
        {"type": "ADD", "text": "use pnpm"},
        {"type": "UPDATE", "target_id": "pat-003", "text": "keep functions on one screen"},
        {"type": "MERGE", "source_ids": ["pat-001", "kpt_001"], "merged_text": "lint first, but not api"},
        {"type": "DELETE", "target_id": "no one"},
    ]);
    let operations = operations.as_array().expect("a list");
    let result = apply(&playbook(SMALL), &[], operations, THRESHOLD);
    assert_eq!(result.changes.summary_line(), "2 new, 1 changed, 2 removed, 1 skipped");
    assert_eq!(ChangeSummary::default().summary_line(), "nothing changed");
}

#[test]
fn applies_operations() {
    check(
        json!([
            {"type": "ADD", "text": "use pnpm", "section": " user preferences"},
            {"type": "ADD", "text": "no one knows where", "section": "Tips"},
            {"type": "ADD", "text": "without a section", "section": null},
            {"type": "UPDATE", "target_id": "pat-003", "text": "keep functions on one screen"},
            {"type": "DELETE", "target_id": "mis-001", "reason": "obsolete"},
            {"type": "MERGE", "source_ids": ["pat-001", "kpt_001"], "merged_text": "lint first, but not api"},
        ]),
        expect![[r###"
            ## PATTERNS & APPROACHES
            pat-003 1/2 keep functions on one screen
            pat-004 7/1 lint first, but not api
            ## USER PREFERENCES
            pref-001 0/0 use pnpm
            ## OTHERS
            oth-001 0/0 no one knows where
            oth-002 0/0 without a section
            {"change":"added","name":"pref-001","section":"USER PREFERENCES","text":"use pnpm"}
            {"change":"added","name":"oth-001","section":"OTHERS","text":"no one knows where","unknown_section":"Tips"}
            {"change":"added","name":"oth-002","section":"OTHERS","text":"without a section"}
            {"change":"updated","name":"pat-003","previous_text":"keep functions short","text":"keep functions on one screen"}
            {"change":"deleted","name":"mis-001","reason":"obsolete","section":"MISTAKES TO AVOID","text":"editing generated files"}
            {"change":"merged","from":["pat-001","kpt_001"],"name":"pat-004","section":"PATTERNS & APPROACHES","text":"lint first, but not api"}
        "###]],
    );
}

#[test]
fn skips_invalid_operations_with_reason() {
    let operations = json!([
        {"type": "ADD", "text": "run the linter first", "section": "OTHERS"},
        {"type": "ADD", "text": "  "},
        {"type": "UPDATE", "target_id": "pat-009", "text": "x"},
        {"type": "DELETE", "target_id": ""},
        {"type": "MERGE", "source_ids": ["pat-001", "pat-001"], "merged_text": "x"},
        {"type": "MERGE", "source_ids": ["pat-001", "gone", 7], "merged_text": "x"},
        {"type": "MERGE", "source_ids": "pat-001", "merged_text": "x"},
        {"type": "REWRITE", "text": "everything"},
        "ADD a point",
        {"text": "no type"},
        {"type": "ADD", "text": "the eleventh"},
    ]);
    let result = apply(&playbook(SMALL), &[], operations.as_array().expect("a list"), THRESHOLD);
    assert_eq!(result.playbook, playbook(SMALL));
    expect![[r#"
        not ADD: [pat-001] has the same text
        not ADD: `text` is empty or missing
        not UPDATE: there is no point [pat-009]
        not DELETE: `target_id` is empty or missing
        not MERGE: fewer than two of its points exist
        not MERGE: there is no point [gone]
        not MERGE: there is no point [7]
        not MERGE: fewer than two of its points exist
        not MERGE: `source_ids` is not a list
        not REWRITE: there is no such operation
        not operation: it is not an object
        not operation: it has no `type`
        not operations: 1 beyond the first 10
    "#]]
    .assert_eq(render(&result).strip_prefix(&to_text(&result.playbook)).expect("a playbook"));
}

#[test]
fn never_reuses_ids() {
    let id_of = |playbook: &Playbook, text: &str| -> PointId {
        playbook
            .points()
            .find(|(_, point)| point.text == text)
            .map(|(_, point)| point.name.clone())
            .expect("it is there")
    };
    let apply = |playbook: &Playbook, operations: Value| {
        let operations = operations.as_array().expect("a list");
        apply(playbook, &[], operations, THRESHOLD).playbook
    };
    let add = |text: &str| json!({"type": "ADD", "text": text, "section": "PATTERNS & APPROACHES"});
    let first = apply(
        &playbook(SMALL),
        json!([{"type": "DELETE", "target_id": "pat-003"}, add("sort imports by crate")]),
    );
    assert_eq!(id_of(&first, "sort imports by crate").as_str(), "pat-004");
    let second = apply(&first, json!([{"type": "DELETE", "target_id": "pat-004"}]));
    assert!(second.text().contains("\"last_numbers\": {\n    \"pat\": 4\n  }"), "{}", second.text());
    // Another program rewrites the file and preserves unknown fields.
    let (second, _) = Playbook::read(&second.text()).expect("a playbook");
    let third = apply(&second, json!([add("name tests after what they show")]));
    assert_eq!(id_of(&third, "name tests after what they show").as_str(), "pat-005");
    // Once the highest number exists again, nothing needs to be reserved.
    assert!(!third.text().contains("last_numbers"));
}

#[test]
fn counts_tags_and_prunes_harmful_points() {
    let tag = |name: &str, tag| Tag { name: name.into(), tag, rationale: String::new() };
    let tags = [
        tag("pat-001", PointVerdict::Helpful),
        tag("kpt_001", PointVerdict::Neutral),
        tag("pat-003", PointVerdict::Harmful),
        tag("gone", PointVerdict::Helpful),
    ];
    let result = apply(&playbook(SMALL), &tags, &[], THRESHOLD);
    expect![[r###"
        ## PATTERNS & APPROACHES
        pat-001 6/0 run the linter first
        ## MISTAKES TO AVOID
        mis-001 0/0 editing generated files
        ## OTHERS
        kpt_001 2/1 the api folder is vendored
        {"change":"helped","name":"pat-001"}
        {"change":"harmed","name":"pat-003"}
        {"change":"pruned","harmful":3,"helpful":1,"name":"pat-003","section":"PATTERNS & APPROACHES","text":"keep functions short"}
        not tag: there is no point [gone]
    "###]].assert_eq(&render(&result));
    // A point that did harm as often as it helped stays, and so does one without ratings.
    let unchanged = playbook("pat-001 3/3 a\npat-002 0/0 b\npat-003 0/2 c\npat-004 9/8 d");
    assert_eq!(apply(&unchanged, &[], &[], THRESHOLD).playbook, unchanged);
}

#[test]
fn preserves_unknown_fields() {
    let text = r#"{"version": "1.2", "sections": {
        "OTHERS": [
            {"name": "oth-001", "text": "one", "helpful": 1, "harmful": 0, "by": "me", "tags": ["x"]},
            {"name": "oth-002", "text": "two", "helpful": 1, "harmful": 0, "by": "you", "seen": 4}
        ],
        "RECIPES": [{"name": "rec-001"}]
    }, "team": {"b": 1, "a": [null]}}"#;
    let (before, _) = Playbook::read(text).expect("a playbook");
    let operations = json!([
        {"type": "UPDATE", "target_id": "oth-001", "text": "uno"},
        {"type": "MERGE", "source_ids": ["oth-001", "oth-002"], "merged_text": "both"}
    ]);
    let operations = operations.as_array().expect("a list");
    let after = apply(&before, &[], operations, THRESHOLD).playbook;
    let after: Value = serde_json::from_str(&after.text()).expect("JSON");
    assert_eq!(after["version"], "1.2");
    assert_eq!(after["team"], json!({"b": 1, "a": [null]}));
    assert_eq!(after["sections"]["RECIPES"], json!([{"name": "rec-001"}]));
    let merged = json!([{"name": "oth-003", "text": "both", "helpful": 2, "harmful": 0, "by": "me", "tags": ["x"], "seen": 4}]);
    assert_eq!(after["sections"]["OTHERS"], merged);
}

use super::to_text;
use crate::Playbook;
use expect_test::{Expect, expect};

fn check(text: &str, expected: Expect) {
    let result = match Playbook::read(text) {
        Ok((playbook, warnings)) => {
            let warnings: String = warnings.iter().map(|warning| format!("odd: {warning}\n")).collect();
            let findings: String =
                playbook.lint().iter().map(|finding| format!("finding: {finding}\n")).collect();
            format!("{}{warnings}{findings}", to_text(&playbook))
        }
        Err(error) => format!("{error}\n"),
    };
    expected.assert_eq(&result);
}

#[test]
fn round_trips_foreign_file() {
    // The format of Python's json.dump(indent=2, ensure_ascii=False).
    let text = "{\n  \"version\": \"1.0\",\n  \"last_updated\": \"2026-11-23T00:30:00.123456\",\n  \"sections\": {\n    \
        \"PATTERNS & APPROACHES\": [\n      {\n        \"name\": \"pat-001\",\n        \"text\": \"größer \\\"a\\\"\\n→ \\u0001\",\n        \
        \"helpful\": 3,\n        \"harmful\": 0,\n        \"mine\": {}\n      }\n    ],\n    \"MISTAKES TO AVOID\": [],\n    \
        \"USER PREFERENCES\": [],\n    \"PROJECT CONTEXT\": [],\n    \"OTHERS\": [],\n    \"RECIPES\": [\n      1\n    ]\n  },\n  \
        \"curator\": null,\n  \"seen\": [\n    {\n      \"a\": 1.5\n    }\n  ]\n}";
    let (playbook, warnings) = Playbook::read(text).expect("a playbook");
    assert_eq!(playbook.text(), text);
    assert_eq!(warnings, ["sections.RECIPES: is not a section of a playbook; it is kept but never injected"]);
}

#[test]
fn empty_playbook_has_all_sections() {
    expect![[r#"
        {
          "version": "1.0",
          "last_updated": null,
          "sections": {
            "PATTERNS & APPROACHES": [],
            "MISTAKES TO AVOID": [],
            "USER PREFERENCES": [],
            "PROJECT CONTEXT": [],
            "OTHERS": []
          }
        }"#]]
    .assert_eq(&Playbook::default().text());
}

#[test]
fn round_trips_converted_playbook() {
    let text =
        r#"{"key_points": ["a", {"name": "kpt_007", "text": "b", "score": -2, "by": "me"}, "c"], "x": [1]}"#;
    let (playbook, _) = Playbook::read(text).expect("a playbook");
    let (again, warnings) = Playbook::read(&playbook.text()).expect("a playbook");
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(again, playbook);
}

#[test]
fn converts_old_format() {
    let text = r#"{"version": "1.0", "key_points": [
        "a text",
        {"name": "kpt_004", "text": "scored", "score": 3},
        {"text": "harmful", "score": -2},
        {"name": "mine", "text": "counted", "helpful": 2, "harmful": 1, "score": 9},
        {"name": "kpt_001x", "text": "plain"},
        "another"
    ]}"#;
    check(
        text,
        expect![[r#"
        ## OTHERS
        kpt_001 0/0 a text
        kpt_004 3/0 scored
        kpt_005 0/2 harmful
        mine 2/1 counted
        kpt_001x 0/0 plain
        kpt_006 0/0 another
        odd: key_points: 6 in the old format moved to OTHERS
    "#]],
    );
    check(
        r#"{"key_points": ["a", {"name": "kpt_001", "text": "b"}]}"#,
        expect![[r#"
        ## OTHERS
        kpt_002 0/0 a
        kpt_001 0/0 b
        odd: key_points: 2 in the old format moved to OTHERS
    "#]],
    );
    check(
        r#"{"key_points": ["a"], "sections": {"OTHERS": []}}"#,
        expect![[r#"
        odd: key_points: 1 in the old format ignored, because there are sections
    "#]],
    );
    check(r#"{"key_points": []}"#, expect![[r#""#]]);
}

#[test]
fn tolerates_oddities() {
    let text = r#"{"version": "one", "last_updated": 17, "sections": {
        "PATTERNS & APPROACHES": [
            {"name": "pat-001", "text": "negative", "helpful": -1, "harmful": 2.9},
            {"name": "pat-002", "text": "in words", "helpful": "3", "harmful": "many"},
            {"name": "pat-004", "text": "not there"},
            "only a text",
            {"text": "nameless", "helpful": 0, "harmful": 0}
        ],
        "mistakes to avoid ": [{"name": 17, "text": "a number", "helpful": 0, "harmful": 0}],
        "USER PREFERENCES": null,
        "OTHERS": [
            {"name": "pat-001", "text": "a duplicate name", "helpful": 0, "harmful": 0},
            {"name": "oth 1", "text": " ", "helpful": 0, "harmful": 0},
            {"name": "oth-002", "helpful": 0, "harmful": 0},
            {"name": "oth-003", "text": "in words", "helpful": 0, "harmful": 0}
        ]
    }}"#;
    check(
        text,
        expect![[r###"
        ## PATTERNS & APPROACHES
        pat-001 0/2 negative
        pat-002 3/0 in words
        pat-004 0/0 not there
        pat-005 0/0 only a text
        pat-006 0/0 nameless
        ## MISTAKES TO AVOID
        17 0/0 a number
        ## OTHERS
        pat-001 0/0 a duplicate name
        oth 1 0/0  
        oth-002 0/0 
        oth-003 0/0 in words
        odd: version: `one` is not a version; read as 1.0
        odd: last_updated: is a number, not a text
        odd: sections.OTHERS[2]: has no text
        odd: sections.PATTERNS & APPROACHES[0]: its helpful is -1; read as 0
        odd: sections.PATTERNS & APPROACHES[0]: its harmful is 2.9; read as 2
        odd: sections.PATTERNS & APPROACHES[1]: its helpful is "3"; read as 3
        odd: sections.PATTERNS & APPROACHES[1]: its harmful is "many"; read as 0
        odd: sections.PATTERNS & APPROACHES[2]: has no helpful; read as 0
        odd: sections.PATTERNS & APPROACHES[2]: has no harmful; read as 0
        odd: sections.mistakes to avoid : read as MISTAKES TO AVOID
        odd: sections.mistakes to avoid [0]: its name is a number; read as text
        odd: sections.PATTERNS & APPROACHES[3]: has no name; named pat-005
        odd: sections.PATTERNS & APPROACHES[4]: has no name; named pat-006
        finding: OTHERS [pat-001]: there is another point of this name in PATTERNS & APPROACHES
        finding: OTHERS [oth 1]: it has no text
        finding: OTHERS [oth 1]: its name cannot be cited: use letters, digits, `-` and `_`
        finding: OTHERS [oth-002]: it has no text
        finding: OTHERS [oth-003]: its text is the same as that of [pat-002]
    "###]],
    );
    check("\u{feff}{\"sections\": {}}", expect![[r#""#]]);
    check(
        "{}",
        expect![[r#"
        odd: the file: has no sections
    "#]],
    );
}

#[test]
fn reports_location_of_errors() {
    check(
        "",
        expect![[r#"
        line 1, column 0: EOF while parsing a value
    "#]],
    );
    check(
        "{\"sections\": {\n  \"OTHERS\": [}",
        expect![[r#"
        line 2, column 14: expected value
    "#]],
    );
    check(
        "[]",
        expect![[r#"
        the file: is a list, not an object
    "#]],
    );
    check(
        r#"{"sections": []}"#,
        expect![[r#"
        sections: is a list, not an object
    "#]],
    );
    check(
        r#"{"sections": {"OTHERS": {}}}"#,
        expect![[r#"
        sections.OTHERS: is an object, not a list of points
    "#]],
    );
    check(
        r#"{"sections": {"OTHERS": ["a", 1]}}"#,
        expect![[r#"
        sections.OTHERS[1]: is a number, not a point
    "#]],
    );
    check(
        r#"{"key_points": {"a": 1}}"#,
        expect![[r#"
        key_points: is an object, not a list of points
    "#]],
    );
}

#[test]
fn rejects_newer_major_version() {
    check(
        r#"{"version": "2.0", "sections": {}}"#,
        expect![[r#"
        its version is 2.0, but this program supports 1.x
    "#]],
    );
    check(
        r#"{"version": 3, "sections": 1}"#,
        expect![[r#"
        its version is 3, but this program supports 1.x
    "#]],
    );
    for version in ["\"1.0\"", "\"1.7.3\"", "1", "1.0", "\"v1\"", "null"] {
        let (_, warnings) =
            Playbook::read(&format!("{{\"version\": {version}, \"sections\": {{}}}}")).expect("a playbook");
        assert!(warnings.is_empty(), "{version}: {warnings:?}");
    }
}

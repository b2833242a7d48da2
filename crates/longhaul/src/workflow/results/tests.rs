use super::{item_value, json_in, result_of_run};
use serde_json::{Value, json};

#[test]
fn only_objects_and_lists_are_json_items() {
    for (text, expected) in [
        ("a.lean", json!("a.lean")),
        ("5", json!("5")),
        ("true", json!("true")),
        (r#"{"id":1}"#, json!({"id": 1})),
        ("[1,2]", json!([1, 2])),
        ("{not json}", json!("{not json}")),
    ] {
        assert_eq!(item_value(text), expected, "{text}");
    }
}

#[test]
fn finds_json_in_answers() {
    let check = |answer: &str, expected: Option<Value>| assert_eq!(json_in(answer), expected, "{answer}");
    check(" {\"a\": 1}\n", Some(json!({"a": 1})));
    check("Here it is:\n```json\n{\"a\": 1}\n```\n", Some(json!({"a": 1})));
    check("```\n[1]\n```\nand\n```json\n[2]\n```", Some(json!([2])));
    check("no JSON", None);
    check("```json\n{\"a\": 1}\n``` and more", None);
}

#[test]
fn answer_without_schema_is_text() {
    let result = result_of_run("a".into(), Some("{\"a\": 1}"), None);
    assert_eq!((result.value, result.problem), (Some(json!("{\"a\": 1}")), None));
    assert_eq!(result_of_run("a".into(), None, None).value, None);
}

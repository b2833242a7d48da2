use super::{Results, item_value, json_in, result_of_run};
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

#[test]
fn listed_again_items_keep_their_results() {
    let mut results = Results::default();
    let list = |results: &mut Results, texts: &[&str]| {
        let texts: Vec<String> = texts.iter().copied().map(str::to_owned).collect();
        results.set_items(0, "prove", &texts);
        results.by_phase()["prove"].clone()
    };
    assert_eq!(list(&mut results, &["a", "b"]), json!([null, null]));
    results.by_phase.insert("prove".to_owned(), json!(["first", "second"]));
    assert_eq!(list(&mut results, &["a", "c", "d"]), json!(["first", null, null]));
    // The next iteration starts without results.
    results.items.clear();
    assert_eq!(list(&mut results, &["a"]), json!([null]));
}

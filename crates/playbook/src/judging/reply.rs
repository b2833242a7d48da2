//! Extracts JSON from an answer. Models put it in fences or add prose, whatever the prompt says. The search
//! is bounded, and invalid JSON is skipped.

use serde_json::{Deserializer, Map, Value};

type Object = Map<String, Value>;

/// Maximum number of candidates of one kind. An answer with more braces is a program or noise.
const CANDIDATES_MAX: usize = 4096;

/// Returns the first JSON object in an answer that has one of these keys.
pub fn object_with(reply: &str, keys: &[&str]) -> Option<Object> {
    objects(reply).find(|object| keys.iter().any(|key| object.contains_key(*key)))
}

/// Returns every JSON object in an answer, likeliest first and with duplicates: in `json` fences, in any
/// fence, at any brace, and the whole answer.
fn objects(reply: &str) -> impl Iterator<Item = Object> {
    let in_json_fence = fenced(reply).filter_map(|(language, text)| (language == "json").then_some(text));
    let in_any_fence = fenced(reply).map(|(_, text)| text);
    let whole = in_json_fence.chain(in_any_fence).filter_map(|text| serde_json::from_str(text).ok());
    whole.chain(at_braces(reply)).chain(serde_json::from_str(reply).ok())
}

/// Returns the text in fences, each with its language. An unclosed fence ends with the truncated answer. Text
/// between two fences counts as fenced too, because fences may be unpaired.
fn fenced(reply: &str) -> impl Iterator<Item = (&str, &str)> {
    let fences = reply.match_indices("```").take(CANDIDATES_MAX);
    fences.map(|(index, fence)| {
        let inside = &reply[index + fence.len()..];
        let inside = inside.split_once("```").map_or(inside, |(inside, _)| inside);
        let is_word = |c: char| c.is_ascii_alphanumeric();
        let language_end = inside.find(|c| !is_word(c)).unwrap_or(inside.len());
        inside.split_at(language_end)
    })
}

/// Returns the objects that start at any brace, including nested ones. After each object or error, the search
/// continues at the next brace.
fn at_braces(reply: &str) -> impl Iterator<Item = Object> {
    let braces = reply.match_indices('{').take(CANDIDATES_MAX);
    // The parser stops at a depth of 128, so it reads no character more than 128 times.
    braces.filter_map(|(index, _)| Deserializer::from_str(&reply[index..]).into_iter().next()?.ok())
}

#[cfg(test)]
mod tests {
    use super::{object_with, objects};
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn finds_object_in_any_format() {
        let check = |reply: &str, expected: &str| {
            let found = object_with(reply, &["ops", "why"]);
            assert_eq!(
                found.map_or("nothing".to_owned(), |found| Value::Object(found).to_string()),
                expected
            );
        };
        let ops = r#"{"ops":[]}"#;
        check(r#"{"ops": []}"#, ops);
        check("\n {\"ops\": []}\n", ops);
        check("```json\n{\"ops\": []}\n```", ops);
        check("Here it is:\n```json\n{\"ops\": []}\n```\nI hope that it helps.", ops);
        check("```\n{\"ops\": []}\n```", ops);
        check("```json {\"ops\": []}```", ops);
        check("I thought {so}: {\"ops\": []}, and {more}.", ops);
        check("```python\nx = {}\n```\n```json\n{\"ops\": []}\n```", ops);
        check("```json\n{\"ops\": [}\n```\nOnce more:\n```json\n{\"ops\": []}\n```", ops);
        check("```json\n{\"other\": 1}\n```\nand {\"ops\": []}", ops);
        check("The empty object {} is none; {\"ops\": []}", ops);
        check("{\"answer\": {\"ops\": []}}", ops);
        check("```json\n{\"ops\": []}", ops);
        check(
            "Use fences:\n```json\n{\"why\": \"by ```json fences```\", \"ops\": []}\n```",
            r#"{"ops":[],"why":"by ```json fences```"}"#,
        );
        check(r#"{"why": "a } and a { and \" and }}"}"#, r#"{"why":"a } and a { and \" and }}"}"#);
        check("", "nothing");
        check("I cannot help with that.", "nothing");
        check("{\"ops\": [", "nothing");
        check("[\"ops\"]", "nothing");
        check("{\"other\": 1}", "nothing");
    }

    #[test]
    fn noise_is_rejected_quickly() {
        for noise in ["{", "{\"a\":", "```json\n", "{\"a\":[", "}", "{}", "\\\"{"] {
            assert_eq!(object_with(&noise.repeat(50_000), &["ops"]), None);
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..4).prop_map(Value::from),
                btree_map(".*", inner, 0..4).prop_map(|map| json!(map))
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn finds_object_in_any_surrounding_text(
            before in "(.|\n)*", after in "(.|\n)*", value in value(), pretty in any::<bool>(),
            fence in prop_oneof![Just(("", "")), Just(("```json\n", "\n```")), Just(("```\n", "\n```"))],
        ) {
            let object = json!({ "found": value });
            let text = if pretty { format!("{object:#}") } else { object.to_string() };
            let reply = format!("{before}{}{text}{}{after}", fence.0, fence.1);
            prop_assert!(objects(&reply).any(|found| Value::Object(found) == object));
        }

        #[test]
        fn search_terminates(reply in "([{}\"`\\\\:,a\n]|```json)*") {
            let _ = objects(&reply).count();
        }
    }
}

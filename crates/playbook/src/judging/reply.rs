//! JSON out of an answer: models put it in fences, or prose around it, however they are asked. What is looked at is
//! bounded, and what is no JSON is passed over.

use serde_json::{Deserializer, Map, Value};

type Object = Map<String, Value>;

/// How many places of one kind are looked at in one answer: one with more braces than this is a program, or noise.
const PLACES_MAX: usize = 4096;

/// The first JSON object in an answer that has one of these keys.
pub fn object_with(reply: &str, keys: &[&str]) -> Option<Object> {
    objects(reply).find(|object| keys.iter().any(|key| object.contains_key(*key)))
}

/// Every JSON object in an answer, the likeliest first, some of them more than once: those in fences that say `json`, in
/// fences of any kind, those that begin at a brace, and the answer as a whole.
fn objects(reply: &str) -> impl Iterator<Item = Object> {
    let said_to_be = fenced(reply).filter_map(|(language, text)| (language == "json").then_some(text));
    let in_any_fence = fenced(reply).map(|(_, text)| text);
    let whole = said_to_be.chain(in_any_fence).filter_map(|text| serde_json::from_str(text).ok());
    whole.chain(at_braces(reply)).chain(serde_json::from_str(reply).ok())
}

/// What stands in fences, with the language that each is said to be in. A fence that is never closed ends with the answer,
/// which was cut off. Text between two fences is taken for fenced, too: fences may be unpaired.
fn fenced(reply: &str) -> impl Iterator<Item = (&str, &str)> {
    let fences = reply.match_indices("```").take(PLACES_MAX);
    fences.map(|(at, fence)| {
        let inside = &reply[at + fence.len()..];
        let inside = inside.split_once("```").map_or(inside, |(inside, _)| inside);
        let is_word = |sign: char| sign.is_ascii_alphanumeric();
        let language_ends = inside.find(|sign| !is_word(sign)).unwrap_or(inside.len());
        inside.split_at(language_ends)
    })
}

/// The objects that begin at any brace, also those within others: what one brace begins is read to where it ends, and the
/// next one is tried whatever came of it.
fn at_braces(reply: &str) -> impl Iterator<Item = Object> {
    let braces = reply.match_indices('{').take(PLACES_MAX);
    // The reader goes no deeper than 128 levels, so that no sign is read more often than that.
    braces.filter_map(|(at, _)| Deserializer::from_str(&reply[at..]).into_iter().next()?.ok())
}

#[cfg(test)]
mod tests {
    use super::{object_with, objects};
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn four_ways_to_say_it() {
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
    fn much_of_nothing_takes_no_time() {
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
        fn an_object_is_found_in_whatever_is_around_it(
            before in "(.|\n)*", after in "(.|\n)*", value in value(), pretty in any::<bool>(),
            fence in prop_oneof![Just(("", "")), Just(("```json\n", "\n```")), Just(("```\n", "\n```"))],
        ) {
            let object = json!({ "found": value });
            let text = if pretty { format!("{object:#}") } else { object.to_string() };
            let reply = format!("{before}{}{text}{}{after}", fence.0, fence.1);
            prop_assert!(objects(&reply).any(|found| Value::Object(found) == object));
        }

        #[test]
        fn nothing_stops_the_looking(reply in "([{}\"`\\\\:,a\n]|```json)*") {
            let _ = objects(&reply).count();
        }
    }
}

//! Shortens results, so that they fit into the context of an agent. Pure.

use longhaul_core::shorten;
use serde_json::Value;

/// Maximum size of a result in bytes. Claude Code accepts about 25,000 tokens of a tool.
pub const BYTES_MAX: usize = 50_000;
/// Maximum size of a result that is JSON. The answer contains it twice: as a value and as text.
pub const JSON_BYTES_MAX: usize = BYTES_MAX / 2;

/// Limits to try, the largest first: the characters of a text and the items of a list.
const LENGTHS: [(usize, usize); 6] = [(4_000, 200), (2_000, 100), (1_000, 40), (400, 20), (200, 5), (100, 1)];

/// Shortens the texts and lists of a result until it fits, or returns `None` if it fits as it is. A result with very many
/// keys still does not fit.
pub fn shorten_json(value: &Value, keeps_end: bool) -> Option<Value> {
    if value.to_string().len() <= JSON_BYTES_MAX {
        return None;
    }
    let mut shorter = None;
    for (text_chars, items) in LENGTHS {
        let value = shorter.insert(limited(value, text_chars, items, keeps_end));
        if value.to_string().len() <= JSON_BYTES_MAX {
            break;
        }
    }
    shorter
}

fn limited(value: &Value, text_chars: usize, items: usize, keeps_end: bool) -> Value {
    let limited = |value| limited(value, text_chars, items, keeps_end);
    match value {
        Value::String(text) => shorten(text, text_chars).into(),
        Value::Array(all) if keeps_end => {
            all[all.len().saturating_sub(items)..].iter().map(limited).collect()
        }
        Value::Array(all) => all.iter().take(items).map(limited).collect(),
        Value::Object(all) => {
            Value::Object(all.iter().map(|(key, value)| (key.clone(), limited(value))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Shortens a text to whole lines that fit, or returns `None` if it fits as it is.
pub fn shorten_text(text: &str, keeps_end: bool) -> Option<&str> {
    if text.len() <= BYTES_MAX {
        return None;
    }
    let boundary =
        |index: usize| (index..=text.len()).find(|index| text.is_char_boundary(*index)).unwrap_or(0);
    if keeps_end {
        let tail = &text[boundary(text.len() - BYTES_MAX)..];
        return Some(tail.split_once('\n').map_or(tail, |(_, lines)| lines));
    }
    let head = &text[..boundary(BYTES_MAX - 3)];
    Some(head.rsplit_once('\n').map_or(head, |(lines, _)| lines))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn shortens_what_does_not_fit() {
        let small = json!({ "a": "text", "b": [1, 2] });
        assert_eq!(shorten_json(&small, false), None);
        let large =
            json!({ "id": "kmzxqp", "texts": vec!["x".repeat(1_000); 1_000], "tail": "y".repeat(100_000) });
        let shorter = shorten_json(&large, false).expect("it is too long");
        assert!(shorter.to_string().len() <= JSON_BYTES_MAX);
        assert_eq!(
            (&shorter["id"], shorter["tail"].as_str().map(|text| text.ends_with("y…"))),
            (&json!("kmzxqp"), Some(true))
        );
        let numbers: Vec<u32> = (0..50_000).collect();
        let last = |keeps_end| {
            shorten_json(&json!({ "all": numbers }), keeps_end).expect("it is too long")["all"].clone()
        };
        assert_eq!(last(true).as_array().and_then(|all| all.last().cloned()), Some(json!(49_999)));
        assert_eq!(last(false)[0], json!(0));
        // Nothing is left to shorten: the smallest form is returned.
        let wide: Value =
            (0..9_000).map(|n| (format!("key {n}"), json!(n))).collect::<serde_json::Map<_, _>>().into();
        assert_eq!(shorten_json(&wide, false), Some(wide));
    }

    #[test]
    fn shortens_text_to_lines() {
        assert_eq!(shorten_text("short\n", true), None);
        let text: String = (0..10_000).map(|n| format!("line {n} é\n")).collect();
        let head = shorten_text(&text, false).expect("it is too long");
        let tail = shorten_text(&text, true).expect("it is too long");
        assert!(text.starts_with(head) && head.ends_with('é') && head.len() <= BYTES_MAX);
        assert!(text.ends_with(tail) && tail.starts_with("line ") && tail.len() <= BYTES_MAX);
        let line = "é".repeat(BYTES_MAX);
        assert!(shorten_text(&line, true).is_some_and(|tail| tail.len() <= BYTES_MAX && !tail.is_empty()));
    }
}

use super::PythonValue;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop, prop_oneof, proptest};
use serde_json::Value;

fn json(written: &str) -> Option<Value> {
    PythonValue::parse(written).map(|value| value.json)
}

#[test]
fn parses_every_string_form() {
    let check = |written: &str, expected: &str| {
        assert_eq!(json(written), Some(Value::from(expected)), "{written}");
    };
    check("'plain'", "plain");
    check("\"it's\"", "it's");
    check("'say \"so\"'", "say \"so\"");
    check(r#"'it\'s "so"'"#, "it's \"so\"");
    check(r"'a\nb\tc\r\\n'", "a\nb\tc\r\\n");
    check(r"'\x1b[0m \xe9 \u2713 \U0001f600'", "\u{1b}[0m é ✓ 😀");
    check(r"'\ud83d'", "\u{fffd}");
    check("'é'", "é");
    check("''", "");
    check("'[500] timeout, is_error=None)'", "[500] timeout, is_error=None)");
}

#[test]
fn parses_values() {
    let check = |written: &str, expected: &str| {
        let json = json(written).map(|json| json.to_string());
        assert_eq!(json.as_deref(), Some(expected), "{written}");
    };
    check(
        "{'a': None, 'b': [True, False, 1, -2.5e3], 'c': {}}",
        r#"{"a":null,"b":[true,false,1,-2500.0],"c":{}}"#,
    );
    check("(1, 2)", "[1,2]");
    check("(1,)", "[1]");
    check("()", "[]");
    check("{1: 'x', None: 'y'}", r#"{"1":"x","null":"y"}"#);
    check("[inf, 123456789012345678901234567890]", r#"["inf",1.2345678901234568e+29]"#);
    check(
        "Block(id='t', input={'command': 'ls'}, error=None)",
        r#"{"error":null,"id":"t","input":{"command":"ls"}}"#,
    );
    check("path.Posix('/x')", r#"{"0":"/x"}"#);
    check(" [ 1 , 2 , ] ", "[1,2]");
}

#[test]
fn rejects_other_texts() {
    for written in [
        "",
        "'open",
        "'a\nb'",
        r"'\q'",
        "TextBlock(text='x'",
        "TextBlock(text='x') and more",
        "nothing",
        "1.2.3",
        "<object at 0x7f>",
        "{'a' 1}",
        &"[".repeat(1000),
    ] {
        assert_eq!(PythonValue::parse(written), None, "{written}");
    }
}

#[test]
fn names_outermost_class() {
    let check = |written: &str, expected: Option<&str>| {
        let value = PythonValue::parse(written).expect("a value");
        assert_eq!(value.class.as_deref(), expected, "{written}");
    };
    check("Outer(inner=Inner(1))", Some("Outer"));
    check("[Inner(1)]", None);
    check("'text'", None);
}

/// Writes a value as Python does.
fn repr(value: &Value) -> String {
    let all = |values: Vec<String>| values.join(", ");
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(truth) => if *truth { "True" } else { "False" }.to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text_repr(text),
        Value::Array(items) => format!("[{}]", all(items.iter().map(repr).collect())),
        Value::Object(pairs) => {
            let pairs = pairs.iter().map(|(key, value)| format!("{}: {}", text_repr(key), repr(value)));
            format!("{{{}}}", all(pairs.collect()))
        }
    }
}

/// Python's rule: single quotes, unless the text contains single quotes and no double ones.
fn text_repr(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::from(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => out.extend(['\\', c]),
            c if (c as u32) < 0x20 || c as u32 == 0x7f => {
                out.push_str(&format!("\\x{:02x}", c as u32));
            }
            c if c as u32 > 0xffff => out.push_str(&format!("\\U{:08x}", c as u32)),
            c if c as u32 > 0x7ff => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}

fn any_value() -> BoxedStrategy<Value> {
    let text = || prop_oneof![any::<String>(), "[\\\\'\"nx\n, )\\]}=]{0,12}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    let nested = leaf.prop_recursive(4, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..5).prop_map(|pairs| pairs.into_iter().collect()),
        ]
    });
    nested.boxed()
}

proptest! {
    #[test]
    fn round_trips(
        value in any_value(), class in "[A-Z][a-z]{1,8}", fields in prop::collection::btree_map("[a-z_]{1,6}", any_value(), 0..4),
    ) {
        assert_eq!(json(&repr(&value)), Some(value));
        let written: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={}", repr(value))).collect();
        let object = PythonValue::parse(&format!("{class}({})", written.join(", ")));
        assert_eq!(object, Some(PythonValue { class: Some(class), json: fields.into_iter().collect() }));
    }

    #[test]
    fn never_panics_on_any_text(written in any::<String>()) {
        PythonValue::parse(&written);
    }
}

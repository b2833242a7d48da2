use super::PythonValue;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop, prop_oneof, proptest};

fn text(text: &str) -> PythonValue {
    PythonValue::Text(text.to_owned())
}

#[test]
fn parses_every_string_form() {
    let check = |written: &str, expected: &str| {
        assert_eq!(PythonValue::parse(written), Ok(text(expected)), "{written}");
    };
    check("'plain'", "plain");
    check("\"it's\"", "it's");
    check("'say \"so\"'", "say \"so\"");
    check(r#"'it\'s "so"'"#, "it's \"so\"");
    check(r"'a\nb\tc\r\\n'", "a\nb\tc\r\\n");
    check(r"'\x1b[0m \xe9 \u2713 \U0001f600'", "\u{1b}[0m é ✓ 😀");
    check(r"'\ud83d\ude00 \ud83d'", "😀 \u{fffd}");
    check(r"'\0 \101'", "\0 A");
    check("'''three\n'quotes' '''", "three\n'quotes' ");
    check(r#"r'raw\n'"#, "raw\\n");
    check("u'é'", "é");
    check("b'bytes'", "bytes");
    check("''", "");
    check("'[500] timeout, is_error=None)'", "[500] timeout, is_error=None)");
}

#[test]
fn parses_values() {
    let check = |written: &str, expected: &str| {
        let json = PythonValue::parse(written).map(|value| value.json().to_string());
        assert_eq!(json.as_deref(), Ok(expected), "{written}");
    };
    check(
        "{'a': None, 'b': [True, False, 1, -2.5e3], 'c': {}}",
        r#"{"a":null,"b":[true,false,1,-2500.0],"c":{}}"#,
    );
    check("(1, 2)", "[1,2]");
    check("(1,)", "[1]");
    check("('one')", r#""one""#);
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
fn errors_state_offset() {
    let check = |written: &str, offset: usize| {
        assert_eq!(PythonValue::parse(written).map_err(|error| error.offset), Err(offset), "{written}");
    };
    check("", 0);
    check("'open", 5);
    check("'a\nb'", 2);
    check(r"'\q'", 1);
    check("TextBlock(text='x'", 18);
    check("TextBlock(text='x') and more", 20);
    check("nothing", 7);
    check("1.2.3", 5);
    check("<object at 0x7f>", 0);
    check("{'a' 1}", 5);
    check(&"[".repeat(1000), 101);
}

/// Writes a value as Python does.
fn repr(value: &PythonValue) -> String {
    let all = |values: Vec<String>| values.join(", ");
    match value {
        PythonValue::None => "None".to_owned(),
        PythonValue::Bool(truth) => if *truth { "True" } else { "False" }.to_owned(),
        PythonValue::Number(digits) => digits.clone(),
        PythonValue::Text(text) => text_repr(text),
        PythonValue::List(items) => format!("[{}]", all(items.iter().map(repr).collect())),
        PythonValue::Dict(pairs) => {
            let pairs = pairs.iter().map(|(key, value)| format!("{}: {}", repr(key), repr(value)));
            format!("{{{}}}", all(pairs.collect()))
        }
        PythonValue::Object(class, fields) => {
            let fields = fields.iter().map(|(name, value)| match name {
                Some(name) => format!("{name}={}", repr(value)),
                None => repr(value),
            });
            format!("{class}({})", all(fields.collect()))
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

fn any_value() -> BoxedStrategy<PythonValue> {
    let name = "[A-Z][a-z]{1,8}";
    let leaf = prop_oneof![
        Just(PythonValue::None),
        any::<bool>().prop_map(PythonValue::Bool),
        any::<i64>().prop_map(|number| PythonValue::Number(number.to_string())),
        prop_oneof![any::<String>(), "[\\\\'\"nx\n, )\\]}=]{0,12}"].prop_map(PythonValue::Text),
    ];
    let nested = leaf.prop_recursive(4, 40, 5, move |inner| {
        let field = (prop::option::of("[a-z_]{1,6}"), inner.clone());
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(PythonValue::List),
            prop::collection::vec((inner.clone(), inner), 0..5).prop_map(PythonValue::Dict),
            (name, prop::collection::vec(field, 0..4))
                .prop_map(|(class, fields)| PythonValue::Object(class, fields)),
        ]
    });
    nested.boxed()
}

proptest! {
    #[test]
    fn round_trips(value in any_value()) {
        assert_eq!(PythonValue::parse(&repr(&value)), Ok(value));
    }

    #[test]
    fn never_panics_on_any_text(written in any::<String>()) {
        if let Err(error) = PythonValue::parse(&written) {
            assert!(error.offset <= written.len());
        }
    }
}

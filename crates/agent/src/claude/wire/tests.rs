use super::{ResultLine, StreamLine, parse};

fn result(line: &str) -> Option<ResultLine<'_>> {
    parse(line.as_bytes())
}

#[test]
fn accepts_keys_in_any_order_and_twice() {
    let parsed = result(r#"{"result":"a","is_error":true,"type":"result","result":"b","is_error":false}"#);
    let parsed = parsed.expect("it is JSON");
    assert!(parsed.result.is("b") && !parsed.is_error.is_set());
}

#[test]
fn fields_of_another_type_read_as_missing() {
    let parsed = result(
        r#"{"result":{"text":"x"},"is_error":"yes","errors":"none","api_error_status":"429",
            "permission_denials":null,"total_cost_usd":"1","usage":[1],"model_usage_since_last_result":7}"#,
    );
    let parsed = parsed.expect("it is JSON");
    assert!(parsed.result.non_empty().is_none() && !parsed.is_error.is_set() && parsed.errors.0.is_empty());
    assert_eq!(
        (parsed.api_error_status.count(), parsed.total_cost_usd.number(), parsed.usage.input.count()),
        (None, None, None)
    );
}

#[test]
fn accepts_any_number_form() {
    let parsed = result(r#"{"api_error_status":429.0,"total_cost_usd":1,"usage":{"input_tokens":-1}}"#);
    let parsed = parsed.expect("it is JSON");
    assert_eq!((parsed.api_error_status.count(), parsed.total_cost_usd.number()), (Some(429), Some(1.0)));
    assert_eq!(parsed.usage.input.count(), None);
}

#[test]
fn keeps_data_keys() {
    let check = |models: &str, expected: Option<&[(&str, u64)]>| {
        let line = format!(r#"{{"model_usage_since_last_result":{models},"is_error":true}}"#);
        let parsed = result(&line).expect("it is JSON");
        let models = parsed.since_last.as_ref().map(|models| {
            let models =
                models.0.iter().map(|(name, model)| (name.as_str(), model.input.count().unwrap_or_default()));
            models.collect::<Vec<_>>()
        });
        assert_eq!((models.as_deref(), parsed.is_error.is_set()), (expected, true), "{line}");
    };
    check(
        r#"{"claude-opus-5-5":{"inputTokens":7},"a\u0062":7,"":{}}"#,
        Some(&[("claude-opus-5-5", 7), ("ab", 0), ("", 0)]),
    );
    check(r#"{"a":{"inputTokens":1},"a":{"inputTokens":2}}"#, Some(&[("a", 1), ("a", 2)]));
    check("{}", Some(&[]));
    check("[1]", Some(&[]));
    check("null", None);
}

#[test]
fn skips_values_of_any_depth() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for key in ["unknown", "usage", "result", "errors"] {
        let line = format!(r#"{{"{key}":{deep},"is_error":true}}"#);
        assert!(result(&line).expect("it is JSON").is_error.is_set(), "{key}");
    }
    let line = format!(r#"{{"type":"user","message":{{"content":[{{"type":"x","input":{deep}}}]}}}}"#);
    assert_eq!(parse::<StreamLine<'_>>(line.as_bytes()).map(|row| row.message.content.0.len()), Some(1));
}

#[test]
fn rejects_lines_without_json() {
    for line in ["", "{", "{\"type\":\"result\"", "{\"type\":\"result\"} x", "\u{feff}{}", "{'a':1}"] {
        assert!(parse::<StreamLine<'_>>(line.as_bytes()).is_none(), "{line}");
    }
    assert!(parse::<StreamLine<'_>>(b"{\"type\":\"user\",\"x\":\"\xff\"}").is_none());
    // JSON, but not an event, because it has no type.
    for line in ["null", "[]", "7", "\"type\"", "{}"] {
        assert!(
            parse::<StreamLine<'_>>(line.as_bytes()).is_some_and(|head| head.kind.non_empty().is_none()),
            "{line}"
        );
    }
}

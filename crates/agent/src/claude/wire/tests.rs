use super::{Head, ResultLine, parse};

fn result(line: &str) -> Option<ResultLine<'_>> {
    parse(line.as_bytes())
}

#[test]
fn keys_come_in_any_order_and_twice() {
    let read = result(r#"{"result":"a","is_error":true,"type":"result","result":"b","is_error":false}"#);
    let read = read.expect("it is JSON");
    assert!(read.result.is("b") && !read.is_error.0);
}

#[test]
fn fields_of_another_type_read_as_missing() {
    let read = result(
        r#"{"result":{"text":"x"},"is_error":"yes","errors":"none","api_error_status":"429",
            "permission_denials":null,"total_cost_usd":"1","usage":[1],"model_usage_since_last_result":7}"#,
    );
    let read = read.expect("it is JSON");
    assert!(read.result.stated().is_none() && !read.is_error.0 && read.errors.0.is_empty());
    assert_eq!((read.api_error_status.0, read.total_cost_usd.0, read.usage.input.0), (None, None, None));
}

#[test]
fn numbers_come_as_any_number() {
    let read = result(r#"{"api_error_status":429.0,"total_cost_usd":1,"usage":{"input_tokens":-1}}"#);
    let read = read.expect("it is JSON");
    assert_eq!((read.api_error_status.0, read.total_cost_usd.0), (Some(429), Some(1.0)));
    assert_eq!(read.usage.input.0, None);
}

#[test]
fn keys_that_are_data_are_kept() {
    let check = |models: &str, expected: Option<&[(&str, u64)]>| {
        let line = format!(r#"{{"model_usage_since_last_result":{models},"is_error":true}}"#);
        let read = result(&line).expect("it is JSON");
        let models = read.since_last.as_ref().map(|models| {
            let models = models.0.iter().map(|(name, model)| (name.as_str(), model.input.or_zero()));
            models.collect::<Vec<_>>()
        });
        assert_eq!((models.as_deref(), read.is_error.0), (expected, true), "{line}");
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
fn what_is_skipped_may_be_nested_to_any_depth() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for key in ["unknown", "usage", "result", "errors"] {
        let line = format!(r#"{{"{key}":{deep},"is_error":true}}"#);
        assert!(result(&line).expect("it is JSON").is_error.0, "{key}");
    }
    let line = format!(r#"{{"type":"user","message":{{"content":[{{"type":"x","input":{deep}}}]}}}}"#);
    assert_eq!(parse::<Head<'_>>(line.as_bytes()).map(|row| row.message.content.0.len()), Some(1));
}

#[test]
fn what_is_no_json_is_nothing() {
    for line in ["", "{", "{\"type\":\"result\"", "{\"type\":\"result\"} x", "\u{feff}{}", "{'a':1}"] {
        assert!(parse::<Head<'_>>(line.as_bytes()).is_none(), "{line}");
    }
    assert!(parse::<Head<'_>>(b"{\"type\":\"user\",\"x\":\"\xff\"}").is_none());
    // JSON, but no event: it has no type.
    for line in ["null", "[]", "7", "\"type\"", "{}"] {
        assert!(
            parse::<Head<'_>>(line.as_bytes()).is_some_and(|head| head.kind.stated().is_none()),
            "{line}"
        );
    }
}

//! Fills templates that users write: text with names in braces, as in Python's `str.format`. `{{` and `}}`
//! are literal braces. Other syntax of that language is an error.

use crate::UserError;

// Text between two distant braces is not a name and too long for a message.
const NAME_CHARS_MAX: usize = 40;

/// Replaces each name in the template by its value. Braces in values are literal.
///
/// # Errors
/// Returns the first error with its position: line and column in characters, starting at 1.
pub(super) fn fill(template: &str, values: &[(&str, &str)]) -> Result<String, UserError> {
    let error_at = |offset: usize, problem: &str, hint: &str| {
        let prefix = &template[..offset];
        let line = prefix.matches('\n').count() + 1;
        let column = prefix.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Err(UserError::new(format!("line {line}, column {column}: {problem}"), hint))
    };
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(brace) = rest.find(['{', '}']) {
        let offset = template.len() - rest.len() + brace;
        filled.push_str(&rest[..brace]);
        let (brace_text, after) = rest[brace..].split_at(1);
        if let Some(after) = after.strip_prefix(brace_text) {
            filled.push_str(brace_text);
            rest = after;
            continue;
        }
        if brace_text == "}" {
            let hint = "open it, or write }} for a literal brace";
            return error_at(offset, "a brace is closed but not opened", hint);
        }
        let Some((name, after)) = after.split_once('}') else {
            let hint = "close it, or write {{ for a literal brace";
            return error_at(offset, "a brace is opened but not closed", hint);
        };
        let Some((_, value)) = values.iter().find(|(known_name, _)| *known_name == name) else {
            let name: String = name.chars().take(NAME_CHARS_MAX).collect();
            let known: Vec<String> = values.iter().map(|(known, _)| format!("{{{known}}}")).collect();
            let hint = format!("the names are {}; write {{{{ and }}}} for literal braces", known.join(", "));
            return error_at(offset, &format!("unknown name {{{name}}}"), &hint);
        };
        filled.push_str(value);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::fill;
    use proptest::prelude::*;

    #[test]
    fn fills_like_python() {
        let check = |template: &str, expected: &str| {
            let filled = fill(template, &[("a", "1"), ("long_name", "{b}")]);
            let result = filled.unwrap_or_else(|error| format!("{error}; {}", error.hint));
            assert_eq!(result, expected, "{template}");
        };
        let unknown = |line: u32, column: u32, name: &str| {
            let names = "the names are {a}, {long_name}; write {{ and }} for literal braces";
            format!("line {line}, column {column}: unknown name {{{name}}}; {names}")
        };
        let unclosed = "a brace is opened but not closed; close it, or write {{ for a literal brace";
        check("", "");
        check("no braces", "no braces");
        check("{a}", "1");
        check("{a}{a} x {long_name}", "11 x {b}");
        check("{{a}}", "{a}");
        check("{{{a}}}", "{1}");
        check("{{\"name\": \"{a}\"}}", "{\"name\": \"1\"}");
        check("ä{{}}ö", "ä{}ö");
        check("{b}", &unknown(1, 1, "b"));
        check("x\nä {} y", &unknown(2, 3, ""));
        // Other syntax of Python's format language is not a valid name.
        check("{a!r}", &unknown(1, 1, "a!r"));
        check("{ a }", &unknown(1, 1, " a "));
        // A JSON example whose braces were not doubled.
        check("Answer:\n\n{\"ops\": []}", &unknown(3, 1, "\"ops\": []"));
        check("{a", &format!("line 1, column 1: {unclosed}"));
        check("{a} and {", &format!("line 1, column 9: {unclosed}"));
        check("{{{", &format!("line 1, column 3: {unclosed}"));
        let unopened = "a brace is closed but not opened; open it, or write }} for a literal brace";
        check("a\n\n b }", &format!("line 3, column 4: {unopened}"));
        check("{a}}", &format!("line 1, column 4: {unopened}"));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn doubled_braces_are_literal(text in ".*", value in ".*") {
            let template = text.replace('{', "{{").replace('}', "}}") + "{value}";
            prop_assert_eq!(fill(&template, &[("value", &value)]), Ok(text + &value));
        }

        #[test]
        fn never_panics(template in "[{}a\nä]*") {
            let _ = fill(&template, &[("a", "1")]);
        }
    }
}

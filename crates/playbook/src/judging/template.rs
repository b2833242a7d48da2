//! Fills templates that users write: text with names in braces, as in Python's `str.format`. `{{` and `}}`
//! are literal braces. Other syntax of that language is an error.

use std::fmt;
use thiserror::Error;

/// Why a template cannot be filled.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct TemplateError {
    /// Line number, starting at 1.
    pub line: usize,
    /// Column in characters, starting at 1.
    pub column: usize,
    /// Kind of the error.
    pub problem: TemplateProblem,
}

/// The kind of an error in a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplateProblem {
    /// The name is unknown.
    Unknown {
        /// Text between the braces.
        name: String,
        /// Valid names.
        known: Vec<String>,
    },
    /// A brace is not closed.
    Unclosed,
    /// A brace is not opened.
    Unopened,
}

// Text between two distant braces is not a name and too long for a message.
const NAME_CHARS_MAX: usize = 40;

impl TemplateError {
    /// Returns what the user can do about it.
    pub fn hint(&self) -> String {
        match &self.problem {
            TemplateProblem::Unknown { known, .. } => {
                let known: Vec<String> = known.iter().map(|name| format!("{{{name}}}")).collect();
                format!("the names are {}; write {{{{ and }}}} for literal braces", known.join(", "))
            }
            TemplateProblem::Unclosed => "close it, or write {{ for a literal brace".to_owned(),
            TemplateProblem::Unopened => "open it, or write }} for a literal brace".to_owned(),
        }
    }
}

impl fmt::Display for TemplateProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TemplateProblem::Unknown { name, .. } => write!(out, "unknown name {{{name}}}"),
            TemplateProblem::Unclosed => out.write_str("a brace is opened but not closed"),
            TemplateProblem::Unopened => out.write_str("a brace is closed but not opened"),
        }
    }
}

/// Replaces each name in the template by its value. Braces in values are literal.
///
/// # Errors
/// Returns [`TemplateError`] with the position of the first error.
pub(super) fn fill(template: &str, values: &[(&str, &str)]) -> Result<String, TemplateError> {
    let error_at = |offset: usize, problem: TemplateProblem| {
        let prefix = &template[..offset];
        let line = prefix.rsplit('\n').next().unwrap_or_default();
        TemplateError { line: prefix.matches('\n').count() + 1, column: line.chars().count() + 1, problem }
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
            return Err(error_at(offset, TemplateProblem::Unopened));
        }
        let Some((name, after)) = after.split_once('}') else {
            return Err(error_at(offset, TemplateProblem::Unclosed));
        };
        let Some((_, value)) = values.iter().find(|(known_name, _)| *known_name == name) else {
            let name = name.chars().take(NAME_CHARS_MAX).collect();
            let known = values.iter().map(|(known, _)| (*known).to_owned()).collect();
            return Err(error_at(offset, TemplateProblem::Unknown { name, known }));
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
            let result = filled.unwrap_or_else(|error| format!("{error}; {}", error.hint()));
            assert_eq!(result, expected, "{template}");
        };
        check("", "");
        check("no braces", "no braces");
        check("{a}", "1");
        check("{a}{a} x {long_name}", "11 x {b}");
        check("{{a}}", "{a}");
        check("{{{a}}}", "{1}");
        check("{{\"name\": \"{a}\"}}", "{\"name\": \"1\"}");
        check("ä{{}}ö", "ä{}ö");
        let names = "the names are {a}, {long_name}; write {{ and }} for literal braces";
        check("{b}", &format!("line 1, column 1: unknown name {{b}}; {names}"));
        check("x\nä {} y", &format!("line 2, column 3: unknown name {{}}; {names}"));
        // Other syntax of Python's format language is not a valid name.
        check("{a!r}", &format!("line 1, column 1: unknown name {{a!r}}; {names}"));
        check("{ a }", &format!("line 1, column 1: unknown name {{ a }}; {names}"));
        // A JSON example whose braces were not doubled.
        check(
            "Answer:\n\n{\"ops\": []}",
            &format!("line 3, column 1: unknown name {{\"ops\": []}}; {names}"),
        );
        let unclosed = "a brace is opened but not closed; close it, or write {{ for a literal brace";
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

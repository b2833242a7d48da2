//! Templates that people write: text with names in braces, as Python's `str.format` has it. `{{` and `}}` are braces that
//! are text. Nothing else of that language is understood, and nothing is passed over.

use std::fmt;
use thiserror::Error;

/// Why a template cannot be filled.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct TemplateError {
    /// The line, the first being 1.
    pub line: usize,
    /// The sign in that line, the first being 1.
    pub column: usize,
    /// What is wrong there.
    pub problem: TemplateProblem,
}

/// What is wrong in a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplateProblem {
    /// Nothing has this name.
    Unknown {
        /// What stands between the braces.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// A brace is opened and never closed.
    Unclosed,
    /// A brace is closed that was not opened.
    Unopened,
}

// What stands between two braces far apart is no name, and too long to be told.
const NAME_CHARS_MAX: usize = 40;

impl TemplateError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match &self.problem {
            TemplateProblem::Unknown { known, .. } => {
                let known: Vec<String> = known.iter().map(|name| format!("{{{name}}}")).collect();
                format!(
                    "the names here are {}; write {{{{ and }}}} for braces that are text",
                    known.join(", ")
                )
            }
            TemplateProblem::Unclosed => "close it, or write {{ for a brace that is text".to_owned(),
            TemplateProblem::Unopened => "open it, or write }} for a brace that is text".to_owned(),
        }
    }
}

impl fmt::Display for TemplateProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TemplateProblem::Unknown { name, .. } => write!(out, "nothing is known by the name {{{name}}}"),
            TemplateProblem::Unclosed => out.write_str("a brace is opened and never closed"),
            TemplateProblem::Unopened => out.write_str("a brace is closed that was not opened"),
        }
    }
}

/// The template with each name replaced by its value. Braces in values are text.
///
/// # Errors
/// [`TemplateError`], with where it is.
pub(super) fn fill(template: &str, values: &[(&str, &str)]) -> Result<String, TemplateError> {
    let at = |offset: usize, problem: TemplateProblem| {
        let before = &template[..offset];
        let line = before.rsplit('\n').next().unwrap_or_default();
        TemplateError { line: before.matches('\n').count() + 1, column: line.chars().count() + 1, problem }
    };
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(brace) = rest.find(['{', '}']) {
        let offset = template.len() - rest.len() + brace;
        filled.push_str(&rest[..brace]);
        let (sign, after) = rest[brace..].split_at(1);
        if let Some(after) = after.strip_prefix(sign) {
            filled.push_str(sign);
            rest = after;
            continue;
        }
        if sign == "}" {
            return Err(at(offset, TemplateProblem::Unopened));
        }
        let Some((name, after)) = after.split_once('}') else {
            return Err(at(offset, TemplateProblem::Unclosed));
        };
        let Some((_, value)) = values.iter().find(|(known, _)| *known == name) else {
            let name = name.chars().take(NAME_CHARS_MAX).collect();
            let known = values.iter().map(|(known, _)| (*known).to_owned()).collect();
            return Err(at(offset, TemplateProblem::Unknown { name, known }));
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
    fn as_python_fills_them() {
        let check = |template: &str, expected: &str| {
            let filled = fill(template, &[("a", "1"), ("long_name", "{b}")]);
            let told = filled.unwrap_or_else(|error| format!("{error}; {}", error.hint()));
            assert_eq!(told, expected, "{template}");
        };
        check("", "");
        check("no braces", "no braces");
        check("{a}", "1");
        check("{a}{a} x {long_name}", "11 x {b}");
        check("{{a}}", "{a}");
        check("{{{a}}}", "{1}");
        check("{{\"name\": \"{a}\"}}", "{\"name\": \"1\"}");
        check("ä{{}}ö", "ä{}ö");
        let names = "the names here are {a}, {long_name}; write {{ and }} for braces that are text";
        check("{b}", &format!("line 1, column 1: nothing is known by the name {{b}}; {names}"));
        check("x\nä {} y", &format!("line 2, column 3: nothing is known by the name {{}}; {names}"));
        // What Python's language of formats has besides is no name of ours.
        check("{a!r}", &format!("line 1, column 1: nothing is known by the name {{a!r}}; {names}"));
        check("{ a }", &format!("line 1, column 1: nothing is known by the name {{ a }}; {names}"));
        // The example of JSON that somebody forgot to double the braces of.
        check(
            "Answer:\n\n{\"ops\": []}",
            &format!("line 3, column 1: nothing is known by the name {{\"ops\": []}}; {names}"),
        );
        let unclosed = "a brace is opened and never closed; close it, or write {{ for a brace that is text";
        check("{a", &format!("line 1, column 1: {unclosed}"));
        check("{a} and {", &format!("line 1, column 9: {unclosed}"));
        check("{{{", &format!("line 1, column 3: {unclosed}"));
        let unopened = "a brace is closed that was not opened; open it, or write }} for a brace that is text";
        check("a\n\n b }", &format!("line 3, column 4: {unopened}"));
        check("{a}}", &format!("line 1, column 4: {unopened}"));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text_is_text_with_its_braces_doubled(text in ".*", value in ".*") {
            let template = text.replace('{', "{{").replace('}', "}}") + "{value}";
            prop_assert_eq!(fill(&template, &[("value", &value)]), Ok(text + &value));
        }

        #[test]
        fn any_template_is_filled_or_refused(template in "[{}a\nä]*") {
            let _ = fill(&template, &[("a", "1")]);
        }
    }
}

//! What a check found, and how that is told.

use crate::output::color::{Colors, Style};
use crate::output::wrap::wrap;
use serde::Serialize;

/// What one check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Finding {
    /// The check, by a word for programs that stays the same.
    pub check: &'static str,
    /// How bad it is.
    pub state: Severity,
    /// What there is, in words.
    pub detail: String,
    /// What to do about it, to be typed where that is possible; nothing where all is well.
    pub remedy: Option<String>,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Ok,
    /// Runs can be begun, but something may not be as it is meant.
    Warning,
    /// Runs cannot be begun, or not be carried to their end.
    Problem,
}

impl Severity {
    fn as_str(self) -> &'static str {
        match self {
            Severity::Ok => "ok",
            Severity::Warning => "warning",
            Severity::Problem => "problem",
        }
    }

    fn meaning(self) -> Style {
        match self {
            Severity::Ok => Style::Good,
            Severity::Warning => Style::Warning,
            Severity::Problem => Style::Bad,
        }
    }
}

impl Finding {
    pub fn ok(check: &'static str, found: impl Into<String>) -> Finding {
        Finding { check, state: Severity::Ok, detail: found.into(), remedy: None }
    }

    pub fn warning(check: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding { check, state: Severity::Warning, detail: found.into(), remedy: Some(remedy.into()) }
    }

    pub fn problem(check: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding { check, state: Severity::Problem, detail: found.into(), remedy: Some(remedy.into()) }
    }
}

/// A line for each finding, below it what to do, and at the end how it stands altogether.
pub fn text(findings: &[Finding], paint: Colors) -> String {
    let widest = |part: fn(&Finding) -> &'static str| {
        findings.iter().map(|finding| part(finding).len()).max().unwrap_or_default()
    };
    let (states, checks) = (widest(|finding| finding.state.as_str()), widest(|finding| finding.check));
    let mut out = String::new();
    for Finding { check, state, detail: found, remedy } in findings {
        let check = check.replace('_', " ");
        let indent = states + checks + 4;
        let mut line = format!("{:<states$}  {check:<checks$}  ", state.as_str());
        wrap(&mut line, found, indent);
        if let Some(remedy) = remedy {
            line += &format!("{:indent$}remedy: ", "");
            wrap(&mut line, remedy, indent);
        }
        // Colours are no characters of a line.
        out += &line.replacen(state.as_str(), &paint.styled(state.as_str(), Some(state.meaning())), 1);
    }
    out + &verdict(findings) + "\n"
}

fn verdict(findings: &[Finding]) -> String {
    let count = |state| findings.iter().filter(|finding| finding.state == state).count();
    let several = |count: usize, word: &str| match count {
        0 => format!("no {word}s"),
        1 => format!("1 {word}"),
        _ => format!("{count} {word}s"),
    };
    format!(
        "{}, {}",
        several(count(Severity::Problem), "problem"),
        several(count(Severity::Warning), "warning")
    )
}

#[cfg(test)]
mod tests {
    use super::{Colors, Finding, text};
    use expect_test::expect;

    #[test]
    fn findings_are_told_line_by_line() {
        let findings = [
            Finding::ok("agent", "/bin/claude"),
            Finding::warning("clock", "it is behind", "set it"),
            Finding::problem("home", "it is a file", "move it away"),
        ];
        expect![[r#"
            ok       agent  /bin/claude
            warning  clock  it is behind
                            remedy: set it
            problem  home   it is a file
                            remedy: move it away
            1 problem, 1 warning
        "#]]
        .assert_eq(&text(&findings, Colors::plain()));
        expect![[r#"
            ok  agent  /bin/claude
            no problems, no warnings
        "#]]
        .assert_eq(&text(&findings[..1], Colors::plain()));
    }
}

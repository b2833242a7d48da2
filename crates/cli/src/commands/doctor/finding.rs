//! The findings of checks and their output.

use crate::output::color::{Colors, Style};
use crate::output::phrases::counted;
use crate::output::wrap::wrap;
use longhaul_core::word_enum;
use serde::Serialize;

/// The finding of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Finding {
    /// Stable name of the check, for programs.
    pub check: &'static str,
    /// Severity of the finding.
    pub state: Severity,
    /// Description of the finding.
    pub detail: String,
    /// Remedy, as a command if possible. `None` if nothing is wrong.
    pub remedy: Option<String>,
}

word_enum! {
    /// Severity of a finding.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum Severity {
        Ok = "ok",
        /// Runs can start, but something may be unintended.
        Warning = "warning",
        /// Runs cannot start, or cannot finish.
        Problem = "problem",
    }
}

impl Severity {
    fn style(self) -> Style {
        match self {
            Severity::Ok => Style::Good,
            Severity::Warning => Style::Warning,
            Severity::Problem => Style::Bad,
        }
    }
}

impl Finding {
    pub fn ok(check: &'static str, detail: impl Into<String>) -> Finding {
        Finding { check, state: Severity::Ok, detail: detail.into(), remedy: None }
    }

    pub fn warning(check: &'static str, detail: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding { check, state: Severity::Warning, detail: detail.into(), remedy: Some(remedy.into()) }
    }

    pub fn problem(check: &'static str, detail: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding { check, state: Severity::Problem, detail: detail.into(), remedy: Some(remedy.into()) }
    }
}

/// Renders a line for each finding, followed by its remedy, and a summary at the end.
pub fn text(findings: &[Finding], colors: Colors) -> String {
    let widest = |part: fn(&Finding) -> &'static str| {
        findings.iter().map(|finding| part(finding).len()).max().unwrap_or_default()
    };
    let (states, checks) = (widest(|finding| finding.state.as_str()), widest(|finding| finding.check));
    let mut out = String::new();
    for Finding { check, state, detail, remedy } in findings {
        let check = check.replace('_', " ");
        let indent = states + checks + 4;
        let mut line = format!("{:<states$}  {check:<checks$}  ", state.as_str());
        wrap(&mut line, detail, indent);
        if let Some(remedy) = remedy {
            line += &format!("{:indent$}remedy: ", "");
            wrap(&mut line, remedy, indent);
        }
        // Colored after wrapping, because color codes take no columns.
        out += &line.replacen(state.as_str(), &colors.styled(state.as_str(), Some(state.style())), 1);
    }
    out + &counts(findings) + "\n"
}

fn counts(findings: &[Finding]) -> String {
    let count = |state, noun: &str| match findings.iter().filter(|finding| finding.state == state).count() {
        0 => format!("no {noun}s"),
        count => counted(count as u64, noun),
    };
    format!("{}, {}", count(Severity::Problem, "problem"), count(Severity::Warning, "warning"))
}

#[cfg(test)]
mod tests {
    use super::{Colors, Finding, text};
    use expect_test::expect;

    #[test]
    fn prints_findings_line_by_line() {
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

//! Prints the output of the command-line parser: help, the version, and usage errors.

use super::color::{Colors, Style};
use super::out;
use clap::Error;
use std::process::ExitCode;

/// Prints it and returns the exit code: help and the version on stdout with 0, errors on stderr with 2.
pub fn answer(error: &Error) -> ExitCode {
    let text = error.render();
    if error.use_stderr() {
        // The error contains typed arguments, which may come from another program, so it is sanitized.
        let text = text
            .to_string()
            .replace("number would be zero for non-zero type", "expected at least 1")
            .replace("invalid digit found in string", "expected a whole number")
            .replace("cannot parse integer from empty string", "expected a whole number")
            .replace("number too large to fit in target type", "it is too large");
        let label = Colors::stderr().styled("error:", Some(Style::Bad));
        out::print_stderr(&text.replacen("error:", &label, 1));
    } else {
        out::print(&colored_help(&text.ansi().to_string(), Colors::stdout()));
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(crate::failure::USAGE))
}

/// Converts clap's bold text to Longhaul's style and removes underlines.
fn colored_help(help: &str, colors: Colors) -> String {
    let help = help.replace("\x1b[4m", "");
    let mut out = String::with_capacity(help.len());
    for part in help.split("\x1b[0m") {
        let (before, bold) = part.split_once("\x1b[1m").unwrap_or((part, ""));
        out += before;
        out += &colors.styled(bold, Some(Style::Heading));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::colored_help;
    use crate::args::Cli;
    use crate::output::color::Colors;
    use crate::output::out::sanitize;
    use clap::CommandFactory;

    #[test]
    fn help_has_bold_headings_only() {
        let help = Cli::command().render_help();
        let ansi = help.ansi().to_string();
        assert_eq!(sanitize(&colored_help(&ansi, Colors::plain())), help.to_string());
        let bold = colored_help(&ansi, Colors::colored());
        let bold = sanitize(&bold);
        assert!(bold.contains("\x1b[1mUsage:\x1b[0m") && !bold.contains("[4m"), "{bold}");
    }
}

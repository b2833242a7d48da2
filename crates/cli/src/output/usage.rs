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
        let text = text.to_string();
        let painted = Colors::stderr().styled("error:", Some(Style::Bad));
        out::say(&text.replacen("error:", &painted, 1));
    } else {
        out::print(&painted(&text.ansi().to_string(), Colors::stdout()));
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(crate::failure::USAGE))
}

/// Converts clap's bold text to Longhaul's style and removes underlines.
fn painted(help: &str, colors: Colors) -> String {
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
    use super::painted;
    use crate::args::Cli;
    use crate::output::color::Colors;
    use crate::output::out::shown;
    use clap::CommandFactory;

    #[test]
    fn help_has_bold_headings_only() {
        let help = Cli::command().render_help();
        let ansi = help.ansi().to_string();
        assert_eq!(shown(&painted(&ansi, Colors::plain())), help.to_string());
        let bold = painted(&ansi, Colors::colored());
        let bold = shown(&bold);
        assert!(bold.contains("\x1b[1mUsage:\x1b[0m") && !bold.contains("[4m"), "{bold}");
    }
}

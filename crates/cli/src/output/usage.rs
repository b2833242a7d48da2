//! What the parser of the command line says: help, the version, and errors of usage.

use super::color::{Colors, Style};
use super::out;
use clap::Error;
use std::process::ExitCode;

/// Prints it and returns the exit code: help and the version on stdout with 0, errors on stderr with 2.
pub fn answer(error: &Error) -> ExitCode {
    let text = error.render();
    if error.use_stderr() {
        // What was typed is in it, and a program may have typed it.
        let text = text.to_string();
        let painted = Colors::stderr().styled("error:", Some(Style::Bad));
        out::say(&text.replacen("error:", &painted, 1));
    } else {
        out::print(&painted(&text.ansi().to_string(), Colors::stdout()));
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(crate::failure::USAGE))
}

/// Bold text is bold in our way; nothing is underlined.
fn painted(help: &str, paint: Colors) -> String {
    let help = help.replace("\x1b[4m", "");
    let mut out = String::with_capacity(help.len());
    for part in help.split("\x1b[0m") {
        let (before, bold) = part.split_once("\x1b[1m").unwrap_or((part, ""));
        out += before;
        out += &paint.styled(bold, Some(Style::Heading));
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
    fn help_is_bold_and_else_plain() {
        let help = Cli::command().render_help();
        let ansi = help.ansi().to_string();
        assert_eq!(shown(&painted(&ansi, Colors::plain())), help.to_string());
        let bold = painted(&ansi, Colors::coloured());
        let bold = shown(&bold);
        assert!(bold.contains("\x1b[1mUsage:\x1b[0m") && !bold.contains("[4m"), "{bold}");
    }
}

//! Finds the program that a command is about: behind `sudo`, `env`, `timeout` and the like, and in
//! scripts that are given to a shell as a word.

use super::commands::Command;

/// Programs that start the one behind them.
struct Wrapper {
    names: &'static [&'static str],
    /// Options whose value is the next word.
    valued: &'static [&'static str],
    /// Words of its own before the program.
    words: usize,
}

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        names: &["sudo", "doas"],
        valued: &["-u", "-g", "-h", "-p", "-C", "-D", "-R", "-r", "-t", "-T", "-U"],
        words: 0,
    },
    Wrapper { names: &["env"], valued: &["-u", "-C", "--unset", "--chdir"], words: 0 },
    Wrapper { names: &["timeout"], valued: &["-k", "-s", "--kill-after", "--signal"], words: 1 },
    Wrapper { names: &["nice", "ionice"], valued: &["-n", "-c", "-p", "--adjustment"], words: 0 },
    Wrapper { names: &["xargs"], valued: &["-n", "-I", "-P", "-d", "-L", "-s", "-a", "-E"], words: 0 },
    Wrapper { names: &["stdbuf"], valued: &["-i", "-o", "-e"], words: 0 },
    Wrapper { names: &["watch"], valued: &["-n", "--interval"], words: 0 },
    Wrapper { names: &["flock"], valued: &["-w", "--timeout", "-E"], words: 1 },
    Wrapper { names: &["python", "python3"], valued: &[], words: 0 },
    Wrapper { names: &["npx", "bunx", "uvx", "pipx"], valued: &["-p", "--package", "--from"], words: 0 },
    Wrapper { names: &[".", "source"], valued: &[], words: 0 },
    Wrapper { names: &["exec"], valued: &["-a"], words: 0 },
    Wrapper { names: &["command", "builtin", "nohup", "setsid", "time", "unbuffer"], valued: &[], words: 0 },
];

const SHELLS: [&str; 7] = ["sh", "bash", "zsh", "dash", "ksh", "fish", "su"];

/// A command's words from its program on.
pub(crate) fn unwrapped(mut words: &[String]) -> &[String] {
    while let Some((first, behind)) = words.split_first() {
        if is_assignment(first) {
            words = behind;
        } else if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&name(first))) {
            words = behind_options(behind, wrapper);
        } else if let Some(file) = script_file(name(first), behind) {
            words = file;
        } else {
            break;
        }
    }
    words
}

/// A program's name without its directory.
pub(crate) fn name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The script inside of a command, if it starts a shell for one. `words` are those from the program on.
pub(super) fn script(words: &[String], command: &Command) -> Option<String> {
    let (program, behind) = words.split_first()?;
    match name(program) {
        "eval" => Some(behind.join(" ")),
        shell if SHELLS.contains(&shell) => {
            let told = behind
                .iter()
                .position(|word| is_option(word) && !word.starts_with("--") && word.contains('c'));
            match told {
                Some(at) => behind[at..].iter().find(|word| !is_option(word)).cloned(),
                None => command.input.clone(),
            }
        }
        _ => None,
    }
}

/// The words from the file on that a shell is given to run: `bash -e deploy.sh prod`.
fn script_file<'a>(shell: &str, behind: &'a [String]) -> Option<&'a [String]> {
    if shell == "su" || !SHELLS.contains(&shell) {
        return None;
    }
    let mut words = behind;
    while let Some((option, rest)) = words.split_first().filter(|(word, _)| is_option(word)) {
        // With these the script is a word, or comes over the input.
        if !option.starts_with("--") && option.contains(['c', 's']) {
            return None;
        }
        words = rest.get(usize::from(option.ends_with('o'))..).unwrap_or_default();
    }
    (!words.is_empty()).then_some(words)
}

fn behind_options<'a>(mut words: &'a [String], wrapper: &Wrapper) -> &'a [String] {
    while let Some((option, behind)) = words.split_first().filter(|(word, _)| is_option(word)) {
        let skipped = usize::from(wrapper.valued.contains(&option.as_str()));
        words = behind.get(skipped..).unwrap_or_default();
    }
    words.get(wrapper.words..).unwrap_or_default()
}

fn is_option(word: &str) -> bool {
    word.starts_with('-')
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(variable, _)| {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        !variable.is_empty() && variable.bytes().all(is_name)
    })
}

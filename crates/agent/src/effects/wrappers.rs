//! Finds the actual program of a command, behind `sudo`, `env`, `timeout` and the like, and in scripts that
//! are passed to a shell as a word.

use super::commands::Command;

struct Wrapper {
    names: &'static [&'static str],
    /// Options whose value is the next word.
    value_options: &'static [&'static str],
    /// Number of the wrapper's own arguments before the program.
    arg_count: usize,
}

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        names: &["sudo", "doas"],
        value_options: &["-u", "-g", "-h", "-p", "-C", "-D", "-R", "-r", "-t", "-T", "-U"],
        arg_count: 0,
    },
    Wrapper { names: &["env"], value_options: &["-u", "-C", "--unset", "--chdir"], arg_count: 0 },
    Wrapper { names: &["timeout"], value_options: &["-k", "-s", "--kill-after", "--signal"], arg_count: 1 },
    Wrapper { names: &["nice", "ionice"], value_options: &["-n", "-c", "-p", "--adjustment"], arg_count: 0 },
    Wrapper {
        names: &["xargs"],
        value_options: &["-n", "-I", "-P", "-d", "-L", "-s", "-a", "-E"],
        arg_count: 0,
    },
    Wrapper { names: &["stdbuf"], value_options: &["-i", "-o", "-e"], arg_count: 0 },
    Wrapper { names: &["watch"], value_options: &["-n", "--interval"], arg_count: 0 },
    Wrapper { names: &["flock"], value_options: &["-w", "--timeout", "-E"], arg_count: 1 },
    Wrapper { names: &["python", "python3"], value_options: &[], arg_count: 0 },
    Wrapper {
        names: &["npx", "bunx", "uvx", "pipx"],
        value_options: &["-p", "--package", "--from"],
        arg_count: 0,
    },
    Wrapper { names: &[".", "source"], value_options: &[], arg_count: 0 },
    Wrapper { names: &["exec"], value_options: &["-a"], arg_count: 0 },
    Wrapper {
        names: &["command", "builtin", "nohup", "setsid", "time", "unbuffer"],
        value_options: &[],
        arg_count: 0,
    },
];

const SHELLS: [&str; 7] = ["sh", "bash", "zsh", "dash", "ksh", "fish", "su"];

/// Returns a command's words from its actual program on.
pub(crate) fn unwrap_command(mut words: &[String]) -> &[String] {
    while let Some((first, rest)) = words.split_first() {
        if is_assignment(first) {
            words = rest;
        } else if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&name(first))) {
            words = skip_options(rest, wrapper);
        } else if let Some(file) = script_file(name(first), rest) {
            words = file;
        } else {
            break;
        }
    }
    words
}

pub(crate) fn name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Returns the script that a command passes to a shell, if any. `words` start with the program.
pub(super) fn script(words: &[String], command: &Command) -> Option<String> {
    let (program, rest) = words.split_first()?;
    match name(program) {
        "eval" => Some(rest.join(" ")),
        shell if SHELLS.contains(&shell) => {
            let flag =
                rest.iter().position(|word| is_option(word) && !word.starts_with("--") && word.contains('c'));
            match flag {
                Some(index) => rest[index..].iter().find(|word| !is_option(word)).cloned(),
                None => command.input.clone(),
            }
        }
        _ => None,
    }
}

/// Returns the words from the script file on if a shell runs a file: `bash -e deploy.sh prod`.
fn script_file<'a>(shell: &str, rest: &'a [String]) -> Option<&'a [String]> {
    if shell == "su" || !SHELLS.contains(&shell) {
        return None;
    }
    let mut words = rest;
    while let Some((option, rest)) = words.split_first().filter(|(word, _)| is_option(word)) {
        // With these options the script is a word or comes from standard input.
        if !option.starts_with("--") && option.contains(['c', 's']) {
            return None;
        }
        words = rest.get(usize::from(option.ends_with('o'))..).unwrap_or_default();
    }
    (!words.is_empty()).then_some(words)
}

fn skip_options<'a>(mut words: &'a [String], wrapper: &Wrapper) -> &'a [String] {
    while let Some((option, rest)) = words.split_first().filter(|(word, _)| is_option(word)) {
        let skipped = usize::from(wrapper.value_options.contains(&option.as_str()));
        words = rest.get(skipped..).unwrap_or_default();
    }
    words.get(wrapper.arg_count..).unwrap_or_default()
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

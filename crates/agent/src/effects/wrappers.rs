//! Finds the actual program of a command, behind `sudo`, `env`, `timeout` and the like, and in scripts that
//! are passed to a shell as a word.

use super::commands::Command;

/// Programs that start another one, their options whose value is the next word, and the number of their own
/// arguments before that program.
const WRAPPERS: &[(&[&str], &[&str], usize)] = &[
    (&["sudo", "doas"], &["-u", "-g", "-h", "-p", "-C", "-D", "-R", "-r", "-t", "-T", "-U"], 0),
    (&["env"], &["-u", "-C", "--unset", "--chdir"], 0),
    (&["timeout"], &["-k", "-s", "--kill-after", "--signal"], 1),
    (&["nice", "ionice"], &["-n", "-c", "-p", "--adjustment"], 0),
    (&["xargs"], &["-n", "-I", "-P", "-d", "-L", "-s", "-a", "-E"], 0),
    (&["stdbuf"], &["-i", "-o", "-e"], 0),
    (&["watch"], &["-n", "--interval"], 0),
    (&["flock"], &["-w", "--timeout", "-E"], 1),
    (&["python", "python3"], &[], 0),
    (&["npx", "bunx", "uvx", "pipx"], &["-p", "--package", "--from"], 0),
    (&[".", "source"], &[], 0),
    (&["exec"], &["-a"], 0),
    (&["command", "builtin", "nohup", "setsid", "time", "unbuffer"], &[], 0),
];

const SHELLS: [&str; 7] = ["sh", "bash", "zsh", "dash", "ksh", "fish", "su"];

/// Returns a command's words from its actual program on.
pub(crate) fn unwrap_command(mut words: &[String]) -> &[String] {
    while let Some((first, rest)) = words.split_first() {
        if is_assignment(first) {
            words = rest;
        } else if let Some((_, value_options, arg_count)) =
            WRAPPERS.iter().find(|(names, ..)| names.contains(&name(first)))
        {
            words = skip_options(rest, value_options).get(*arg_count..).unwrap_or_default();
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

fn skip_options<'a>(mut words: &'a [String], value_options: &[&str]) -> &'a [String] {
    while let Some((option, rest)) = words.split_first().filter(|(word, _)| is_option(word)) {
        let skipped = usize::from(value_options.contains(&option.as_str()));
        words = rest.get(skipped..).unwrap_or_default();
    }
    words
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

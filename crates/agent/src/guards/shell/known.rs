//! What is known while a script is read: its variables, the arguments of its functions, and where the shell is.

use super::{OUTPUT_BYTES_MAX, Shell};
use std::rc::Rc;

// Where a shell may be once it was sent somewhere so often that nobody knows; each path is looked at from all of them.
const FOLDERS_MAX: usize = 8;
// Longer is no folder that anybody works in.
const FOLDER_BYTES_MAX: usize = 1024;
// Values that one variable has in turn; those of a loop, mostly.
const VALUES_MAX: usize = 64;

impl Shell<'_> {
    /// What is known by a command: variables, arguments, and where the shell is.
    pub(super) fn known_by(&mut self, program: &str, words: &[String], input: Option<&str>, joint: &str) {
        let arguments = words.get(1..).unwrap_or_default();
        match program {
            "for" | "select" if arguments.get(1).is_some_and(|word| word == "in") => {
                self.set(&arguments[0], arguments[2..].to_vec());
            }
            // What is left over is the last one's.
            "read" => {
                let names: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
                let values: Vec<&str> = input.unwrap_or_default().split_whitespace().collect();
                if arguments.iter().any(|word| word == "-a")
                    && let Some(name) = names.last()
                {
                    let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
                    return self.set_list(name, &values);
                }
                for (at, name) in names.iter().enumerate() {
                    let rest = values.get(at..).unwrap_or_default();
                    let taken = if at + 1 == names.len() { rest.len() } else { rest.len().min(1) };
                    self.set(name, vec![rest[..taken].join(" ")]);
                }
            }
            "mapfile" | "readarray" => {
                let lines: Vec<String> = input.unwrap_or_default().lines().map(str::to_owned).collect();
                self.set_list(arguments.last().map_or("MAPFILE", String::as_str), &lines);
            }
            "set" => {
                // Some shells set a variable by it.
                if let [name, values @ ..] = arguments {
                    self.set(name, vec![values.join(" ")]);
                }
                let values = arguments.iter().skip_while(|word| word.starts_with('-')).cloned().collect();
                self.positional(values);
            }
            "cd" | "pushd" => {
                let to = arguments.iter().find(|word| !word.starts_with('-'));
                self.moved(to.map_or("~", String::as_str), joint == "&&");
            }
            function if self.functions.contains(function) => self.positional(arguments.to_vec()),
            _ => {}
        }
    }

    fn positional(&mut self, values: Vec<String>) {
        for (at, value) in values.iter().enumerate() {
            self.set(&(at + 1).to_string(), vec![value.clone()]);
        }
        let joined = self.joined(&values);
        ["@", "*"].iter().for_each(|all| self.set(all, joined.clone()));
    }

    /// A variable with places: `(a b)`, or `([0]=a [1]=b)`.
    pub(super) fn set_list(&mut self, name: &str, values: &[String]) {
        for (at, value) in values.iter().enumerate() {
            let placed = value.strip_prefix('[').and_then(|value| value.split_once("]="));
            let (place, value) =
                placed.map_or_else(|| (at.to_string(), value.as_str()), |(at, value)| (at.to_owned(), value));
            self.set(&format!("{name}[{place}]"), vec![value.to_owned()]);
        }
        let joined = self.joined(values);
        self.set(name, joined);
    }

    /// Values in one, as `"$*"` is: with spaces, or with another sign that is set to divide words.
    fn joined(&self, values: &[String]) -> Vec<String> {
        let signs = self.variables.get("IFS").into_iter().flatten().filter_map(|signs| signs.get(..1));
        [" "].into_iter().chain(signs).map(|sign| values.join(sign)).collect()
    }

    /// Whether it got there nobody knows, unless what follows depends on it.
    fn moved(&mut self, to: &str, surely: bool) {
        let is_whole = to.starts_with(['/', '~']);
        let there =
            |from: &String| if is_whole || from.is_empty() { to.to_owned() } else { format!("{from}/{to}") };
        let mut folders: Vec<String> =
            self.folders.iter().map(there).filter(|there| there.len() < FOLDER_BYTES_MAX).collect();
        if !surely {
            folders.splice(..0, self.folders.iter().cloned());
        }
        folders.dedup();
        folders.truncate(FOLDERS_MAX);
        self.folders = Rc::new(folders);
    }

    pub(super) fn assign(&mut self, name: &str, values: Vec<String>) {
        match name.strip_suffix('+') {
            Some(name) => {
                let before = self.variables.get(name).cloned().unwrap_or_else(|| vec![String::new()]);
                let added = before
                    .iter()
                    .flat_map(|before| values.iter().map(move |value| format!("{before}{value}")));
                let added = added.take(VALUES_MAX).collect();
                self.set(name, added);
            }
            None => self.set(name, values),
        }
    }

    /// Adds what a variable may be. One that is set twice may be either where it is used.
    pub(super) fn set(&mut self, name: &str, values: Vec<String>) {
        let known = self.variables.entry(name.to_owned()).or_default();
        for value in values {
            let is_new =
                known.len() < VALUES_MAX && value.len() <= OUTPUT_BYTES_MAX && !known.contains(&value);
            if is_new {
                self.made += value.len();
                known.push(value);
            }
        }
    }
}

/// `name=value`, also where a program takes it: what is set by `export` and `env` is set.
pub(super) fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'[' | b']' | b'+');
    (name.starts_with(|sign: char| sign.is_ascii_alphabetic() || sign == '_') && name.bytes().all(is_of_name))
        .then_some((name, value))
}

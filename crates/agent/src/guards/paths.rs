//! Blocked paths: no call may name them or anything below them. Paths are compared as written: `..`, `~` and
//! the working directory are resolved, links are not. Never accesses the file system.

use glob::Pattern;
use std::borrow::Cow;

// Maximum number of directories from which the paths of one call are resolved.
const DIRS_MAX: usize = 32;
/// Commands and options whose next word is a directory.
const CHANGES_DIR: [&str; 4] = ["-C", "--directory", "cd", "pushd"];

/// The paths that are blocked in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockedPaths {
    texts: Vec<String>,
    parts: Vec<Vec<String>>,
    cwd: String,
    home: String,
}

/// A path that cannot be blocked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockedPathError {
    /// The path is empty.
    #[error("an empty path blocks nothing; name a file or a directory")]
    Empty,
    /// The path contains the working directory, so blocking it would block all work.
    #[error("`{0}` contains the agent's working directory; name a path inside it")]
    All(String),
    /// The home directory of another user.
    #[error("`{0}` is below an unknown home directory; write the full path")]
    Home(String),
    /// The path contains control characters, which no call can write.
    #[error("a path with control characters in it cannot be blocked")]
    Control,
}

impl BlockedPaths {
    /// Creates a list of paths as a user writes them: absolute, below `~`, or relative to `cwd`.
    pub fn new(texts: &[String], cwd: &str, home: &str) -> Result<BlockedPaths, BlockedPathError> {
        // Without blocked paths the directories do not matter.
        if texts.is_empty() {
            return Ok(BlockedPaths::default());
        }
        let mut blocked = BlockedPaths {
            texts: texts.to_vec(),
            parts: Vec::new(),
            cwd: cwd.to_owned(),
            home: home.trim_end_matches('/').to_owned(),
        };
        let working = path_parts(cwd);
        for text in texts {
            if text.trim().is_empty() {
                return Err(BlockedPathError::Empty);
            } else if text.contains(char::is_control) {
                return Err(BlockedPathError::Control);
            } else if text.starts_with('~') && (home.is_empty() || blocked.strip_home(text).is_none()) {
                return Err(BlockedPathError::Home(text.clone()));
            }
            let parts = path_parts(&blocked.join_dir(text, cwd));
            if working.starts_with(&parts) {
                return Err(BlockedPathError::All(text.clone()));
            }
            blocked.parts.push(parts);
        }
        Ok(blocked)
    }

    /// Returns the paths as absolute ones, without `.` and `..`.
    pub fn absolute_paths(&self) -> impl Iterator<Item = String> {
        self.parts.iter().map(|parts| format!("/{}", parts.join("/")))
    }

    /// Returns the paths in a form that follows the working directory if it moves: relative if they are below it. Any
    /// other path below `~` stays as it is, and the rest is absolute.
    pub fn movable_paths(&self) -> Vec<String> {
        let cwd = path_parts(&self.cwd);
        let movable = |(text, parts): (&String, &Vec<String>)| match parts.strip_prefix(cwd.as_slice()) {
            // A name can begin with `~`, too.
            Some(below @ [first, ..]) if first.starts_with('~') => format!("./{}", below.join("/")),
            Some(below) => below.join("/"),
            None if text.starts_with('~') => text.clone(),
            None => format!("/{}", parts.join("/")),
        };
        self.texts.iter().zip(&self.parts).map(movable).collect()
    }

    /// Returns whether no path is blocked.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Returns the directory in which a call is made, or that of the run if the call does not name it.
    pub(super) fn dir<'a>(&'a self, cwd: &'a str) -> &'a str {
        if cwd.is_empty() { &self.cwd } else { cwd }
    }

    /// Adds the directories that other words may be relative to: parents of blocked paths, and directories
    /// that a command changes to, as in `cd /code && cat answers/1.txt`. The first directory is that of the
    /// call.
    pub(super) fn find_dirs(&self, text: &str, dirs: &mut Vec<String>) {
        let Some(cwd) = dirs.first().cloned() else { return };
        let mut is_change = false;
        for word in words(&self.expand(text, &cwd)) {
            let is_changed_to = std::mem::replace(&mut is_change, CHANGES_DIR.contains(&word));
            if !is_changed_to && word != ".." && !word.contains('/') {
                continue;
            }
            let parts = self.absolute(word, &cwd);
            let dir = format!("/{}", parts.join("/"));
            let is_above = |blocked: &Vec<String>| blocked.len() > parts.len() && blocked.starts_with(&parts);
            let is_used = is_changed_to || self.parts.iter().any(is_above);
            if is_used && dirs.len() < DIRS_MAX && !dirs.contains(&dir) {
                dirs.push(dir);
            }
        }
    }

    /// Returns the first blocked path that the text names, relative to any of these directories. A plain word
    /// such as `secrets` is a path in a command; elsewhere only if it is the whole text.
    pub(super) fn find(&self, text: &str, is_command: bool, dirs: &[String]) -> Option<&str> {
        let cwd = dirs.first().map_or("/", String::as_str);
        let text = &self.expand(text, cwd);
        // Most words need not be resolved: they lack the name of every blocked path.
        let is_inside = dirs.iter().any(|dir| self.find_path(dir, "/").is_some());
        let names: Vec<&String> = self.parts.iter().filter_map(|parts| parts.last()).collect();
        let is_candidate =
            |word: &&str| is_inside || is_pattern(word) || names.iter().any(|name| word.contains(*name));
        let found = words(text).filter(is_candidate).find_map(|word| {
            let is_path = is_command || !is_plain(word) || text.trim() == word;
            let find_path = |path: &str| dirs.iter().find_map(|dir| self.find_path(path, dir));
            // An option can have the path joined to it: `-C/code/answers`.
            let joined = word.strip_prefix('-').filter(|option| !option.starts_with('-'));
            let joined = joined.and_then(|option| option.get(1..));
            let trimmed = word.trim_end_matches(['.', '!', '?']);
            is_path.then(|| find_path(word).or_else(|| find_path(trimmed)).or_else(|| find_path(joined?)))?
        });
        found.or_else(|| self.find_literally(text, cwd))
    }

    /// Finds blocked paths that contain spaces or other dividers, and so are not a single word.
    fn find_literally(&self, text: &str, cwd: &str) -> Option<&str> {
        let cwd = path_parts(cwd);
        let is_blocked = |parts: &Vec<String>| {
            let absolute = parts.join("/");
            let relative = parts.strip_prefix(cwd.as_slice()).map(|parts| parts.join("/"));
            let is_part =
                |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
            absolute.contains(is_divider)
                && text.match_indices(relative.as_ref().unwrap_or(&absolute)).any(|(start, found)| {
                    !is_part(text[..start].chars().next_back())
                        && !is_part(text[start + found.len()..].chars().next())
                })
        };
        self.parts.iter().position(is_blocked).map(|index| self.texts[index].as_str())
    }

    fn find_path(&self, path: &str, dir: &str) -> Option<&str> {
        if path.is_empty() {
            return None;
        }
        let parts = self.absolute(path, dir);
        let index = self.parts.iter().position(|blocked| is_below(&parts, blocked))?;
        self.texts.get(index).map(String::as_str)
    }

    /// Replaces the variables and commands that name the home directory and the working directory.
    fn expand<'a>(&self, text: &'a str, cwd: &str) -> Cow<'a, str> {
        if !["PWD", "pwd", "HOME"].iter().any(|name| text.contains(name)) {
            return text.into();
        }
        let dir = ["${PWD}", "$PWD", "$(pwd)", "`pwd`"];
        let text = dir.iter().fold(text.to_owned(), |text, variable| text.replace(variable, cwd));
        ["${HOME}", "$HOME"].iter().fold(text, |text, variable| text.replace(variable, &self.home)).into()
    }

    fn absolute(&self, path: &str, dir: &str) -> Vec<String> {
        // `file://localhost/code`.
        let path = path.strip_prefix("//localhost/").map_or(path, |_| &path["//localhost".len()..]);
        let parts = path_parts(&self.join_dir(path, dir));
        // The directories of a process lead to the same files.
        match parts.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["proc", _, "root", ..] => parts[3..].to_vec(),
            ["proc", _, "cwd", rest @ ..] => path_parts(&self.join_dir(&rest.join("/"), dir)),
            _ => parts,
        }
    }

    fn join_dir(&self, path: &str, dir: &str) -> String {
        if path.starts_with('/') {
            return path.to_owned();
        }
        match self.strip_home(path) {
            Some(rest) => format!("{}/{rest}", self.home),
            None => format!("{dir}/{path}"),
        }
    }

    /// Returns the rest after `~/`, or after `~` and the name of the user.
    fn strip_home<'a>(&self, path: &'a str) -> Option<&'a str> {
        let rest = path.strip_prefix('~')?;
        let (name, rest) = rest.split_once('/').unwrap_or((rest, ""));
        (name.is_empty() || self.home.rsplit('/').next() == Some(name)).then_some(rest)
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_divider).filter(|word| !word.is_empty())
}

/// Returns whether a character ends a path in commands, programs and lists.
fn is_divider(c: char) -> bool {
    c.is_whitespace() || c.is_control() || "'\"`<>|;&(){},:=@#".contains(c)
}

fn is_plain(word: &str) -> bool {
    word.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
}

fn path_parts(path: &str) -> Vec<String> {
    resolve_parts(path.split('/')).into_iter().map(str::to_owned).collect()
}

/// Resolves `.`, `..` and empty parts.
pub(super) fn resolve_parts<'a>(parts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut resolved = Vec::new();
    for part in parts {
        match part {
            "" | "." => {}
            ".." => {
                resolved.pop();
            }
            part => resolved.push(part),
        }
    }
    resolved
}

/// Returns whether a path is the blocked one or below it. Its parts may be glob patterns.
fn is_below(parts: &[String], blocked: &[String]) -> bool {
    let matches =
        |pattern: &str, name: &str| Pattern::new(pattern).is_ok_and(|pattern| pattern.matches(name));
    let fits = |(part, name): (&String, &String)| part == name || (is_pattern(part) && matches(part, name));
    parts.len() >= blocked.len() && parts.iter().zip(blocked).all(fits)
}

/// Returns whether a part is a glob pattern. `*` alone matches every file, and `.*` is as often a regular
/// expression.
fn is_pattern(part: &str) -> bool {
    let outside = part.split(['[', ']']).step_by(2).flat_map(str::chars);
    part.contains(['*', '?', '[']) && outside.filter(|c| c.is_alphanumeric()).count() > 0
}

#[cfg(test)]
mod tests {
    use super::{BlockedPathError, BlockedPaths, is_below};

    #[test]
    fn blocks_paths_as_written() {
        let check = |text: &str, expected: Result<&str, BlockedPathError>| {
            let blocked = BlockedPaths::new(&[text.to_owned()], "/code/repo", "/home/dev");
            assert_eq!(
                blocked.map(|blocked| blocked.parts[0].join("/")),
                expected.map(str::to_owned),
                "{text}"
            );
        };
        check("/etc/x/", Ok("etc/x"));
        check("secrets", Ok("code/repo/secrets"));
        check("../other", Ok("code/other"));
        check("~/.ssh", Ok("home/dev/.ssh"));
        check("/code/repository", Ok("code/repository"));
        check(" ", Err(BlockedPathError::Empty));
        check("~other/x", Err(BlockedPathError::Home("~other/x".to_owned())));
        for all in ["/", ".", "..", "/code", "../repo/"] {
            check(all, Err(BlockedPathError::All(all.to_owned())));
        }
        check("a\nb", Err(BlockedPathError::Control));
        assert_eq!(BlockedPaths::new(&[], "/code/repo", "/home/dev"), Ok(BlockedPaths::default()));
    }

    #[test]
    fn blocked_paths_follow_the_working_directory() {
        let check = |text: &str, movable: &str, absolute: &str| {
            let blocked =
                BlockedPaths::new(&[text.to_owned()], "/home/dev/repo", "/home/dev").expect("a path");
            assert_eq!(blocked.movable_paths(), [movable], "{text}");
            assert_eq!(blocked.absolute_paths().collect::<Vec<_>>(), [absolute], "{text}");
        };
        check("secrets/", "secrets", "/home/dev/repo/secrets");
        check("/home/dev/repo/a/../secrets", "secrets", "/home/dev/repo/secrets");
        check("/home/dev/repo/~/x", "./~/x", "/home/dev/repo/~/x");
        check("./~/x", "./~/x", "/home/dev/repo/~/x");
        check("../other", "/home/dev/other", "/home/dev/other");
        check("/etc/", "/etc", "/etc");
        check("~/repo/secrets", "secrets", "/home/dev/repo/secrets");
        check("~/.ssh", "~/.ssh", "/home/dev/.ssh");
    }

    #[test]
    fn glob_matches_blocked_paths() {
        let check = |pattern: &str, expected: bool| {
            let parts = |part: &str| vec!["code".to_owned(), part.to_owned()];
            assert_eq!(is_below(&parts(pattern), &parts("answers")), expected, "{pattern}");
        };
        for pattern in ["answers", "ans*", "*w*s", "answer?", "answer[rst]", "answer[a-z]", "[a]nswers"] {
            check(pattern, true);
        }
        for pattern in ["answer[!rst]", "answer[", "q*", "answer", "*", "**", "???????"] {
            check(pattern, false);
        }
    }
}

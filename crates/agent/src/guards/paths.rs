//! Paths that no call may touch, nor what is below them. A verdict knows no file system: a path is compared as it is
//! written, with dots, the home folder and the folder of the call worked out, and links are not followed.

use super::code;
use super::shell::{self, Said, Variables};
use super::texts::is_script;
use super::unescape::percent_decoded;
use super::{Call, Verdict};
use crate::glance::beginning;
use serde_json::Value;

// An answer must fit into one write to a pipe, whatever the path is.
const PATH_BYTES_MAX: usize = 200;
// A script in a script in a script.
const LEVELS_MAX: usize = 4;

/// Programs whose words are no files, so that a word alone is not taken for one.
const WITHOUT_FILES: [&str; 8] = ["echo", "gh", "helm", "kubectl", "oc", "printf", "set", "vault"];
/// Programs that take a script as a word.
const SHELLS: [&str; 8] = ["bash", "dash", "eval", "ksh", "sh", "su", "xargs", "zsh"];
/// Tools that touch no file themselves.
const WITHOUT_PATHS: [&str; 19] = [
    "Agent",
    "AskUserQuestion",
    "CronCreate",
    "CronDelete",
    "CronList",
    "ExitPlanMode",
    "ListAgents",
    "ReportFindings",
    "ScheduleWakeup",
    "SendMessage",
    "Skill",
    "StructuredOutput",
    "Task",
    "TaskOutput",
    "TaskStop",
    "TodoWrite",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
];

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
    /// There is nothing in it.
    #[error("an empty path blocks nothing; name a file or a folder")]
    Empty,
    /// Nothing could be done where it is blocked.
    #[error("`{0}` holds the folder in which the agent works; name what is to be blocked inside of it")]
    All(String),
    /// The home folder of somebody else.
    #[error("`{0}` is below a home folder that is not known here; write the path in full")]
    Home(String),
    /// There are signs in it that no call could write.
    #[error("a path with control characters in it cannot be blocked")]
    Control,
}

impl BlockedPaths {
    /// Paths as a user writes them: absolute, below `~`, or from `cwd` on.
    ///
    /// # Errors
    /// The first that cannot be blocked.
    pub fn new(texts: &[String], cwd: &str, home: &str) -> Result<BlockedPaths, BlockedPathError> {
        // Where nothing is blocked there is nothing to guard, wherever that is.
        if texts.is_empty() {
            return Ok(BlockedPaths::default());
        }
        let mut blocked = BlockedPaths {
            texts: texts.to_vec(),
            parts: Vec::new(),
            cwd: cwd.to_owned(),
            home: home.trim_end_matches('/').to_owned(),
        };
        let working = resolved(cwd);
        for text in texts {
            if text.trim().is_empty() {
                return Err(BlockedPathError::Empty);
            } else if text.contains(char::is_control) {
                return Err(BlockedPathError::Control);
            } else if text.starts_with('~') && (home.is_empty() || blocked.home_of(text).is_none()) {
                return Err(BlockedPathError::Home(text.clone()));
            }
            let parts = blocked.absolute(text, cwd);
            if working.starts_with(&parts) {
                return Err(BlockedPathError::All(text.clone()));
            }
            blocked.parts.push(parts);
        }
        Ok(blocked)
    }

    /// As they were written.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Where `~` is.
    pub fn home(&self) -> &str {
        &self.home
    }

    /// What they say to a call.
    pub(super) fn verdict(&self, call: &Call<'_>) -> Verdict {
        if self.texts.is_empty() || WITHOUT_PATHS.contains(&call.tool) {
            return Verdict::Pass;
        }
        let Some(input) = call.input() else {
            let reason =
                "The input of this call cannot be read, so that nobody can tell what it would touch.";
            return Verdict::Deny(reason.to_owned());
        };
        let cwd = if call.cwd.is_empty() { &self.cwd } else { call.cwd };
        match self.touched(call.tool, input, cwd) {
            Ok(None) => Verdict::Pass,
            Ok(Some(text)) => {
                let text = beginning(text, PATH_BYTES_MAX);
                Verdict::Deny(format!(
                    "The path {text} is blocked in this run, and nobody is there to allow it. Go on without it."
                ))
            }
            Err(Endless) => Verdict::Deny(
                "This command is too tangled to be checked against the paths that are blocked in this run. Write it plainly."
                    .to_owned(),
            ),
        }
    }

    fn touched(&self, tool: &str, input: &Value, cwd: &str) -> Result<Option<&str>, Endless> {
        let field = |name: &str| input.get(name).and_then(Value::as_str);
        let below =
            |folder: Option<&str>| folder.map_or_else(|| cwd.to_owned(), |folder| self.joined(folder, cwd));
        match tool {
            "Read" | "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => {
                let named = ["file_path", "notebook_path"].iter().filter_map(|name| field(name));
                Ok(named.filter(|path| !path.is_empty()).find_map(|path| self.named(path, cwd)))
            }
            "Glob" | "Grep" => {
                let folder = field("path").filter(|path| !path.is_empty());
                let pattern = field(if tool == "Glob" { "pattern" } else { "glob" });
                let in_folder = folder.and_then(|folder| self.named(folder, cwd));
                Ok(in_folder.or_else(|| self.named(pattern?, &below(folder))))
            }
            "Bash" | "Monitor" => match field("command") {
                Some(command) => self.in_script(command, cwd, true, 1),
                None => Ok(None),
            },
            _ => self.in_any(input, cwd),
        }
    }

    /// Strings of a tool that nobody here knows: each may be a path, or a command.
    fn in_any(&self, value: &Value, cwd: &str) -> Result<Option<&str>, Endless> {
        let mut values: Vec<&Value> = vec![value];
        while let Some(value) = values.pop() {
            match value {
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
                Value::Array(inner) => values.extend(inner),
                Value::Object(fields) => values.extend(fields.values()),
                Value::String(text) => {
                    let found = self.in_word(text, cwd, false);
                    if found.is_some() {
                        return Ok(found);
                    }
                    if is_script(text)
                        && let Some(found) = self.in_script(text, cwd, false, 1)?
                    {
                        return Ok(Some(found));
                    }
                }
            }
        }
        Ok(None)
    }

    /// What a command names; a word without a slash only where `is_file` says that it can be a file.
    fn in_script(
        &self,
        script: &str,
        cwd: &str,
        is_file: bool,
        level: usize,
    ) -> Result<Option<&str>, Endless> {
        let reading =
            shell::read(script, &[("IFS", " "), ("PWD", cwd), ("HOME", &self.home)], &Variables::new());
        if reading.is_endless {
            return Err(Endless);
        }
        let unread = script.split_whitespace().filter(|_| !reading.is_whole);
        if let Some(found) = unread.map(|word| self.in_word(word, cwd, false)).find(Option::is_some) {
            return Ok(found);
        }
        for said in &reading.said {
            let folders = said.folders.iter().map(|folder| self.joined(folder, cwd));
            for folder in folders {
                if let Some(found) = self.in_said(said, &folder, is_file) {
                    return Ok(Some(found));
                }
                let is_new =
                    level < LEVELS_MAX && !said.is_code && said.text != script && is_script(&said.text);
                if is_new {
                    let is_file = SHELLS.contains(&said.program.as_str());
                    let found = self.in_script(&said.text, &folder, is_file, level + 1)?;
                    if found.is_some() {
                        return Ok(found);
                    }
                }
            }
        }
        Ok(None)
    }

    fn in_said(&self, said: &Said, folder: &str, is_file: bool) -> Option<&str> {
        let is_file = is_file && said.is_word && !WITHOUT_FILES.contains(&said.program.as_str());
        let in_strings = || {
            let strings = if said.is_code { code::strings(&said.text) } else { Vec::new() };
            strings.iter().find_map(|text| self.in_word(text, folder, false))
        };
        let in_lines = || {
            let words = said.text.split_whitespace().filter(|_| !said.is_word);
            words.map(|word| self.in_word(word, folder, false)).find(Option::is_some).flatten()
        };
        self.in_word(&said.text, folder, is_file).or_else(in_strings).or_else(in_lines)
    }

    /// What a word names, or a part of it: an option's value, one of a list.
    fn in_word(&self, word: &str, folder: &str, is_file: bool) -> Option<&str> {
        let is_path = |text: &str| {
            !text.is_empty()
                && (is_file || text.contains('/') || text.starts_with('~'))
                && !text.contains("://")
        };
        let named = |text: &str| if is_path(text) { self.named(text, folder) } else { None };
        if let Some((before, path)) = word.split_once("file://") {
            return if before.ends_with(char::is_alphanumeric) {
                None
            } else {
                self.named(&percent_decoded(path), folder)
            };
        }
        let value = word.split_once('=').map(|(_, value)| value);
        let joined = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')).and_then(|rest| {
            let letter = rest.chars().next()?;
            rest.get(letter.len_utf8()..)
        });
        let content = word.strip_prefix('@');
        [Some(word), value, joined, content].into_iter().flatten().find_map(|text| {
            let is_list = text.starts_with(['/', '.', '~']) && text.contains([':', ',']);
            let mut parts = text.split([':', ',']).filter(|_| is_list);
            named(text).or_else(|| parts.find_map(named))
        })
    }

    /// What blocks a path that is named in a folder.
    fn named(&self, path: &str, folder: &str) -> Option<&str> {
        let parts = self.absolute(path, folder);
        let is_open = path.starts_with('*');
        let blocked = self.parts.iter().position(|blocked| is_below(&parts, blocked, is_open))?;
        self.texts.get(blocked).map(String::as_str)
    }

    fn absolute(&self, path: &str, folder: &str) -> Vec<String> {
        let parts = resolved(&self.joined(path, folder));
        // The folders of a process are ways round.
        match parts.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["proc", _, "root", ..] => parts[3..].to_vec(),
            ["proc", _, "cwd", rest @ ..] => resolved(&self.joined(&rest.join("/"), folder)),
            _ => parts,
        }
    }

    fn joined(&self, path: &str, folder: &str) -> String {
        if path.starts_with('/') {
            return path.to_owned();
        }
        match self.home_of(path) {
            Some(rest) => format!("{}/{rest}", self.home),
            None => format!("{folder}/{path}"),
        }
    }

    /// What is behind `~/`, or behind the name of who is at home there.
    fn home_of<'a>(&self, path: &'a str) -> Option<&'a str> {
        let rest = path.strip_prefix('~')?;
        let (name, rest) = rest.split_once('/').unwrap_or((rest, ""));
        (name.is_empty() || self.home.rsplit('/').next() == Some(name)).then_some(rest)
    }
}

/// More is in a command than anybody could look at.
struct Endless;

/// The parts of an absolute path.
fn resolved(path: &str) -> Vec<String> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part.to_owned()),
        }
    }
    parts
}

/// Whether a path is a blocked one or below it; its parts may be patterns of files. Of a pattern that `is_open` to the
/// left nobody knows where it begins.
fn is_below(parts: &[String], blocked: &[String], is_open: bool) -> bool {
    let fits = |(part, name): (&String, &String)| {
        let is_any = part.bytes().all(|byte| byte == b'*');
        part == name || (!(is_any && is_open) && fits_name(part.as_bytes(), name.as_bytes()))
    };
    parts.len() >= blocked.len() && parts.iter().zip(blocked).all(fits)
}

/// Whether a pattern of a file's name fits: `*`, `?` and `[a-z]`.
fn fits_name(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut place) = (0, 0);
    // Where the last star was, and what it stood for so far.
    let mut star: Option<(usize, usize)> = None;
    while place < name.len() {
        let step = match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, place));
                at += 1;
                continue;
            }
            Some(b'?') => Some(1),
            Some(b'[') => set_length(&pattern[at..], name[place]),
            Some(sign) => (*sign == name[place]).then_some(1),
            None => None,
        };
        match (step, star) {
            (Some(step), _) => {
                at += step;
                place += 1;
            }
            (None, Some((before, stood))) => {
                star = Some((before, stood + 1));
                (at, place) = (before + 1, stood + 1);
            }
            (None, None) => return false,
        }
    }
    pattern[at..].iter().all(|sign| *sign == b'*')
}

/// How long a set of signs is, if this one is in it.
fn set_length(pattern: &[u8], sign: u8) -> Option<usize> {
    let end = pattern.iter().skip(2).position(|sign| *sign == b']')? + 2;
    let (inside, negated) = match &pattern[1..end] {
        [b'!' | b'^', rest @ ..] => (rest, true),
        inside => (inside, false),
    };
    let in_range = inside.windows(3).any(|range| range[1] == b'-' && (range[0]..=range[2]).contains(&sign));
    ((in_range || inside.contains(&sign)) != negated).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::{BlockedPathError, BlockedPaths, fits_name};

    #[test]
    fn a_path_is_blocked_as_it_is_written() {
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
    fn patterns_of_files() {
        let check = |pattern: &str, name: &str, expected: bool| {
            assert_eq!(fits_name(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        };
        check("ans*", "answers", true);
        check("*", "answers", true);
        check("*w*s", "answers", true);
        check("answer?", "answers", true);
        check("answer[rst]", "answers", true);
        check("answer[!rst]", "answers", false);
        check("answer[a-z]", "answers", true);
        check("answer[", "answer[", false);
        check("q*", "answers", false);
        check("answer", "answers", false);
    }
}

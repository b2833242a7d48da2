//! `cargo xtask words`: lists the banned words with their replacements, and rejects them in sources and pages.
//!
//! It reads the sources, pages, prompts and tables that git tracks. An unused exception is an error.

use crate::programs::stdout_of;
use regex::{Regex, RegexSet};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::{fs, io};

type Rule = (&'static str, &'static str);

/// Files whose lines are checked.
const TEXT_FILES: [&str; 6] = ["*.rs", "*.md", "*.toml", "*.txt", "*.css", "*.sql"];

/// Rules for the lines of every file.
const WORDS: &[Rule] = &[
    (r"\bbegun\b", "started"),
    (r"\b(anew|afresh)\b", "again, from scratch"),
    (r"\b[Ww]ho(m)?ever\b", "the reader, the caller, the next supervisor"),
    (r"\b([Nn]o|[Ss]ome)body('s)?\b", "no process, no supervisor, the user, another process"),
    (r"(\b|_)(un)?told(\b|_)", "sent, asked, received, reported, notified; a noun in identifiers"),
    (r"\b([Gg]o|goes|gone|went|going) on\b", "continue, resume"),
    (r"\b[Hh]eed(s|ed|ing)?\b", "obey, enforce, react to"),
    (r"\b[Bb]esides?\b", "next to, in addition to"),
    (r"\b(so many|so manieth|manieth)\b", "`n`, this many; an ordinal"),
    (
        r"\b(in vain|for ever|be it that|at the begin|put(s)? down|overstep\w*|had (its|his|their) time)\b",
        "without success; forever; even if; at the start; log; exceed; timed out",
    ),
    (r"\bmend(s|ed|ing)?\b", "fix, repair"),
    (r"\b[Cc]ondens(e|es|ed|ing|er|ation)\b", "summarize, summary"),
    (r"\blearnt\b", "learned"),
    (r"//[/!].*\bnothing (if|where|for|before|while|of one|as)\b", "`None` if …"),
    (r"\b(is|are|was|were) (said|wanted|meant|asked for|under way)\b", "active voice; running, in progress"),
    (
        r"(^|[.:;] |//[/!] )What (is|was|has|had|cannot|does|did|they|it|a|an|the)\b[^?]*$",
        "start with a noun or a verb",
    ),
    (r"(^|[.:;] |//[/!] )Who \w+[^?]*$", "name the actor"),
    (r"\b[Rr]ungs?\b|\b[Ll]adder\b", "resume strategy"),
    (r"--seed-(tokens|summary)\b|\bseed_(tokens|summary)\b", "handoff"),
    (
        r"(?i)(colour|behaviour|favour|honour|licence|organis|summaris|normalis|serialis|recognis)",
        "American spelling",
    ),
];

/// Rules for Rust files only.
const CODE: &[Rule] = &[
    (r"\|&?sign\||\bsign: char\b|\bSome\(sign\)|\bfor sign in\b", "`c`"),
    (r"\bplace: usize\b|\(place, |\[place\]|\|place\|", "`index`, `offset`, `path`"),
    (r"\bwall_(began|waits|age|s)\b", "outage"),
    (
        r"\bpub (fn|struct|enum|trait|type|const|mod) (Told|Place|Sign|Asked|Wanted|Shown|Listed|Going|Came|Begun|Held|Kept)\b",
        "a noun that says which",
    ),
    (
        r"(?i)(^|[^a-z])_?(begun|told|learnt|heed|mended|nobody|somebody|whoever|condens|besides)_",
        "the standard term of docs/glossary.md",
    ),
    (
        r"(_(begun|told|learnt|heed(s|ed)?|mend(ed|s)?|nobody|somebody|whoever|condens\w*|besides?)\b)|([a-z](Begun|Told|Learnt|Mended|Nobody|Somebody|Condens\w*)([A-Z]|\b))",
        "the standard term of docs/glossary.md",
    ),
    (r"[(,]\s*\(\w+(, \w+)+\): \(", "plain parameters or a struct: a tuple hides the number of parameters"),
    (r"\bcfg!\(test\)", "a parameter: production code does not know about tests"),
];

/// Rules for the code of library crates, without their tests: only the command line knows its commands and flags.
const LIBRARY: &[Rule] = &[(
    r#"[ `(]--[a-z]|"--[a-z-]+[: ]|`longhaul [a-z]"#,
    "data in the error; crates/cli adds the command or the flag",
)];

/// Sources of programs, and of the agent's own flags.
const PROGRAMS: [&str; 6] = [
    "benches/",
    "crates/agent/src/claude/",
    "crates/cli/",
    "crates/drill/src/scripted/",
    "crates/sim/examples/",
    "xtask/",
];

/// Lines without hits: the start of a path, and a text in the line.
const EXCEPTIONS: &[(&str, &str)] = &[
    // One type for builds with telemetry and one for builds without.
    ("crates/cli/src/telemetry/", "pub struct Telemetry"),
];

/// Checks every file and prints each hit.
///
/// # Errors
///
/// Returns an error if there is a hit, if an exception is unused, or if a file cannot be read.
pub fn words(root: &Path) -> io::Result<()> {
    let (words, code, library) = (set(WORDS), set(CODE), set(LIBRARY));
    let mut public_types = PublicTypes::new();
    let mut unused: Vec<&(&str, &str)> = EXCEPTIONS.iter().collect();
    let mut hits = 0;
    for path in tracked(root)? {
        let text = fs::read_to_string(root.join(&path))?;
        let is_code = path.ends_with(".rs");
        for (number, line) in text.lines().enumerate() {
            let word = words.matches(line).into_iter().map(|index| WORDS[index].1.to_owned());
            let code_rules = is_code.then(|| code.matches(line)).into_iter().flatten();
            let identifier = code_rules.map(|index| CODE[index].1.to_owned());
            let library_code = line.split("//").next().filter(|_| is_library(&path)).unwrap_or_default();
            let flag = library.matches(library_code).into_iter().map(|index| LIBRARY[index].1.to_owned());
            let duplicate = is_code.then(|| public_types.duplicate(&path, line)).flatten();
            let Some(instead) = word.chain(identifier).chain(flag).chain(duplicate).next() else { continue };
            let applies = |(start, part): &(&str, &str)| path.starts_with(start) && line.contains(part);
            if EXCEPTIONS.iter().any(applies) {
                unused.retain(|exception| !applies(exception));
                continue;
            }
            hits += 1;
            println!("{path}:{}: {}\n    instead: {instead}", number + 1, line.trim());
        }
    }
    if hits > 0 {
        return Err(io::Error::other(format!(
            "{hits} lines are not plain English; rewrite them, or add an exception to xtask/src/words.rs"
        )));
    }
    if !unused.is_empty() {
        return Err(io::Error::other(format!("unused exceptions: {unused:?}")));
    }
    println!("words: no hit, {} exceptions", EXCEPTIONS.len());
    Ok(())
}

/// The public types of the workspace by name, without those of tests.
struct PublicTypes {
    definition: Regex,
    /// File that defines each type.
    files: BTreeMap<String, String>,
}

impl PublicTypes {
    fn new() -> PublicTypes {
        let definition =
            Regex::new(r"^\s*pub (?:struct|enum|trait|type) (\w+)").expect("a regular expression");
        PublicTypes { definition, files: BTreeMap::new() }
    }

    /// Returns what to do about a public type whose name another public type has. Each crate may have its own
    /// `Error` and `Result`.
    fn duplicate(&mut self, path: &str, line: &str) -> Option<String> {
        let name = &self.definition.captures(line)?[1];
        if path.contains("tests") || matches!(name, "Error" | "Result") {
            return None;
        }
        let earlier = self.files.insert(name.to_owned(), path.to_owned())?;
        Some(format!("a more precise name: {earlier} defines {name} too"))
    }
}

fn is_library(path: &str) -> bool {
    let is_program = PROGRAMS.iter().any(|start| path.starts_with(start));
    path.ends_with(".rs") && !is_program && !path.contains("tests")
}

fn set(rules: &[Rule]) -> RegexSet {
    RegexSet::new(rules.iter().map(|(pattern, _)| pattern)).expect("the rules are regular expressions")
}

/// Returns the tracked text files, without these lists of words themselves.
fn tracked(root: &Path) -> io::Result<Vec<String>> {
    let mut list = Command::new("git");
    let paths = stdout_of(list.args(["ls-files", "--"]).args(TEXT_FILES).current_dir(root))?;
    Ok(paths.lines().filter(|path| *path != "xtask/src/words.rs").map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::{CODE, LIBRARY, PublicTypes, WORDS, is_library, set};

    #[test]
    fn rejects_each_kind_of_word() {
        let words = set(WORDS);
        for line in [
            "the run was begun",
            "/// What the core is told",
            "/// The fault, or nothing if there is none.",
            "fn is_told()",
            "the run goes on",
            "it is meant",
            "/// Who starts it.",
            "the next rung",
            "honours_hint",
        ] {
            assert!(words.is_match(line), "{line}");
        }
        assert!(!words.is_match("/// Returns what the agent reported, or `None`."));
    }

    #[test]
    fn rejects_identifiers_tuples_and_test_switches() {
        let code = set(CODE);
        for line in [
            "let begun_at = 1;",
            "fn was_told() {}",
            "struct IsCondensing;",
            "fn f((a, b): (u8, u8)) {}",
            "if cfg!(test) {",
            ".map(|sign| 1)",
            "fn f(place: usize)",
            "pub struct Kept;",
        ] {
            assert!(code.is_match(line), "{line}");
        }
        for line in ["let started_at = 1;", "fn f(a: u8, (b): u8) {}", "#[cfg(test)]", "let total_d = 1;"] {
            assert!(!code.is_match(line), "{line}");
        }
    }

    #[test]
    fn rejects_commands_and_flags_in_libraries() {
        let library = set(LIBRARY);
        for line in ["\"type `longhaul resume`\"", "\"--set {name}: unknown\"", "\"older than --since\""] {
            assert!(library.is_match(line), "{line}");
        }
        assert!(!library.is_match("[\"--no-verify\", \"--cleanup=verbatim\"]"));
        assert!(is_library("crates/store/src/error.rs") && !is_library("crates/cli/src/main.rs"));
    }

    #[test]
    fn rejects_two_public_types_of_one_name() {
        let mut types = PublicTypes::new();
        assert_eq!(types.duplicate("a/src/lib.rs", "pub struct Run {"), None);
        assert_eq!(types.duplicate("b/src/lib.rs", "struct Run {"), None);
        assert_eq!(types.duplicate("b/src/tests.rs", "pub struct Run {"), None);
        assert!(types.duplicate("b/src/lib.rs", "    pub enum Run {").is_some());
        assert!(types.duplicate("b/src/lib.rs", "pub type Result<T> = T;").is_none());
    }
}

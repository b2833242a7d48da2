//! Which tool calls reach outside of the workspace: what they did stays done whatever happens to the
//! run, so a resumed run must be told not to do it again. Knows patterns only; runs and asks nothing.
//!
//! A call is judged by its tool's name or, where it carries a shell script, by the programs that the
//! script starts. Shell words are compared, never text: `echo "git push"` pushes nothing. The rows are
//! in `effects.toml`, with their form.

mod commands;
mod program;
pub(crate) mod wrappers;

use crate::pattern::Pattern;
use crate::toml_table::{self, TableError};
use program::{OptionPattern, ProgramRow, ProgramRule};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::LazyLock;
use toml::Spanned;

static BUNDLED: LazyLock<EffectRules> =
    // The bundled table is parsed by a test; an empty one only means that nothing is remembered.
    LazyLock::new(|| EffectRules::parse(include_str!("effects.toml")).unwrap_or_default());

// A longer script writes files rather than commands; its end is not worth the time.
const SCRIPT_BYTES_MAX: usize = 64 << 10;
// `sh -c "sh -c '…'"`, and enough.
const SCRIPTS_DEEP_MAX: usize = 4;
// What one call can be said to have done.
const COMMANDS_MAX: usize = 8;

/// A table of calls with effects outside of the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EffectRules {
    tools: Vec<Pattern>,
    read_only_tools: Vec<Pattern>,
    programs: Vec<ProgramRule>,
    /// The names of all of them.
    names: BTreeSet<String>,
}

/// How far a call reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EffectScope {
    /// Not beyond the workspace, as far as the table knows.
    Workspace,
    /// Outside, as all calls of this tool do.
    Tool,
    /// Outside, by these commands of its script, as they were written.
    Commands(Vec<String>),
}

/// What is wrong with a row.
#[derive(Debug, thiserror::Error)]
enum RowError {
    /// It is about no program.
    #[error("a program without names, expected for example names = [\"deploy.sh\"]")]
    Nameless,
    /// A program is called by something that is no name.
    #[error("\"{0}\" is no program's name (letters, digits and -_.+@, without its directory)")]
    Name(String),
    /// A pattern would fit nothing.
    #[error("empty pattern in \"{0}\" (write \"*\" for anything)")]
    Empty(String),
    /// A pattern for options would fit none.
    #[error("\"{0}\" is no option (options begin with \"-\")")]
    NoOption(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default)]
    tools: Vec<Spanned<String>>,
    #[serde(default)]
    looking: Vec<Spanned<String>>,
    #[serde(default)]
    harmless: Vec<Spanned<String>>,
    #[serde(default)]
    program: Vec<Spanned<ProgramRow>>,
}

impl EffectRules {
    /// The table in this program.
    pub fn bundled() -> &'static EffectRules {
        &BUNDLED
    }

    /// Reads a table in the form of the bundled one, which explains it.
    ///
    /// # Errors
    /// If it has another form, or a pattern in it fits nothing.
    pub fn parse(text: &str) -> Result<EffectRules, TableError> {
        let table: Table = toml_table::parse(text)?;
        let pattern = |text: String| pattern(&text);
        let harmless = toml_table::each(text, table.harmless, |text| OptionPattern::new(&text))?;
        let programs =
            toml_table::each(text, table.program, |row: ProgramRow| ProgramRule::new(row, &harmless))?;
        let names = programs.iter().flat_map(|program| program.names.clone()).collect();
        let tools = toml_table::each(text, table.tools, pattern)?;
        let looking = toml_table::each(text, table.looking, pattern)?;
        Ok(EffectRules { tools, read_only_tools: looking, programs, names })
    }

    /// What reaches outside by this table or by another one.
    #[must_use]
    pub fn merged_with(mut self, others: EffectRules) -> EffectRules {
        self.tools.extend(others.tools);
        self.read_only_tools.extend(others.read_only_tools);
        self.programs.extend(others.programs);
        self.names.extend(others.names);
        self
    }

    /// How far a call of a tool reaches. `script` is what the tool was given to run in a shell, if
    /// anything.
    pub fn scope(&self, tool: &str, script: &str) -> EffectScope {
        if self.tools.iter().any(|pattern| pattern.matches(tool)) {
            return EffectScope::Tool;
        }
        let mut commands = Vec::new();
        self.collect(script, 0, &mut commands);
        if commands.is_empty() { EffectScope::Workspace } else { EffectScope::Commands(commands) }
    }

    /// Whether a tool changes nothing at all.
    pub fn is_read_only(&self, tool: &str) -> bool {
        let any = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(tool));
        any(&self.read_only_tools) && !any(&self.tools)
    }

    /// Adds the commands of a script that reach outside.
    fn collect(&self, script: &str, depth: usize, commands: &mut Vec<String>) {
        // Most scripts name none of the programs, and are not cut into words.
        if depth == SCRIPTS_DEEP_MAX || script.len() > SCRIPT_BYTES_MAX || !self.names_a_program(script) {
            return;
        }
        for command in commands::commands(script) {
            let words = wrappers::unwrapped(&command.words);
            if let Some(script) = wrappers::script(words, &command) {
                self.collect(&script, depth + 1, commands);
            } else if commands.len() < COMMANDS_MAX
                && let Some((program, behind)) = words.split_first()
                && self.programs.iter().any(|row| row.reaches(wrappers::name(program), behind))
            {
                commands.push(command.text);
            }
        }
    }

    fn names_a_program(&self, script: &str) -> bool {
        script.split(|sign| !is_of_name(sign)).any(|word| self.names.contains(word))
    }
}

/// What names of programs are made of.
fn is_of_name(sign: char) -> bool {
    sign.is_alphanumeric() || matches!(sign, '-' | '_' | '.' | '+' | '@')
}

fn pattern(text: &str) -> Result<Pattern, RowError> {
    Pattern::new(text).ok_or_else(|| RowError::Empty(text.to_owned()))
}

fn patterns(texts: &[String]) -> Result<Vec<Pattern>, RowError> {
    texts.iter().map(|text| pattern(text)).collect()
}

#[cfg(test)]
mod tests;

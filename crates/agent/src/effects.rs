//! Which tool calls reach outside of the workspace: what they did stays done whatever happens to the
//! run, so a resumed run must be told not to do it again. Knows patterns only; runs and asks nothing.
//!
//! A call is judged by its tool's name or, where it carries a shell script, by the programs that the
//! script starts. Shell words are compared, never text: `echo "git push"` pushes nothing. The rows are
//! in `effects.toml`, with their form.

mod pattern;
mod program;
mod shell;
mod wrapped;

use pattern::Pattern;
use program::{Program, Row};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::LazyLock;

static BUNDLED: LazyLock<Effects> =
    // The bundled table is parsed by a test; an empty one only means that nothing is remembered.
    LazyLock::new(|| Effects::parse(include_str!("effects.toml")).unwrap_or_default());

// A longer script writes files rather than commands; its end is not worth the time.
const SCRIPT_BYTES_MAX: usize = 64 << 10;
// `sh -c "sh -c '…'"`, and enough.
const SCRIPTS_DEEP_MAX: usize = 4;
// What one call can be said to have done.
const COMMANDS_MAX: usize = 8;

/// A table of calls with effects outside of the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    tools: Vec<Pattern>,
    looking: Vec<Pattern>,
    programs: Vec<Program>,
    /// The names of all of them.
    names: BTreeSet<String>,
}

/// How far a call reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Not beyond the workspace, as far as the table knows.
    Inside,
    /// Outside, as all calls of this tool do.
    Tool,
    /// Outside, by these commands of its script, as they were written.
    Commands(Vec<String>),
}

/// A table of effects that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum EffectsError {
    /// It is no TOML, or has other fields.
    #[error("read the table of effects: {0}")]
    Form(#[from] toml::de::Error),
    /// A row is about no program.
    #[error("read the table of effects: a program without names")]
    Nameless,
    /// A program is called by something that is no name.
    #[error("read the table of effects: \"{0}\" is no program's name (letters, digits and -_.+@)")]
    Name(String),
    /// A pattern would fit nothing.
    #[error("read the table of effects: empty pattern in \"{0}\" (write \"*\" for anything)")]
    Empty(String),
    /// A pattern for options would fit none.
    #[error("read the table of effects: \"{0}\" is no option (options begin with \"-\")")]
    NoOption(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default)]
    tools: Vec<String>,
    #[serde(default)]
    looking: Vec<String>,
    #[serde(default)]
    harmless: Vec<String>,
    #[serde(default)]
    program: Vec<Row>,
}

impl Effects {
    /// The table in this program.
    pub fn bundled() -> &'static Effects {
        &BUNDLED
    }

    /// Reads a table in the form of the bundled one, which explains it.
    pub fn parse(text: &str) -> Result<Effects, EffectsError> {
        let table: Table = toml::from_str(text)?;
        let program = |row: Row| Program::new(row, &table.harmless);
        let programs: Vec<Program> = table.program.into_iter().map(program).collect::<Result<_, _>>()?;
        let names: BTreeSet<String> = programs.iter().flat_map(|program| program.names.clone()).collect();
        if let Some(name) = names.iter().find(|name| !name.chars().all(is_of_name)) {
            return Err(EffectsError::Name(name.clone()));
        }
        Ok(Effects { tools: patterns(&table.tools)?, looking: patterns(&table.looking)?, programs, names })
    }

    /// How far a call of a tool reaches. `script` is what the tool was given to run in a shell, if
    /// anything.
    pub fn reach(&self, tool: &str, script: &str) -> Reach {
        if self.tools.iter().any(|pattern| pattern.fits(tool)) {
            return Reach::Tool;
        }
        let mut commands = Vec::new();
        self.collect(script, 0, &mut commands);
        if commands.is_empty() { Reach::Inside } else { Reach::Commands(commands) }
    }

    /// Whether a tool changes nothing at all.
    pub fn only_looks(&self, tool: &str) -> bool {
        self.looking.iter().any(|pattern| pattern.fits(tool))
    }

    /// Adds the commands of a script that reach outside.
    fn collect(&self, script: &str, depth: usize, commands: &mut Vec<String>) {
        // Most scripts name none of the programs, and are not cut into words.
        if depth == SCRIPTS_DEEP_MAX || script.len() > SCRIPT_BYTES_MAX || !self.names_a_program(script) {
            return;
        }
        for command in shell::commands(script) {
            let words = wrapped::unwrapped(&command.words);
            if let Some(script) = wrapped::script(words, &command) {
                self.collect(&script, depth + 1, commands);
            } else if commands.len() < COMMANDS_MAX
                && let Some((program, behind)) = words.split_first()
                && self.programs.iter().any(|row| row.reaches(wrapped::name(program), behind))
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

fn patterns(texts: &[String]) -> Result<Vec<Pattern>, EffectsError> {
    texts.iter().map(|text| Pattern::new(text).ok_or_else(|| EffectsError::Empty(text.clone()))).collect()
}

#[cfg(test)]
mod tests;

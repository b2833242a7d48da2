//! Classifies tool calls by whether their side effects reach outside the workspace. Such effects persist, so
//! the agent of a resumed run must not repeat them. Matches patterns only; never runs anything.
//!
//! A call is classified by its tool's name or, if it carries a shell script, by the programs that the script
//! starts. Shell words are compared, not text: `echo "git push"` does not match. The rules and their format
//! are in `effects.toml`.

mod commands;
mod program;
pub(crate) mod wrappers;

use crate::byte_scan::leading;
use crate::pattern::Pattern;
use crate::toml_table::{self, TableError};
use program::{OptionPattern, ProgramRule};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};
use toml::Spanned;

static BUNDLED: LazyLock<Arc<EffectRules>> =
    // A test parses the bundled table. With an empty one, no effect is remembered.
    LazyLock::new(|| Arc::new(EffectRules::parse(include_str!("effects.toml")).unwrap_or_default()));

// A longer script writes files rather than commands, and is not worth parsing to its end.
const SCRIPT_BYTES_MAX: usize = 64 << 10;
// Deep enough for `sh -c "sh -c '…'"`.
const SCRIPT_DEPTH_MAX: usize = 4;
// Maximum number of commands that are listed for one call.
const COMMANDS_MAX: usize = 8;

/// A table of calls with side effects outside the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EffectRules {
    tools: Vec<Pattern>,
    read_only_tools: Vec<Pattern>,
    programs: Vec<ProgramRule>,
    names: BTreeSet<Vec<u8>>,
}

/// The scope of a call's side effects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EffectScope {
    /// Inside the workspace, as far as the table can tell.
    Workspace,
    /// Outside, like all calls of this tool.
    Tool,
    /// Outside, because of these commands of its script, quoted as written.
    Commands(Vec<String>),
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Table {
    tools: Vec<Pattern>,
    read_only_tools: Vec<Pattern>,
    harmless: Vec<OptionPattern>,
    program: Vec<Spanned<ProgramRule>>,
}

impl EffectRules {
    /// Returns the bundled table, which all runs of a process share.
    pub fn bundled() -> &'static Arc<EffectRules> {
        &BUNDLED
    }

    /// Parses a table in the format of the bundled one, which documents it.
    pub fn parse(text: &str) -> Result<EffectRules, TableError> {
        let table: Table = toml_table::parse(text)?;
        let mut programs = toml_table::convert_each(text, table.program, ProgramRule::checked)?;
        programs.iter_mut().for_each(|program| program.harmless.extend(table.harmless.iter().cloned()));
        let names =
            programs.iter().flat_map(|program| program.names.clone()).map(String::into_bytes).collect();
        Ok(EffectRules { tools: table.tools, read_only_tools: table.read_only_tools, programs, names })
    }

    /// Adds the rules of another table.
    #[must_use]
    pub fn merged_with(mut self, others: EffectRules) -> EffectRules {
        self.tools.extend(others.tools);
        self.read_only_tools.extend(others.read_only_tools);
        self.programs.extend(others.programs);
        self.names.extend(others.names);
        self
    }

    /// Returns the scope of a tool call. `script` is the shell script that the tool runs, or empty.
    pub fn scope(&self, tool: &str, script: &str) -> EffectScope {
        if self.tools.iter().any(|pattern| pattern.matches(tool)) {
            return EffectScope::Tool;
        }
        let mut commands = Vec::new();
        self.collect(script, 0, &mut commands);
        if commands.is_empty() { EffectScope::Workspace } else { EffectScope::Commands(commands) }
    }

    /// Returns whether a tool changes nothing.
    pub fn is_read_only(&self, tool: &str) -> bool {
        let any = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(tool));
        any(&self.read_only_tools) && !any(&self.tools)
    }

    /// Adds the commands of a script whose side effects reach outside.
    fn collect(&self, script: &str, depth: usize, commands: &mut Vec<String>) {
        // Most scripts name none of the programs and are not split into words.
        if depth == SCRIPT_DEPTH_MAX || script.len() > SCRIPT_BYTES_MAX || !self.names_program(script) {
            return;
        }
        for command in commands::commands(script) {
            let words = wrappers::unwrap_command(&command.words);
            if let Some(script) = wrappers::script(words, &command) {
                self.collect(&script, depth + 1, commands);
            } else if commands.len() < COMMANDS_MAX
                && let Some((program, arguments)) = words.split_first()
                && self.programs.iter().any(|row| row.reaches_outside(wrappers::name(program), arguments))
            {
                commands.push(command.text);
            }
        }
    }

    fn names_program(&self, script: &str) -> bool {
        let mut rest = script.as_bytes();
        while !rest.is_empty() {
            let (word, separated) = rest.split_at(leading(rest, is_name_byte));
            if self.names.contains(word) {
                return true;
            }
            rest = separated.get(1..).unwrap_or_default();
        }
        false
    }
}

/// Returns whether a byte can be part of a program's name. As in a shell, only characters of ASCII separate words.
fn is_name_byte(byte: u8) -> bool {
    let is_sign = (byte == b'-') | (byte == b'_') | (byte == b'.') | (byte == b'+') | (byte == b'@');
    byte.is_ascii_alphanumeric() | is_sign | !byte.is_ascii()
}

#[cfg(test)]
mod tests;

//! The slash commands of GSD that call a model, with the defaults of openclawpack.

use crate::failure::Failure;
use crate::output;
use longhaul::find_agent::claude_config_dir;
use longhaul_agent::{Answers, did_you_mean};
use longhaul_core::Span;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Added to the agent's own instructions, because no person can answer.
pub const SYSTEM_PROMPT: &str = "You run without a person at the terminal: complete the command on your own, and ask only what it requires.";

/// A slash command of GSD.
pub struct SlashCommand {
    /// Name, after `/gsd:`.
    pub name: &'static str,
    /// Maximum duration of one attempt.
    pub timeout: Span,
    /// Answers to the questions of the command, by a key within the question.
    answers: &'static [(&'static str, &'static str)],
}

pub const NEW_PROJECT: SlashCommand = SlashCommand {
    name: "new-project",
    timeout: Span::from_mins(15),
    answers: &[
        ("depth", "3"),
        ("parallelization", "Yes"),
        ("git", "Yes"),
        ("research", "Standard"),
        ("plan check", "Yes"),
        ("verif", "Yes"),
        ("model", "quality"),
    ],
};

pub const PLAN_PHASE: SlashCommand = SlashCommand {
    name: "plan-phase",
    timeout: Span::from_mins(10),
    answers: &[("context", "Skip"), ("confirm", "Yes"), ("approve", "Yes"), ("proceed", "Yes")],
};

pub const EXECUTE_PHASE: SlashCommand = SlashCommand {
    name: "execute-phase",
    timeout: Span::from_mins(20),
    answers: &[
        ("approve", "approved"),
        ("approved", "approved"),
        ("checkpoint", "approved"),
        ("continue", "Yes"),
        ("proceed", "Yes"),
        ("select", "option-a"),
    ],
};

impl SlashCommand {
    /// Returns the user's answers, and the defaults for all other keys.
    pub fn answers(&self, typed: Option<BTreeMap<String, String>>) -> Result<Answers, Failure> {
        let pair = |(key, answer): &(&str, &str)| ((*key).to_owned(), (*answer).to_owned());
        let defaults = Answers::new(self.answers.iter().map(pair));
        let typed = Answers::new(typed.unwrap_or_default());
        let invalid = |error: longhaul_agent::AnswersError| Failure::unexpected(error.to_string());
        Ok(typed.map_err(invalid)?.or_else(defaults.map_err(invalid)?))
    }

    /// Returns the word that the installed GSD has for the command, such as `/gsd:plan-phase`. Claude Code would send an
    /// unknown command to the model as a text, and the model would guess what it means.
    pub fn installed(&self, project_dir: &Path) -> Result<String, Failure> {
        let name = self.name;
        let forms = [
            (format!("commands/gsd/{name}.md"), format!("/gsd:{name}")),
            (format!("skills/gsd-{name}/SKILL.md"), format!("/gsd-{name}")),
            (format!("commands/gsd-{name}.md"), format!("/gsd-{name}")),
        ];
        let of_project = project_dir.ancestors().map(|dir| dir.join(".claude"));
        let is_in = |dir: PathBuf| forms.iter().find(|(file, _)| dir.join(file).is_file());
        let found = of_project.chain(claude_config_dir()).find_map(is_in);
        found.map(|(_, command)| command.clone()).ok_or_else(|| {
            let error =
                format!("GSD is not installed: it has no command {name} in this project or for this user");
            let hint = format!(
                "install it with `npx get-shit-done-cc@latest --claude --global`, or name the slash command with \
                 --slash-command, such as `--slash-command /gsd:{name}`"
            );
            Failure::not_started(error, hint)
        })
    }
}

/// Warns of keys that no known question of the commands has. They may still occur in other questions.
pub fn warn_of_unknown_keys<'a>(commands: &[&SlashCommand], typed: impl Iterator<Item = &'a str>) {
    let keys = commands.iter().flat_map(|command| command.answers);
    let keys: Vec<&str> = keys.map(|(key, _)| *key).collect();
    let names: Vec<&str> = commands.iter().map(|command| command.name).collect();
    for key in typed.filter(|key| !keys.iter().any(|known| known.eq_ignore_ascii_case(key))) {
        let near = did_you_mean(key, keys.iter().copied());
        let hint = match near.first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the known keys are {}", keys.join(", ")),
        };
        let warning = format!("no known question of {} has the key `{key}`", names.join(" and "));
        output::print_warning(&warning, Some(&hint));
    }
}

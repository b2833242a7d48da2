//! Finds out how the installed GSD names its slash commands. It calls no model.

use crate::failure::Failure;
use longhaul::find_agent::claude_config_dir;
use std::path::{Path, PathBuf};

/// Returns the slash command with this name, such as `/gsd:plan-phase`. Claude Code would send an unknown command to the
/// model as a text, and the model would guess what it means.
pub fn slash_command(project_dir: &Path, name: &str) -> Result<String, Failure> {
    let forms = [
        (format!("commands/gsd/{name}.md"), format!("/gsd:{name}")),
        (format!("skills/gsd-{name}/SKILL.md"), format!("/gsd-{name}")),
        (format!("commands/gsd-{name}.md"), format!("/gsd-{name}")),
    ];
    let of_project = project_dir.ancestors().map(|dir| dir.join(".claude"));
    let mut dirs: Vec<PathBuf> = of_project.chain(claude_config_dir()).collect();
    dirs.dedup();
    let is_in = |dir: &PathBuf| forms.iter().find(|(file, _)| dir.join(file).is_file());
    dirs.iter().find_map(is_in).map(|(_, command)| command.clone()).ok_or_else(|| {
        let error =
            format!("GSD is not installed: it has no command {name} in this project or for this user");
        let hint = format!(
            "install it with `npx get-shit-done-cc@latest --claude --global`, or name the slash command with \
             --slash-command, such as `--slash-command /gsd:{name}`"
        );
        Failure::not_started(error, hint)
    })
}

//! Checks `until`: the condition that ends the iterations.

use super::Until;
use super::context::FileContext;
use super::tables::{UntilTable, to_json};
use crate::{Condition, FileCondition, ResultCondition, StageCondition, WorkflowFileError};
use regex::Regex;
use toml::Spanned;

const UNTIL_HINT: &str = "write `command = \"…\"`, `file = \"…\", matches = \"…\"`, \
                          `phase = \"…\", pointer = \"/…\", equals = …`, or `progress = \"…\", stage = \"…\"`";

pub fn until(file: &FileContext<'_>, table: &Spanned<UntilTable>) -> Result<Until, WorkflowFileError> {
    let UntilTable { after, command, file: path, matches, phase, pointer, equals, progress, stage } =
        table.get_ref();
    let mut default_after = file.phases.len() - 1;
    let condition = match (command, path, matches, phase, pointer, equals, progress, stage) {
        (Some(command), None, None, None, None, None, None, None) => Condition::Command(file.text(command)?),
        (None, Some(path), Some(matches), None, None, None, None, None) => {
            let hint = "write a regular expression; `(?m)^COMPLETE$` matches a line";
            let regex = Regex::new(&matches.get_ref().0).map_err(|error| {
                let message = format!("`matches` is wrong: {}", regex_reason(&error));
                file.source.error(matches.span(), message, hint)
            })?;
            Condition::FileMatches(FileCondition { path: file.project_path(path)?, regex })
        }
        (None, None, None, Some(phase), Some(pointer), Some(equals), None, None) => {
            default_after = file.result_phase(phase, pointer)?;
            let (phase, pointer) = (phase.get_ref().0.clone(), pointer.get_ref().0.clone());
            Condition::Result(ResultCondition { phase, pointer, equals: to_json(equals) })
        }
        (None, None, None, None, None, None, Some(path), Some(stage)) => {
            Condition::Stage(StageCondition { path: file.project_path(path)?, stage: *stage })
        }
        _ => {
            return Err(file.source.error(
                table.span(),
                "`until` needs the keys of exactly one condition",
                UNTIL_HINT,
            ));
        }
    };
    let after = after.as_ref().map(|after| file.phase_index(after)).transpose()?;
    Ok(Until { after: after.unwrap_or(default_after), condition })
}

/// Returns the last line of the error: the others repeat the expression, which the excerpt shows.
fn regex_reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.trim_start_matches("error: ").to_owned()
}

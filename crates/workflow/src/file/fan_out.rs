//! Checks the items of a phase: `fan_out` and `max_objectives`.

use super::context::FileContext;
use super::tables::{FanOutTable, ITEMS_MAX, PhaseTable, to_json};
use crate::{GlobPattern, ItemSource, WorkflowFileError};
use toml::Spanned;

const FAN_OUT_HINT: &str = "write `list = […]`, `command = \"…\"`, `glob = \"…\"`, `phase = \"…\", pointer = \"/…\"`, or `objectives = \"…\"`";
/// Items of one iteration without `max_objectives`: a mistake in a command must not start thousands of runs.
const ITEMS_DEFAULT: u32 = 100;

pub fn item_source(
    file: &FileContext<'_>,
    fan_out: &Spanned<FanOutTable>,
) -> Result<ItemSource, WorkflowFileError> {
    let FanOutTable { list, command, glob, objectives, phase, pointer } = fan_out.get_ref();
    match (list, command, glob, objectives, phase, pointer) {
        (Some(list), None, None, None, None, None) if list.get_ref().is_empty() => {
            let message = "`list` of `fan_out` is empty";
            Err(file.source.error(list.span(), message, "add items, or remove `fan_out`"))
        }
        (Some(list), None, None, None, None, None) => {
            Ok(ItemSource::List(list.get_ref().iter().map(to_json).collect()))
        }
        (None, Some(command), None, None, None, None) => Ok(ItemSource::Lines(file.text(command)?)),
        (None, None, Some(glob), None, None, None) => {
            let hint = "write a relative path; `*` matches in one directory, `**` in all";
            let pattern = GlobPattern::new(&file.text(glob)?);
            pattern
                .map(ItemSource::Glob)
                .map_err(|error| file.source.error(glob.span(), format!("`glob` is wrong: {error}"), hint))
        }
        (None, None, None, Some(path), None, None) => Ok(ItemSource::Objectives(file.project_path(path)?)),
        (None, None, None, None, Some(phase), Some(pointer)) => Ok(ItemSource::Pointer {
            phase: file.result_phase(phase, pointer)?,
            pointer: pointer.get_ref().0.clone(),
        }),
        _ => Err(file.source.error(
            fan_out.span(),
            "`fan_out` needs exactly one source of items",
            FAN_OUT_HINT,
        )),
    }
}

/// Returns the maximum number of items of one iteration.
pub fn items_max(
    file: &FileContext<'_>,
    table: &PhaseTable,
    fan_out: Option<&ItemSource>,
) -> Result<u32, WorkflowFileError> {
    let Some(fan_out) = fan_out else {
        let Some(items_max) = &table.max_objectives else { return Ok(1) };
        let hint = "add `fan_out`, or remove `max_objectives`";
        return Err(file.source.error(items_max.span(), "`max_objectives` needs items", hint));
    };
    // A list in the file is no mistake of a command.
    let default = match fan_out {
        ItemSource::List(items) => u32::try_from(items.len()).unwrap_or(ITEMS_MAX).min(ITEMS_MAX),
        ItemSource::Lines(_)
        | ItemSource::Glob(_)
        | ItemSource::Objectives(_)
        | ItemSource::Pointer { .. } => ITEMS_DEFAULT,
    };
    Ok(table.max_objectives.as_ref().map_or(default, |items_max| items_max.get_ref().0))
}

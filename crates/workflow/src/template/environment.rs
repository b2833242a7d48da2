//! The environment of templates: strict variables, JSON for values that are no text, and the functions `read` and
//! `stage`.

use crate::archon::stated_progress;
use crate::project_file::read_project_file;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, Value as Variable, escape_formatter};
use std::path::Path;

/// Size limit of a file that `read` returns: about 60,000 tokens.
const READ_BYTES_MAX: u64 = 256 << 10;
/// Limit of the work of one template: instructions, and 64 bytes of text each. A prompt of 1 MiB takes about 20,000.
const FUEL: u64 = 1_000_000;
/// Spaces of each level of `tojson(indent=…)`, at most.
const INDENT_MAX: usize = 8;

/// Creates the environment for templates of this project.
pub fn environment<'source>(project_dir: &Path) -> Environment<'source> {
    let mut environment = bare_environment();
    let stage_dir = project_dir.to_owned();
    environment.add_function("stage", move |path: String| {
        let stated = stated_progress(&stage_dir, Path::new(&path)).map_err(invalid)?;
        // The next plan can correct what an agent wrote.
        Ok::<_, Error>(stated.map_or("unknown", |progress| progress.stage.as_str()))
    });
    let project_dir = project_dir.to_owned();
    environment.add_function("read", move |path: String, options: Kwargs| {
        let default: Option<String> = options.get("default")?;
        options.assert_all_used()?;
        let text = read_project_file(&project_dir, Path::new(&path), READ_BYTES_MAX).map_err(invalid)?;
        text.or(default).ok_or_else(|| {
            invalid(format!("there is no file {path}; `read(\"{path}\", default=\"\")` allows that"))
        })
    });
    environment
}

/// Creates the environment without `read`.
pub fn bare_environment<'source>() -> Environment<'source> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    environment.set_fuel(Some(FUEL));
    // A tag alone on its line leaves no empty line.
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.expect("the delimiters are those of Jinja"));
    environment.add_filter("tojson", to_json);
    environment.set_formatter(|out, state, value| match value.kind() {
        // An unlimited rest, in the word of every limit.
        ValueKind::None => out.write_str("none").map_err(Error::from),
        ValueKind::Map | ValueKind::Seq | ValueKind::Iterable | ValueKind::Bool => {
            let json = serde_json::to_string(value).map_err(|error| invalid(error.to_string()))?;
            out.write_str(&json).map_err(Error::from)
        }
        _ => escape_formatter(out, state, value),
    });
    environment
}

/// The filter `tojson`, without the escapes for HTML of minijinja's own.
fn to_json(value: &Variable, options: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = options.get("indent")?;
    options.assert_all_used()?;
    let json = match indent {
        None => serde_json::to_string(value),
        Some(indent) => {
            let indent = " ".repeat(indent.min(INDENT_MAX));
            let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
            let mut bytes = Vec::new();
            let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
            serde::Serialize::serialize(value, &mut serializer)
                .map(|()| String::from_utf8_lossy(&bytes).into_owned())
        }
    };
    json.map_err(|error| invalid(error.to_string()))
}

/// Describes the use of a value that does not exist.
pub fn undefined_error(error: &Error, template: &str) -> String {
    let expression = error.range().and_then(|range| template.get(range)).unwrap_or_default().trim();
    if expression.is_empty() {
        return "a value does not exist; use `{% if … %}` or the filter `default`".to_owned();
    }
    format!("`{expression}` does not exist (yet); use `{{% if … %}}` or the filter `default`")
}

pub fn invalid(reason: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, reason)
}

//! Loads the prompts for judges and sessions: the user's templates, or the bundled ones if there are none.
//!
//! A user's template that cannot be used is an error. It is never replaced by the bundled one, because
//! sessions would be judged by a prompt that the user did not choose.

mod template;

use crate::UserError;
use longhaul_store::{open_regular, read_at_most};
use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use template::fill;

// A template is a page or two of prose.
const TEMPLATE_BYTES_MAX: u64 = 1024 * 1024;

/// A prompt template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Template {
    /// Reflector, which reads a session: `{transcript}`, `{playbook}`, `{cited_ids}`.
    Reflector,
    /// Curator, which changes the playbook: `{reflector_output}`, `{playbook}`.
    Curator,
    /// One model does both in one answer: `{trajectories}`, `{playbook}`.
    Reflection,
    /// Start of a session: `{key_points}`.
    Playbook,
}

/// The source of templates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Templates {
    dir: Option<PathBuf>,
}

impl Template {
    /// Returns the name of the user's file and the built-in text.
    fn file(self) -> (&'static str, &'static str) {
        match self {
            Template::Reflector => ("reflector.txt", include_str!("templates/prompts/reflector.txt")),
            Template::Curator => ("curator.txt", include_str!("templates/prompts/curator.txt")),
            Template::Reflection => ("reflection.txt", include_str!("templates/prompts/reflection.txt")),
            Template::Playbook => ("playbook.txt", include_str!("templates/prompts/playbook.txt")),
        }
    }
}

impl Templates {
    /// Uses only the bundled templates.
    pub fn bundled() -> Templates {
        Templates { dir: None }
    }

    /// Uses the templates in this directory, `prompts` in Claude Code's own. It need not exist, and templates
    /// may be missing.
    pub fn in_dir(dir: &Path) -> Templates {
        Templates { dir: Some(dir.to_owned()) }
    }

    /// Fills the template with these values.
    ///
    /// # Errors
    /// Returns [`UserError`] if a user's template cannot be read or filled.
    pub fn fill(&self, template: Template, values: &[(&str, &str)]) -> Result<String, UserError> {
        let (name, bundled) = template.file();
        let Some(dir) = &self.dir else { return fill(bundled, values) };
        let path = dir.join(name);
        let failed = |verb: &str, cause: &dyn Display, hint: &str| {
            let message = format!("cannot {verb} the template {}: {cause}", path.display());
            UserError::new(message, format!("{hint}, or move the file away to use the built-in template"))
        };
        let text = read(&path).map_err(|cause| failed("read", &cause, "make it a readable text file"))?;
        fill(text.as_deref().unwrap_or(bundled), values).map_err(|error| failed("fill", &error, &error.hint))
    }
}

fn read(path: &Path) -> io::Result<Option<String>> {
    let file = match open_regular(path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        file => file?,
    };
    let bytes = read_at_most(file, TEMPLATE_BYTES_MAX)?;
    String::from_utf8(bytes).map(Some).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::{Template, Templates};
    use std::fs;

    fn values(template: Template) -> &'static [(&'static str, &'static str)] {
        match template {
            Template::Reflector => &[("transcript", "T<1>"), ("playbook", "P<2>"), ("cited_ids", "C<3>")],
            Template::Curator => &[("reflector_output", "R<1>"), ("playbook", "P<2>")],
            Template::Reflection => &[("trajectories", "T<1>"), ("playbook", "P<2>")],
            Template::Playbook => &[("key_points", "K<1>")],
        }
    }

    #[test]
    fn bundled_templates_use_each_name_once() {
        for template in [Template::Reflector, Template::Curator, Template::Reflection, Template::Playbook] {
            let filled = Templates::bundled()
                .fill(template, values(template))
                .expect("a bundled template can be filled");
            for (name, value) in values(template) {
                assert_eq!(filled.matches(value).count(), 1, "{name} in {template:?}");
            }
        }
    }

    /// The example answers in the bundled prompts must parse.
    #[test]
    fn bundled_examples_parse() {
        let example = |template: Template, key: &str| {
            let filled = Templates::bundled()
                .fill(template, values(template))
                .expect("a bundled template can be filled");
            crate::judging::object_with(&filled, &[key]).expect("there is an example")
        };
        let reflection = serde_json::Value::Object(example(Template::Reflector, "bullet_tags"));
        serde_json::from_value::<crate::judging::Reflection>(reflection).expect("a reflection");
        let operations = example(Template::Curator, "operations").remove("operations").expect("operations");
        let operations = operations.as_array().expect("a list");
        for operation in operations {
            crate::points::Operation::parse(operation).expect("each is an operation");
        }
        assert_eq!(operations.len(), 4);
        assert!(example(Template::Reflection, "new_key_points").contains_key("evaluations"));
    }

    #[test]
    fn prefers_user_templates() {
        let dir = tempfile::tempdir().expect("a directory");
        let templates = Templates::in_dir(&dir.path().join("prompts"));
        let filled = || match templates.fill(Template::Curator, values(Template::Curator)) {
            Ok(text) => text.lines().next().unwrap_or_default().to_owned(),
            Err(error) => {
                format!("{error}; {}", error.hint).replace(&dir.path().display().to_string(), "DIR")
            }
        };
        let bundled_start = "You maintain the playbook of a coding project: a short list of key points";
        assert!(filled().starts_with(bundled_start));
        fs::create_dir(dir.path().join("prompts")).expect("make it");
        assert!(filled().starts_with(bundled_start));
        let write =
            |bytes: &[u8]| fs::write(dir.path().join("prompts/curator.txt"), bytes).expect("write it");
        write(b"Mine: {playbook}");
        assert_eq!(filled(), "Mine: P<2>");
        write(b"Mine: {transcript}");
        assert_eq!(
            filled(),
            "cannot fill the template DIR/prompts/curator.txt: line 1, column 7: unknown name {transcript}; the \
             names are {reflector_output}, {playbook}; write {{ and }} for literal braces, or move the file away to \
             use the built-in template"
        );
        write(b"\xff");
        assert!(filled().starts_with("cannot read the template DIR/prompts/curator.txt: "), "{}", filled());
        write(&vec![b'x'; 1024 * 1024 + 1]);
        assert!(filled().contains("it is longer than 1048576 bytes"), "{}", filled());
    }
}

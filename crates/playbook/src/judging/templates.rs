//! What judges and sessions are told: the user's own templates, or ours where there is none. A template of the user's that
//! cannot be used is an error, and ours is not taken in its place: what was learnt would be judged by other words than he
//! wrote.

use super::template::{TemplateError, fill};
use longhaul_store::open_regular;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

// A template is a page or two of prose.
const TEMPLATE_BYTES_MAX: u64 = 1024 * 1024;

/// What is told, and to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Template {
    /// The reflector reads a session: `{transcript}`, `{playbook}`, `{cited_ids}`.
    Reflector,
    /// The curator changes the playbook: `{reflector_output}`, `{playbook}`.
    Curator,
    /// One model does both in one answer: `{trajectories}`, `{playbook}`.
    Reflection,
    /// A session begins: `{key_points}`.
    Playbook,
}

/// Where templates are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Templates {
    dir: Option<PathBuf>,
}

/// Why a template of the user's cannot be used.
#[derive(Debug, Error)]
pub enum TemplatesError {
    /// It cannot be read.
    #[error("read the template {}: {cause}", path.display())]
    Unreadable {
        /// Its file.
        path: PathBuf,
        /// What is wrong.
        cause: io::Error,
    },
    /// It cannot be filled.
    #[error("fill the template {}: {cause}", path.display())]
    Unfillable {
        /// Its file.
        path: PathBuf,
        /// What is wrong, and where.
        cause: TemplateError,
    },
}

impl TemplatesError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        let away = "move the file away to use Longhaul's own";
        match self {
            TemplatesError::Unreadable { .. } => {
                format!("see to it that it is a readable text file, or {away}")
            }
            TemplatesError::Unfillable { cause, .. } => format!("{}, or {away}", cause.hint()),
        }
    }
}

impl Template {
    /// Every template.
    pub const ALL: &'static [Template] =
        &[Template::Reflector, Template::Curator, Template::Reflection, Template::Playbook];

    /// The name of its file.
    pub fn file_name(self) -> &'static str {
        match self {
            Template::Reflector => "reflector.txt",
            Template::Curator => "curator.txt",
            Template::Reflection => "reflection.txt",
            Template::Playbook => "playbook.txt",
        }
    }

    /// Our own.
    pub fn bundled(self) -> &'static str {
        match self {
            Template::Reflector => include_str!("prompts/reflector.txt"),
            Template::Curator => include_str!("prompts/curator.txt"),
            Template::Reflection => include_str!("prompts/reflection.txt"),
            Template::Playbook => include_str!("prompts/playbook.txt"),
        }
    }
}

impl Templates {
    /// Ours alone.
    pub fn bundled() -> Templates {
        Templates { dir: None }
    }

    /// Those of this directory, which may lack any of them or not be there at all: `prompts` in Claude Code's own.
    pub fn in_dir(dir: &Path) -> Templates {
        Templates { dir: Some(dir.to_owned()) }
    }

    /// The template with these values.
    ///
    /// # Errors
    /// If there is one of the user's that cannot be used.
    pub fn fill(&self, template: Template, values: &[(&str, &str)]) -> Result<String, TemplatesError> {
        let path = self.dir.as_ref().map(|dir| dir.join(template.file_name()));
        let text = path.as_deref().map_or(Ok(None), read);
        let path = path.unwrap_or_else(|| PathBuf::from(template.file_name()));
        match text {
            Ok(text) => fill(text.as_deref().unwrap_or(template.bundled()), values)
                .map_err(|cause| TemplatesError::Unfillable { path, cause }),
            Err(cause) => Err(TemplatesError::Unreadable { path, cause }),
        }
    }
}

/// The text of a file, if there is one.
fn read(path: &Path) -> io::Result<Option<String>> {
    let file = match open_regular(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let mut text = String::new();
    file.take(TEMPLATE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > TEMPLATE_BYTES_MAX {
        return Err(io::Error::other(format!("it is larger than {TEMPLATE_BYTES_MAX} bytes")));
    }
    Ok(Some(text))
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
    fn ours_say_each_of_their_names_once() {
        for &template in Template::ALL {
            let filled = Templates::bundled().fill(template, values(template)).expect("ours can be filled");
            for (name, value) in values(template) {
                assert_eq!(filled.matches(value).count(), 1, "{name} in {}", template.file_name());
            }
        }
    }

    /// The examples of answers that our prompts give are what is understood.
    #[test]
    fn ours_show_answers_that_are_understood() {
        let example = |template: Template, key: &str| {
            let filled = Templates::bundled().fill(template, values(template)).expect("ours can be filled");
            crate::judging::object_with(&filled, &[key]).expect("there is an example")
        };
        let reflection = serde_json::Value::Object(example(Template::Reflector, "bullet_tags"));
        serde_json::from_value::<crate::judging::Reflection>(reflection).expect("a reflection");
        let operations = example(Template::Curator, "operations").remove("operations").expect("operations");
        let operations: Vec<crate::points::Operation> =
            serde_json::from_value(operations).expect("each is an operation");
        assert_eq!(operations.len(), 4);
        assert!(example(Template::Reflection, "new_key_points").contains_key("evaluations"));
    }

    #[test]
    fn the_users_own_come_first_and_are_never_passed_over() {
        let dir = tempfile::tempdir().expect("a directory");
        let templates = Templates::in_dir(&dir.path().join("prompts"));
        let told = || match templates.fill(Template::Curator, values(Template::Curator)) {
            Ok(text) => text.lines().next().unwrap_or_default().to_owned(),
            Err(error) => {
                format!("{error}; {}", error.hint()).replace(&dir.path().display().to_string(), "DIR")
            }
        };
        let ours = "You keep the playbook of a coding project: a short list of key points";
        assert!(told().starts_with(ours));
        fs::create_dir(dir.path().join("prompts")).expect("make it");
        assert!(told().starts_with(ours));
        let write =
            |bytes: &[u8]| fs::write(dir.path().join("prompts/curator.txt"), bytes).expect("write it");
        write(b"Mine: {playbook}");
        assert_eq!(told(), "Mine: P<2>");
        write(b"Mine: {transcript}");
        assert_eq!(
            told(),
            "fill the template DIR/prompts/curator.txt: line 1, column 7: nothing is known by the name {transcript}; the \
             names here are {reflector_output}, {playbook}; write {{ and }} for braces that are text, or move the file \
             away to use Longhaul's own"
        );
        write(b"\xff");
        assert!(told().starts_with("read the template DIR/prompts/curator.txt: "), "{}", told());
        write(&vec![b'x'; 1024 * 1024 + 1]);
        assert!(told().contains("it is larger than 1048576 bytes"), "{}", told());
    }
}

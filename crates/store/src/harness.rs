//! Harnesses that run agents and read what is left of a run: what a run has for one of them besides its own files.

use crate::atomic::Durability;
use crate::{RunDir, StoreError, read_regular, replace_json};
use longhaul_core::{Limits, RunId, SessionId, Span};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A harness that a run is carried out for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Harness {
    /// ResearchGym: its variables for the agent, and its files in `logs/`.
    Researchgym,
}

impl Harness {
    /// The variables that it sets for its agents, with their values for this run: what the agent works in, what the
    /// run's directory is, which model was asked for, and what the run may cost and how long it may work.
    pub fn variables(
        self,
        dir: &Path,
        cwd: &Path,
        (model, limits): (Option<&str>, &Limits),
    ) -> impl Iterator<Item = (&'static str, String)> + use<> {
        let text = |path: PathBuf| path.display().to_string();
        let (workspace, code) = match self {
            Harness::Researchgym => places(cwd),
        };
        let paths = [
            ("WORKSPACE_BASE", workspace),
            ("CODE_DIR", code),
            ("RG_RUN_DIR", dir.to_owned()),
            ("RG_LOG_DIR", dir.join("logs")),
        ];
        let model = model.map(|model| ("RG_MODEL", model.to_owned()));
        let budget = limits.budget.map(|usd| ("RG_BUDGET_LIMIT", usd.as_dollars().to_string()));
        let hours = |span: Span| span.millis() as f64 / 3_600_000.0;
        let time = limits.time.map(|time| ("RG_TIME_HOURS", hours(time).to_string()));
        paths.map(|(name, path)| (name, text(path))).into_iter().chain(model).chain(budget).chain(time)
    }
}

/// The workspace, and the part of it that the agent works on: that is called `input`, where there is one.
fn places(cwd: &Path) -> (PathBuf, PathBuf) {
    let input = cwd.join("input");
    match cwd.parent() {
        Some(parent) if cwd.ends_with("input") => (parent.to_owned(), cwd.to_owned()),
        Some(_) | None if input.is_dir() => (cwd.to_owned(), input),
        Some(_) | None => (cwd.to_owned(), cwd.to_owned()),
    }
}

/// `metadata.json`: what a harness wants to know of a run before it resumes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Metadata {
    /// The run.
    pub run_id: RunId,
    /// The directory of the day that it is in.
    pub run_group: Option<String>,
    /// How often somebody let the run go on after it had been over.
    pub resume_generation: u32,
    /// The session that can be resumed.
    pub resume_session_id: Option<SessionId>,
}

/// An entry of `logs/blocked_urls.json`: a call that was denied because it names a blocked URL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlockedUrl {
    /// The tool.
    pub tool: String,
    /// The URL, or the command or question that names it, shortened.
    pub url: String,
    /// The pattern that blocks it.
    pub pattern: String,
    /// When it was denied, in seconds since 1970.
    pub timestamp: f64,
    /// The attempt in which it was.
    pub attempt: u32,
}

impl RunDir {
    /// Replaces the entries of one attempt in `logs/blocked_urls.json`, without a disk flush. Entries that are there keep their
    /// time. Writes nothing if there are none.
    ///
    /// # Errors
    /// [`StoreError::Io`]; a run does not fail for it.
    pub fn write_blocked_urls(&self, attempt: u32, entries: Vec<BlockedUrl>) -> Result<(), StoreError> {
        let path = self.logs_path().join("blocked_urls.json");
        let mut all: Vec<BlockedUrl> = read_regular(&path)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        let known = all.iter().filter(|entry| entry.attempt == attempt).count();
        let new = entries.into_iter().skip(known);
        if new.len() == 0 {
            return Ok(());
        }
        all.extend(new);
        replace_json(&path, &all, Durability::Process)
    }

    /// Replaces `metadata.json`, without a disk flush.
    ///
    /// # Errors
    /// [`StoreError::Io`]; a run does not fail for it.
    pub fn write_metadata(&self, generation: u32, session: Option<SessionId>) -> Result<(), StoreError> {
        let group = self.path().parent().and_then(Path::file_name);
        let metadata = Metadata {
            run_id: self.id().clone(),
            run_group: group.map(|group| group.to_string_lossy().into_owned()),
            resume_generation: generation,
            resume_session_id: session,
        };
        replace_json(&self.path().join("metadata.json"), &metadata, Durability::Process)
    }
}

#[cfg(test)]
mod tests {
    use super::Harness;
    use expect_test::expect;
    use longhaul_core::Limits;
    use std::fs;
    use std::path::Path;

    #[test]
    fn the_variables_of_researchgym() {
        let stage = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(stage.path().join("with/input")).expect("it can be made");
        fs::create_dir(stage.path().join("without")).expect("it can be made");
        let told = |cwd: &str, model: Option<&str>| -> String {
            let variables = Harness::Researchgym.variables(
                Path::new("/runs/r"),
                &stage.path().join(cwd),
                (model, &Limits::default()),
            );
            let lines = variables.map(|(name, value)| format!("{name}={value}\n"));
            lines.collect::<String>().replace(&stage.path().display().to_string(), "<stage>")
        };
        expect![[r#"
            WORKSPACE_BASE=<stage>/with
            CODE_DIR=<stage>/with/input
            RG_RUN_DIR=/runs/r
            RG_LOG_DIR=/runs/r/logs
            RG_MODEL=opus
        "#]]
        .assert_eq(&told("with", Some("opus")));
        assert_eq!(told("with/input", Some("opus")), told("with", Some("opus")));
        expect![[r#"
            WORKSPACE_BASE=<stage>/without
            CODE_DIR=<stage>/without
            RG_RUN_DIR=/runs/r
            RG_LOG_DIR=/runs/r/logs
        "#]]
        .assert_eq(&told("without", None));
    }
}

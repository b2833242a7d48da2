//! Supports harnesses that run agents and read a run's files: the variables and extra files of a run.

use crate::atomic::Durability;
use crate::files::read_json;
use crate::{RunDir, StoreError, replace_json};
use longhaul_core::{BlockedCall, Harness, RunId, RunSpec, SessionId, Span};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Returns the variables that the run's harness sets for its agents, with their values for this run:
/// workspace, run directory, requested model, budget and time limit. A run without a harness has none.
pub fn harness_variables(spec: &RunSpec, dir: &Path) -> Vec<(&'static str, String)> {
    let text = |path: PathBuf| path.display().to_string();
    let (workspace, code) = match spec.harness {
        Some(Harness::Researchgym) => workspace_and_code_dirs(&spec.cwd),
        None => return Vec::new(),
    };
    let paths = [
        ("WORKSPACE_BASE", workspace),
        ("CODE_DIR", code),
        ("RG_RUN_DIR", dir.to_owned()),
        ("RG_LOG_DIR", dir.join("logs")),
    ];
    let limits = &spec.policy.limits;
    let model = spec.model.clone().map(|model| ("RG_MODEL", model));
    let budget = limits.budget.map(|usd| ("RG_BUDGET_LIMIT", usd.as_dollars().to_string()));
    let hours = |span: Span| span.millis() as f64 / 3_600_000.0;
    let time = limits.time.map(|time| ("RG_TIME_HOURS", hours(time).to_string()));
    let paths = paths.map(|(name, path)| (name, text(path)));
    paths.into_iter().chain(model).chain(budget).chain(time).collect()
}

/// Returns the workspace and the directory in it that the agent works on: `input` if it exists, else the
/// workspace.
fn workspace_and_code_dirs(cwd: &Path) -> (PathBuf, PathBuf) {
    let input = cwd.join("input");
    match cwd.parent() {
        Some(parent) if cwd.ends_with("input") => (parent.to_owned(), cwd.to_owned()),
        Some(_) | None if input.is_dir() => (cwd.to_owned(), input),
        Some(_) | None => (cwd.to_owned(), cwd.to_owned()),
    }
}

/// `metadata.json`: what a harness reads before it resumes a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Metadata {
    /// Id of the run.
    pub run_id: RunId,
    /// Name of the directory of its day.
    pub run_group: Option<String>,
    /// How often the finished run was resumed.
    pub resume_generation: u32,
    /// Session that can be resumed.
    pub resume_session_id: Option<SessionId>,
}

/// An entry of `logs/blocked_urls.json`: a tool call denied because it names a blocked URL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlockedUrl {
    /// The call.
    #[serde(flatten)]
    pub call: BlockedCall,
    /// Time of the denial, in seconds since 1970.
    pub timestamp: f64,
    /// Attempt that made the call.
    pub attempt: u32,
}

impl RunDir {
    /// Replaces the entries of one attempt in `logs/blocked_urls.json`, without a disk flush. Existing
    /// entries keep their time. Without new entries it writes no file.
    pub fn write_blocked_urls(&self, attempt: u32, entries: Vec<BlockedUrl>) -> Result<(), StoreError> {
        let path = self.logs_path().join("blocked_urls.json");
        let mut all: Vec<BlockedUrl> = read_json("blocked URLs", &path).unwrap_or_default();
        let existing_count = all.iter().filter(|entry| entry.attempt == attempt).count();
        let new = entries.into_iter().skip(existing_count);
        if new.len() == 0 {
            return Ok(());
        }
        all.extend(new);
        replace_json(&path, &all, Durability::Process)
    }

    /// Replaces `metadata.json`, without a disk flush.
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
    use super::harness_variables;
    use expect_test::expect;
    use longhaul_core::{Harness, Preset, RunSpec};
    use std::fs;
    use std::path::Path;

    #[test]
    fn sets_researchgym_variables() {
        let stage = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(stage.path().join("with/input")).expect("it can be made");
        fs::create_dir(stage.path().join("without")).expect("it can be made");
        let render = |cwd: &str, model: Option<&str>| -> String {
            let spec = RunSpec::new("claude", stage.path().join(cwd), "task", Preset::Default.policy());
            let spec = spec.with(|spec| {
                spec.harness = Some(Harness::Researchgym);
                spec.model = model.map(str::to_owned);
            });
            let lines = harness_variables(&spec, Path::new("/runs/r")).into_iter();
            let lines = lines.map(|(name, value)| format!("{name}={value}\n"));
            lines.collect::<String>().replace(&stage.path().display().to_string(), "<stage>")
        };
        expect![[r#"
            WORKSPACE_BASE=<stage>/with
            CODE_DIR=<stage>/with/input
            RG_RUN_DIR=/runs/r
            RG_LOG_DIR=/runs/r/logs
            RG_MODEL=opus
        "#]]
        .assert_eq(&render("with", Some("opus")));
        assert_eq!(render("with/input", Some("opus")), render("with", Some("opus")));
        expect![[r#"
            WORKSPACE_BASE=<stage>/without
            CODE_DIR=<stage>/without
            RG_RUN_DIR=/runs/r
            RG_LOG_DIR=/runs/r/logs
        "#]]
        .assert_eq(&render("without", None));
    }
}

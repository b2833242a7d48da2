//! Archon's files of a project: hints, archived results, and the logs of each iteration, in Archon's formats. Its
//! dashboards and scripts read them; no decision of a workflow does.
//!
//! `meta.json` is derived from the workflow's journal, so that it is correct again after a crash. A file that cannot be
//! written never fails the workflow: it is reported as a warning.

mod iteration;
mod run_log;

use crate::RunReport;
use iteration::Iteration;
use longhaul_core::{Moment, RunId, RunKey, WorkflowPolicy, WorkflowRecord};
use longhaul_store::{Durability, Home, if_exists, read_regular_to_string, replace, replace_json};
use longhaul_workflow::archon::{IterationMeta, LogEvent, LogRow, ProverMode, Stage, progress};
use run_log::RunLog;
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

const HINTS: &str = "USER_HINTS.md";
const RESULTS: &str = "task_results";

/// The part of a phase in Archon's logs, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Plan,
    Prover,
    Review,
}

impl Role {
    fn from_name(name: &str) -> Option<Role> {
        match name {
            "plan" => Some(Role::Plan),
            "prover" => Some(Role::Prover),
            "review" => Some(Role::Review),
            _ => None,
        }
    }
}

pub(super) struct ArchonFiles {
    home: Home,
    workflow: RunId,
    project_dir: PathBuf,
    /// Directory of the files, relative to the project.
    dir: PathBuf,
    /// Stage that the user requested. `None` reads it from the project.
    stage: Option<Stage>,
    keeps_raw: bool,
    roles: Vec<Option<Role>>,
    mode: ProverMode,
    previous: Option<Iteration>,
    current: Option<Iteration>,
    logs: BTreeMap<RunKey, RunLog>,
}

impl ArchonFiles {
    pub(super) fn new(
        home: Home,
        workflow: RunId,
        project_dir: PathBuf,
        dir: &Path,
        policy: &WorkflowPolicy,
        parameters: &BTreeMap<String, String>,
    ) -> ArchonFiles {
        let stage = parameters.get("stage");
        let is_serial = policy.parallel_max == 1
            || policy
                .phases
                .iter()
                .any(|phase| Role::from_name(&phase.name) == Some(Role::Prover) && phase.parallel_max == 1);
        ArchonFiles {
            home,
            workflow,
            project_dir,
            dir: dir.to_owned(),
            stage: Stage::ALL.iter().copied().find(|known| stage.is_some_and(|word| word == known.as_str())),
            keeps_raw: parameters.get("verbose_logs").is_some_and(|value| value == "true"),
            roles: policy.phases.iter().map(|phase| Role::from_name(&phase.name)).collect(),
            mode: if is_serial { ProverMode::Serial } else { ProverMode::Parallel },
            previous: None,
            current: None,
            logs: BTreeMap::new(),
        }
    }

    /// Follows a record. Nothing is written.
    pub(super) fn apply(&mut self, at: Moment, record: &WorkflowRecord) {
        if let WorkflowRecord::IterationStarted { iteration } = record {
            self.previous = self.current.take();
            if let Some(previous) = &mut self.previous {
                previous.completed_at = Some(at);
            }
            self.current = Some(Iteration::new(*iteration, at));
        } else if let Some(current) = &mut self.current {
            current.apply(at, record, &self.roles);
        }
    }

    pub(super) fn write(&mut self, records: &[WorkflowRecord], at: Moment) -> Result<(), String> {
        self.write_all()?;
        let has_round_ended = records.iter().any(|record| {
            matches!(record, WorkflowRecord::PhaseEnded { phase, .. } if self.role(*phase) == Some(Role::Prover))
        });
        if has_round_ended { self.write_combined_log(at) } else { Ok(()) }
    }

    /// Writes all of the current and the previous iteration, which a dead supervisor may have left unfinished.
    pub(super) fn write_all(&mut self) -> Result<(), String> {
        let (mut previous, mut current) = (self.previous.take(), self.current.take());
        let iterations = previous.iter_mut().chain(&mut current);
        // Both are tried, whatever happens to the first.
        let written: Vec<_> = iterations.map(|iteration| self.write_meta(iteration)).collect();
        let written: Result<(), String> = written.into_iter().collect();
        // The previous iteration is complete. After a failure it is written again.
        self.previous = previous.filter(|_| written.is_err());
        self.current = current;
        written
    }

    fn write_meta(&self, iteration: &mut Iteration) -> Result<(), String> {
        let claim = match iteration.claim {
            Some(claim) => claim,
            None => self.claim(iteration.number)?,
        };
        iteration.claim = Some(claim);
        let session = |key: RunKey, phase: &str| {
            let run = self.home.run_with_id(&key.run_id(&self.workflow, phase)).ok().flatten()?;
            run.status().ok()?.session_id
        };
        let mut meta = iteration.meta(claim, self.mode, session);
        (meta.workflow, meta.workflow_iteration) = (Some(self.workflow.clone()), Some(iteration.number));
        let path = self.iteration_dir(claim.number).join("meta.json");
        replace_json(&path, &meta, Durability::Process).map_err(|error| error.to_string())
    }

    /// Returns the number of an iteration in the project: that of its existing log, or the next free one.
    fn claim(&self, iteration: u32) -> Result<Claim, String> {
        let logs = self.logs_dir();
        let numbers = iteration_numbers(&logs);
        let is_own = |meta: &IterationMeta| {
            meta.workflow.as_ref() == Some(&self.workflow) && meta.workflow_iteration == Some(iteration)
        };
        for number in numbers.iter().rev() {
            let text = read_regular_to_string(&self.iteration_dir(*number).join("meta.json"));
            let meta = text.ok().and_then(|text| serde_json::from_str::<IterationMeta>(&text).ok());
            if let Some(meta) = meta.filter(is_own) {
                return Ok(Claim { number: *number, stage: meta.stage });
            }
        }
        let number = numbers.last().copied().unwrap_or_default() + 1;
        let progress = || progress(&self.project_dir, &self.dir.join("PROGRESS.md"));
        // Before the directory is created: without a claim, the next step tries again.
        let stage = self.stage.map_or_else(|| progress().map(|progress| progress.stage), Ok)?;
        create_dir(&self.iteration_dir(number))?;
        Ok(Claim { number, stage })
    }

    fn role(&self, phase: usize) -> Option<Role> {
        self.roles.get(phase).copied().flatten()
    }

    fn root(&self) -> PathBuf {
        self.project_dir.join(&self.dir)
    }

    fn logs_dir(&self) -> PathBuf {
        self.root().join("logs")
    }

    fn iteration_dir(&self, number: u32) -> PathBuf {
        self.logs_dir().join(format!("iter-{number:03}"))
    }

    fn current_dir(&self) -> Option<PathBuf> {
        Some(self.iteration_dir(self.current.as_ref()?.claim?.number))
    }

    /// Returns the user's hints for a phase of the current iteration. Hints move into the log of the iteration by a
    /// rename, so that exactly one phase receives them, and text that the user writes later stays for the next. A phase
    /// that takes place again also receives that text.
    pub(super) fn receive_hints(&self, phase: &str, is_first: bool) -> Result<Vec<String>, String> {
        let Some(dir) = self.current_dir() else { return Ok(Vec::new()) };
        let path = self.root().join(HINTS);
        let failed = |error: io::Error| format!("cannot read the hints in {}: {error}", path.display());
        let received = dir.join(format!("{phase}-{HINTS}"));
        if is_first {
            let text = if_exists(read_regular_to_string(&path)).map_err(failed)?;
            if text.is_some_and(|text| has_hints(&text)) {
                fs::rename(&path, free_path(&received)).map_err(failed)?;
                // Editors and scripts expect the file.
                let _ = fs::OpenOptions::new().write(true).create_new(true).open(&path);
            }
        }
        let texts =
            numbered(&received).map_while(|path| if_exists(read_regular_to_string(&path)).transpose());
        texts.map(|text| text.map(|text| text.trim().to_owned()).map_err(failed)).collect()
    }

    /// Returns the reports of the last provers and the folder to which [`archive`] moves them.
    pub(super) fn archive_dirs(&self) -> Option<(PathBuf, PathBuf)> {
        let results = self.root().join(RESULTS);
        let number = self.current.as_ref()?.claim?.number;
        let archived = results.join("archive").join(format!("iter-{number:03}"));
        Some((results, archived))
    }

    pub(super) fn start_log(&mut self, key: RunKey, run: RunId) -> Result<(), String> {
        let Some(path) = self.log_path(key) else { return Ok(()) };
        if let Some(parent) = path.parent() {
            create_dir(parent)?;
        }
        self.logs.insert(key, RunLog::open(path, run).map_err(|error| error.to_string())?);
        Ok(())
    }

    /// Adds the new messages of all live runs to their logs.
    pub(super) fn update_logs(&mut self) -> Result<(), String> {
        for log in self.logs.values_mut() {
            log.update(&self.home).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    pub(super) fn end_log(&mut self, key: RunKey, report: &RunReport) -> Result<(), String> {
        let Some(mut log) = self.logs.remove(&key) else { return Ok(()) };
        log.update(&self.home).and_then(|()| log.end(report)).map_err(|error| error.to_string())?;
        if !self.keeps_raw {
            return Ok(());
        }
        log.write_raw(&self.home, &self.workflow).map_err(|error| error.to_string())
    }

    fn log_path(&self, key: RunKey) -> Option<PathBuf> {
        let (dir, current) = (self.current_dir()?, self.current.as_ref()?);
        Some(match self.role(key.phase)? {
            Role::Plan => dir.join("plan.jsonl"),
            Role::Review => dir.join("review.jsonl"),
            Role::Prover if self.has_single_log() => dir.join("prover.jsonl"),
            Role::Prover => {
                let slugs = current.slugs();
                dir.join("provers").join(format!("{}.jsonl", slugs.get(key.item as usize)?))
            }
        })
    }

    fn has_single_log(&self) -> bool {
        let count = self.current.as_ref().map_or(0, |current| current.items.len());
        self.mode == ProverMode::Serial || count == 1
    }

    /// Joins the logs of the provers that ran at the same time.
    fn write_combined_log(&self, at: Moment) -> Result<(), String> {
        let (Some(dir), Some(current)) = (self.current_dir(), self.current.as_ref()) else { return Ok(()) };
        if self.has_single_log() || current.items.is_empty() {
            return Ok(());
        }
        let mut combined = Vec::new();
        for slug in current.slugs() {
            let path = dir.join("provers").join(format!("{slug}.jsonl"));
            // A prover that did not start has no log.
            combined.extend(fs::read(path).unwrap_or_default());
        }
        let (prover_count, failed) = current.prover_counts();
        let event = LogEvent::ParallelRoundEnd { prover_count, failed };
        combined.extend(run_log::line(&LogRow { ts: at.into(), event }));
        let path = dir.join("provers-combined.jsonl");
        replace(&path, &combined, Durability::Process).map_err(|error| error.to_string())
    }
}

/// The log of an iteration in the project.
#[derive(Clone, Copy, Debug)]
struct Claim {
    /// Number among all iterations of the project.
    number: u32,
    /// Stage at its start.
    stage: Stage,
}

/// Moves the reports of the last provers, so that the next ones start with an empty folder. Repeating it is harmless.
pub(super) fn archive((results, archived): &(PathBuf, PathBuf)) -> Result<(), String> {
    let failed = |error: io::Error| format!("cannot archive {}: {error}", results.display());
    create_dir(results)?;
    for entry in fs::read_dir(results).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let is_report = entry.path().extension().is_some_and(|extension| extension == "md");
        if is_report && entry.file_type().map_err(failed)?.is_file() {
            create_dir(archived)?;
            fs::rename(entry.path(), free_path(&archived.join(entry.file_name()))).map_err(failed)?;
        }
    }
    Ok(())
}

/// Returns the first of the [`numbered`] paths at which there is no file.
fn free_path(path: &Path) -> PathBuf {
    numbered(path).find(|path| !path.exists()).expect("numbers do not run out")
}

/// Returns the path of a text in Markdown, and the paths of further ones: `a.md`, `a.2.md`, `a.3.md`.
fn numbered(path: &Path) -> impl Iterator<Item = PathBuf> {
    let further = (2_u32..).map(move |number| path.with_extension(format!("{number}.md")));
    std::iter::once(path.to_owned()).chain(further)
}

fn iteration_numbers(logs: &Path) -> Vec<u32> {
    let entries = fs::read_dir(logs).into_iter().flatten().flatten();
    let number = |name: &str| name.strip_prefix("iter-")?.parse().ok();
    let mut numbers: Vec<u32> = entries.filter_map(|entry| number(entry.file_name().to_str()?)).collect();
    numbers.sort_unstable();
    numbers
}

/// Returns whether a text has more than headings and comments, as in the file that Archon creates.
fn has_hints(text: &str) -> bool {
    let mut visible = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<!--") {
        visible.push_str(before);
        rest = after.split_once("-->").map_or("", |(_, after)| after);
    }
    visible.push_str(rest);
    visible.lines().map(str::trim).any(|line| !line.is_empty() && !line.starts_with('#'))
}

fn create_dir(path: &Path) -> Result<(), String> {
    let created = DirBuilder::new().recursive(true).mode(0o700).create(path);
    created.map_err(|error| format!("cannot create {}: {error}", path.display()))
}

#[cfg(test)]
mod tests;

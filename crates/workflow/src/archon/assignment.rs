//! Resolves the objectives of a plan to the project's files, on which the provers work. It never picks one of
//! several files with the same name.

use super::Objective;

/// Folders of dependencies, whose files belong to no project.
const DEPENDENCY_DIRS: [&str; 2] = [".lake", "lake-packages"];

/// The files of an iteration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assignment {
    /// Files to work on, in the order of the plan. Each occurs once.
    pub files: Vec<String>,
    /// Objectives whose file does not exist.
    pub unresolved: Vec<Objective>,
}

impl Assignment {
    /// Resolves objectives against the project's files: paths relative to the project, separated by `/`.
    ///
    /// # Errors
    /// Returns an error if a name without its full path belongs to several files.
    pub fn new(objectives: &[Objective], project_files: &[String]) -> Result<Assignment, String> {
        let mut assignment = Assignment::default();
        for objective in objectives {
            let mut matches = matching(&objective.name, project_files);
            match matches.len() {
                0 => assignment.unresolved.push(objective.clone()),
                1 => assignment.files.append(&mut matches),
                _ => return Err(ambiguous(objective, &matches)),
            }
        }
        let mut seen = Vec::new();
        assignment.files.retain(|file| {
            let is_new = !seen.contains(file);
            seen.push(file.clone());
            is_new
        });
        Ok(assignment)
    }
}

/// Describes an objective that names several files. The suggested path belongs to one only: without a folder,
/// it needs `./`.
fn ambiguous(Objective { name, line }: &Objective, matches: &[String]) -> String {
    let first = &matches[0];
    let folder = if first.contains('/') { "" } else { "./" };
    format!(
        "PROGRESS.md, line {line}: `{name}` is the name of {} files: {}; write the path of one, such as \
         `{folder}{first}`",
        matches.len(),
        matches.join(", ")
    )
}

/// Returns the files that a name may mean, sorted. A path that exists means only itself.
fn matching(name: &str, project_files: &[String]) -> Vec<String> {
    let is_own = |file: &&String| !file.split('/').any(|folder| DEPENDENCY_DIRS.contains(&folder));
    let own_files: Vec<&String> = project_files.iter().filter(is_own).collect();
    let path = name.strip_prefix("./").unwrap_or(name);
    if name.contains('/') && own_files.iter().any(|file| *file == path) {
        return vec![path.to_owned()];
    }
    let is_match = |file: &&&String| {
        file.strip_suffix(path).is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
    };
    let mut matches: Vec<String> = own_files.iter().filter(is_match).map(|file| (*file).clone()).collect();
    matches.sort();
    matches.dedup();
    matches
}

#[cfg(test)]
mod tests;

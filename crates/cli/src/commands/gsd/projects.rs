//! `longhaul gsd projects`: the registry of projects, in openclawpack's file.

use super::print;
use super::registry::{RegisteredProject, Registry};
use crate::args::{AddProjectArgs, GlobalArgs, ProjectsCommand};
use crate::failure::Failure;
use crate::next_commands::quoted;
use crate::{output, prompt_arg};
use jiff::Timestamp;
use longhaul_gsd::Project;
use serde_json::Map;
use std::env;
use std::path::Path;
use std::time::Instant;

pub fn projects(global: &GlobalArgs, command: &ProjectsCommand) -> Result<u8, Failure> {
    let since = Instant::now();
    let mut registry = Registry::open(Registry::default_path(|name| env::var_os(name))?)?;
    match command {
        ProjectsCommand::Add(args) => {
            let project = add(&mut registry, args)?;
            Ok(print(global, since, Some(project), |project| {
                project.iter().map(|project| format!("Added {}: {}\n", project.name, project.path)).collect()
            }))
        }
        ProjectsCommand::List { refresh } => {
            let projects = list(&mut registry, *refresh)?;
            Ok(print(global, since, projects, |projects| projects.iter().map(line).collect()))
        }
        ProjectsCommand::Remove { name } => {
            let project = registry.remove(name)?;
            Ok(print(global, since, Some(project), |project| {
                project.iter().map(|project| format!("Removed {}; its files stay\n", project.name)).collect()
            }))
        }
    }
}

fn add(registry: &mut Registry, args: &AddProjectArgs) -> Result<RegisteredProject, Failure> {
    let path = prompt_arg::directory(&args.path)?;
    Project::read(&path)?;
    let directory_name = || path.file_name().map(|name| name.to_string_lossy().into_owned());
    let project = RegisteredProject {
        name: args.name.clone().or_else(directory_name).unwrap_or_else(|| "project".to_owned()),
        path: path.display().to_string(),
        registered_at: Timestamp::now().to_string(),
        last_checked_at: None,
        last_known_state: None,
        other: Map::new(),
    };
    registry.add(project.clone())?;
    Ok(project)
}

fn list(registry: &mut Registry, refresh: bool) -> Result<Vec<RegisteredProject>, Failure> {
    if refresh {
        registry.refresh(&Timestamp::now().to_string(), |project| {
            match Project::read(Path::new(&project.path)) {
                Ok(read) => serde_json::to_value(read.status).ok(),
                Err(error) => {
                    let hint = format!("`longhaul gsd projects remove {}` forgets it", quoted(&project.name));
                    output::print_warning(&format!("{}: {error}", project.name), Some(&hint));
                    None
                }
            }
        })?;
    }
    Ok(registry.projects().cloned().collect())
}

fn line(project: &RegisteredProject) -> String {
    let state = project.last_known_state.as_ref();
    let phase = state.and_then(|state| state.get("current_phase")).filter(|phase| !phase.is_null());
    let phase =
        phase.map_or_else(String::new, |phase| format!("  phase {}", phase.to_string().trim_matches('"')));
    format!("{}  {}{phase}\n", project.name, project.path)
}

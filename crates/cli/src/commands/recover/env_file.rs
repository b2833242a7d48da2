//! The file from which the service at boot reads the agents' variables.
//!
//! The user writes it. This module never writes it and reads only the names of the variables.

use super::unfinished_runs;
use crate::config::find::user_file;
use crate::next_commands::quoted;
use longhaul::Channel;
use longhaul::workflow::recoverable_workflows;
use longhaul_agent::{default_dialect, dialect_named};
use longhaul_store::{Home, StoreError, if_exists, read_regular};
use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const NAME: &str = "agent.env";

/// The file's current state.
#[derive(Debug)]
pub struct EnvFile {
    path: PathBuf,
    /// `None` if there is no such file.
    content: Option<Content>,
}

#[derive(Debug)]
struct Content {
    mode: u32,
    names: BTreeSet<String>,
    /// Whether the last line has no end, as in a file that a person wrote.
    has_open_line: bool,
}

impl EnvFile {
    /// Returns the path, next to the user's configuration. `None` if that directory is unknown.
    pub fn path() -> Option<PathBuf> {
        user_file().map(|file| file.with_file_name(NAME))
    }

    pub fn read(path: PathBuf) -> io::Result<EnvFile> {
        let content = match if_exists(read_regular(&path))? {
            Some(bytes) => Some(Content {
                mode: fs::metadata(&path)?.permissions().mode(),
                names: names(&String::from_utf8_lossy(&bytes)),
                has_open_line: bytes.last().is_some_and(|last| *last != b'\n'),
            }),
            None => None,
        };
        Ok(EnvFile { path, content })
    }

    /// Returns the command that makes the file private. `None` if it is private.
    pub fn protect(&self) -> Option<String> {
        let is_open = self.content.as_ref().is_some_and(|content| content.mode & 0o077 != 0);
        is_open.then(|| format!("chmod 600 {}", self.quoted()))
    }

    pub fn missing(&self, variables: &BTreeSet<String>) -> Vec<String> {
        let has = |name: &str| self.content.as_ref().is_some_and(|content| content.names.contains(name));
        variables.iter().filter(|name| !has(name)).cloned().collect()
    }

    /// Returns shell commands that add these variables. No value appears in an argument or on the screen.
    pub fn commands(&self, variables: &[String]) -> Vec<String> {
        let names: Vec<&str> = variables.iter().map(String::as_str).filter(|name| is_plain(name)).collect();
        let mut commands = Vec::new();
        if self.content.is_none() {
            let folder = quoted(&self.path.parent().unwrap_or(Path::new("/")).display().to_string());
            commands.push(format!("mkdir -p {folder} && install -m 600 /dev/null {}", self.quoted()));
        }
        if !names.is_empty() {
            // In quotes, systemd and a shell read a value literally.
            let names = names.join("|");
            let variables = format!(r#"env | sed -nE "s/^({names})=(.*)/\1='\2'/p""#);
            let has_open_line = self.content.as_ref().is_some_and(|content| content.has_open_line);
            let lines = if has_open_line { format!("{{ echo; {variables}; }}") } else { variables };
            commands.push(format!("{lines} >> {}", self.quoted()));
        }
        commands
    }

    fn quoted(&self) -> String {
        quoted(&self.path.display().to_string())
    }
}

/// Returns the names of the variables that recovery needs: those that the unfinished runs of this home recorded,
/// those of Slack channels of unfinished runs and workflows, and those of this process that the agents of unfinished
/// workflows and the default agent need.
pub fn needed(home: &Home) -> Result<BTreeSet<String>, StoreError> {
    let (mut dialects, mut channels) = (vec![default_dialect()], Vec::new());
    for plan in recoverable_workflows(home)?.iter().filter_map(|workflow| workflow.plan().ok()) {
        dialects.extend(plan.runs.iter().filter_map(|spec| dialect_named(&spec.agent.name)));
        channels.extend(plan.notify);
    }
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let mut names: BTreeSet<String> =
        env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    names.retain(|name| is_set(name) && dialects.iter().any(|dialect| dialect.needs_variable(name, &is_set)));
    for plan in unfinished_runs(home)?.filter_map(|run| run.plan().ok()) {
        names.extend(plan.env.needed().map(str::to_owned));
        channels.extend(plan.spec.notify);
    }
    names.extend(channels.iter().filter_map(|channel| match channel.parse::<Channel>() {
        Ok(Channel::Slack(name)) => Some(name),
        Ok(Channel::Desktop | Channel::Ntfy(_) | Channel::Command(_)) | Err(_) => None,
    }));
    Ok(names)
}

/// Returns whether this process has the variable, with a value of one line without single quotes.
pub fn is_plain(name: &str) -> bool {
    let value = env::var(name).unwrap_or_default();
    !value.is_empty() && !value.contains(['\'', '\n'])
}

/// Returns the names in a file with one `NAME=VALUE` on each line.
fn names(text: &str) -> BTreeSet<String> {
    let lines = text.lines().map(str::trim_start).filter(|line| !line.starts_with(['#', ';']));
    lines.filter_map(|line| Some(line.split_once('=')?.0.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::{EnvFile, names};
    use std::fs;
    use std::process::Command;

    #[test]
    fn commands_add_lines() {
        for before in ["TOKEN='x'", "TOKEN='x'\n"] {
            let dir = tempfile::tempdir().expect("a directory");
            let path = dir.path().join("agent.env");
            fs::write(&path, before).expect("written");
            let commands = EnvFile::read(path.clone()).expect("readable").commands(&["PATH".to_owned()]);
            let ran =
                Command::new("sh").args(["-c", &commands.join("\n")]).env("PATH", "/usr/bin:/bin").status();
            assert!(ran.expect("a shell").success(), "{commands:?}");
            assert_eq!(fs::read_to_string(path).expect("readable"), "TOKEN='x'\nPATH='/usr/bin:/bin'\n");
        }
    }

    #[test]
    fn reads_names_only() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(names(text).iter().collect::<Vec<_>>(), expected, "{text:?}");
        };
        check("", &[]);
        check("A='1'\nB=\"2=3\"\n  C=\n", &["A", "B", "C"]);
        check("# A=1\n;B=2\nno variable\n", &[]);
    }
}

//! Hints for errors of the libraries: what the user can type or do about them.

use crate::frozen_supervisor;
use crate::next_commands::{attach_or_cancel, quoted, recover_or_cancel};
use longhaul::find_agent::AgentError;
use longhaul::transfer::TransferError;
use longhaul::workflow::WorktreeError;
use longhaul::{ChannelError, GitError};
use longhaul_store::{DatabaseError, LedgerError, StoreError};
use std::io;
use std::path::absolute;

/// An error that a user can do something about.
pub trait Hint {
    /// Returns what the user can do, without a period, or `None` if that is unknown.
    fn hint(&self) -> Option<String>;
}

impl Hint for StoreError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            StoreError::Io { cause, .. } => return home_hint(self, cause.kind()),
            StoreError::HomeUnknown | StoreError::HomeNotDirectory { .. } => {
                "set LONGHAUL_HOME to a directory you can write to".to_owned()
            }
            StoreError::HomeRelative(path) => {
                let path = path.to_string_lossy();
                let absolute = match path.strip_prefix("~/") {
                    // A shell expands the tilde only outside of quotes.
                    Some(rest) => format!("\"$HOME\"/{}", quoted(rest)),
                    None => quoted(&absolute(&*path).unwrap_or_default().to_string_lossy()),
                };
                format!("export LONGHAUL_HOME={absolute}")
            }
            StoreError::NoSuchRun { .. } => "list runs with `longhaul runs`".to_owned(),
            StoreError::AmbiguousRun { .. } => "type more of the id".to_owned(),
            StoreError::MalformedRun(_) => "`@` is the latest run, `@-1` the one before it".to_owned(),
            StoreError::JournalLocked(path) => {
                let dir = path.parent().unwrap_or(path);
                frozen_supervisor::hint(dir)
                    .unwrap_or_else(|| attach_or_cancel(dir.file_name().unwrap_or_default().display()))
            }
            StoreError::JournalDamaged { .. } => "the run cannot be recovered".to_owned(),
            StoreError::JournalNewer { .. } => "use the newer longhaul for this run".to_owned(),
            StoreError::JournalWriteFailed(_) => "see the first error".to_owned(),
            StoreError::Untrusted { path, .. } => format!(
                "look at its plan.json; if the run is yours, `chown` it to you and `chmod go-w {}`",
                quoted(&path.to_string_lossy())
            ),
            StoreError::NoOwners { .. } => {
                "use a directory on a file system with owners: LONGHAUL_HOME names that of the runs"
                    .to_owned()
            }
            StoreError::Unreadable { written_by, .. } => {
                let version = written_by.as_ref()?;
                format!("longhaul {version} wrote it; use that version for this run")
            }
            StoreError::SessionBusy { holder: Some(run), .. } => {
                format!("wait for run {run} to finish, or stop it with `longhaul cancel {run}`")
            }
            StoreError::SessionOrphaned { run, .. } => recover_or_cancel(run),
            StoreError::SessionBusy { holder: None, .. } => "wait for the other run to finish".to_owned(),
            StoreError::RunExists { run, .. } => {
                format!("see its state with `longhaul show {run}`, or set LONGHAUL_HOME to another directory")
            }
            StoreError::RunIdInUse { dir, .. } => format!(
                "choose another --run-id, or see what comes next in that run with `longhaul why {}`",
                quoted(&dir.to_string_lossy())
            ),
            StoreError::ProjectBusy { holder, .. } => attach_or_cancel(holder),
            StoreError::InvalidRunId(_) => {
                "an id is a few letters like `kmzxqp`; use a file that longhaul wrote".to_owned()
            }
        };
        Some(hint)
    }
}

fn home_hint(error: &StoreError, kind: io::ErrorKind) -> Option<String> {
    let hint = match kind {
        _ if error.is_disk_full() => "free some space, or set LONGHAUL_HOME to a directory on another disk",
        io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::NotADirectory => "set LONGHAUL_HOME to a directory you can write to",
        io::ErrorKind::Unsupported => {
            "this file system cannot lock files; set LONGHAUL_HOME to a directory on a local disk"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

impl Hint for LedgerError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            LedgerError::Runs(error) => return error.hint(),
            LedgerError::Database(DatabaseError::Newer { .. }) => {
                "update longhaul, or: longhaul ledger rebuild"
            }
            LedgerError::Database(DatabaseError::Damaged { .. }) => "rebuild it: longhaul ledger rebuild",
            LedgerError::Database(error) => error.hint(),
        };
        Some(hint.to_owned())
    }
}

impl Hint for TransferError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            TransferError::Store(error) => return error.hint(),
            TransferError::Supervised(run) => {
                format!(
                    "wait until it finishes with `longhaul attach {run}`, or stop it with `longhaul cancel {run}`"
                )
            }
            TransferError::Worktrees { workflow, is_finished: true } => {
                format!("type `longhaul why {workflow}`: it names the commands that merge or drop them")
            }
            TransferError::Worktrees { workflow, is_finished: false } => {
                format!("finish it with `longhaul recover {workflow}`")
            }
            TransferError::StillRunning { run, .. } => recover_or_cancel(run),
            TransferError::FileExists(_) => {
                "name another file with --output, or overwrite it with --force".to_owned()
            }
            TransferError::NotRegular(_) => "name another file with --output".to_owned(),
            TransferError::InvalidArchive { .. } => "export the run again and copy the file again".to_owned(),
            TransferError::Large { .. } => "if you trust the file, import it with --allow-large".to_owned(),
            TransferError::Newer { .. } => "import it with that version, or a later one".to_owned(),
            TransferError::RunningHere { processes, .. } => {
                let pids: Vec<String> = processes.iter().map(u32::to_string).collect();
                format!(
                    "cancel the run in its own LONGHAUL_HOME, or type `kill {}`; a run may continue in one place only",
                    pids.join(" ")
                )
            }
            TransferError::NoWorkspace(_) => {
                "copy the workspace there yourself, then pass --use-existing".to_owned()
            }
            TransferError::NotEmpty(_) => {
                "name a new directory, or use the existing workspace with --use-existing".to_owned()
            }
            TransferError::InUse(_) => "wait until it ends, or name a new directory".to_owned(),
            TransferError::ImportedElsewhere { .. } => {
                "import the workflow into the same directory again, with --use-existing".to_owned()
            }
            TransferError::Workspace { .. } => "name the directory that contains the workspace".to_owned(),
            TransferError::Agent(error) => agent_hint(error).to_owned(),
            TransferError::Git(GitError::NotStarted(_)) => {
                "install git and make sure that it is on PATH".to_owned()
            }
            TransferError::Git(GitError::Failed { .. }) => {
                "fix what git reports, then try again; nothing was changed".to_owned()
            }
            TransferError::Io { source, .. } => return path_hint(source.kind()),
        };
        Some(hint)
    }
}

impl Hint for WorktreeError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            WorktreeError::NoRepository(_) => {
                "create a repository with `git init` and commit the files of the \
                 project, or remove `isolation = \"worktree\"`"
                    .to_owned()
            }
            WorktreeError::NoCommit(_) => {
                "commit the files of the project, or remove `isolation = \"worktree\"`".to_owned()
            }
            WorktreeError::UncommittedWork { top, .. } => format!(
                "commit the files, or put them away with `git -C {} stash --include-untracked`; files that git \
                 ignores may stay",
                quoted(&top.to_string_lossy())
            ),
            WorktreeError::OldGit(_) => "install a newer git".to_owned(),
            WorktreeError::Git(_) => "fix the cause, and try again".to_owned(),
            WorktreeError::Store(error) => return error.hint(),
        };
        Some(hint)
    }
}

fn path_hint(kind: io::ErrorKind) -> Option<String> {
    let hint = match kind {
        io::ErrorKind::NotFound => "check the path",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "name a path that you can read and write"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "free some space, or name a path on another disk"
        }
        io::ErrorKind::IsADirectory | io::ErrorKind::InvalidInput => "name a regular file",
        _ => return None,
    };
    Some(hint.to_owned())
}

pub fn channel_hint(error: &ChannelError) -> &'static str {
    match error {
        ChannelError::InvalidTopic | ChannelError::IncompleteUrl | ChannelError::UrlWithPassword => {
            "write ntfy:TOPIC, or ntfy:https://HOST/TOPIC for your own server"
        }
        ChannelError::InvalidVariable => "export SLACK_WEBHOOK_URL, and write slack:SLACK_WEBHOOK_URL",
        ChannelError::VariableNotSet(_) | ChannelError::VariableWithoutUrl(_) => {
            "export the variable with the URL of the webhook before you start or recover the run"
        }
        ChannelError::NoCurl => "install curl",
        ChannelError::NoDesktop => "install libnotify (the package libnotify-bin or libnotify)",
    }
}

pub fn agent_hint(error: &AgentError) -> &'static str {
    match error {
        AgentError::NotFound { .. } => {
            "install it with `npm install -g @anthropic-ai/claude-code`, or name it with --agent-path"
        }
        AgentError::NotInPath(_) => "install it, or name its file after `--`",
        AgentError::Missing(_) => "check --agent-path, or with --agent acp the command after `--`",
        AgentError::NotExecutable(path) if path.is_dir() => "name the program's file, not a directory",
        AgentError::NotExecutable(_) => {
            "name an executable file, or make this one executable with `chmod +x`"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Hint, agent_hint};
    use longhaul::GitError;
    use longhaul::find_agent::AgentError;
    use longhaul::transfer::TransferError;
    use longhaul_core::{RunId, SessionId};
    use longhaul_store::{DatabaseError, LedgerError, StoreError};
    use std::io;
    use std::path::PathBuf;

    fn check(error: &dyn Hint, expected: &str) {
        let hint = error.hint().expect("a hint");
        assert!(hint.contains(expected), "`{expected}` is not in `{hint}`");
    }

    #[test]
    fn store_errors_name_what_helps() {
        let (path, run) = (PathBuf::from("/runs/kmzxqp/journal.jsonl"), RunId::from("kmzxqp"));
        let session = SessionId::from("s");
        let io = |kind: io::ErrorKind| StoreError::Io {
            action: "create home",
            path: path.clone(),
            cause: kind.into(),
        };
        check(&StoreError::HomeUnknown, "LONGHAUL_HOME");
        check(&StoreError::HomeRelative("~/r".into()), "export LONGHAUL_HOME=\"$HOME\"/r");
        check(&StoreError::HomeRelative("r".into()), "export LONGHAUL_HOME=/");
        check(&StoreError::HomeNotDirectory { home: path.clone(), path: path.clone() }, "LONGHAUL_HOME");
        check(&io(io::ErrorKind::PermissionDenied), "a directory you can write to");
        check(&io(io::ErrorKind::ReadOnlyFilesystem), "a directory you can write to");
        check(&io(io::ErrorKind::NotADirectory), "a directory you can write to");
        check(&io(io::ErrorKind::StorageFull), "another disk");
        check(&io(io::ErrorKind::Unsupported), "a local disk");
        assert_eq!(io(io::ErrorKind::NotFound).hint(), None);
        check(&StoreError::NoSuchRun { request: "k".to_owned(), runs: path.clone() }, "longhaul runs");
        check(
            &StoreError::AmbiguousRun { request: "k".to_owned(), candidates: Vec::new() },
            "more of the id",
        );
        check(&StoreError::MalformedRun("-".to_owned()), "`@-1`");
        check(&StoreError::JournalLocked(path.clone()), "longhaul cancel kmzxqp");
        let busy = |holder| StoreError::SessionBusy { session: session.clone(), holder };
        check(&busy(Some(run.clone())), "wait for run kmzxqp to finish");
        check(&busy(None), "wait for the other run");
        check(
            &StoreError::SessionOrphaned { session: session.clone(), run: run.clone() },
            "longhaul recover kmzxqp",
        );
        check(&StoreError::RunExists { run: run.clone(), dir: path.clone() }, "longhaul show kmzxqp");
        let holder = run.clone();
        check(
            &StoreError::ProjectBusy { project: path.clone(), holder, held: path.clone() },
            "longhaul attach kmzxqp",
        );
        check(&StoreError::RunIdInUse { run, dir: path.clone() }, "choose another --run-id");
        let unreadable = |written_by| StoreError::Unreadable {
            description: "plan",
            path: path.clone(),
            cause: serde_json::from_str::<u8>("{").expect_err("not a number"),
            written_by,
        };
        assert_eq!(
            unreadable(Some("9.1.0".to_owned())).hint().expect("a hint"),
            "longhaul 9.1.0 wrote it; use that version for this run"
        );
        assert_eq!(unreadable(None).hint(), None);
        check(&LedgerError::Runs(busy(None)), "wait for the other run");
        let database = |error: DatabaseError| LedgerError::Database(error);
        check(&database(DatabaseError::Newer(path.clone())), "longhaul ledger rebuild");
        check(
            &database(DatabaseError::Damaged { path: path.clone(), cause: String::new() }),
            "longhaul ledger rebuild",
        );
        check(
            &database(DatabaseError::refused(&path, &io::Error::other("refused"))),
            "its directory is writable",
        );
    }

    #[test]
    fn transfer_errors_name_what_helps() {
        let (path, run) = (PathBuf::from("/tmp/file"), RunId::from("kmzxqp"));
        let source = || io::Error::from(io::ErrorKind::IsADirectory);
        let (agent, git) = (AgentError::Missing(path.clone()), GitError::NotStarted(source()));
        assert_eq!(
            TransferError::Agent(AgentError::Missing(path.clone())).hint().as_deref(),
            Some(agent_hint(&agent))
        );
        check(&TransferError::Git(git), "install git");
        check(&TransferError::Store(StoreError::HomeUnknown), "LONGHAUL_HOME");
        check(&TransferError::Supervised(run.clone()), "longhaul attach kmzxqp");
        check(&TransferError::StillRunning { run: run.clone(), processes: 1 }, "longhaul recover kmzxqp");
        check(&TransferError::RunningHere { run: run.clone(), processes: vec![12, 34] }, "kill 12 34");
        check(&TransferError::FileExists(path.clone()), "--force");
        check(&TransferError::NotRegular(path.clone()), "--output");
        check(
            &TransferError::InvalidArchive { path: path.clone(), reason: String::new() },
            "export the run again",
        );
        check(&TransferError::Large { path: path.clone(), unpacked: 1 }, "--allow-large");
        let newer = TransferError::Newer { path: path.clone(), format: 9, written_by: "9.1.0".to_owned() };
        check(&newer, "import it with that version");
        check(&TransferError::NoWorkspace(path.clone()), "--use-existing");
        check(&TransferError::NotEmpty(path.clone()), "--use-existing");
        check(&TransferError::InUse(path.clone()), "wait until it ends");
        check(&TransferError::ImportedElsewhere { run, cwd: path.clone() }, "--use-existing");
        check(&TransferError::Workspace { path: path.clone(), source: source() }, "name the directory");
        check(&TransferError::Io { action: "read", path, source: source() }, "name a regular file");
    }
}

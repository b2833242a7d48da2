//! What of the system runs rely on: that processes can be found and ended, and, where it is asked for, the sandbox.

use super::finding::Finding;
use rustix::process::{PidfdFlags, getpid, pidfd_open};
use std::os::unix::fs::PermissionsExt;
use std::{env, fs, io};

const PROCESSES: &str = "processes";
const MEMORY: &str = "memory";
const SANDBOX: &str = "sandbox";

/// What the agent's sandbox needs, and the packages that have it.
const TOOLS: [(&str, &str); 2] = [("bwrap", "bubblewrap"), ("socat", "socat")];

/// Looks at all of it.
pub fn check() -> Vec<Finding> {
    let environment = fs::read("/proc/self/environ").map(drop);
    let handle = pidfd_open(getpid(), PidfdFlags::empty()).map(drop).map_err(io::Error::from);
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let controllers = fs::read_to_string("/sys/fs/cgroup/cgroup.controllers").unwrap_or_default();
    vec![processes(environment, handle), memory(&own, &controllers), sandbox(is_on_path)]
}

/// By these two the processes that an attempt leaves behind are found and ended.
fn processes(environment: io::Result<()>, handle: io::Result<()>) -> Finding {
    let unfound = "what an attempt leaves behind is not found and not ended";
    match (environment, handle) {
        (Ok(()), Ok(())) => Finding::ok(PROCESSES, "those of a run can be found and ended"),
        (Err(error), _) => {
            let found = format!("/proc/self/environ cannot be read ({error}): {unfound}");
            Finding::problem(PROCESSES, found, "mount -t proc proc /proc")
        }
        (Ok(()), Err(error)) => {
            let found = format!("processes cannot be held by pidfd_open ({error}): {unfound}");
            Finding::problem(PROCESSES, found, "use Linux 5.3 or later, or let the container call pidfd_open")
        }
    }
}

/// Told only: a run's memory is counted process by process.
fn memory(own: &str, controllers: &str) -> Finding {
    let group = own.lines().find_map(|line| line.strip_prefix("0::"));
    let has_memory = controllers.split_whitespace().any(|controller| controller == "memory");
    let found = match group.filter(|_| has_memory) {
        Some(group) => format!("the memory controller of cgroup v2 is there, at {group}"),
        None => "there is no memory controller of cgroup v2".to_owned(),
    };
    Finding::ok(MEMORY, found)
}

fn sandbox(is_there: impl Fn(&str) -> bool) -> Finding {
    let missing: Vec<_> = TOOLS.into_iter().filter(|(program, _)| !is_there(program)).collect();
    if missing.is_empty() {
        return Finding::ok(SANDBOX, "bubblewrap and socat are there, for --network");
    }
    let packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    let found = format!("{} not on PATH: --network cannot be used", packages.join(" and "));
    Finding::warning(SANDBOX, found, format!("apt install {}", packages.join(" ")))
}

fn is_on_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let is_program = |found: fs::Metadata| found.is_file() && found.permissions().mode() & 0o111 != 0;
    env::split_paths(&path).any(|folder| fs::metadata(folder.join(program)).is_ok_and(is_program))
}

#[cfg(test)]
mod tests {
    use super::super::finding::Severity;
    use super::{memory, processes, sandbox};
    use std::io;

    #[test]
    fn processes_are_found_and_held() {
        let error = || Err(io::Error::from(io::ErrorKind::PermissionDenied));
        assert_eq!(processes(Ok(()), Ok(())).state, Severity::Ok);
        assert_eq!(processes(error(), Ok(())).state, Severity::Problem);
        assert_eq!(processes(Ok(()), error()).state, Severity::Problem);
    }

    #[test]
    fn the_memory_controller_is_told() {
        let check = |own: &str, controllers: &str, expected: &str| {
            assert_eq!(memory(own, controllers).detail, expected, "{own:?} {controllers:?}");
        };
        let none = "there is no memory controller of cgroup v2";
        check(
            "0::/user.slice\n",
            "cpu io memory pids\n",
            "the memory controller of cgroup v2 is there, at /user.slice",
        );
        check("0::/\n", "cpu pids\n", none);
        check("4:memory:/a\n", "memory\n", none);
        check("", "", none);
    }

    #[test]
    fn the_sandbox_needs_two_programs() {
        let check = |there: &[&str], expected: Option<&str>| {
            let finding = sandbox(|program| there.contains(&program));
            assert_eq!(finding.remedy.as_deref(), expected, "{there:?}");
        };
        check(&["bwrap", "socat"], None);
        check(&["bwrap"], Some("apt install socat"));
        check(&["socat"], Some("apt install bubblewrap"));
        check(&[], Some("apt install bubblewrap socat"));
    }
}

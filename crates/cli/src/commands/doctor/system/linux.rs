//! Linux: finding and stopping processes, the memory controller, and the sandbox for `--network`.

use crate::commands::doctor::finding::Finding;
use longhaul::find_agent::find_program;
use rustix::process::{PidfdFlags, getpid, pidfd_open};
use std::{fs, io};

const PROCESSES: &str = "processes";
const MEMORY: &str = "memory";
const SANDBOX: &str = "sandbox";

/// Programs that the agent's sandbox needs, and their packages.
const TOOLS: [(&str, &str); 2] = [("bwrap", "bubblewrap"), ("socat", "socat")];

pub fn check() -> Vec<Finding> {
    let environment = fs::read("/proc/self/environ").map(drop);
    let handle = pidfd_open(getpid(), PidfdFlags::empty()).map(drop).map_err(io::Error::from);
    let own_cgroup = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let controllers = fs::read_to_string("/sys/fs/cgroup/cgroup.controllers").unwrap_or_default();
    vec![
        processes(environment, handle),
        memory(&own_cgroup, &controllers),
        sandbox(|program| find_program(program).is_ok()),
    ]
}

/// Checks the two system interfaces by which leftover processes are found and stopped.
fn processes(environment: io::Result<()>, handle: io::Result<()>) -> Finding {
    let consequence = "leftover processes cannot be found or stopped";
    match (environment, handle) {
        (Ok(()), Ok(())) => Finding::ok(PROCESSES, "a run's processes can be found and stopped"),
        (Err(error), _) => {
            let found = format!("/proc/self/environ cannot be read ({error}): {consequence}");
            Finding::problem(PROCESSES, found, "mount -t proc proc /proc")
        }
        (Ok(()), Err(error)) => {
            let found = format!("pidfd_open cannot be used ({error}): {consequence}");
            Finding::problem(PROCESSES, found, "use Linux 5.3 or later, or allow pidfd_open in the container")
        }
    }
}

/// Reports the memory controller for information only: a run's memory is counted process by process.
fn memory(own_cgroup: &str, controllers: &str) -> Finding {
    let group = own_cgroup.lines().find_map(|line| line.strip_prefix("0::"));
    let has_memory = controllers.split_whitespace().any(|controller| controller == "memory");
    let found = match group.filter(|_| has_memory) {
        Some(group) => format!("the memory controller of cgroup v2 is available at {group}"),
        None => "there is no memory controller of cgroup v2".to_owned(),
    };
    Finding::ok(MEMORY, found)
}

fn sandbox(is_available: impl Fn(&str) -> bool) -> Finding {
    let missing: Vec<_> = TOOLS.into_iter().filter(|(program, _)| !is_available(program)).collect();
    if missing.is_empty() {
        return Finding::ok(SANDBOX, "bubblewrap and socat are installed, for --network");
    }
    let packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    let found = format!("{} not on PATH: --network cannot be used", packages.join(" and "));
    Finding::warning(SANDBOX, found, format!("apt install {}", packages.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::{memory, processes, sandbox};
    use crate::commands::doctor::finding::Severity;
    use std::io;

    #[test]
    fn processes_need_environ_and_pidfd() {
        let error = || Err(io::Error::from(io::ErrorKind::PermissionDenied));
        assert_eq!(processes(Ok(()), Ok(())).state, Severity::Ok);
        assert_eq!(processes(error(), Ok(())).state, Severity::Problem);
        assert_eq!(processes(Ok(()), error()).state, Severity::Problem);
    }

    #[test]
    fn reports_memory_controller() {
        let check = |own: &str, controllers: &str, expected: &str| {
            assert_eq!(memory(own, controllers).detail, expected, "{own:?} {controllers:?}");
        };
        let none = "there is no memory controller of cgroup v2";
        check(
            "0::/user.slice\n",
            "cpu io memory pids\n",
            "the memory controller of cgroup v2 is available at /user.slice",
        );
        check("0::/\n", "cpu pids\n", none);
        check("4:memory:/a\n", "memory\n", none);
        check("", "", none);
    }

    #[test]
    fn sandbox_needs_two_programs() {
        let check = |available: &[&str], expected: Option<&str>| {
            let finding = sandbox(|program| available.contains(&program));
            assert_eq!(finding.remedy.as_deref(), expected, "{available:?}");
        };
        check(&["bwrap", "socat"], None);
        check(&["bwrap"], Some("apt install socat"));
        check(&["socat"], Some("apt install bubblewrap"));
        check(&[], Some("apt install bubblewrap socat"));
    }
}

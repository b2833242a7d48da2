//! `longhaul recover --install`: makes the user's service manager start `longhaul recover` at boot.
//!
//! Writes a single file, which it owns, and starts nothing immediately.

use super::env_file::{EnvFile, is_plain, needed};
use super::unit::{LABEL, MARK, Unit, launchd_text, systemd_text};
use crate::args::{EventsDestination, RecoverArgs};
use crate::config::find::config_dir;
use crate::failure::{Failure, OrFailure};
use crate::output::{self, print_status};
use crate::own_program::lasting_path;
use longhaul_store::{Durability, Home, if_exists, read_regular, replace};
use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SERVICE: &str = "longhaul-recover.service";

/// Creates the unit: this program with this home, the current search path and the user's file of variables.
pub fn unit(home: &Home, args: &RecoverArgs) -> Result<Unit, Failure> {
    // The current configuration is fixed in the arguments. A broken configuration file must not prevent
    // recovery later.
    let mut words = ["recover", "--verbose", "--no-config"].map(str::to_owned).to_vec();
    let active_within = args.active_within.map(|span| span.to_std().as_secs_f64());
    words.extend(active_within.map(|seconds| format!("--active-within={seconds}s")));
    words.extend(args.notify.notify.iter().map(|channel| format!("--notify={channel}")));
    match &args.events.events {
        Some(EventsDestination::File(path)) => {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            words.push(format!("--events={}", path.display()));
        }
        Some(EventsDestination::Stdout | EventsDestination::Descriptor(_)) => {
            return Err(Failure::usage("--events: a service has only files", "name a file"));
        }
        None => {}
    }
    let mut unit = Unit::new(lasting_path()?.as_os_str(), words, env_file_path()?.as_os_str())?;
    // A service starts with a bare environment. It must find these runs, the agent and its tools.
    unit = unit.with_env("LONGHAUL_HOME", home.path().as_os_str())?;
    if let Some(path) = variable("PATH") {
        unit = unit.with_env("PATH", &path)?;
    }
    Ok(unit)
}

pub fn print(unit: &Unit) -> u8 {
    output::print_text(&text(unit));
    0
}

pub fn install(home: &Home, unit: &Unit) -> Result<u8, Failure> {
    let path = path()?;
    is_own_file(&path)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let created = DirBuilder::new().mode(0o700).recursive(true).create(folder);
    created.or_not_started(
        format!("cannot create directory {}", folder.display()),
        "check its owner and permissions",
    )?;
    replace(&path, text(unit).as_bytes(), Durability::Power)?;
    print_status(&format!("wrote {}", path.display()));
    // An unreadable file of variables does not keep the service from being enabled.
    let printed = print_variables(home);
    if is_macos() {
        print_status("it recovers orphaned runs from the next login");
        return printed.map(|()| 0);
    }
    let enabled = systemctl(&["daemon-reload"]).and_then(|()| systemctl(&["enable", SERVICE]));
    enabled.or_not_started(
        format!("cannot enable {SERVICE}"),
        format!("{} was written; enable it with `systemctl --user enable {SERVICE}`", path.display()),
    )?;
    print_status(&format!("enabled {SERVICE}: it recovers orphaned runs from the next login"));
    if !lingers() {
        print_status("to recover them at boot, before any login: loginctl enable-linger");
    }
    printed.map(|()| 0)
}

/// Prints where the service reads the agents' variables, and the commands that add those that are set here.
fn print_variables(home: &Home) -> Result<(), Failure> {
    let path = env_file_path()?;
    print_status(&format!("it reads the agent's variables from {}", path.display()));
    let file = EnvFile::read(path.clone())
        .or_not_started(format!("cannot read {}", path.display()), "check its owner and permissions")?;
    if let Some(command) = file.protect() {
        print_status(&format!("warning: other users can read this file; type `{command}`"));
    }
    let missing = file.missing(&needed(home)?);
    if missing.is_empty() {
        return Ok(());
    }
    let commands = file.commands(&missing);
    let next = if commands.is_empty() { "" } else { "; to add what is set here, type:" };
    print_status(&format!("this file lacks {}{next}", missing.join(", ")));
    commands.iter().for_each(|command| print_status(&format!("  {command}")));
    let others: Vec<String> = missing.into_iter().filter(|name| !is_plain(name)).collect();
    if !others.is_empty() {
        print_status(&format!(
            "add {} with an editor: the value has a quote or a line break, or is not set here",
            others.join(", ")
        ));
    }
    Ok(())
}

pub fn is_installed() -> bool {
    path().is_ok_and(|path| is_own_file(&path).unwrap_or(false))
}

/// Returns whether the service starts at the next login. launchd starts each one that is installed.
pub fn is_enabled() -> bool {
    let link = path().ok().map(|path| path.with_file_name("default.target.wants").join(SERVICE));
    is_macos() || link.is_some_and(|link| link.symlink_metadata().is_ok())
}

fn env_file_path() -> Result<PathBuf, Failure> {
    EnvFile::path().ok_or_else(no_home)
}

/// Disables the service and removes its file. A running supervisor continues.
pub fn uninstall() -> Result<u8, Failure> {
    let path = path()?;
    if !is_own_file(&path)? {
        print_status(&format!("nothing to remove: there is no {}", path.display()));
        return Ok(0);
    }
    if !is_macos() {
        // If systemd is not reachable, the service is not running either.
        if let Err(error) = systemctl(&["disable", SERVICE]) {
            print_status(&format!(
                "could not disable {SERVICE} ({error}); without its file it is not started"
            ));
        }
    }
    fs::remove_file(&path)
        .or_not_started(format!("cannot remove {}", path.display()), "remove it yourself")?;
    if !is_macos() {
        let _ = systemctl(&["daemon-reload"]);
    }
    print_status(&format!("removed {}", path.display()));
    Ok(0)
}

fn text(unit: &Unit) -> String {
    if is_macos() { launchd_text(unit) } else { systemd_text(unit) }
}

const fn is_macos() -> bool {
    cfg!(target_os = "macos")
}

fn path() -> Result<PathBuf, Failure> {
    let path = if is_macos() {
        let user_home = variable("HOME").map(PathBuf::from);
        user_home.map(|home| home.join("Library/LaunchAgents").join(format!("{LABEL}.plist")))
    } else {
        config_dir(|name| env::var_os(name)).map(|config| config.join("systemd/user").join(SERVICE))
    };
    path.ok_or_else(no_home)
}

fn no_home() -> Failure {
    Failure::not_started("cannot find the services of this user: HOME is not set", "set HOME")
}

/// Returns whether the unit file exists. Returns an error if another program wrote it.
fn is_own_file(path: &Path) -> Result<bool, Failure> {
    let bytes = if_exists(read_regular(path))
        .or_not_started(format!("cannot read {}", path.display()), "check its owner and permissions")?;
    match bytes {
        Some(bytes) if !String::from_utf8_lossy(&bytes).contains(MARK) => Err(Failure::not_started(
            format!("cannot replace or remove {}: longhaul did not write it", path.display()),
            "move it out of the way if it is not needed",
        )),
        bytes => Ok(bytes.is_some()),
    }
}

/// Calls the user's service manager. systemctl times out by itself.
fn systemctl(args: &[&str]) -> Result<(), String> {
    let call = Command::new("systemctl").arg("--user").args(args).stdin(Stdio::null()).output();
    let output = call.map_err(|error| format!("cannot start systemctl: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let stderr = stderr.lines().next().map_or_else(|| output.status.to_string(), str::to_owned);
    Err(format!("systemctl reports: {stderr}"))
}

/// Returns whether this user's services start at boot.
fn lingers() -> bool {
    let user = variable("USER").or_else(|| variable("LOGNAME"));
    user.is_some_and(|user| Path::new("/var/lib/systemd/linger").join(user).exists())
}

fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

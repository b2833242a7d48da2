//! `longhaul recover --install`: has the user's own service manager start `longhaul recover` at boot.
//! It touches one file, which is ours, and starts nothing now.

use super::env_file::{EnvFile, Variable, set_here};
use super::unit::{LABEL, MARK, UnencodableValue, Unit};
use crate::args::GlobalArgs;
use crate::failure::Failure;
use crate::open_home;
use crate::output::{self, print_status};
use longhaul_core::Span;
use longhaul_store::{Durability, Home, read_regular, replace};
use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SERVICE: &str = "longhaul-recover.service";

/// What would be started: this program, with these runs, this search path and the variables of the user's file.
pub fn unit(home: &Home, within: Option<Span>) -> Result<Unit, Failure> {
    let refused = |UnencodableValue(what)| {
        Failure::not_started(
            format!("write a service: {what} has signs that its file cannot hold"),
            "use names that are plain text",
            None,
        )
    };
    // What is configured now is written down here; a file that is broken by then keeps no run from being gone on with.
    let mut args = ["recover", "--verbose", "--no-config"].map(str::to_owned).to_vec();
    args.extend(within.map(|within| format!("--within={}s", within.to_std().as_secs_f64())));
    let mut unit = Unit::new(program()?.as_os_str(), args, env_file_path()?.as_os_str()).map_err(refused)?;
    // A service starts with a bare environment. It must find these runs, the agent and its tools.
    unit = unit.with_env("LONGHAUL_HOME", home.path().as_os_str()).map_err(refused)?;
    if let Some(path) = variable("PATH") {
        unit = unit.with_env("PATH", &path).map_err(refused)?;
    }
    Ok(unit)
}

/// Prints the file.
pub fn print(unit: &Unit) -> u8 {
    output::print_text(&text(unit));
    0
}

/// Writes the file and has it started at boot.
pub fn install(unit: &Unit, global: &GlobalArgs) -> Result<u8, Failure> {
    let tell = |text: &str| say(global, text);
    let path = path()?;
    is_ours(&path)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let written = DirBuilder::new().mode(0o700).recursive(true).create(folder);
    written.map_err(|error| {
        Failure::not_started(
            format!("create directory {}: {error}", folder.display()),
            "see who owns it",
            None,
        )
    })?;
    replace(&path, text(unit).as_bytes(), Durability::Power).map_err(|error| open_home::of_store(&error))?;
    tell(&format!("wrote {}", path.display()));
    if is_macos() {
        tell("it goes on with runs whose supervisor died from the next login on");
        print_variables(tell)?;
        return Ok(0);
    }
    let enabled = systemctl(&["daemon-reload"]).and_then(|()| systemctl(&["enable", SERVICE]));
    enabled.map_err(|error| {
        Failure::not_started(
            format!("enable {SERVICE}: {error}"),
            format!("{} is written; have it started by `systemctl --user enable {SERVICE}`", path.display()),
            None,
        )
    })?;
    tell(&format!("enabled {SERVICE}: it goes on with runs whose supervisor died from the next login on"));
    if !lingers() {
        tell("to have it do so at boot, before anybody logs in: loginctl enable-linger");
    }
    print_variables(tell)?;
    Ok(0)
}

/// Prints where the service reads the agent's variables, and the commands that write those there that are set here.
fn print_variables(tell: impl Fn(&str)) -> Result<(), Failure> {
    let path = env_file_path()?;
    tell(&format!("it reads the agent's variables from {}", path.display()));
    let file = EnvFile::read(path.clone()).map_err(|error| {
        Failure::not_started(format!("read {}: {error}", path.display()), "see who owns it", None)
    })?;
    if let Some(command) = file.protect() {
        tell(&format!("warning: others can read this file; type `{command}`"));
    }
    let missing = file.missing(&set_here());
    if missing.is_empty() {
        return Ok(());
    }
    let names = |variables: &mut dyn Iterator<Item = &Variable>| {
        variables.map(|variable| variable.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    tell(&format!(
        "{} {} set here, but not in this file; to add what is missing, type:",
        names(&mut missing.iter()),
        if missing.len() == 1 { "is" } else { "are" }
    ));
    file.commands(&missing).iter().for_each(|command| tell(&format!("  {command}")));
    let odd = names(&mut missing.iter().filter(|variable| !variable.is_plain));
    if !odd.is_empty() {
        tell(&format!("add {odd} with an editor: the value has a quote or a line break"));
    }
    Ok(())
}

/// Whether the service is installed.
pub fn is_installed() -> bool {
    path().is_ok_and(|path| is_ours(&path).unwrap_or(false))
}

fn env_file_path() -> Result<PathBuf, Failure> {
    EnvFile::path().ok_or_else(no_home)
}

/// Takes all of it back. A supervisor that was started so goes on.
pub fn uninstall(global: &GlobalArgs) -> Result<u8, Failure> {
    let path = path()?;
    if !is_ours(&path)? {
        say(global, &format!("nothing to remove: there is no {}", path.display()));
        return Ok(0);
    }
    if !is_macos() {
        // What cannot be asked, is not running either.
        if let Err(error) = systemctl(&["disable", SERVICE]) {
            say(
                global,
                &format!("could not disable {SERVICE} ({error}); without its file it is not started"),
            );
        }
    }
    fs::remove_file(&path).map_err(|error| {
        Failure::not_started(format!("remove {}: {error}", path.display()), "remove it yourself", None)
    })?;
    if !is_macos() {
        let _ = systemctl(&["daemon-reload"]);
    }
    say(global, &format!("removed {}", path.display()));
    Ok(0)
}

fn say(global: &GlobalArgs, text: &str) {
    if !global.quiet {
        print_status(text);
    }
}

fn text(unit: &Unit) -> String {
    if is_macos() { unit.launchd() } else { unit.systemd() }
}

const fn is_macos() -> bool {
    cfg!(target_os = "macos")
}

/// Where the user's services are.
fn path() -> Result<PathBuf, Failure> {
    let user_home = variable("HOME").map(PathBuf::from);
    let path = if is_macos() {
        user_home.map(|home| home.join("Library/LaunchAgents").join(format!("{LABEL}.plist")))
    } else {
        let config = variable("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let config = config.or_else(|| Some(user_home?.join(".config")));
        config.map(|config| config.join("systemd/user").join(SERVICE))
    };
    path.ok_or_else(no_home)
}

fn no_home() -> Failure {
    Failure::not_started("find the services of this user: HOME is not set", "set it", None)
}

/// Whether our file is there; refused if it is somebody else's.
fn is_ours(path: &Path) -> Result<bool, Failure> {
    match read_regular(path) {
        Ok(bytes) if String::from_utf8_lossy(&bytes).contains(MARK) => Ok(true),
        Ok(_) => Err(Failure::not_started(
            format!("replace or remove {}: longhaul did not write it", path.display()),
            "move it out of the way if it is not needed",
            None,
        )),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => {
            Err(Failure::not_started(format!("read {}: {error}", path.display()), "see who owns it", None))
        }
    }
}

/// This program, by the name that a newer version will have too: an installer's link rather than what
/// it points to today.
fn program() -> Result<PathBuf, Failure> {
    let broken = |error: io::Error| Failure::unexpected(format!("find this program: {error}"));
    let this = env::current_exe().map_err(broken)?;
    let name = this.file_name().map(OsString::from).unwrap_or_default();
    let path = variable("PATH").unwrap_or_default();
    let places = env::split_paths(&path).filter(|place| place.is_absolute()).map(|place| place.join(&name));
    let real = fs::canonicalize(&this).map_err(broken)?;
    let is_this = |place: &PathBuf| fs::canonicalize(place).is_ok_and(|found| found == real);
    Ok(places.into_iter().find(is_this).unwrap_or(this))
}

/// Asks the user's service manager. It gives up by itself where nobody answers.
fn systemctl(args: &[&str]) -> Result<(), String> {
    let call = Command::new("systemctl").arg("--user").args(args).stdin(Stdio::null()).output();
    let output = call.map_err(|error| format!("start systemctl: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().next().map_or_else(|| output.status.to_string(), str::to_owned);
    Err(format!("systemctl says: {said}"))
}

/// Whether this user's services are started at boot.
fn lingers() -> bool {
    let user = variable("USER").or_else(|| variable("LOGNAME"));
    user.is_some_and(|user| Path::new("/var/lib/systemd/linger").join(user).exists())
}

/// One that is set to something.
fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

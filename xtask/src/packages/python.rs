//! `cargo xtask packages python`: tests the Python package in fresh virtual environments that contain only the
//! wheel and pinned test tools, with an empty home.
//!
//! It uses the oldest and the newest supported Python of this machine, and never changes an installation.

use crate::programs::succeed;
use crate::test::note_skipped;
use clap::Args;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, iter};

/// The oldest minor version of Python 3 that the package supports (`requires-python`).
const MINOR_MIN: u32 = 10;
/// Newer versions than these are found only as `python3`.
const MINOR_MAX: u32 = 20;
/// Prints the minor version, if virtual environments with pip can be created.
const PROBE: &str =
    "import ensurepip, sys, venv; print(sys.version_info[1] if sys.version_info[0] == 3 else 0)";
/// Variables that a test may see. `HOME` and `TMPDIR` are new directories.
const KEPT: [&str; 4] = ["PATH", "LANG", "SSL_CERT_FILE", "CARGO_TARGET_DIR"];

#[derive(Args)]
pub struct PythonOptions {
    /// Test the wheel that `cargo xtask dist` wrote to this directory
    #[arg(long, value_name = "DIR", default_value = "target/packages")]
    dist: PathBuf,
}

/// Runs all checks of the package in one environment for each version.
pub fn python(root: &Path, options: &PythonOptions) -> io::Result<()> {
    let found = find();
    let (Some(oldest), Some(newest)) = (found.first_key_value(), found.last_key_value()) else {
        let reason = format!("there is no Python 3.{MINOR_MIN} or newer with venv and pip");
        return note_skipped("the Python package", &reason, "install python3 and python3-venv");
    };
    let environments = root.join("target/packages/python");
    let dist = root.join(&options.dist);
    let Some(wheel) = wheel_for_host(&dist) else {
        let reason =
            format!("`cargo xtask dist` has written no wheel for this machine to {}", dist.display());
        return note_skipped("the Python package", &reason, "run it, and read its error");
    };
    let package = root.join("packages/python");
    for (minor, program) in BTreeMap::from([oldest, newest]) {
        println!("▶ Python 3.{minor}: {}", wheel.display());
        let environment = environments.join(format!("3.{minor}"));
        let mut tools = vec!["tests/requirements.txt"];
        // One version is enough to generate the models again.
        tools.extend((minor == newest.0).then_some("scripts/requirements.txt"));
        let python = create(program, &environment)?;
        let tools = tools.iter().flat_map(|file| ["--requirement", *file]);
        succeed(pip(&python).arg(&wheel).args(tools).current_dir(&package))?;
        check(&python, &package)?;
    }
    Ok(())
}

/// Returns the wheel for Linux and the processor of this machine.
pub fn wheel_for_host(dist: &Path) -> Option<PathBuf> {
    let end = format!("linux_1_2_{}.whl", env::consts::ARCH);
    let mut wheels = fs::read_dir(dist).ok()?.flatten().map(|entry| entry.path());
    wheels.find(|path| path.to_string_lossy().ends_with(&end))
}

pub fn newest() -> Option<PathBuf> {
    find().into_values().next_back()
}

/// Installs the wheel alone into a new environment, and returns its interpreter.
pub fn install(program: &Path, environment: &Path, wheel: &Path) -> io::Result<PathBuf> {
    let python = create(program, environment)?;
    succeed(pip(&python).args(["--no-index"]).arg(wheel))?;
    Ok(python)
}

/// Runs the checks with an empty home, and without the variables of this process.
fn check(python: &Path, package: &Path) -> io::Result<()> {
    let home = tempfile::tempdir()?;
    let temporary = tempfile::tempdir()?;
    let module = |args: &[&str]| {
        let kept = KEPT.iter().filter_map(|name| Some((name, env::var_os(name)?)));
        let mut command = Command::new(python);
        command.args(args).current_dir(package).env_clear().envs(kept);
        command.env("HOME", home.path()).env("TMPDIR", temporary.path());
        succeed(&mut command)
    };
    module(&["-m", "ruff", "check", "--no-cache", "."])?;
    module(&["-m", "ruff", "format", "--check", "--no-cache", "."])?;
    module(&["-m", "mypy", "--strict", "--cache-dir", "/dev/null"])?;
    module(&["-B", "-X", "dev", "-W", "error", "-m", "pytest", "-p", "no:cacheprovider", "--quiet"])
}

/// Creates an environment in place of an earlier one, and returns its interpreter.
fn create(program: &Path, environment: &Path) -> io::Result<PathBuf> {
    succeed(Command::new(program).args(["-m", "venv", "--clear"]).arg(environment))?;
    Ok(environment.join("bin/python"))
}

fn pip(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    command
}

/// Returns a program for each supported minor version of this machine.
fn find() -> BTreeMap<u32, PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let names: Vec<String> = (MINOR_MIN..=MINOR_MAX).map(|minor| format!("python3.{minor}")).collect();
    let names = || names.iter().map(String::as_str).chain(iter::once("python3"));
    let on_path = env::split_paths(&path).flat_map(|dir| names().map(move |name| dir.join(name)));
    let candidates = on_path.chain(of_pyenv()).filter(|program| program.is_file());
    let mut found = BTreeMap::new();
    for program in candidates {
        if let Some(minor) = minor(&program).filter(|minor| *minor >= MINOR_MIN) {
            found.entry(minor).or_insert(program);
        }
    }
    found
}

fn of_pyenv() -> Vec<PathBuf> {
    let home = env::var_os("HOME").map(|home| Path::new(&home).join(".pyenv"));
    let root = env::var_os("PYENV_ROOT").map(PathBuf::from).or(home);
    let versions = root.and_then(|root| fs::read_dir(root.join("versions")).ok());
    versions.into_iter().flatten().flatten().map(|version| version.path().join("bin/python3")).collect()
}

/// Returns the minor version of a program, or `None` if it cannot create environments.
fn minor(program: &Path) -> Option<u32> {
    let output = Command::new(program).args(["-c", PROBE]).output().ok().filter(|o| o.status.success())?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

//! `cargo xtask mutants`: plants known bugs in a copy of the core, one after the other, and simulates seeds
//! until an oracle reports a violation. A mutant that survives shows a gap in the oracles. The project's own
//! sources are never changed.

use crate::{cargo, root};
use serde::Deserialize;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

// Catching a mutant takes at most a few thousand seeds, and most need only a few.
const RUNS_MAX: u64 = 300_000;

#[derive(Deserialize)]
struct Mutants {
    mutant: Vec<Mutant>,
}

#[derive(Deserialize)]
struct Mutant {
    name: String,
    breaks: String,
    file: String,
    find: String,
    replace: String,
}

/// The first violation of a mutant.
struct Catch {
    seed: u64,
    oracle: String,
}

pub fn run(args: &[String]) -> ExitCode {
    match test_mutants(args.first().map(String::as_str)) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(survivors) => {
            eprintln!("{survivors} mutants survive");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("cannot test the mutants: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns how many mutants survive. With a name, only that one is tested and no table is written.
fn test_mutants(only: Option<&str>) -> Result<usize, Box<dyn Error>> {
    let root = root();
    let text = fs::read_to_string(root.join("crates/sim/mutants.toml"))?;
    let mut mutants = toml::from_str::<Mutants>(&text)?.mutant;
    mutants.retain(|mutant| only.is_none_or(|only| mutant.name == only));
    let scratch = root.join("target/mutants");
    prepare(&root, &scratch)?;
    for mutant in &mutants {
        check_pattern(&root, mutant)?;
    }
    if let Some(catch) = simulate(&scratch)? {
        return Err(format!("the unchanged core fails seed {}: {}", catch.seed, catch.oracle).into());
    }
    let mut rows = Vec::new();
    let mut survivors = 0;
    for mutant in &mutants {
        let file = scratch.join("crates").join(&mutant.file);
        let original = fs::read_to_string(&file)?;
        fs::write(&file, original.replacen(&mutant.find, &mutant.replace, 1))?;
        let caught = simulate(&scratch).map_err(|error| format!("{}: {error}", mutant.name))?;
        fs::write(&file, original)?;
        survivors += usize::from(caught.is_none());
        let row = row(mutant, caught.as_ref());
        eprintln!("{row}");
        rows.push(row);
    }
    if only.is_none() {
        fs::write(root.join("crates/sim/MUTANTS.md"), table(&rows))?;
    }
    Ok(survivors)
}

/// Creates a workspace of only core and sim in `scratch`, with its own lock file and target directory.
fn prepare(root: &Path, scratch: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(scratch)?;
    let manifest: String = fs::read_to_string(root.join("Cargo.toml"))?
        .lines()
        .map(|line| match line.split('=').next().map(str::trim) {
            Some("members") => "members = [\"crates/core\", \"crates/sim\"]",
            Some("default-members") => "",
            Some(_) | None => line,
        })
        .flat_map(|line| [line, "\n"])
        .collect();
    fs::write(scratch.join("Cargo.toml"), manifest)?;
    fs::copy(root.join("Cargo.lock"), scratch.join("Cargo.lock"))?;
    // The oracles read the promises to users in it.
    fs::create_dir_all(scratch.join("docs"))?;
    fs::copy(root.join("docs/faults.md"), scratch.join("docs/faults.md"))?;
    for name in ["core", "sim"] {
        let to = scratch.join("crates").join(name);
        if to.exists() {
            fs::remove_dir_all(&to)?;
        }
        copy(&root.join("crates").join(name), &to)?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn check_pattern(root: &Path, mutant: &Mutant) -> Result<(), Box<dyn Error>> {
    let original = fs::read_to_string(root.join("crates").join(&mutant.file))?;
    match original.matches(&mutant.find).count() {
        1 => Ok(()),
        count => Err(format!("{}: its pattern occurs {count} times in {}", mutant.name, mutant.file).into()),
    }
}

/// Builds the code in `scratch` and simulates seeds from 0 up to the first violation.
fn simulate(scratch: &Path) -> Result<Option<Catch>, Box<dyn Error>> {
    let target = scratch.join("target");
    let build = cargo()
        .args([
            "build",
            "--quiet",
            "--release",
            "--offline",
            "--package",
            "longhaul-sim",
            "--example",
            "swarm",
        ])
        .current_dir(scratch)
        .env("CARGO_TARGET_DIR", &target)
        // Each of fifty builds simulates only a few seeds, so build time matters more than speed.
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
        .env("CARGO_INCREMENTAL", "1")
        .output()?;
    if !build.status.success() {
        return Err(String::from_utf8_lossy(&build.stderr).into_owned().into());
    }
    // With one thread the first failing seed is also the lowest.
    let swarm = Command::new(target.join("release/examples/swarm"))
        .args(["--runs", &RUNS_MAX.to_string(), "--threads", "1", "--brief"])
        .output()?;
    let text = String::from_utf8_lossy(&swarm.stdout);
    let catch = text.lines().find_map(|line| {
        let (seed, rest) = line.strip_prefix("seed ")?.split_once(": ")?;
        Some(Catch { seed: seed.parse().ok()?, oracle: rest.split(':').next()?.to_owned() })
    });
    match (catch, swarm.status.success()) {
        (None, false) => Err(format!("the swarm failed: {}", String::from_utf8_lossy(&swarm.stderr)).into()),
        (catch, _) => Ok(catch),
    }
}

fn row(mutant: &Mutant, caught: Option<&Catch>) -> String {
    match caught {
        Some(Catch { seed, oracle }) => {
            format!("| `{}` | {} | `{oracle}` | {seed} | {} |", mutant.name, mutant.breaks, seed + 1)
        }
        None => format!("| `{}` | {} | **survives** | | {RUNS_MAX} |", mutant.name, mutant.breaks),
    }
}

fn table(rows: &[String]) -> String {
    format!(
        "# Mutants of the core\n\n\
         `cargo xtask mutants` writes this file. It plants each bug of `mutants.toml` in a copy of the core and simulates\n\
         seeds from 0 until an oracle reports a violation. `cargo xtask mutants NAME` tests one mutant.\n\n\
         | mutant | planted bug | oracle | seed | runs needed |\n|---|---|---|---|---|\n{}\n",
        rows.join("\n")
    )
}

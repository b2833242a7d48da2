//! `cargo xtask mutants`: plants known bugs in a copy of the core, one after the other, and simulates seeds
//! until an oracle reports a violation. A mutant that survives shows a gap in the oracles. The project's own
//! sources are never changed.
//!
//! Mutants of workflows are searched for in workflows, all others in runs.

use crate::programs::{cargo, stdout_of, succeed};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::{fs, io};

// Catching a mutant takes at most a few thousand seeds, and most need only a few.
const SEEDS_MAX: u64 = 300_000;

const HEAD: &str = "# Mutants of the core\n\n\
    `cargo xtask mutants` writes this file. It plants each bug of `mutants.toml` in a copy of the core and simulates\n\
    seeds from 0 until an oracle reports a violation. `cargo xtask mutants NAME` tests only mutants whose\n\
    names start with `NAME`.\n\n\
    | mutant | planted bug | oracle | seed | seeds needed |\n|---|---|---|---|---|\n";

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

impl Mutant {
    /// Returns the flag of the swarm that simulates the mutated code.
    fn subject(&self) -> &'static str {
        let modules = ["core/src/workflow", "sim/src/workflow"];
        let is_of_workflows = modules.iter().any(|module| self.file.starts_with(module));
        if is_of_workflows { "--workflows" } else { "--runs" }
    }
}

struct Catch {
    seed: u64,
    oracle: String,
}

/// Tests the mutants. With a prefix, only those whose names start with it are tested and no table is written.
pub fn run(root: &Path, only: Option<&str>) -> io::Result<()> {
    let mut mutants = read(root)?;
    mutants.retain(|mutant| only.is_none_or(|only| mutant.name.starts_with(only)));
    let scratch = root.join("target/mutants");
    prepare(root, &scratch)?;
    for mutant in &mutants {
        check_pattern(root, mutant)?;
    }
    let subjects: BTreeSet<&str> = mutants.iter().map(Mutant::subject).collect();
    for subject in subjects {
        if let Some(Catch { seed, oracle }) = simulate(&scratch, subject)? {
            return Err(io::Error::other(format!(
                "the unchanged core fails {subject}, seed {seed}: {oracle}"
            )));
        }
    }
    let (mut rows, mut survivors, mut failures) = (String::new(), 0, Vec::new());
    for mutant in &mutants {
        let file = scratch.join("crates").join(&mutant.file);
        let original = fs::read_to_string(&file)?;
        fs::write(&file, original.replacen(&mutant.find, &mutant.replace, 1))?;
        let simulated = simulate(&scratch, mutant.subject());
        fs::write(&file, original)?;
        let caught = match simulated {
            Ok(caught) => caught,
            // One mutant that does not build must not hide the others.
            Err(error) => {
                eprintln!("{}: {error}", mutant.name);
                failures.push(mutant.name.as_str());
                continue;
            }
        };
        survivors += usize::from(caught.is_none());
        let row = row(mutant, caught.as_ref());
        eprint!("{row}");
        rows += &row;
    }
    if !failures.is_empty() {
        return Err(io::Error::other(format!("cannot simulate {}", failures.join(", "))));
    }
    if only.is_none() {
        fs::write(root.join("crates/sim/MUTANTS.md"), format!("{HEAD}{rows}"))?;
    }
    if survivors == 0 { Ok(()) } else { Err(io::Error::other(format!("{survivors} mutants survive"))) }
}

fn read(root: &Path) -> io::Result<Vec<Mutant>> {
    let text = fs::read_to_string(root.join("crates/sim/mutants.toml"))?;
    Ok(toml::from_str::<Mutants>(&text).map_err(io::Error::other)?.mutant)
}

/// Creates a workspace of only core and sim in `scratch`, with its own lock file and target directory.
fn prepare(root: &Path, scratch: &Path) -> io::Result<()> {
    fs::create_dir_all(scratch.join("crates"))?;
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
        succeed(Command::new("cp").arg("-R").arg(root.join("crates").join(name)).arg(&to))?;
    }
    Ok(())
}

fn check_pattern(root: &Path, mutant: &Mutant) -> io::Result<()> {
    let Mutant { name, file, find, .. } = mutant;
    match fs::read_to_string(root.join("crates").join(file))?.matches(find).count() {
        1 => Ok(()),
        count => Err(io::Error::other(format!("{name}: its pattern occurs {count} times in {file}"))),
    }
}

/// Builds the code in `scratch` and simulates seeds of a subject from 0 up to the first violation.
fn simulate(scratch: &Path, subject: &str) -> io::Result<Option<Catch>> {
    let target = scratch.join("target");
    let mut build = cargo();
    build
        .args("build --quiet --release --offline --package longhaul-sim --example swarm".split(' '))
        .current_dir(scratch)
        .env("CARGO_TARGET_DIR", &target)
        // Each build simulates only a few seeds, so build time matters more than speed.
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
        .env("CARGO_INCREMENTAL", "1");
    stdout_of(&mut build)?;
    // With one thread the first failing seed is also the lowest.
    let swarm = Command::new(target.join("release/examples/swarm"))
        .args([subject, &SEEDS_MAX.to_string(), "--threads", "1", "--brief"])
        .output()?;
    let text = String::from_utf8_lossy(&swarm.stdout);
    let catch = text.lines().find_map(|line| {
        let (seed, rest) = line.strip_prefix("seed ")?.split_once(": ")?;
        Some(Catch { seed: seed.parse().ok()?, oracle: rest.split(':').next()?.to_owned() })
    });
    if catch.is_none() && !swarm.status.success() {
        let stderr = String::from_utf8_lossy(&swarm.stderr);
        return Err(io::Error::other(format!("the swarm failed: {stderr}")));
    }
    Ok(catch)
}

fn row(mutant: &Mutant, caught: Option<&Catch>) -> String {
    let Mutant { name, breaks, .. } = mutant;
    match caught {
        Some(Catch { seed, oracle }) => {
            format!("| `{name}` | {breaks} | `{oracle}` | {seed} | {} |\n", seed + 1)
        }
        None => format!("| `{name}` | {breaks} | **survives** | | {SEEDS_MAX} |\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::{check_pattern, read};
    use std::collections::BTreeSet;
    use std::path::Path;

    // Nothing else that every change must pass reads the patterns: to build the mutants takes too long.
    #[test]
    fn each_mutant_changes_the_source() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
        let mutants = read(root).expect("a list of mutants");
        let mut problems = Vec::new();
        let mut names = BTreeSet::new();
        for mutant in &mutants {
            problems.extend(check_pattern(root, mutant).err().map(|error| error.to_string()));
            if mutant.find == mutant.replace {
                problems.push(format!("{}: it changes nothing", mutant.name));
            }
            if !names.insert(&mutant.name) {
                problems.push(format!("{}: another mutant has this name", mutant.name));
            }
        }
        assert!(!mutants.is_empty() && problems.is_empty(), "{problems:#?}");
    }
}

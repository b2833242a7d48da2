//! Measures how much processor time a first build takes, and how large the packaged binary is.

use super::Bench;
use crate::process::measure_command;
use crate::programs::cargo;
use crate::results::ResultSection;
use std::{fs, io};

// A first `cargo run --release` is most of what a new user waits for.
const RELEASE_SHARE_BAR: f64 = 0.55;
const DIST_BAR_MB: f64 = 14.0;

pub fn bench(bench: &Bench) -> io::Result<ResultSection> {
    // What `release` did before it was made for a fast first build.
    let optimized = [
        ("CARGO_PROFILE_RELEASE_LTO", "thin"),
        ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "3"),
        ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "4"),
    ];
    let reference = build(bench, "release", &optimized)?;
    let release = build(bench, "release", &[])?;
    let dist = build(bench, "dist", &[])?;
    let share = release.cpu_s / reference.cpu_s;
    let mut section = ResultSection::new(
        "A build of `longhaul` with all dependencies from nothing: the processor time of cargo and all its children. \
         The reference is `release` with thin link-time optimization and full optimization of every crate.",
    );
    section.figure("`--release`, share of the reference", RELEASE_SHARE_BAR, "", share);
    section.figure("`--release`", None, "s", release.cpu_s);
    section.figure("the reference", None, "s", reference.cpu_s);
    section
        .figure("`--profile dist`", None, "s", dist.cpu_s)
        .ratio(dist.cpu_s / release.cpu_s, "`--release`");
    section.figure("binary of `--profile dist`", DIST_BAR_MB, "MB", dist.megabytes);
    section.figure("binary of `--release`", None, "MB", release.megabytes);
    Ok(section)
}

struct Build {
    cpu_s: f64,
    megabytes: f64,
}

/// Builds the program with this profile in an empty directory, which is removed afterwards. A quick bench builds
/// only the smallest crate.
fn build(bench: &Bench, profile: &str, env: &[(&str, &str)]) -> io::Result<Build> {
    fs::create_dir_all(bench.root.join("target"))?;
    let target = tempfile::tempdir_in(bench.root.join("target"))?;
    let (package, program) =
        if bench.quick { ("longhaul-core", "liblonghaul_core.rlib") } else { ("longhaul-cli", "longhaul") };
    let mut command = cargo();
    command
        .args(["build", "--quiet", "--profile", profile, "--package", package])
        .env("CARGO_TARGET_DIR", target.path())
        .envs(env.iter().copied())
        .current_dir(&bench.root);
    let build = measure_command(&mut command)?;
    let cpu_s = (build.cpu + build.children_cpu).as_secs_f64();
    Ok(Build {
        cpu_s,
        megabytes: fs::metadata(target.path().join(profile).join(program))?.len() as f64 / 1e6,
    })
}

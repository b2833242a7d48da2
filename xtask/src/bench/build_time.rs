//! Measures how much processor time a first build takes, and how large the packaged binary is.

use super::Bench;
use super::process::measure_command;
use super::section::{ResultRow, ResultSection};
use crate::cargo;
use std::path::Path;
use std::time::Duration;
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
    let seconds = |build: &Build| build.cpu.as_secs_f64();
    let share = seconds(&release) / seconds(&reference);
    Ok(ResultSection {
        about: "A build of `longhaul` with all dependencies from nothing: the processor time of cargo and all its children. \
                The reference is `release` with thin link-time optimization and full optimization of every crate.",
        rows: vec![
            ResultRow::at_most("`--release`, share of the reference", RELEASE_SHARE_BAR, "", share),
            ResultRow::without_bar("`--release`", "s", seconds(&release)),
            ResultRow::without_bar("the reference", "s", seconds(&reference)),
            ResultRow::without_bar("`--profile dist`", "s", seconds(&dist))
                .with_ratio(seconds(&dist) / seconds(&release), "`--release`"),
            ResultRow::at_most("binary of `--profile dist`", DIST_BAR_MB, "MB", dist.megabytes),
            ResultRow::without_bar("binary of `--release`", "MB", release.megabytes),
        ],
        appendix: String::new(),
    })
}

struct Build {
    /// User and system time.
    cpu: Duration,
    /// Size of the binary in millions of bytes.
    megabytes: f64,
}

/// Builds the program with this profile in an empty directory. A quick bench builds only the smallest crate.
fn build(bench: &Bench, profile: &str, env: &[(&str, &str)]) -> io::Result<Build> {
    let target = tempfile::tempdir_in(bench.root.join("target"))?;
    let package = if bench.quick { "longhaul-core" } else { "longhaul-cli" };
    let mut command = cargo();
    command
        .args(["build", "--quiet", "--profile", profile, "--package", package])
        .env("CARGO_TARGET_DIR", target.path())
        .envs(env.iter().copied())
        .current_dir(&bench.root);
    let build = measure_command(&mut command)?;
    if !build.status.success() {
        return Err(io::Error::other(format!("build with profile {profile}: {}", build.status)));
    }
    let cpu = build.cpu + build.children_cpu;
    Ok(Build { cpu, megabytes: megabytes(&target.path().join(profile), bench.quick)? })
}

fn megabytes(dir: &Path, quick: bool) -> io::Result<f64> {
    let program = if quick { "liblonghaul_core.rlib" } else { "longhaul" };
    Ok(fs::metadata(dir.join(program))?.len() as f64 / 1e6)
}

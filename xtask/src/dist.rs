//! `cargo xtask dist`: builds the program for each platform and packs it: npm tarballs, archives, wheels, a software
//! bill of materials for each, and checksums.
//!
//! Packing the same programs again gives the same bytes. Never publishes anything.

mod check;
mod macho;
mod pack;
mod sbom;
mod zig;

use crate::archive::CHECKSUMS;
use crate::commit_time::commit_time;
use crate::packages::npm::npm_tarballs;
use crate::platform::{PLATFORMS, Platform};
use crate::programs::debug_build;
use crate::test::note_skipped;
use clap::Args;
use std::path::{Path, PathBuf};
use std::{fs, io};
use zig::{Build, Zig};

#[derive(Args)]
pub struct DistOptions {
    /// Build for this target; repeatable [default: every supported one]
    #[arg(long, value_name = "TRIPLE", value_parser = platform)]
    target: Vec<Platform>,
    // `target/dist` is cargo's own directory of the profile.
    /// Directory for the packages
    #[arg(long, value_name = "DIR", default_value = "target/packages")]
    out: PathBuf,
    /// Profile of cargo; `cross` builds fast, for tests
    #[arg(long, value_name = "PROFILE", default_value = "dist")]
    profile: String,
    /// Run the Linux programs, the foreign one in an emulator, and inspect the macOS program
    #[arg(long)]
    check: bool,
}

fn platform(triple: &str) -> Result<Platform, String> {
    PLATFORMS.into_iter().find(|platform| platform.triple == triple).ok_or_else(|| {
        let known: Vec<&str> = PLATFORMS.iter().map(|platform| platform.triple).collect();
        format!("expected one of {}", known.join(", "))
    })
}

pub fn dist(root: &Path, options: &DistOptions) -> io::Result<()> {
    // They are written last: a directory without them is incomplete.
    let out = root.join(&options.out);
    fs::create_dir_all(&out)?;
    let _ = fs::remove_file(out.join(CHECKSUMS));
    let zig = match Zig::install(root) {
        Ok(zig) => zig,
        Err(error) => {
            let remedy = "install python3 with its module venv (Debian: python3-venv), and rustup";
            return note_skipped("cross builds and their packages", &error.to_string(), remedy);
        }
    };
    let platforms = if options.target.is_empty() { PLATFORMS.to_vec() } else { options.target.clone() };
    let time = commit_time(root)?;
    let mut builds = Vec::new();
    for platform in platforms {
        println!("▶ {} ({})", platform.triple, options.profile);
        builds.push(zig.build(platform, &options.profile, &out, time)?);
    }
    let host = builds.iter().find(|build| Some(build.platform) == Platform::host());
    // Completions and manual pages are the same on all platforms. This machine can run only its own program.
    let host_program = host.map_or_else(|| debug_build(root), |build| Ok(build.program.clone()))?;
    let programs: Vec<_> = builds.iter().map(|build| (build.platform, build.program.clone())).collect();
    let mut packages = npm_tarballs(root, &programs, &out, time)?;
    let texts = pack::user_files(root, &host_program)?;
    let mut archives = Vec::new();
    for Build { platform, program, wheel } in &builds {
        archives.push((*platform, pack::archive(&texts, *platform, program, &out, time)?));
        packages.push(sbom::write(root, *platform, &out, time)?);
        packages.push(wheel.clone());
    }
    packages.extend(archives.iter().map(|(_, archive)| archive.clone()));
    let sums = pack::checksums(&packages, &out)?;
    print!("{sums}");
    if options.check {
        for (platform, archive) in archives {
            check::check(platform, &archive, root)?;
            check::check_install_commands(&fs::read_to_string(root.join("README.md"))?, platform, &out)?;
        }
    }
    Ok(())
}

//! The npm package: one package with the launcher and the API, and one with the program for each platform.
//!
//! `npm_tarballs` writes them without npm. The test installs them without network into an empty directory.

use crate::archive::{CHECKSUMS, Entry, write_tar_gz};
use crate::commit_time::commit_time;
use crate::platform::Platform;
use crate::programs::{debug_build, succeed};
use crate::test::note_skipped;
use clap::Args;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

/// The version of all packages of the workspace.
const VERSION: &str = env!("CARGO_PKG_VERSION");
const LICENSES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

#[derive(Args)]
pub struct NpmOptions {
    /// Test the tarballs that `cargo xtask dist` wrote to this directory [default: those of a debug build]
    #[arg(long, value_name = "DIR")]
    dist: Option<PathBuf>,
    /// Write the types of the package from docs/schemas, and test nothing
    #[arg(long)]
    update: bool,
}

/// Packs a program of this machine and runs `packages/npm/tests` with the tarballs.
pub fn test(root: &Path, options: &NpmOptions) -> io::Result<()> {
    let description = "the npm package";
    if Command::new("npm").arg("--version").output().is_err() {
        return note_skipped(description, "npm is missing", "install Node with npm");
    }
    let Some(host) = Platform::host() else {
        return note_skipped(
            description,
            "no package exists for this platform",
            "run it on Linux on x86-64 or arm64",
        );
    };
    let tools = install_tools(root)?;
    let source = root.join("packages/npm");
    if options.update {
        let mut generate = Command::new("node");
        generate.arg(source.join("dev/generate-types.mjs")).arg(root.join("docs/schemas"));
        return succeed(generate.arg(&source).current_dir(tools));
    }
    let own = tempfile::tempdir()?;
    let tarballs = if let Some(dist) = &options.dist {
        let dist = root.join(dist);
        if !dist.join(CHECKSUMS).is_file() {
            let reason = format!("`cargo xtask dist` has not finished in {}", dist.display());
            return note_skipped(description, &reason, "run it, and read its error");
        }
        dist
    } else {
        npm_tarballs(root, &[(host, debug_build(root)?)], own.path(), commit_time(root)?)?;
        own.path().to_owned()
    };
    let mut node = Command::new("node");
    node.arg("--test").args(tests(&source)?);
    node.env("LONGHAUL_TEST_TARBALLS", tarballs).env("LONGHAUL_TEST_TOOLS", tools);
    succeed(node.current_dir(source))
}

/// Writes the tarballs of the main package and of each platform with its program, and returns their paths.
pub fn npm_tarballs(
    root: &Path,
    programs: &[(Platform, PathBuf)],
    out: &Path,
    mtime: u64,
) -> io::Result<Vec<PathBuf>> {
    let main = out.join(format!("longhaul-{VERSION}.tgz"));
    write_tar_gz(&main, main_package(root)?, mtime)?;
    let mut tarballs = vec![main];
    for (platform, program) in programs {
        let tarball = out.join(format!("longhaul-{}-{VERSION}.tgz", platform.npm_name()));
        write_tar_gz(&tarball, platform_package(root, *platform, program)?, mtime)?;
        tarballs.push(tarball);
    }
    Ok(tarballs)
}

/// Returns the tarballs of the main package and of this machine's program in this directory.
pub fn tarballs_for_host(dist: &Path) -> Option<[PathBuf; 2]> {
    let names = ["longhaul".to_owned(), format!("longhaul-{}", Platform::host()?.npm_name())];
    let tarballs = names.map(|name| dist.join(format!("{name}-{VERSION}.tgz")));
    tarballs.iter().all(|tarball| tarball.is_file()).then_some(tarballs)
}

/// Installs tarballs into a new project, without network.
pub fn install(project: &Path, tarballs: &[PathBuf]) -> io::Result<()> {
    fs::create_dir_all(project)?;
    fs::write(project.join("package.json"), "{\"private\":true}\n")?;
    let args = ["install", "--offline", "--no-audit", "--no-fund", "--loglevel=error"];
    succeed(Command::new("npm").args(args).args(tarballs).current_dir(project))
}

fn main_package(root: &Path) -> io::Result<Vec<Entry>> {
    let source = root.join("packages/npm");
    let mut manifest: Value = serde_json::from_slice(&fs::read(source.join("package.json"))?)?;
    manifest["version"] = VERSION.into();
    let programs = manifest["optionalDependencies"].as_object_mut();
    programs.into_iter().flatten().for_each(|(_, version)| *version = VERSION.into());
    let mut entries = vec![manifest_entry(&manifest)?, file(&source, "README.md")?];
    for license in LICENSES {
        entries.push(file(root, license)?);
    }
    for path in files(&source)? {
        let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
        if name.ends_with(".js") || name.ends_with(".d.ts") {
            entries.push(file(&source, &name)?);
        }
    }
    // npm marks it too, but other package managers do not.
    entries.iter_mut().for_each(|entry| entry.is_program = entry.path == "package/launcher.js");
    Ok(entries)
}

fn platform_package(root: &Path, platform: Platform, program: &Path) -> io::Result<Vec<Entry>> {
    let main: Value = serde_json::from_slice(&fs::read(root.join("packages/npm/package.json"))?)?;
    let name = format!("@longhaul/{}", platform.npm_name());
    let manifest = json!({
        "name": name,
        "version": VERSION,
        "description": format!("The program of the package longhaul for {} on {}", platform.node_os, platform.node_cpu),
        "license": main["license"],
        "repository": main["repository"],
        "os": [platform.node_os],
        "cpu": [platform.node_cpu],
        // Package managers that keep packages as archives extract this one.
        "preferUnplugged": true,
    });
    let readme = format!("# {name}\n\nThe program of the package `longhaul`. Install that one.\n");
    let mut entries = vec![
        manifest_entry(&manifest)?,
        Entry::text("package/README.md", readme),
        Entry::program("package/longhaul", fs::read(program)?),
    ];
    for license in LICENSES {
        entries.push(file(root, license)?);
    }
    Ok(entries)
}

fn manifest_entry(manifest: &Value) -> io::Result<Entry> {
    Ok(Entry::text("package/package.json", serde_json::to_string_pretty(manifest)? + "\n"))
}

fn file(dir: &Path, name: &str) -> io::Result<Entry> {
    Ok(Entry::text(format!("package/{name}"), fs::read(dir.join(name))?))
}

/// Returns the paths in this directory, sorted.
fn files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.sort();
    Ok(paths)
}

fn tests(source: &Path) -> io::Result<Vec<PathBuf>> {
    let is_test = |path: &PathBuf| path.to_string_lossy().ends_with(".test.mjs");
    Ok(files(&source.join("tests"))?.into_iter().filter(is_test).collect())
}

/// Installs the locked development tools below `target`, unless they are installed, and returns their directory.
fn install_tools(root: &Path) -> io::Result<PathBuf> {
    let (source, dir) = (root.join("packages/npm/dev"), root.join("target/npm-tools"));
    let lock = fs::read(source.join("package-lock.json"))?;
    let installed = dir.join("installed-lock.json");
    if fs::read(&installed).is_ok_and(|installed| installed == lock) {
        return Ok(dir);
    }
    fs::create_dir_all(&dir)?;
    for name in ["package.json", "package-lock.json"] {
        fs::copy(source.join(name), dir.join(name))?;
    }
    let args = ["ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
    succeed(Command::new("npm").args(args).current_dir(&dir))?;
    fs::write(installed, lock)?;
    Ok(dir)
}

#[cfg(test)]
mod tests {
    use super::{VERSION, npm_tarballs};
    use crate::platform::PLATFORMS;
    use std::fs;
    use std::path::Path;

    #[test]
    fn packing_twice_gives_the_same_bytes() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
        let [first, second] = [(); 2].map(|()| tempfile::tempdir().expect("a temporary directory"));
        let program = first.path().join("program");
        fs::write(&program, "a program").expect("a writable directory");
        let pack = |out: &Path| {
            npm_tarballs(root, &PLATFORMS.map(|platform| (platform, program.clone())), out, 1_700_000_000)
                .expect("the package is complete")
        };
        let (first, second) = (pack(first.path()), pack(second.path()));
        let names: Vec<_> = first.iter().filter_map(|path| path.file_name()?.to_str()).collect();
        let expected = ["", "-linux-x64", "-linux-arm64", "-darwin-arm64"];
        assert_eq!(names, expected.map(|platform| format!("longhaul{platform}-{VERSION}.tgz")));
        for (first, second) in first.iter().zip(&second) {
            assert!(fs::read(first).expect("packed") == fs::read(second).expect("packed"), "{first:?}");
        }
    }
}

//! Cross builds with zig as compiler and linker for C, installed below `target` in pinned versions.

use crate::commit_time::SOURCE_DATE_EPOCH;
use crate::platform::Platform;
use crate::programs::{built, succeed, target_dir};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// Pinned, because a package must not change with the day on which it is built.
const REQUIREMENTS: [&str; 2] = ["ziglang==0.15.2", "maturin==1.16.0"];

/// Stub libraries of the frameworks that the program links on macOS. zig has only those of the C library.
const FRAMEWORKS: &str = "xtask/macos-frameworks";

pub struct Build {
    pub platform: Platform,
    pub program: PathBuf,
    pub wheel: PathBuf,
}

pub struct Zig {
    root: PathBuf,
    /// Directory with the programs.
    bin: PathBuf,
}

impl Zig {
    /// Installs zig and maturin, unless these versions are installed.
    pub fn install(root: &Path) -> io::Result<Zig> {
        let dir = root.join("target/zig");
        let zig = Zig { root: root.to_owned(), bin: dir.join("bin") };
        let installed = dir.join("requirements.txt");
        let requirements = REQUIREMENTS.join("\n") + "\n";
        if fs::read_to_string(&installed).is_ok_and(|text| text == requirements) {
            return Ok(zig);
        }
        succeed(Command::new("python3").args(["-m", "venv"]).arg(&dir))?;
        let mut install = Command::new(zig.bin.join("pip"));
        install.args(["install", "--quiet", "--disable-pip-version-check"]).args(REQUIREMENTS);
        succeed(&mut install)?;
        fs::write(installed, requirements)?;
        Ok(zig)
    }

    /// Builds the program for a platform, and its wheel. Maturin builds both: its settings differ from those of cargo alone,
    /// and a second build would compile everything again.
    pub fn build(&self, platform: Platform, profile: &str, out: &Path, time: u64) -> io::Result<Build> {
        succeed(Command::new("rustup").args(["target", "add", platform.triple]).current_dir(&self.root))?;
        let wheels = tempfile::tempdir()?;
        let mut command = Command::new(self.bin.join("maturin"));
        command.args(["build", "--quiet", "--locked", "--zig", "--profile", profile]);
        command.args(["--target", platform.triple, "--out"]).arg(wheels.path());
        if !platform.is_macos() {
            // A static program runs with every C library; the default names musl's only, which pip rejects elsewhere.
            command.args(["--compatibility", "manylinux_2_17", "musllinux_1_2"]);
        }
        let package = self.root.join("packages/python");
        succeed(self.reproducible(&mut command, platform, time)?.current_dir(package))?;
        let written = fs::read_dir(wheels.path())?.next().transpose()?;
        let written = written.ok_or_else(|| io::Error::other("maturin wrote no wheel"))?;
        let wheel = out.join(written.file_name());
        fs::copy(written.path(), &wheel)?;
        let program = built(&self.root, platform.triple, profile).join("longhaul");
        Ok(Build { platform, program, wheel })
    }

    /// Sets the environment in which a build depends only on the sources, not on the machine and the time.
    fn reproducible<'a>(
        &self,
        command: &'a mut Command,
        platform: Platform,
        time: u64,
    ) -> io::Result<&'a mut Command> {
        let cargo_home = cargo_home()?;
        let target = target_dir(&self.root);
        let root = self.root.as_path();
        // The last one that matches a path counts.
        let remapped = [(root, "/longhaul"), (cargo_home.as_path(), "/cargo"), (target.as_path(), "/target")];
        let mut rust: Vec<OsString> = Vec::new();
        let mut c = OsString::from("-g0");
        for (from, to) in remapped {
            rust.push("--remap-path-prefix".into());
            rust.push(pair(from, to));
            c.push(" -ffile-prefix-map=");
            c.push(pair(from, to));
        }
        if platform.is_macos() {
            let mut frameworks = OsString::from("-Lframework=");
            frameworks.push(self.root.join(FRAMEWORKS));
            rust.push(frameworks);
        } else {
            // A fixed address, for the reason that the build script of the program states.
            rust.push("-Crelocation-model=static".into());
        }
        let path = env::var_os("PATH").unwrap_or_default();
        let paths = [self.bin.clone()].into_iter().chain(env::split_paths(&path));
        let variable = format!("CFLAGS_{}", platform.triple.replace('-', "_"));
        command
            .env("PATH", env::join_paths(paths).map_err(io::Error::other)?)
            .env("CARGO_ENCODED_RUSTFLAGS", rust.join("\u{1f}".as_ref()))
            .env(variable, c)
            .env(SOURCE_DATE_EPOCH, time.to_string())
            // The oldest version with arm64. Maturin's default, too: another one would build everything again.
            .env("MACOSX_DEPLOYMENT_TARGET", "11.0")
            // An SDK of this machine would be linked instead of the stubs.
            .env_remove("SDKROOT");
        Ok(command)
    }
}

/// Returns `FROM=TO`.
fn pair(from: &Path, to: &str) -> OsString {
    let mut pair = from.as_os_str().to_owned();
    pair.push("=");
    pair.push(to);
    pair
}

fn cargo_home() -> io::Result<PathBuf> {
    let default = || env::home_dir().map(|home| home.join(".cargo"));
    let home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(default);
    home.ok_or_else(|| io::Error::other("no home directory: set CARGO_HOME to the directory of cargo"))
}

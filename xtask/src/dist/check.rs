//! Checks of the archives, unpacked as a user does: Linux programs run in an empty environment, another machine's in an
//! emulator. The macOS program cannot run here, so its file is inspected.

use super::{macho, pack};
use crate::platform::Platform;
use crate::programs::stdout_of;
use crate::sandbox::Sandbox;
use crate::test::note_skipped;
use flate2::read::GzDecoder;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

/// Directory of the packages in the README.
const PACKAGES: &str = "target/packages/";
/// A stand-in for an agent: opens a session, waits for its prompt and reports success. A shell runs on this machine
/// even if the supervisor is emulated.
const AGENT: &str = r#"#!/bin/sh
echo '{"type":"system","subtype":"init","session_id":"6b5f9a1c-0d2e-4c53-9b1a-1f6f4f4a2c11"}'
read -r prompt
echo '{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","stop_reason":"end_turn","result":"Done.","total_cost_usd":0.25,"session_id":"6b5f9a1c-0d2e-4c53-9b1a-1f6f4f4a2c11"}'
"#;

pub fn check(platform: Platform, archive: &Path, root: &Path) -> io::Result<()> {
    let unpacked = tempfile::tempdir()?;
    let program = &unpack(platform, archive, unpacked.path())?;
    contains_no_path(program, root)?;
    if platform.is_macos() {
        let found = macho::check(&fs::read(program)?).map_err(io::Error::other)?;
        println!("{}: {found}", platform.triple);
        return Ok(());
    }
    let emulator = platform.emulator();
    if let Some(emulator) = emulator
        && Command::new(emulator).arg("--version").output().is_err()
    {
        let description = format!("the program for {}", platform.triple);
        let reason = format!("{emulator} is missing");
        return note_skipped(&description, &reason, "install qemu-user (Debian: qemu-user)");
    }
    let sandbox = Sandbox::new()?;
    let succeed = |args: &[&str], text: &str| {
        let mut command = sandbox.command(emulator.map_or(program.as_path(), Path::new));
        command.args(emulator.map(|_| program));
        // An agent may refuse to run as root otherwise.
        let output = stdout_of(command.args(args).env("IS_SANDBOX", "1"))?;
        let error = || io::Error::other(format!("{program:?} {args:?}: expected {text:?}\n{output}"));
        output.contains(text).then_some(()).ok_or_else(error)
    };
    succeed(&["--version"], "longhaul ")?;
    succeed(&["simulate", "--runs", "20"], "")?;
    let agent = sandbox.path().join("agent");
    fs::write(&agent, AGENT)?;
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o700))?;
    let agent = agent.to_string_lossy();
    succeed(&["run", "a task", "--agent-path", &agent], "\"outcome\": \"done\"")?;
    succeed(&["why"], "done")?;
    // The scripted agent is the program itself, which an emulated process cannot start.
    if emulator.is_none() {
        succeed(&["drill"], "verdict             pass")?;
    }
    println!("{}: runs in an empty environment", platform.triple);
    Ok(())
}

/// Returns an error if a program contains the path of the checkout: then no other checkout builds the same program.
fn contains_no_path(program: &Path, root: &Path) -> io::Result<()> {
    let path = root.as_os_str().as_encoded_bytes();
    if fs::read(program)?.windows(path.len()).any(|bytes| bytes == path) {
        return Err(io::Error::other(format!("{} contains {}", program.display(), root.display())));
    }
    Ok(())
}

/// Unpacks an archive and returns the path of its program. Returns an error unless each shell has completions, and the
/// program a manual page.
fn unpack(platform: Platform, archive: &Path, dir: &Path) -> io::Result<PathBuf> {
    tar::Archive::new(GzDecoder::new(File::open(archive)?)).unpack(dir)?;
    let dir = dir.join(pack::name(platform));
    let completions = pack::COMPLETIONS.map(|(_, file)| format!("completions/{file}"));
    for file in completions.iter().map(String::as_str).chain(["man/longhaul.1", "man/longhaul-run.1"]) {
        let text =
            fs::read_to_string(dir.join(file)).map_err(|error| missing(archive, file, &error.to_string()))?;
        if !text.contains("longhaul") {
            return Err(missing(archive, file, "it does not mention longhaul"));
        }
    }
    Ok(dir.join("longhaul"))
}

/// Returns an error if the README installs a file of this platform that is not in this directory.
pub fn check_install_commands(readme: &str, platform: Platform, out: &Path) -> io::Result<()> {
    let arch = platform.triple.split('-').next().unwrap_or_default();
    // A shell expands the words, as it does for a user.
    let test = r#"for file in "$@"; do test -f "$file" || { echo "$file"; exit 1; }; done"#;
    for line in readme.lines().filter(|line| line.contains(PACKAGES) && !platform.is_macos()) {
        let words =
            line.split(' ').filter_map(|word| word.strip_prefix(PACKAGES)).collect::<Vec<_>>().join(" ");
        if !words.contains(arch) && !words.contains(platform.node_cpu) {
            continue;
        }
        let script = format!("set -- {words}; {test}");
        let output = Command::new("sh").args(["-c", &script]).current_dir(out).output()?;
        if !output.status.success() {
            let file = String::from_utf8_lossy(&output.stdout);
            return Err(io::Error::other(format!("the README installs {}, which is missing", file.trim())));
        }
    }
    Ok(())
}

fn missing(archive: &Path, file: &str, reason: &str) -> io::Error {
    io::Error::other(format!("{} has no usable {file}: {reason}", archive.display()))
}

#[cfg(test)]
mod tests {
    use super::{check_install_commands, pack, unpack};
    use crate::platform::PLATFORMS;
    use std::fs;

    #[test]
    fn an_archive_without_its_completions_or_pages_is_an_error() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let program = dir.path().join("program");
        fs::write(&program, "a program").expect("a writable directory");
        let file = |path: String| (path, b"longhaul".to_vec());
        let mut files: Vec<_> =
            pack::COMPLETIONS.map(|(_, name)| file(format!("completions/{name}"))).into_iter().collect();
        files.extend(["longhaul.1", "longhaul-run.1"].map(|name| file(format!("man/{name}"))));
        let check = |files: &[(String, Vec<u8>)]| {
            let archive =
                pack::archive(files, PLATFORMS[0], &program, dir.path(), 1_700_000_000).expect("packed");
            let unpacked = tempfile::tempdir().expect("a temporary directory");
            unpack(PLATFORMS[0], &archive, unpacked.path())
                .map(|program| fs::read(program).expect("unpacked"))
        };
        assert_eq!(check(&files).expect("complete"), b"a program");
        for index in 0..files.len() {
            let mut others = files.clone();
            let (path, _) = others.remove(index);
            let error = check(&others).expect_err("a file is missing").to_string();
            assert!(error.contains(&path), "{error}");
        }
    }

    #[test]
    fn the_readme_installs_only_files_that_exist() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let readme =
            "pip install target/packages/a-*x86_64.whl # Python\nnpm install target/packages/b-x64.tgz\n";
        let check =
            || check_install_commands(readme, PLATFORMS[0], dir.path()).map_err(|error| error.to_string());
        assert_eq!(check(), Err("the README installs a-*x86_64.whl, which is missing".to_owned()));
        fs::write(dir.path().join("a-1-x86_64.whl"), "").expect("a writable directory");
        assert_eq!(check(), Err("the README installs b-x64.tgz, which is missing".to_owned()));
        fs::write(dir.path().join("b-x64.tgz"), "").expect("a writable directory");
        assert_eq!(check(), Ok(()));
        assert!(check_install_commands(readme, PLATFORMS[1], dir.path()).is_ok());
    }
}

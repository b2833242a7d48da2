//! Archives of the program with all files that a user installs by hand, and their checksums.

use crate::archive::{CHECKSUMS, Entry, write_tar_gz};
use crate::platform::Platform;
use crate::programs::{stdout_of, succeed};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The shells with a completion script, and the name of the file that each loads.
pub const COMPLETIONS: [(&str, &str); 5] = [
    ("bash", "longhaul.bash"),
    ("elvish", "longhaul.elv"),
    ("fish", "longhaul.fish"),
    ("powershell", "longhaul.ps1"),
    ("zsh", "_longhaul"),
];
const TEXTS: [&str; 4] = ["CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// Returns the name of the packages of a platform, without an extension.
pub fn name(platform: Platform) -> String {
    format!("longhaul-{VERSION}-{}", platform.triple)
}

/// Returns the files next to the program, by their paths in the archive. The program of this machine writes some.
pub fn user_files(root: &Path, program: &Path) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    for text in TEXTS {
        files.push((text.to_owned(), fs::read(root.join(text))?));
    }
    for (shell, file) in COMPLETIONS {
        let script = stdout_of(Command::new(program).args(["completions", shell]))?;
        files.push((format!("completions/{file}"), script.into_bytes()));
    }
    let pages = tempfile::tempdir()?;
    succeed(Command::new(program).args(["man", "--quiet", "--dir"]).arg(pages.path()))?;
    for page in fs::read_dir(pages.path())? {
        let page = page?;
        files.push((format!("man/{}", page.file_name().to_string_lossy()), fs::read(page.path())?));
    }
    Ok(files)
}

pub fn archive(
    files: &[(String, Vec<u8>)],
    platform: Platform,
    program: &Path,
    out: &Path,
    time: u64,
) -> io::Result<PathBuf> {
    let name = name(platform);
    let text = |(path, content): &(String, Vec<u8>)| Entry::text(format!("{name}/{path}"), content.clone());
    let mut entries: Vec<Entry> = files.iter().map(text).collect();
    entries.push(Entry::program(format!("{name}/longhaul"), fs::read(program)?));
    let path = out.join(format!("{name}.tar.gz"));
    write_tar_gz(&path, entries, time)?;
    Ok(path)
}

/// Writes the checksums of these files and returns their text, which `sha256sum --check` reads.
pub fn checksums(files: &[PathBuf], out: &Path) -> io::Result<String> {
    let mut lines = Vec::new();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let hash = Sha256::digest(fs::read(file)?);
        lines.push((name, hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>()));
    }
    lines.sort();
    let text: String = lines.iter().map(|(name, sum)| format!("{sum}  {name}\n")).collect();
    fs::write(out.join(CHECKSUMS), &text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::checksums;
    use crate::archive::CHECKSUMS;
    use std::fs;

    #[test]
    fn checksums_have_the_format_of_sha256sum() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let files = ["b", "a"].map(|name| dir.path().join(name));
        files.iter().for_each(|file| fs::write(file, "abc").expect("a writable directory"));
        let sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let text = checksums(&files, dir.path()).expect("readable files");
        assert_eq!(text, format!("{sum}  a\n{sum}  b\n"));
        assert_eq!(fs::read_to_string(dir.path().join(CHECKSUMS)).expect("written"), text);
    }
}

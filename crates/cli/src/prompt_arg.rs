//! Reads the prompt (from the command line, stdin or a file) and the working directory.

use crate::failure::{Failure, OrFailure};
use longhaul_store::read_regular;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub fn read_optional(prompt: Option<&str>, file: Option<&Path>) -> Result<Option<String>, Failure> {
    if prompt.is_none() && file.is_none() { Ok(None) } else { read(prompt, file).map(Some) }
}

pub fn read(prompt: Option<&str>, file: Option<&Path>) -> Result<String, Failure> {
    let hint = "write what the agent should do, such as \"fix the failing tests\"";
    read_text("prompt", hint, prompt, file)
}

/// Reads a text. `noun` names it in errors, and `hint` says what to write.
pub fn read_text(noun: &str, hint: &str, text: Option<&str>, file: Option<&Path>) -> Result<String, Failure> {
    let (bytes, source) = match (file, text) {
        (Some(file), _) => {
            let bytes = read_regular(file).or_usage(
                format!("cannot read the {noun} from {}", file.display()),
                "name a file that you can read",
            )?;
            (bytes, file.display().to_string())
        }
        (None, Some("-")) => {
            let bytes = read_stdin().or_usage(
                format!("cannot read the {noun} from stdin"),
                format!("pass the {noun} as an argument instead"),
            )?;
            (bytes, "stdin".to_owned())
        }
        (None, text) => (text.unwrap_or_default().into(), "the command line".to_owned()),
    };
    let text = String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        Failure::usage(
            format!("the {noun} from {source} is not UTF-8: byte {offset} is the first that is not"),
            "convert it, for example with `iconv -f ENCODING -t utf-8 FILE`",
        )
    })?;
    if text.trim().is_empty() {
        return Err(Failure::usage(format!("the {noun} from {source} is empty"), hint));
    }
    Ok(text)
}

/// Returns all of stdin, also when it is read again.
fn read_stdin() -> io::Result<Vec<u8>> {
    static STDIN: OnceLock<Vec<u8>> = OnceLock::new();
    if let Some(bytes) = STDIN.get() {
        return Ok(bytes.clone());
    }
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(STDIN.get_or_init(|| bytes).clone())
}

/// Returns the directory that the arguments name, with symbolic links resolved.
pub fn directory(path: &Path) -> Result<PathBuf, Failure> {
    let usable = fs::canonicalize(path).and_then(|dir| fs::read_dir(&dir).map(|_| dir));
    usable.or_usage(format!("cannot use the directory {}", path.display()), "name an existing directory")
}

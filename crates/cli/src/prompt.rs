//! The prompt: from the command line, from stdin, or from a file.

use crate::args::RunArgs;
use crate::failure::Failure;
use std::fs;
use std::io::{self, Read};

/// Reads the prompt that the arguments name.
pub fn read(args: &RunArgs) -> Result<String, Failure> {
    let (bytes, source) = match (&args.prompt_file, args.prompt.as_deref()) {
        (Some(file), _) => {
            let bytes = fs::read(file).map_err(|error| {
                Failure::usage(
                    format!("read the prompt file {}: {error}", file.display()),
                    "check --prompt-file",
                )
            })?;
            (bytes, file.display().to_string())
        }
        (None, Some("-")) => {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes).map_err(|error| {
                Failure::usage(
                    format!("read the prompt from stdin: {error}"),
                    "give the prompt as an argument instead",
                )
            })?;
            (bytes, "stdin".to_owned())
        }
        (None, Some(prompt)) => (prompt.as_bytes().to_vec(), "the command line".to_owned()),
        (None, None) => (Vec::new(), "the command line".to_owned()),
    };
    let prompt = String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        Failure::usage(
            format!("the prompt from {source} is not UTF-8: byte {place} is the first that is not"),
            "convert it, for example with `iconv -t utf-8`",
        )
    })?;
    if prompt.trim().is_empty() {
        return Err(Failure::usage(
            format!("the prompt from {source} is empty"),
            "say what the agent is to do: longhaul run \"fix the failing tests\"",
        ));
    }
    Ok(prompt)
}

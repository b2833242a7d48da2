//! The program name `openclawpack`: converts that program's command lines to those of `longhaul gsd`.

use std::ffi::OsString;
use std::path::Path;

const NAME: &str = "openclawpack";

/// Returns the equivalent arguments of `longhaul`, or `None` if the program has another name.
pub fn arguments(typed: &[OsString]) -> Option<Vec<OsString>> {
    let (program, words) = typed.split_first()?;
    if Path::new(program).file_stem()? != NAME {
        return None;
    }
    let mut arguments = vec!["longhaul".into(), "gsd".into()];
    let mut words = words.iter();
    let mut is_before_command = true;
    while let Some(word) = words.next() {
        match word.to_str() {
            // That program's short name of its version.
            Some("-v" | "--version") if is_before_command => {
                return Some(vec!["longhaul".into(), "--version".into()]);
            }
            // Every format except `text` means JSON.
            Some("--output-format") => {
                let is_text = words.next().is_some_and(|format| format == "text");
                arguments.push(if is_text { "--output-format=text" } else { "--output-format=json" }.into());
            }
            Some(inline) if inline.starts_with("--output-format=") && inline != "--output-format=text" => {
                arguments.push("--output-format=json".into());
            }
            _ => {
                is_before_command &= word.to_str().is_some_and(|word| word.starts_with('-'));
                arguments.push(word.clone());
            }
        }
    }
    Some(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_become_those_of_gsd() {
        let check = |typed: &str, expected: Option<&str>| {
            let words: Vec<OsString> = typed.split(' ').map(OsString::from).collect();
            let split = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
            assert_eq!(arguments(&words), expected.map(split), "{typed}");
        };
        check("longhaul status", None);
        check("openclawpack --project-dir p plan-phase 1", Some("longhaul gsd --project-dir p plan-phase 1"));
        check("openclawpack --output-format text status", Some("longhaul gsd --output-format=text status"));
        check("openclawpack --output-format=text status", Some("longhaul gsd --output-format=text status"));
        check("openclawpack --output-format xml status", Some("longhaul gsd --output-format=json status"));
        check("openclawpack --output-format=xml status", Some("longhaul gsd --output-format=json status"));
        check("openclawpack -v", Some("longhaul --version"));
        check("openclawpack --quiet --version", Some("longhaul --version"));
        check("openclawpack status -v", Some("longhaul gsd status -v"));
    }
}

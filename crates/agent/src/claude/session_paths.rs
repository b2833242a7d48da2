//! Computes where the agent stores its sessions. Never accesses a file.

use std::path::{Path, PathBuf};

// Longer names are truncated and made unique by a hash.
const NAME_CHARS_MAX: usize = 200;

/// Returns the file of a session, below the agent's configuration directory (`$CLAUDE_CONFIG_DIR`, else
/// `~/.claude`). `cwd` must be the canonical path.
pub fn session_file(cwd: &Path, session: &str) -> PathBuf {
    sessions_dir(cwd).join(format!("{session}.jsonl"))
}

fn sessions_dir(cwd: &Path) -> PathBuf {
    Path::new("projects").join(encode(&cwd.to_string_lossy()))
}

/// Encodes a path as a directory name: all characters except ASCII letters and digits become dashes.
fn encode(path: &str) -> String {
    // The agent counts UTF-16 units, as JavaScript does.
    let dashed: String = path
        .encode_utf16()
        .map(|unit| match u8::try_from(unit) {
            Ok(letter) if letter.is_ascii_alphanumeric() => char::from(letter),
            Ok(_) | Err(_) => '-',
        })
        .collect();
    if dashed.len() <= NAME_CHARS_MAX {
        return dashed;
    }
    let hash =
        path.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
    format!("{}-{}", &dashed[..NAME_CHARS_MAX], base36(hash.unsigned_abs()))
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(number % 36, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{base36, encode, session_file};
    use std::path::Path;

    #[test]
    fn encodes_directory_names() {
        let check = |path: &str, name: &str| assert_eq!(encode(path), name);
        check("/demo", "-demo");
        check("/home/a b/x.y_z@!#$%", "-home-a-b-x-y-z-----");
        check("/höme/日本", "-h-me---");
        check(&format!("/{}", "a".repeat(199)), &format!("-{}", "a".repeat(199)));
        // Recorded from the agent, for a path with characters of two UTF-16 units.
        let long = format!("/tmp/encsbuwlse0/{}/{}é😀", "l".repeat(120), "m".repeat(120));
        check(&long, &format!("-tmp-encsbuwlse0-{}-{}-v0vvee", "l".repeat(120), "m".repeat(62)));
        check("/emoji😀x", "-emoji--x");
        assert_eq!(base36(0), "0");
        assert_eq!(base36(u32::MAX), "1z141z3");
    }

    #[test]
    fn returns_session_files() {
        let file = session_file(Path::new("/demo"), "54f67155");
        assert_eq!(file, Path::new("projects/-demo/54f67155.jsonl"));
    }
}

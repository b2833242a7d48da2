//! Scripts: a short notation for the scenarios of these tests.
//!
//! ```text
//! I write the file.                     a turn with its text; `\n` starts another line
//! $ echo hello > hello.txt              a command in that turn
//! & sleep 9                             a command in the background
//! ! write = { path = "a", content = "" }    any other tool, as a scenario file has it
//! Done.                                 the next turn
//! ? The limit has been raised           a reply to prompts with these words; its turns follow
//! I continue.
//! [[fault]]                             the first table ends the script; the rest is part of a scenario file
//! ```

use longhaul_drill::Scenario;
use std::fmt::Write;

/// The keys that every scenario needs. No API reads the expected end.
const HEADER: &str =
    "name = 'test'\nsummary = 'a test'\nprompt = 'p'\nexpect = { outcome = 'done', exit = 0 }\n";

/// Returns the scenario of a script.
pub fn scenario(script: &str) -> Scenario {
    Scenario::parse("the test's", &to_toml(script)).expect("the test's script is valid")
}

fn to_toml(script: &str) -> String {
    let (script, tables) = script.split_at(script.find("\n[").unwrap_or(script.len()));
    let mut toml = HEADER.to_owned();
    let mut turn = "turn";
    for line in script.lines().filter(|line| !line.is_empty()) {
        let tool = match line.split_once(' ') {
            Some(("$", command)) => format!("bash = {{ command = {} }}", quoted(command)),
            Some(("&", command)) => {
                format!("bash = {{ command = {}, run_in_background = true }}", quoted(command))
            }
            Some(("!", tool)) => tool.to_owned(),
            Some(("?", words)) => {
                turn = "reply.turn";
                let _ = writeln!(toml, "[[reply]]\nto = {}", quoted(words));
                continue;
            }
            _ => {
                let _ = writeln!(toml, "[[{turn}]]\ntext = {}", quoted(&line.replace("\\n", "\n")));
                continue;
            }
        };
        let _ = writeln!(toml, "[[{turn}.tools]]\n{tool}");
    }
    toml + tables
}

fn quoted(text: &str) -> toml::Value {
    toml::Value::from(text)
}

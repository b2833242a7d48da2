//! Registers our hooks, which insert the playbook into sessions and report sessions to learn from. Does not
//! implement the hooks.

use crate::Program;
use longhaul_core::LearnOptions;
use serde_json::{Map, Value, json};

/// The events and their matchers. A conversation that is compacted in the middle of an exchange continues
/// without a prompt, and its start is reported again (2.1.330).
const EVENTS: [(&str, Option<&str>); 5] = [
    ("SessionStart", Some("compact")),
    ("UserPromptSubmit", None),
    ("PreCompact", None),
    ("SubagentStop", None),
    ("SessionEnd", None),
];
/// Timeout of each hook. No hook takes a hundredth of it; the rest allows for a busy machine.
const TIMEOUT_S: u32 = 10;

/// Returns the `hooks` object of the settings. The user's own hooks stay, because the hooks of all settings
/// run (2.1.330).
pub(super) fn hooks(learn: &LearnOptions, hook: &Program) -> Value {
    let group = |(event, matcher): (&str, Option<&str>)| {
        let command = command(learn, hook, event);
        let hook = json!({ "type": "command", "command": command, "timeout": TIMEOUT_S });
        let mut group = json!({ "hooks": [hook] });
        if let Some(matcher) = matcher {
            group["matcher"] = matcher.into();
        }
        (event.to_owned(), json!([group]))
    };
    Value::Object(EVENTS.into_iter().map(group).collect::<Map<_, _>>())
}

fn command(learn: &LearnOptions, hook: &Program, event: &str) -> String {
    let path = hook.path.to_string_lossy();
    let words = [quote(&path)].into_iter().chain(hook.leading_args.iter().map(|arg| quote(arg)));
    let judge = format!("--judge={}", learn.judge);
    let tokens = learn.tokens_max.map(|tokens| format!("--max-tokens={tokens}"));
    let words = words.chain([event.to_owned(), quote(&judge)]).chain(tokens);
    words.collect::<Vec<_>>().join(" ")
}

fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::hooks;
    use crate::Program;
    use longhaul_core::LearnOptions;

    #[test]
    fn quotes_path_as_one_word() {
        let hook =
            Program { path: "/o'brien/my tools/longhaul".into(), leading_args: vec!["hook".to_owned()] };
        let mut learn = LearnOptions::new("api");
        learn.tokens_max = Some(900);
        let hooks = hooks(&learn, &hook);
        assert_eq!(
            hooks["SessionEnd"][0]["hooks"][0]["command"],
            r"'/o'\''brien/my tools/longhaul' 'hook' SessionEnd '--judge=api' --max-tokens=900"
        );
        assert_eq!(hooks.as_object().map(|events| events.len()), Some(5));
    }
}

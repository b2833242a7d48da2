//! Our hooks: by them a session is told what earlier ones taught, and says when there is something to learn from it. Who is
//! called is not for this module to say.

use crate::Learn;
use serde_json::{Map, Value, json};

/// The events, and how many seconds the agent waits for each hook. None of them takes a tenth of one: a longer wait is for
/// a machine that is busy with something else.
const EVENTS: [(&str, u32); 4] =
    [("UserPromptSubmit", 10), ("PreCompact", 10), ("SubagentStop", 10), ("SessionEnd", 10)];

/// What stands behind `hooks` in settings. The user's own hooks stay: those of all settings are called (2.1.330).
pub(super) fn hooks(learn: &Learn) -> Value {
    let hook = |(event, timeout): (&str, u32)| {
        let hook = json!({ "type": "command", "command": command(learn, event), "timeout": timeout });
        (event.to_owned(), json!([{ "hooks": [hook] }]))
    };
    Value::Object(EVENTS.into_iter().map(hook).collect::<Map<_, _>>())
}

/// The hook as a shell takes it: the agent has no other form.
fn command(learn: &Learn, event: &str) -> String {
    let path = learn.hook.path.to_string_lossy();
    let words = [quoted(&path)].into_iter().chain(learn.hook.leading_args.iter().map(|arg| quoted(arg)));
    let judge = format!("--judge={}", learn.judge);
    let tokens = learn.tokens_max.map(|tokens| format!("--max-tokens={tokens}"));
    let words = words.chain([event.to_owned(), quoted(&judge)]).chain(tokens);
    words.collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::hooks;
    use crate::{Learn, Program};

    #[test]
    fn a_path_is_one_word_whatever_is_in_it() {
        let hook =
            Program { path: "/o'brien/my tools/longhaul".into(), leading_args: vec!["hook".to_owned()] };
        let hooks = hooks(&Learn { hook, judge: "api".to_owned(), tokens_max: Some(900) });
        assert_eq!(
            hooks["SessionEnd"][0]["hooks"][0]["command"],
            r"'/o'\''brien/my tools/longhaul' 'hook' SessionEnd '--judge=api' --max-tokens=900"
        );
        assert_eq!(hooks.as_object().map(|events| events.len()), Some(4));
    }
}

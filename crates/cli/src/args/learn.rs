//! The flags for learning: sessions receive the playbook, and Longhaul learns from them.

use super::limits::count;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser};
use longhaul_playbook::database::JudgeKind;
use longhaul_playbook::hooks::HookEvent;

/// Learning with a run.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Handoff and learning")]
pub struct RunLearnArgs {
    /// Give the agent the project's playbook, and learn from its sessions
    ///
    /// Works as `longhaul playbook install` does for all sessions. It asks a model twice per session, at your
    /// cost.
    #[arg(long, hide_short_help = true)]
    pub learn: bool,
    /// Judge of the sessions: `api` uses your key, `claude` uses Claude Code's login [default: api]
    #[arg(long, value_name = "JUDGE", value_parser = judge(), hide_short_help = true)]
    pub learn_judge: Option<JudgeKind>,
    /// Maximum number of playbook tokens per session; the points that match the prompt best come first
    #[arg(long, value_name = "N", value_parser = tokens, hide_short_help = true)]
    pub learn_tokens: Option<u64>,
}

fn tokens(text: &str) -> Result<u64, String> {
    count(text).and_then(|tokens| if tokens > 0 { Ok(tokens) } else { Err("expected at least 1".to_owned()) })
}

pub(super) fn judge() -> impl TypedValueParser<Value = JudgeKind> {
    let api = PossibleValue::new(JudgeKind::Api.as_str()).help("The Messages API, with a key");
    let claude = PossibleValue::new(JudgeKind::Claude.as_str()).help("Claude Code, with its own login");
    PossibleValuesParser::new([api, claude]).map(|word| word.parse().expect("each possible value is a judge"))
}

/// A call by the agent. It is parsed alone, because parsing the whole command tree takes too long.
#[derive(Debug, Parser)]
#[command(name = "longhaul hook", disable_version_flag = true)]
pub struct HookArgs {
    /// Name of the event, as the agent spells it; the rest comes as JSON on stdin
    #[arg(value_name = "EVENT", value_parser = event)]
    pub event: HookEvent,
    #[command(flatten)]
    pub learning: LearningArgs,
}

/// How sessions receive the playbook and are judged.
#[derive(Clone, Debug, Args)]
pub struct LearningArgs {
    /// Judge of the sessions: the Messages API with a key, or Claude Code with its login
    #[arg(long, value_parser = judge(), value_name = "JUDGE", default_value = "api")]
    pub judge: JudgeKind,
    /// Maximum number of playbook tokens; the points that match the prompt best come first
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_tokens: Option<u64>,
}

impl LearningArgs {
    /// Returns the flags that reproduce these values, without defaults.
    pub fn flags(&self) -> Vec<String> {
        let judge = (self.judge != JudgeKind::Api).then(|| ["--judge".to_owned(), self.judge.to_string()]);
        let max_tokens = self.max_tokens.map(|tokens| ["--max-tokens".to_owned(), tokens.to_string()]);
        judge.into_iter().chain(max_tokens).flatten().collect()
    }
}

fn event(word: &str) -> Result<HookEvent, String> {
    word.parse().map_err(|_| {
        let words: Vec<&str> = HookEvent::ALL.iter().map(|event| event.as_str()).collect();
        format!("expected one of {}", words.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_round_trip() {
        let check = |flags: &[&str]| {
            let line = ["longhaul hook", "SessionEnd"].iter().chain(flags);
            let args = HookArgs::try_parse_from(line).expect("the flags are valid");
            assert_eq!(args.learning.flags(), flags);
        };
        check(&[]);
        check(&["--judge", "claude"]);
        check(&["--max-tokens", "800"]);
        check(&["--judge", "claude", "--max-tokens", "1"]);
    }
}

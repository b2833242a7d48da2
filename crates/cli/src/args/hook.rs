//! What `longhaul hook` takes, and what of it `longhaul playbook install` writes into the agent's settings.

use super::run_learn::JudgeArg;
use clap::{Args, Parser};
use longhaul_playbook::database::JudgeKind;
use longhaul_playbook::hooks::HookEvent;

/// A call of the agent's, as it is parsed by itself: it has no time for all the other commands.
#[derive(Debug, Parser)]
#[command(name = "longhaul hook", disable_version_flag = true)]
pub struct HookCommand {
    #[command(flatten)]
    pub args: HookArgs,
}

#[derive(Debug, Args)]
pub struct HookArgs {
    /// What happened, in the agent's word; the rest comes as JSON on standard input
    #[arg(value_name = "EVENT", value_parser = event)]
    pub event: HookEvent,
    #[command(flatten)]
    pub learning: LearningArgs,
}

/// How sessions are told and judged.
#[derive(Clone, Debug, Args)]
pub struct LearningArgs {
    /// Who judges sessions: the Messages API with a key from the environment, or Claude Code with the login it has
    #[arg(long, value_enum, value_name = "JUDGE", default_value_t = JudgeArg::Api)]
    pub judge: JudgeArg,
    /// Tell no more of the playbook than about so many tokens: what fits the prompt best, and what has proved itself
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_tokens: Option<u64>,
}

impl LearningArgs {
    /// The flags that say the same once more, as far as they say something.
    pub fn flags(&self) -> Vec<String> {
        let judge = match self.judge {
            JudgeArg::Api => Vec::new(),
            JudgeArg::Claude => vec!["--judge".to_owned(), JudgeKind::Claude.as_str().to_owned()],
        };
        let max_tokens = self.max_tokens.map(|tokens| ["--max-tokens".to_owned(), tokens.to_string()]);
        judge.into_iter().chain(max_tokens.into_iter().flatten()).collect()
    }
}

fn event(word: &str) -> Result<HookEvent, String> {
    HookEvent::parse(word).ok_or_else(|| {
        let words: Vec<&str> = HookEvent::ALL.iter().map(|event| event.as_str()).collect();
        format!("expected one of {}", words.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_come_back_as_they_were_given() {
        let check = |flags: &[&str]| {
            let line = ["longhaul hook", "SessionEnd"].iter().chain(flags);
            let call = HookCommand::try_parse_from(line).expect("it is understood");
            assert_eq!(call.args.learning.flags(), flags);
        };
        check(&[]);
        check(&["--judge", "claude"]);
        check(&["--max-tokens", "800"]);
        check(&["--judge", "claude", "--max-tokens", "1"]);
    }
}

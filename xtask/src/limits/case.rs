//! The limits that are reached, the work that reaches them, and how far a run exceeds them.

use crate::api;
use longhaul_drill::Scenario;
use std::io;

pub struct LimitCase {
    pub flags: &'static [&'static str],
    pub work: Work,
    pub unit: LimitUnit,
    pub limit: f64,
    pub code: i32,
    /// Whether the agent gets a wrap-up before the limit ends the run.
    pub has_wrap_up: bool,
}

/// The agent's activity when the limit is reached.
#[derive(Clone, Copy)]
pub enum Work {
    Steps,
    LongCommand,
    MemoryGrowth,
}

/// The unit of a limit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum LimitUnit {
    Dollars,
    Tokens,
    Turns,
    Seconds,
    Mebibytes,
}

const OVER_BUDGET: i32 = 21;
const OUT_OF_TIME: i32 = 22;

#[rustfmt::skip]
pub const CASES: &[LimitCase] = &[
    LimitCase { flags: &["--budget", "0.15"], work: Work::Steps, unit: LimitUnit::Dollars, limit: 0.15, code: OVER_BUDGET, has_wrap_up: true },
    LimitCase { flags: &["--max-tokens", "150k"], work: Work::Steps, unit: LimitUnit::Tokens, limit: 150e3, code: OVER_BUDGET, has_wrap_up: true },
    LimitCase { flags: &["--max-turns", "8"], work: Work::Steps, unit: LimitUnit::Turns, limit: 8.0, code: OUT_OF_TIME, has_wrap_up: true },
    LimitCase { flags: &["--time-limit", "10s", "--wrap-up-reserve", "5s"], work: Work::Steps, unit: LimitUnit::Seconds, limit: 10.0, code: OUT_OF_TIME, has_wrap_up: true },
    LimitCase { flags: &["--time-limit", "10s", "--wrap-up-reserve", "5s"], work: Work::LongCommand, unit: LimitUnit::Seconds, limit: 10.0, code: OUT_OF_TIME, has_wrap_up: true },
    LimitCase { flags: &["--wall-limit", "10s", "--wrap-up-reserve", "5s"], work: Work::LongCommand, unit: LimitUnit::Seconds, limit: 10.0, code: OUT_OF_TIME, has_wrap_up: true },
    LimitCase { flags: &["--max-turns", "8", "--no-wrap-up"], work: Work::Steps, unit: LimitUnit::Turns, limit: 8.0, code: OUT_OF_TIME, has_wrap_up: false },
    LimitCase { flags: &["--time-limit", "6s", "--no-wrap-up"], work: Work::LongCommand, unit: LimitUnit::Seconds, limit: 6.0, code: OUT_OF_TIME, has_wrap_up: false },
    // The agent is killed once and resumed once, in the same session.
    LimitCase { flags: &["--memory-limit", "1100M"], work: Work::MemoryGrowth, unit: LimitUnit::Mebibytes, limit: 1100.0, code: 0, has_wrap_up: false },
];

const WRAP_UP: &str = r#"
[[reply]]
to = "This run is about to end"
[[reply.turn]]
text = "I save my work."
[[reply.turn.tools]]
bash = { command = "git add -A && git commit -qm Saved" }
[[reply.turn]]
text = "Saved, and stopping."
"#;
// One turn after the other, so that a limit can be reached at each.
const STEPS: usize = 100;
const STEP: &str = "sleep 0.3; echo step >> progress";
const LONG: &str = "for i in $(seq 60); do sleep 1; echo $i >> progress; done";
// Like a broken build. When it runs again, it finds its output and exits.
const MEMORY_GROWTH: &str = "test -e once && exit 0; touch once; python3 -c 'import time\nhold = []\nfor i in range(30):\n hold.append(bytearray(100 << 20)); time.sleep(0.1)'";

impl Work {
    pub fn label(self) -> &'static str {
        match self {
            Work::Steps => "short steps",
            Work::LongCommand => "a long command",
            Work::MemoryGrowth => "a command that takes memory",
        }
    }

    pub fn scenario(self) -> io::Result<Scenario> {
        let commit = "git add -A && git commit -qm Finished";
        let commands = match self {
            Work::Steps => vec![STEP; STEPS],
            Work::LongCommand => vec![STEP, LONG],
            Work::MemoryGrowth => vec![MEMORY_GROWTH, commit],
        };
        scenario(&commands)
    }
}

/// Returns a scenario that runs these commands, one per turn.
pub fn scenario(commands: &[&str]) -> io::Result<Scenario> {
    let turn = |command: &&str| {
        let command = toml::Value::String((*command).to_owned());
        format!("[[turn]]\ntext = \"The next step.\"\n[[turn.tools]]\nbash = {{ command = {command} }}\n")
    };
    let turns: String = commands.iter().map(turn).collect();
    let last = "[[turn]]\ntext = \"All of it is done.\"\n";
    api::scenario("Take all the steps.", &format!("{turns}{last}{WRAP_UP}"))
}

impl LimitUnit {
    pub fn render(self, value: f64) -> String {
        match self {
            LimitUnit::Dollars => format!("${value:.4}"),
            LimitUnit::Tokens => format!("{value:.0} tokens"),
            LimitUnit::Turns => format!("{value:.0} turns"),
            LimitUnit::Seconds => format!("{value:.1} s"),
            LimitUnit::Mebibytes => format!("{value:.0} MiB"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_valid() {
        for case in CASES {
            let scenario = case.work.scenario().expect("the work can be played");
            assert!(scenario.turns.len() > 2 && scenario.replies.len() == 1);
        }
    }
}

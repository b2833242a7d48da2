//! Who judges. One that cannot be asked is a judge all the same, which says why: nothing is lost by that, and it is said where
//! something is to be asked.

use crate::api_judge::{self, SystemClock};
use crate::claude_judge::ClaudeJudge;
use async_trait::async_trait;
use longhaul_core::{Fault, Span};
use longhaul_playbook::database::JudgeKind;
use longhaul_playbook::judge::RetryAdvice;
use longhaul_playbook::{Judge, JudgeError, LearningPaths, Reply};
use std::env;
use std::sync::Arc;

// As for a single question: two minutes are three attempts at the full time of each.
const TIME_BUDGET: Span = Span::from_secs(120);

/// The judge of this kind, as the environment says.
pub fn of(kind: JudgeKind, place: &LearningPaths, clock: &Arc<SystemClock>) -> Box<dyn Judge> {
    match kind {
        JudgeKind::Api => {
            let settings = api_judge::settings();
            match api_judge::judge(&settings, TIME_BUDGET, Arc::clone(clock)) {
                Ok(judge) => Box::new(judge),
                Err(error) => Box::new(UnavailableJudge { error, model: settings.model }),
            }
        }
        JudgeKind::Claude => {
            let agent_path = env::var_os("LONGHAUL_AGENT_PATH").filter(|path| !path.is_empty());
            match ClaudeJudge::new(place, agent_path.map(Into::into)) {
                Ok(judge) => Box::new(judge),
                Err(error) => {
                    let said = format!("ask Claude Code: find the program that this is: {error}");
                    let (fault, then) = (Fault::AgentUnusable, RetryAdvice::NeedsPerson);
                    let error = JudgeError { fault, retry: then, message: said, requests: 0 };
                    Box::new(UnavailableJudge { error, model: String::new() })
                }
            }
        }
    }
}

/// A judge that cannot be asked.
struct UnavailableJudge {
    error: JudgeError,
    model: String,
}

#[async_trait]
impl Judge for UnavailableJudge {
    async fn ask(&self, _prompt: &str) -> Result<Reply, JudgeError> {
        Err(self.error.clone())
    }

    fn model(&self) -> &str {
        &self.model
    }

    /// Whatever is asked is answered with the same words.
    fn prompt_tokens_max(&self) -> u64 {
        u64::MAX
    }
}

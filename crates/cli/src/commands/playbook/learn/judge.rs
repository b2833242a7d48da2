//! Creates the judge.
//!
//! An unusable judge is still created. It returns its error when it is asked, so that queued transcripts are
//! kept.

use crate::api_judge::{self, SystemClock};
use crate::claude_judge::ClaudeJudge;
use async_trait::async_trait;
use longhaul_core::Span;
use longhaul_playbook::database::JudgeKind;
use longhaul_playbook::judge::RequestObserver;
use longhaul_playbook::{Judge, JudgeError, JudgeReply, LearningPaths};
use std::env;
use std::sync::Arc;

// Same as for a single request: two minutes allow three attempts of full length.
const TIME_BUDGET: Span = Span::from_secs(120);

pub fn create(kind: JudgeKind, paths: &LearningPaths, clock: &Arc<SystemClock>) -> Box<dyn Judge> {
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
            Box::new(ClaudeJudge::new(paths, agent_path.map(Into::into)))
        }
    }
}

struct UnavailableJudge {
    error: JudgeError,
    model: String,
}

#[async_trait]
impl Judge for UnavailableJudge {
    async fn ask(&self, _prompt: &str, _observer: RequestObserver<'_>) -> Result<JudgeReply, JudgeError> {
        Err(self.error.clone())
    }

    fn model(&self) -> &str {
        &self.model
    }

    /// Accepts any prompt, because every request fails in the same way.
    fn prompt_tokens_max(&self) -> u64 {
        u64::MAX
    }
}
